"""Makes sure that no request leaves with a call without a result, whatever dialect it is written in."""

import re
from collections import Counter
from typing import Any

from msgspec import Struct

from bridle.types.block import SentMessage, result_block, text_block
from bridle.types.history import MISSING_RESULT, History

_ODD = r"[^a-zA-Z0-9_-]"


class Links(Struct, frozen=True):
    """The ids that tie one message to the next."""

    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    leading: bool = True
    """The results stand before everything else, as services demand."""


_NO_LINKS = Links()


def paired(history: History) -> tuple[History, tuple[str, ...]]:
    """The history with one result for each call, right behind it and in its order, and what was wrong.

    Services refuse a conversation in which a call has no result, a result no call, or two calls share an id.
    The history that is given comes back when all is well; what was looked at once is not looked at again.
    """
    links = history.links(_links)
    if _is_well(links):
        return history, ()
    repair = _Repair(history)
    return repair.repaired(), tuple(dict.fromkeys(repair.faults))


def _is_well(links: list[Links]) -> bool:
    seen: set[str] = set()
    owed: tuple[str, ...] = ()
    for each in links:
        if each.results != owed or not each.leading:
            return False
        owed = each.calls
        for call in owed:
            # Some dialects write ids with fewer characters.
            known = re.sub(_ODD, "_", call)
            if known in seen:
                return False
            seen.add(known)
    return not owed


def _links(message: SentMessage) -> Links:
    content: Any = message["content"]
    if isinstance(content, str):
        return _NO_LINKS
    if message["role"] == "assistant":
        calls = tuple(block["id"] for block in content if block["type"] == "tool_use")
        return Links(calls) if calls else _NO_LINKS
    results = tuple(block["tool_use_id"] for block in content if block["type"] == "tool_result")
    if not results:
        return _NO_LINKS
    leading = all(block["type"] == "tool_result" for block in content[: len(results)])
    return Links(results=results, leading=leading)


class _Repair:
    """One pass over a history that is not in order; the same history is always repaired in the same way."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._used: Counter[str] = Counter()
        self._made = History()
        self._owed: list[tuple[str, str]] = []
        """The calls of the last message: the id that they had, and the one that they have."""
        self.faults: list[str] = []

    def repaired(self) -> History:
        for message, origin in zip(self._history.messages, self._history.origins, strict=True):
            if message["role"] == "assistant":
                self._settle([])
                self._made.add(self._answer(message), origin=origin)
            else:
                self._heard(message)
        self._settle([])
        return self._made

    def _answer(self, message: SentMessage) -> SentMessage:
        content: Any = message["content"]
        if isinstance(content, str):
            return message
        return {"role": "assistant", "content": [self._named(block) for block in content]}

    def _named(self, block: Any) -> Any:
        if block["type"] != "tool_use":
            return block
        fresh = self._unique(block["id"])
        self._owed.append((block["id"], fresh))
        return block if fresh == block["id"] else {**block, "id": fresh}

    def _unique(self, identity: str) -> str:
        known = re.sub(_ODD, "_", identity)
        self._used[known] += 1
        if self._used[known] == 1:
            return identity
        self.faults.append("two calls had the same id")
        fresh = f"{known}_{self._used[known]}"
        return fresh if fresh not in self._used else self._unique(fresh)

    def _heard(self, message: SentMessage) -> None:
        content: Any = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        results = [block for block in blocks if block["type"] == "tool_result"]
        if not _links(message).leading:
            self.faults.append("text came before results")
        rest = [block for block in blocks if block["type"] != "tool_result"]
        if not self._owed and not results:
            self._made.add(message)
        else:
            self._settle(results, rest)

    def _settle(self, results: list[Any], rest: list[Any] | None = None) -> None:
        """Say what the open calls came to, in their order, and behind that the rest of the message."""
        given: dict[str, list[Any]] = {}
        for block in results:
            given.setdefault(block["tool_use_id"], []).append(block)
        answers: list[Any] = []
        for had, fresh in self._owed:
            found = given.get(had)
            if not found:
                self.faults.append("a call had no result")
                answers.append(result_block(fresh, MISSING_RESULT, is_error=True))
            else:
                answers.append({**found.pop(0), "tool_use_id": fresh})
        if any(given.values()):
            self.faults.append("a result had no call")
        elif results and [block["tool_use_id"] for block in results] != [had for had, _ in self._owed]:
            self.faults.append("results were not in the order of their calls")
        self._owed = []
        if results and not answers and not rest:
            answers.append(text_block("(no content)"))
        if content := [*answers, *(rest or ())]:
            self._made.add({"role": "user", "content": content})
