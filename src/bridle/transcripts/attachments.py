"""Attachments: what bridle puts beside a prompt, such as git's state or the list of skills.

In a conversation an attachment is an entry of the user's side that no one typed. In the file it is a row of
its own type, as Claude Code writes it, so that readers of transcripts do not take it for a prompt.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from bridle.types.block import UserBlock, text_block, text_of
from bridle.types.entry import ConversationEntry

ATTACHMENT = "attachment"
MAKER = "bridle"
_CONVERSATION = frozenset({"user", "assistant", "system"})
_IN_MEMORY_ONLY = frozenset({"message", "isMeta"})


def to_row(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row that stands for an entry in the file."""
    if ATTACHMENT not in entry or entry["type"] != "user":
        return entry
    row = {key: value for key, value in entry.items() if key not in _IN_MEMORY_ONLY}
    content: str | list[UserBlock] = entry["message"]["content"]
    blocks = [text_block(content)] if isinstance(content, str) else content
    rendered = [{"content": block["text"] if block["type"] == "text" else [block]} for block in blocks]
    return {**row, "type": ATTACHMENT, "rendered": rendered, "renderedRole": "system"}


def entries_of(rows: Iterable[Mapping[str, Any]]) -> list[ConversationEntry]:
    """The rows of a chain that are part of the conversation."""
    entries: list[Any] = []
    for row in rows:
        if row["type"] in _CONVERSATION:
            entries.append(row)
        elif row["type"] == ATTACHMENT and (blocks := _rendered(row)):
            kept = {key: value for key, value in row.items() if key not in {"rendered", "renderedRole"}}
            entries.append(
                {**kept, "type": "user", "isMeta": True, "message": {"role": "user", "content": blocks}}
            )
    return entries


def is_opening(entry: ConversationEntry) -> bool:
    """Whether bridle opened a conversation with this; one that began elsewhere has attachments of others."""
    if entry["type"] != "user" or not entry.get("isMeta"):
        return False
    if (attachment := entry.get(ATTACHMENT)) is not None:
        return attachment.get("source") == MAKER and bool(attachment.get("isInitial"))
    # Before there were attachments, bridle kept its reminders as rows of the user.
    return text_of(entry["message"]["content"]).startswith("<system-reminder>")


def _rendered(row: Mapping[str, Any]) -> list[Any]:
    """What the model read; rows of older versions and of things that it never reads have nothing."""
    found: list[Any] = []
    rendered: Any = row.get("rendered")
    if not isinstance(row.get(ATTACHMENT), dict) or not isinstance(rendered, list):
        return found
    for item in rendered:
        match item:
            case {"content": str() as text} if text.strip():
                found.append(text_block(text))
            case {"content": list() as blocks}:
                found += [block for block in blocks if _is_block(block)]
            case _:
                pass  # Nothing that a request can carry.
    return found


def _is_block(block: Any) -> bool:
    match block:
        case {"type": "text", "text": str()} | {"type": "image" | "document", "source": dict()}:
            return True
        case _:
            return False
