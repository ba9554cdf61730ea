"""Fields of rows that the conversation does not need and that other readers of transcripts look for."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bridle.transcripts.conversation import is_prompt
from bridle.types.entry import ConversationEntry, NoteEntry
from bridle.types.ids import new_uuid
from bridle.types.origin import Origin

_USAGE_DEFAULTS: Mapping[str, Any] = {
    "output_tokens_details": {"thinking_tokens": 0},
    "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
    "service_tier": "standard",
    "inference_geo": "",
    "iterations": [],
    "speed": "standard",
    "fallback_credit": None,
}


def whole_usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """What an answer used, with every count that readers expect; those that no service reported are zero."""
    written = {
        "ephemeral_1h_input_tokens": 0,
        "ephemeral_5m_input_tokens": usage.get("cache_creation_input_tokens") or 0,
    }
    defaults = {**_USAGE_DEFAULTS, "cache_creation": written}
    return {**usage, **{key: value for key, value in defaults.items() if usage.get(key) is None}}


def block_facts(*, requested: str, place: int, lifetime: str | None, kind: str, took_ms: int | None) -> Any:
    """The fields of one block of an answer: the model that was asked, its place, and its time."""
    facts: dict[str, Any] = {
        "requestedModel": requested,
        "madeBy": "model",
        "apiBlockIndex": place,
        "perTurnEffort": None,
        "promptCacheRequested": lifetime,
    }
    if took_ms is not None and kind == "tool_use":
        facts["toolInputStreamMs"] = took_ms
    elif took_ms is not None and kind == "thinking":
        facts["thinkingDurationMs"] = took_ms
    return facts


class ToolsUsed:
    """Which tools a session and its agents have called; the line that tells of them."""

    __slots__ = ("_names",)

    def __init__(self) -> None:
        self._names: dict[str, None] = {}

    def restore(self, entries: Sequence[ConversationEntry]) -> None:
        for entry in entries:
            if entry["type"] == "assistant":
                self._names.update(dict.fromkeys(_called(entry["message"]["content"])))

    def line(self, name: str, session_id: str) -> NoteEntry | None:
        """The line for a tool that is called for the first time, with all names so far."""
        if name in self._names:
            return None
        self._names[name] = None
        return {"type": "tools-used", "tools": [*self._names], "sessionId": session_id}


def _called(content: str | Sequence[Any]) -> Iterator[str]:
    for block in () if isinstance(content, str) else content:
        match block:
            case {"type": "tool_use", "name": str() as name}:
                yield name
            case _:
                pass


class PromptCounter:
    """Which prompt rows of the user's side belong to, and the place of that prompt in the conversation."""

    __slots__ = ("_id", "_prompts", "_turns")

    def __init__(self) -> None:
        self._id: str | None = None
        self._turns = 0
        self._prompts = 0
        """Those that a person typed."""

    def restore(self, entries: Sequence[ConversationEntry]) -> None:
        """Count what a conversation has already."""
        prompts = [entry for entry in entries if entry["type"] == "user" and is_prompt(entry)]
        self._turns = len(prompts)
        self._prompts = sum(_is_typed(Origin.from_entry(entry.get("origin"))) for entry in prompts)

    def begin(self, origin: Origin | None) -> Any:
        """The fields of a new prompt."""
        self._id = new_uuid()
        self._turns += 1
        self._prompts += _is_typed(origin)
        return {
            "promptId": self._id,
            "promptSource": "typed" if _is_typed(origin) else "sdk" if _is_hosted(origin) else "system",
            "turnOrigin": "human" if _is_typed(origin) else "sdk" if _is_hosted(origin) else "system",
            "turnPosition": {"promptIndex": self._prompts, "turnIndex": self._turns},
        }

    def current(self) -> Any:
        """The fields of whatever follows from the newest prompt."""
        return {} if self._id is None else {"promptId": self._id}

    def place(self) -> Any:
        """Where a summary stands: at the newest prompt before it."""
        return {"turnPosition": {"promptIndex": self._prompts, "turnIndex": self._turns}}


def _is_typed(origin: Origin | None) -> bool:
    return origin is not None and origin.source in ("typed", "remote")


def _is_hosted(origin: Origin | None) -> bool:
    return origin is None or origin.is_own
