"""Hooks that are asked over HTTP: the input goes out as JSON, an object comes back."""

import re
from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import Struct

from bridle.config.hook_schema import HttpHook
from bridle.config.merge import merge
from bridle.config.sources import SHARED, Layer
from bridle.hooks.endpoint import is_allowed, read_endpoint
from bridle.hooks.handler import Answered, Failed, Handler, HookCall, Reply
from bridle.hooks.http_post import Headers, HttpReply, post
from bridle.host.http.client import HttpFault
from bridle.types.errors import ConfigError

_LONGEST_SHOWN = 10_000
VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", re.ASCII)
"""A variable in the value of a header."""
_OURS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "upgrade", "expect", "te", "trailer"}
)


class HttpLimits(Struct, frozen=True, kw_only=True):
    """What settings allow HTTP hooks to do; None means that no list is kept."""

    urls: tuple[str, ...] | None = None
    variables: tuple[str, ...] | None = None

    @classmethod
    def of(cls, layers: Sequence[Layer], *, trusted: bool) -> "HttpLimits":
        """The lists of all settings files, united; a folder that is not trusted widens none."""
        keys = ("allowedHttpHookUrls", "httpHookAllowedEnvVars")
        merged = merge(
            [
                (layer.source, {key: layer.values[key] for key in keys if key in layer.values})
                for layer in layers
                if trusted or layer.source not in SHARED
            ]
        )
        urls, variables = (merged.get(key) for key in keys)
        return cls(
            urls=None if urls is None else tuple(urls),
            variables=None if variables is None else tuple(variables),
        )


def http_handler(*, env: Mapping[str, str], limits: Callable[[], HttpLimits]) -> Handler:
    """Ask hooks at their URLs; the limits are looked up at each call, as settings may change."""

    async def ask(call: HookCall) -> Reply:
        assert isinstance(call.hook, HttpHook)
        hook, now = call.hook, limits()
        if (objection := find_objection(hook, now)) is not None:
            return Failed(reason=f"was not called: {objection}")
        headers = fill_headers(hook, env, allowed=now.variables)
        try:
            posted = await post(read_endpoint(hook.url), call.data, headers=headers, env=env)
        except ConfigError as error:
            return Failed(reason=f"was not called: {error}")
        except HttpFault as fault:
            return Failed(reason=f"got no answer from {_place(hook)}: {fault}")
        return _read(posted, hook)

    return ask


def find_objection(hook: HttpHook, limits: HttpLimits) -> str | None:
    """Why a hook may not be asked at all, None when it may."""
    try:
        endpoint = read_endpoint(hook.url)
    except ConfigError as error:
        return str(error)
    if not is_allowed(endpoint, limits.urls):
        return f"{_place(hook)} is not covered by allowedHttpHookUrls; add a pattern for it to your settings"
    if taken := [name for name in hook.headers or () if name.strip().lower() in _OURS]:
        return f"the header {taken[0]} cannot be set by a hook; remove it"
    return None


def fill_headers(hook: HttpHook, env: Mapping[str, str], *, allowed: tuple[str, ...] | None) -> Headers:
    """The headers with `$VAR` and `${VAR}` filled in; a variable that is not listed becomes nothing."""
    listed = set(hook.allowed_env_vars or ())
    usable = listed if allowed is None else listed.intersection(allowed)

    def look_up(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        return env.get(name, "") if name in usable else ""

    # A line break in a variable would begin a header of its own.
    return [
        (name, re.sub(r"[\r\n\0]", "", VARIABLE.sub(look_up, value)).strip())
        for name, value in (hook.headers or {}).items()
    ]


def _read(posted: HttpReply, hook: HttpHook) -> Reply:
    shown = posted.body[: 4 * _LONGEST_SHOWN].decode("utf-8", "replace")[:_LONGEST_SHOWN]
    if 300 <= posted.status < 400:
        reason = f"was redirected by {_place(hook)}; hooks do not follow redirects, so use the final URL"
        return Failed(reason=reason, stdout=shown)
    if not 200 <= posted.status < 300:
        return Failed(reason=f"got status {posted.status} from {_place(hook)}", stdout=shown)
    if not posted.body.strip():
        return Answered(output={})
    try:
        output = msgspec.json.decode(posted.body, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError):
        return Failed(reason=f"got no JSON object from {_place(hook)}", stdout=shown)
    return Answered(output=output, text=shown)


def _place(hook: HttpHook) -> str:
    """The address without its query, which may hold a secret."""
    return re.split(r"[?#]", hook.url, maxsplit=1)[0][:200]
