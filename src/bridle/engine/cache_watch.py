"""Notices when a request no longer begins like the one before, and says from where on."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from bridle.types.block import SentMessage
from bridle.types.model import ModelRequest
from bridle.types.on_demand import is_deferred

_MOST_SESSIONS = 200


class _Sent(Struct, frozen=True):
    model: str
    system: tuple[Any, ...]
    tools: tuple[Any, ...]
    settings: tuple[Any, ...]
    messages: tuple[SentMessage, ...]


class CacheWatch:
    """Compares each request with the last one of its session; what is encoded once is not compared twice."""

    def __init__(self) -> None:
        self._last: dict[str, _Sent] = {}

    def look(self, request: ModelRequest) -> str | None:
        """The part that changed and with which the cached prefix ends; None when nothing before it did.

        A change of the model is deliberate, and each model has a cache of its own: it is not reported.
        """
        key = request.session_id or ""
        sent = _Sent(
            request.model,
            request.system,
            _listed(request.tools),
            (request.thinking, request.effort, request.betas, tuple(request.extra.items())),
            tuple(request.history.messages),
        )
        last = self._last.pop(key, None)
        self._last[key] = sent
        if len(self._last) > _MOST_SESSIONS:
            del self._last[next(iter(self._last))]
        return None if last is None or last.model != sent.model else _difference(last, sent)

    def forget(self, session_id: str) -> None:
        """The conversation was changed on purpose: the next request begins a new prefix."""
        self._last.pop(session_id, None)


def _listed(tools: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tools that requests begin with; what was loaded since stands elsewhere or nowhere."""
    return tuple(tool for tool in tools if not is_deferred(tool)) if any(map(is_deferred, tools)) else tools


def _difference(last: _Sent, sent: _Sent) -> str | None:
    if last.tools is not sent.tools and last.tools != sent.tools:
        return _tool_difference(last.tools, sent.tools)
    if last.system is not sent.system and last.system != sent.system:
        return "the system prompt"
    if last.settings != sent.settings:
        return "the settings for thinking or effort"
    return _message_difference(last.messages, sent.messages)


def _tool_difference(last: tuple[Any, ...], sent: tuple[Any, ...]) -> str:
    before, after = ({tool["name"]: tool for tool in tools} for tools in (last, sent))
    for name in (*before, *after):
        if before.get(name) != after.get(name):
            change = "was added" if name not in before else "was removed" if name not in after else "changed"
            return f"tool {name} {change}"
    return "the order of the tools"


def _message_difference(last: Sequence[SentMessage], sent: Sequence[SentMessage]) -> str | None:
    if len(sent) < len(last):
        return None  # The user went back on purpose.
    for number, (before, after) in enumerate(zip(last, sent, strict=False), 1):
        if before is after or before == after:
            continue
        # The last message may have grown; what is cached of it ends with a block.
        if number == len(last) and _begins_with(after, before):
            continue
        # What was said first only changes when the whole conversation was exchanged, by an undo for example.
        return f"message {number} of {len(last)}" if number > 1 else None
    return None


def _begins_with(message: SentMessage, start: SentMessage) -> bool:
    if message["role"] != start["role"]:
        return False
    whole, part = _blocks(message), _blocks(start)
    return whole[: len(part)] == part


def _blocks(message: SentMessage) -> list[Any]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
