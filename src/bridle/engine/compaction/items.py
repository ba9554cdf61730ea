"""Removes single items from a conversation, or protects them, as the user chooses."""

from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.context.context_items import Item, ItemKind, items_of
from bridle.context.old_results import CLEARED
from bridle.context.tokens import ratio_of
from bridle.engine.runtime import Runtime
from bridle.transcripts.session import Session
from bridle.transcripts.shortened_results import shorten
from bridle.types.block import text_block, text_of
from bridle.types.errors import UsageError
from bridle.types.ledger import HELD

_MOST_SHOWN = 8_000


def list_items(session: Session) -> tuple[Item, ...]:
    """Everything that the next request carries besides prompt and tools, with what each part costs."""
    ratio = ratio_of(session.state.measured)
    return items_of(session.entries, ratio, pinned=session.state.pinned_items)


def item_text(session: Session, item: Item) -> str:
    """What an item says, for looking at; long ones are cut."""
    for entry in session.entries:
        if entry["type"] == "system":
            continue
        content = entry["message"]["content"]
        named = (
            block
            for block in ([text_block(content)] if isinstance(content, str) else content)
            if item.id in (entry["uuid"], block.get("id"), block.get("tool_use_id"))
        )
        words = [each for block in named if (each := _words(block, item.kind)) is not None]
        if words:
            return "\n\n".join(words)[:_MOST_SHOWN]
    return ""


def stub_item(session: Session, runtime: Runtime, item_id: str) -> int:
    """Leave only a note of a tool result; how many tokens that saves.

    Raises:
        UsageError: there is no result with this id, or it is held.
    """
    item = _find(session, item_id, "result")
    _require_free(session, item)
    shorten(session, {item_id: CLEARED})
    runtime.watch.forget(session.id)
    return max(0, item.tokens - _find(session, item_id, "result").tokens)


def drop_item(session: Session, runtime: Runtime, item_id: str) -> int:
    """Take something out altogether, a result with its call; how many tokens that saves.

    Raises:
        UsageError: there is nothing with this id, or it is held.
    """
    items = [item for item in list_items(session) if item.id == item_id]
    if not items:
        raise UsageError(f"Nothing in this conversation has the id {item_id}: run /items to list the ids.")
    for item in items:
        _require_free(session, item)
    gone = {
        entry["uuid"]
        for entry in session.entries
        if entry["uuid"] == item_id
        or (
            entry["type"] != "system"
            and not isinstance(content := entry["message"]["content"], str)
            and any(item_id in (block.get("id"), block.get("tool_use_id")) for block in content)
        )
    }
    session.withdraw(gone)
    runtime.watch.forget(session.id)
    return sum(item.tokens for item in items)


def hold_item(session: Session, item_id: str) -> None:
    """Never clear this result, whatever it costs.

    Raises:
        UsageError: there is nothing with this id.
    """
    _find(session, item_id)
    _hold(session, session.state.pinned_items | {item_id})


def release_item(session: Session, item_id: str) -> None:
    """Let a held result be cleared again.

    Raises:
        UsageError: it is not held.
    """
    if item_id not in session.state.pinned_items:
        raise UsageError(f"{item_id} is not held. Run /items to list the items.")
    _hold(session, session.state.pinned_items - {item_id})


def _words(block: Mapping[str, Any], kind: ItemKind) -> str | None:
    """The words of a block, if it is of this kind."""
    match block:
        case {"type": "tool_use", "input": input} if kind == "call":
            return msgspec.json.format(msgspec.json.encode(input), indent=2).decode()
        case {"type": "tool_result"} if kind == "result":
            return text_of(block.get("content") or "")
        case {"type": "thinking", "thinking": str(text)} if kind == "thinking":
            return text
        case {"type": "text", "text": str(text)} if kind in ("prompt", "answer", "reminder", "summary"):
            return text
        case _:
            return None


def _hold(session: Session, ids: frozenset[str]) -> None:
    session.swap(pinned_items=ids)
    session.note({"type": HELD, "items": sorted(ids), "sessionId": session.id})


def _find(session: Session, item_id: str, kind: str | None = None) -> Item:
    for item in list_items(session):
        if item.id == item_id and kind in (None, item.kind):
            return item
    what = "Nothing" if kind is None else f"No {kind}"
    raise UsageError(f"{what} in this conversation has the id {item_id}. Run /items to list the ids.")


def _require_free(session: Session, item: Item) -> None:
    if item.id in session.state.pinned_items:
        raise UsageError(f"{item.id} is held. Run /items release {item.id} first.")
