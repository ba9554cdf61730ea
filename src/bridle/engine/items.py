"""Takes single things out of a conversation, or keeps them in it, as a person wishes."""

from bridle.context.items import Item, items_of
from bridle.context.thinning import CLEARED
from bridle.engine.runtime import Runtime
from bridle.sessions.session import Session
from bridle.sessions.shortening import shorten
from bridle.types.errors import UsageError
from bridle.types.ledger import HELD


def list_items(session: Session) -> tuple[Item, ...]:
    """Everything that the next request carries besides prompt and tools, with what each part costs."""
    measured = session.state.measured
    ratio = measured.ratio if measured is not None else 0.25
    return items_of(session.entries, ratio, pinned=session.state.pinned_items)


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
        raise UsageError(f"Nothing in this conversation has the id {item_id}: /items lists what has.")
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
        raise UsageError(f"{item_id} is not held: /items lists what is.")
    _hold(session, session.state.pinned_items - {item_id})


def _hold(session: Session, ids: frozenset[str]) -> None:
    session.swap(pinned_items=ids)
    session.note({"type": HELD, "items": sorted(ids), "sessionId": session.id})


def _find(session: Session, item_id: str, kind: str | None = None) -> Item:
    for item in list_items(session):
        if item.id == item_id and kind in (None, item.kind):
            return item
    what = "Nothing" if kind is None else f"No {kind}"
    raise UsageError(f"{what} in this conversation has the id {item_id}: /items lists what has.")


def _require_free(session: Session, item: Item) -> None:
    if item.id in session.state.pinned_items:
        raise UsageError(f"{item.id} is held: /items release {item.id} comes first.")
