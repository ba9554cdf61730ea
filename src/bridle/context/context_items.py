"""Single things in a conversation with what each costs, so that a person can decide what stays."""

import os.path
from collections.abc import Collection, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from bridle.context.tokens import weigh_block
from bridle.types.entry import ConversationEntry
from bridle.types.text import one_line

_LONGEST_TITLE = 80
_SUBJECTS = (
    "command",
    "file_path",
    "notebook_path",
    "pattern",
    "url",
    "query",
    "path",
    "description",
    "skill",
)
"""What a call is about, in the first of these fields that it has."""

ItemKind = Literal["prompt", "answer", "thinking", "reminder", "summary", "call", "result", "file"]


class Item(Struct, frozen=True, kw_only=True):
    """One row of a conversation; a call and its result share the id of the call.

    Blocks of one kind in one message are one item: they can only stay or go together.
    """

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
            if found and (found[-1].id, found[-1].kind) == (id, kind):
                found[-1] = _joined(found[-1], title, tokens)
                continue
            short = one_line(title, _LONGEST_TITLE)
            found.append(Item(id=id, kind=kind, title=short, tokens=tokens, pinned=id in pinned))
    return tuple(found)


def _joined(item: Item, title: str, tokens: int) -> Item:
    both = one_line(f"{item.title}, {title}", _LONGEST_TITLE)
    return replace(item, title=both, tokens=item.tokens + tokens)


def _named(entry: ConversationEntry, block: Any, tools: dict[str, str]) -> tuple[ItemKind, str, str]:
    match block.get("type"):
        case "tool_use":
            title = _call_title(block, os.path.join(entry["cwd"], ""))
            tools[block["id"]] = title
            return "call", block["id"], title
        case "tool_result":
            return "result", block["tool_use_id"], tools.get(block["tool_use_id"], "a tool")
        case "thinking" | "redacted_thinking":
            return "thinking", entry["uuid"], "thinking"
        case "image" | "document":
            return "file", entry["uuid"], str(block["type"])
        case _:
            words = str(block.get("text", block.get("type")))
            kind = _text_kind(entry)
            return kind, entry["uuid"], _heading(words) if kind == "reminder" else " ".join(words.split())


def _call_title(block: Any, folder: str) -> str:
    input = block.get("input")
    given = input if isinstance(input, dict) else {}
    subject = next((given[name] for name in _SUBJECTS if isinstance(given.get(name), str)), "")
    return f"{block['name']} {subject.removeprefix(folder)}".rstrip()


def _heading(words: str) -> str:
    """The first line of a reminder that says something."""
    lines = (line.strip("# ") for line in words.splitlines())
    return next((line for line in lines if line and not line.startswith("<system-reminder")), "reminder")


def _text_kind(entry: ConversationEntry) -> ItemKind:
    if entry["type"] == "assistant":
        return "answer"
    if entry["type"] == "user" and entry.get("isCompactSummary"):
        return "summary"
    return "reminder" if entry["type"] == "user" and entry.get("isMeta") else "prompt"
