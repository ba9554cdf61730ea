"""What a compaction took out of the window, so that a person can judge it."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from bridle.context.tokens import weigh_block
from bridle.types.entry import ConversationEntry

_MOST_ROWS = 20


class Dropped(Struct, frozen=True):
    """Items of one kind that are no longer sent."""

    kind: str
    """`prompts`, `answers`, `thinking`, `reminders`, or `results of <tool>`."""
    count: int
    tokens: int


def dropped(entries: Sequence[ConversationEntry], ratio: float) -> tuple[Dropped, ...]:
    """Entries by kind, the costliest first."""
    counts: Counter[str] = Counter()
    units: Counter[str] = Counter()
    tools: dict[str, str] = {}
    for entry in entries:
        if entry["type"] == "system":
            continue
        content = entry["message"]["content"]
        blocks: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            kind = _kind(entry, block, tools)
            counts[kind] += 1
            # A report compares kinds with each other, and thousands of blocks are weighed for it at once.
            units[kind] += weigh_block(block, len)
    rows = [Dropped(kind, counts[kind], round(weight * ratio)) for kind, weight in units.most_common()]
    return tuple(rows[:_MOST_ROWS])


def _kind(entry: ConversationEntry, block: Any, tools: dict[str, str]) -> str:
    match block.get("type"):
        case "tool_use":
            tools[block["id"]] = block["name"]
            return f"calls of {block['name']}"
        case "tool_result":
            return f"results of {tools.get(block['tool_use_id'], 'a tool')}"
        case "thinking" | "redacted_thinking":
            return "thinking"
        case "image" | "document":
            return "images and documents"
        case _ if entry["type"] == "assistant":
            return "answers"
        case _:
            return "reminders" if entry.get("isMeta") else "prompts"
