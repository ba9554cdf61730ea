"""Single things in a conversation with what each costs, so that a person can decide what stays."""

from collections.abc import Collection, Sequence
from typing import Any, Literal

from msgspec import Struct

from bridle.context.lines import one_line
from bridle.context.tokens import weigh_block
from bridle.types.entry import ConversationEntry

_LONGEST_TITLE = 80

ItemKind = Literal["prompt", "answer", "thinking", "reminder", "summary", "call", "result", "file"]


class Item(Struct, frozen=True, kw_only=True):
    """One row of a conversation; a call and its result share the id of the call."""

    id: str
    kind: ItemKind
    title: str
    tokens: int
    pinned: bool = False


def items_of(
    entries: Sequence[ConversationEntry], ratio: float, *, pinned: Collection[str] = ()
) -> tuple[Item, ...]:
    """Everything that the next request carries, in its order."""
    tools: dict[str, str] = {}
    found: list[Item] = []
    for entry in entries:
        if entry["type"] == "system":
            continue
        content = entry["message"]["content"]
        blocks: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            kind, id, title = _named(entry, block, tools)
            tokens = round(weigh_block(block) * ratio)
            found.append(
                Item(
                    id=id,
                    kind=kind,
                    title=one_line(title, _LONGEST_TITLE),
                    tokens=tokens,
                    pinned=id in pinned,
                )
            )
    return tuple(found)


def _named(entry: ConversationEntry, block: Any, tools: dict[str, str]) -> tuple[ItemKind, str, str]:
    match block.get("type"):
        case "tool_use":
            tools[block["id"]] = block["name"]
            return "call", block["id"], block["name"]
        case "tool_result":
            return "result", block["tool_use_id"], tools.get(block["tool_use_id"], "a tool")
        case "thinking" | "redacted_thinking":
            return "thinking", entry["uuid"], "thinking"
        case "image" | "document":
            return "file", entry["uuid"], str(block["type"])
        case _:
            return _text_kind(entry), entry["uuid"], str(block.get("text", block.get("type")))


def _text_kind(entry: ConversationEntry) -> ItemKind:
    if entry["type"] == "assistant":
        return "answer"
    if entry["type"] == "user" and entry.get("isCompactSummary"):
        return "summary"
    return "reminder" if entry["type"] == "user" and entry.get("isMeta") else "prompt"
