"""Cutting a conversation where the API allows it: between rounds, never between a call and its result."""

from collections.abc import Sequence

from bridle.context.text_units import text_units
from bridle.context.tokens import weigh_block
from bridle.types.entry import ConversationEntry

Round = list[ConversationEntry]
"""An answer with all that followed it, or what stood before the first answer."""


def rounds_of(entries: Sequence[ConversationEntry]) -> list[Round]:
    """Group entries by the answer that they belong to; rows of one answer share its id."""
    rounds: list[Round] = []
    answer: str | None = None
    for entry in entries:
        if entry["type"] == "assistant":
            message_id = entry["message"].get("id") or entry["uuid"]
            if not rounds or message_id != answer:
                rounds.append([])
            answer = message_id
        elif not rounds:
            rounds.append([])
        rounds[-1].append(entry)
    return rounds


def newest_rounds(entries: Sequence[ConversationEntry], *, units: int) -> list[ConversationEntry]:
    """The last rounds that fit into so many units, whole ones only, and never the whole conversation."""
    rounds = rounds_of(entries)
    kept: list[Round] = []
    left = units
    for each in reversed(rounds[1:]):
        left -= weight(each)
        if left < 0:
            break
        kept.insert(0, each)
    return [entry for each in kept for entry in each]


def rounds_around(entries: Sequence[ConversationEntry], at: int) -> list[ConversationEntry]:
    """Everything from the round on that holds the entry at this place."""
    start = 0
    for each in rounds_of(entries):
        if start + len(each) > at:
            break
        start += len(each)
    return list(entries[start:])


def oldest_rounds_to_drop(entries: Sequence[ConversationEntry], *, units: int | None) -> int:
    """How many entries at the head to leave out when even the request for a summary is too long.

    Enough rounds to make room for `units` where the service said how much is missing, else a fifth of them;
    0 when nothing would be left.
    """
    rounds = rounds_of(entries)
    if len(rounds) < 2:
        return 0
    count = max(1, len(rounds) // 5)
    if units is not None:
        total, count = 0, 0
        while total < units and count < len(rounds) - 1:
            total += weight(rounds[count])
            count += 1
    return sum(len(each) for each in rounds[: min(count, len(rounds) - 1)])


def weight(entries: Sequence[ConversationEntry]) -> int:
    """What entries add to a request."""
    total = 0
    for entry in entries:
        if entry["type"] == "system":
            continue
        content = entry["message"]["content"]
        total += (
            text_units(content) if isinstance(content, str) else sum(weigh_block(block) for block in content)
        )
    return total
