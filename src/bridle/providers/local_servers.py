"""Finds servers of models on this machine by asking where they usually listen."""

import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec import DecodeError, Struct
from msgspec.json import decode as from_json
from msgspec.json import encode as to_json

from bridle.host.http.client import HttpClient, HttpFault, Limits, Request
from bridle.providers import vendors
from bridle.providers.routes import base_of
from bridle.providers.vendor import Vendor
from bridle.types.errors import ConfigError

NAMES = ("ollama", "llamacpp", "lmstudio", "vllm", "sglang")
_PATIENCE = 1.0
_LARGEST = 4 * 1024 * 1024
_MOST_ASKED = 20
"""Models of one server that are asked how large their window is."""


class LocalModel(Struct, frozen=True, kw_only=True):
    """A model that a server has."""

    name: str
    """As it is passed to bridle: vendor/name."""
    window: int | None = None
    """What the server says, None when it does not."""
    tools: bool | None = None


class LocalServer(Struct, frozen=True, kw_only=True):
    """A server that answered."""

    vendor: str
    label: str
    base: str
    models: tuple[LocalModel, ...] = ()


async def discover(env: Mapping[str, str], *, patience: float = _PATIENCE) -> tuple[LocalServer, ...]:
    """Every server that answers within `patience` seconds, all asked at once."""
    rows = [row for name in NAMES if (row := vendors.find(name)) is not None]
    # Proxies are for the world outside.
    client = HttpClient({**env, "NO_PROXY": "*"})
    try:
        found = await asyncio.gather(*(_ask(row, env, client, patience) for row in rows))
    finally:
        await client.close()
    return tuple(server for server in found if server is not None)


async def _ask(
    row: Vendor, env: Mapping[str, str], client: HttpClient, patience: float
) -> LocalServer | None:
    base = base_of(row, env)[0].rstrip("/")
    ask = _Asking(client, base.removesuffix("/v1"), patience)
    listing = await ask.get("/v1/models" if base.endswith("/v1") else f"{base}/models")
    rows: Any = listing.get("data") if isinstance(listing, dict) else None
    if not isinstance(rows, list):
        return None
    listed = [each for each in rows if isinstance(each, dict) and isinstance(each.get("id"), str)]
    if not _is_this(row.name, listed):
        return None
    models = await _models(row, listed, ask)
    return LocalServer(vendor=row.name, label=row.label, base=base, models=tuple(models))


_OWNERS = {"llamacpp": "llamacpp", "vllm": "vllm", "sglang": "sglang"}


def _is_this(name: str, listed: list[dict[str, Any]]) -> bool:
    """Whether a server is of the kind that its port suggests: some share ports with anything."""
    owners = {str(each.get("owned_by", "")).lower() for each in listed}
    wanted = _OWNERS.get(name)
    others = set(_OWNERS.values()) - {wanted}
    return not (owners & others and wanted not in owners)


async def _models(row: Vendor, listed: list[dict[str, Any]], ask: "_Asking") -> list[LocalModel]:
    names = [each["id"] for each in listed]
    match row.name:
        case "ollama":
            known = await asyncio.gather(*(ask.ollama(name) for name in names[:_MOST_ASKED]))
            facts = dict(zip(names, known, strict=False))
        case "lmstudio":
            facts = await ask.lm_studio()
        case "llamacpp":
            window = await ask.llama()
            facts = dict.fromkeys(names, (window, None))
        case _:
            facts = {each["id"]: (_whole(each.get("max_model_len")), None) for each in listed}
    return [
        LocalModel(
            name=f"{row.name}/{name}", window=facts.get(name, _UNKNOWN)[0], tools=facts.get(name, _UNKNOWN)[1]
        )
        for name in names
    ]


Facts = tuple[int | None, bool | None]
_UNKNOWN: Facts = (None, None)


class _Asking:
    """Questions to one server; what it does not answer is None."""

    def __init__(self, client: HttpClient, root: str, patience: float) -> None:
        self._client = client
        self._root = root
        self._limits = Limits(idle=patience, total=patience, body=_LARGEST)
        self._patience = patience

    async def get(self, path: str, body: Any = None) -> Any:
        url = path if "://" in path else self._root + path
        data = b"" if body is None else to_json(body)
        headers = (("accept", "application/json"), ("content-type", "application/json"))
        request = Request("GET" if body is None else "POST", url, headers, data)
        try:
            async with asyncio.timeout(self._patience), self._client.send(request, self._limits) as response:
                answer = await response.read()
                return from_json(answer) if response.status == 200 else None
        except (HttpFault, ConfigError, TimeoutError, DecodeError, UnicodeDecodeError):
            return None  # No server there, or a different one.

    async def ollama(self, name: str) -> Facts:
        shown = await self.get("/api/show", {"model": name})
        if not isinstance(shown, dict):
            return _UNKNOWN
        info: dict[str, Any] = shown.get("model_info") or {}
        longest = next((value for key, value in info.items() if key.endswith(".context_length")), None)
        able = shown.get("capabilities")
        return _whole(longest), "tools" in able if isinstance(able, list) else None

    async def lm_studio(self) -> dict[str, Facts]:
        listing = await self.get("/api/v0/models")
        rows: Any = listing.get("data") if isinstance(listing, dict) else None
        found: dict[str, Facts] = {}
        for each in rows if isinstance(rows, list) else ():
            window = _whole(each.get("loaded_context_length")) or _whole(each.get("max_context_length"))
            able = each.get("capabilities")
            found[str(each.get("id"))] = (window, "tool_use" in able if isinstance(able, list) else None)
        return found

    async def llama(self) -> int | None:
        shown = await self.get("/props")
        settings: Any = shown.get("default_generation_settings") if isinstance(shown, dict) else None
        return _whole(settings.get("n_ctx")) if isinstance(settings, dict) else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
