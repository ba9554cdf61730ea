"""Answers and calls among the entries of a conversation: which there are, and ids that none of them has."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from bridle.types.entry import AssistantEntry, ConversationEntry

_ODD = r"[^a-zA-Z0-9_-]"


class AnswerIds:
    """The ids of answers and calls of a conversation, read from it once a free one is needed."""

    __slots__ = ("_entries", "_taken")

    def __init__(self, entries: Sequence[ConversationEntry]) -> None:
        self._entries = entries
        self._taken: Counter[str] | None = None

    def forget(self) -> None:
        """Read them anew, because the conversation is another one."""
        self._taken = None

    def free(self, wanted: str) -> str:
        """An id that the conversation does not have yet; from now on it is taken."""
        if self._taken is None:
            self._taken = Counter(known for entry in self._entries for known in _ids_of(entry))
        # Some dialects write ids with fewer characters, and they must not meet there either.
        known, free = _plain(wanted), wanted
        while _plain(free) in self._taken:
            self._taken[known] += 1
            free = f"{wanted}_{self._taken[known]}"
        self._taken[_plain(free)] = 1
        return free


def newest_answer(entries: Sequence[ConversationEntry]) -> str | None:
    """The first entry of the answer that was given last."""
    newest: AssistantEntry | None = None
    for entry in reversed(entries):
        if entry["type"] != "assistant":
            continue
        if newest is not None and entry["message"].get("id") != newest["message"].get("id"):
            break
        newest = entry
    return None if newest is None else newest["uuid"]


def newest_call(entries: Sequence[ConversationEntry]) -> str | None:
    """The newest entry of an answer, in which the call that runs stands."""
    return next((each["uuid"] for each in reversed(entries) if each["type"] == "assistant"), None)


def entry_of_call(entries: Sequence[ConversationEntry], call_id: str) -> str | None:
    """The entry that a call stands in."""
    for entry in reversed(entries):
        if entry["type"] == "assistant" and call_id in _calls_in(entry):
            return entry["uuid"]
    return None


def _plain(identity: str) -> str:
    return re.sub(_ODD, "_", identity)


def _ids_of(entry: ConversationEntry) -> Iterator[str]:
    """The ids of an answer and of its calls."""
    if entry["type"] != "assistant":
        return
    if identity := entry["message"].get("id"):
        yield _plain(identity)
    yield from map(_plain, _calls_in(entry))


def _calls_in(entry: AssistantEntry) -> Iterator[str]:
    for block in entry["message"]["content"]:
        if not isinstance(block, str) and block["type"] == "tool_use":
            yield block["id"]
