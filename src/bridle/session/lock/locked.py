"""What `--locked` takes from `bridle.lock`, and what it refuses because it cannot be taken from there."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

import msgspec

from bridle.config.load import Config
from bridle.context.sections import Sections
from bridle.context.summary import SummaryTexts
from bridle.session.lock.file import FILE, PromptLock, differences, find, part_of, read
from bridle.session.lock.own_parts import served, server_tool, unkept
from bridle.session.lock.session_parts import session_parts
from bridle.types.errors import ProviderError, UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bridle.session.open import LiveSession
    from bridle.types.model import ModelEvent, ModelRequest, Provider, ToolDefinition

_MOST_NAMED = 12
_AGAIN = "See bridle lock check. Write the lock again with: bridle lock"


def lock_for(cwd: str, *, trusted: bool) -> PromptLock:
    """The lock that counts in a folder.

    Raises:
        UsageError: there is none, or the folder is not trusted.
        ConfigError: it cannot be used.
    """
    path = find(cwd)
    if path is None:
        raise UsageError(f"--locked: there is no {FILE} here. Write one with: bridle lock")
    if not trusted:
        raise UsageError(
            f"--locked: {path} holds the instructions of the model, and this folder is not trusted. "
            "Run bridle trust, or pass --trust."
        )
    return read(path)


def with_models(config: Config, lock: PromptLock) -> Config:
    """The settings with the models of the lock, as if the user had declared them."""
    aliases = {name: str(value) for name, value in lock.group("aliases").items()}
    known = {**aliases, **lock.group("models"), **(config.raw.get("bridleModels") or {})}
    return msgspec.structs.replace(config, raw={**config.raw, "bridleModels": known})


def locked_sections(lock: PromptLock) -> Sections:
    """A section that the lock has not is empty."""
    return Sections(**_known("system", Sections, lock))


def locked_summary(lock: PromptLock) -> SummaryTexts:
    return SummaryTexts(**_known("compaction", SummaryTexts, lock))


def locked_tools(lock: PromptLock) -> "Mapping[str, ToolDefinition]":
    return lock.group("tools")


def refuse_changes(live: "LiveSession", lock: PromptLock) -> None:
    """Refuse a session in which anything is not as the lock says that the lock cannot bring.

    Raises:
        UsageError: something is not.
    """
    now = session_parts(live, servers=False)
    there = {name: part for name, part in lock.parts.items() if not name.startswith(_LATER)}
    changed = [str(each) for each in differences(there, now) if not each.is_carried]
    gone = [f"{name}: this version of bridle has no place for it" for name in unkept(lock)]
    if not lock.has(f"models/{live.setup.model}"):
        changed.append(f"models/{live.setup.model}: added")
    if wrong := [*changed, *gone]:
        more = f" and {len(wrong) - _MOST_NAMED} more" if len(wrong) > _MOST_NAMED else ""
        raise UsageError(f"--locked: not as in {lock.path}: {'; '.join(wrong[:_MOST_NAMED])}{more}. {_AGAIN}")


_LATER = ("servers/", "request/")
"""What is known once servers have connected, and what only `bridle lock check` looks at."""


class LockedProvider:
    """Lets no request out that offers a tool of a server which is not as in the lock."""

    def __init__(self, provider: "Provider", lock: PromptLock) -> None:
        self._provider = provider
        self._lock = lock
        self._checked: object = None

    def stream(self, request: "ModelRequest") -> "AsyncIterator[ModelEvent]":
        if request.tools is not self._checked:
            self._check(request)
            self._checked = request.tools
        return self._provider.stream(request)

    async def close(self) -> None:
        await self._provider.close()

    def _check(self, request: "ModelRequest") -> None:
        known = self._lock.group("servers")
        for tool in request.tools:
            server, name = server_tool(tool["name"])
            if not server:
                continue
            listed = known.get(server, {})
            if name not in listed:
                self._refuse(f"{tool['name']} is not in {self._lock.path}")
            if part_of(listed[name]).digest != part_of(served(tool)).digest:
                self._refuse(f"{tool['name']} is not as in {self._lock.path}")

    def _refuse(self, what: str) -> NoReturn:
        raise ProviderError(f"--locked: {what}. {_AGAIN}", kind="invalid_request")


def _known(group: str, fields: type[msgspec.Struct], lock: PromptLock) -> dict[str, str]:
    values = lock.group(group)
    return {name: str(values.get(name, "")) for name in fields.__struct_fields__}
