"""Reads from a conversation what its last compaction took out of the window, and what it left."""

from typing import Any

import msgspec
from msgspec import Struct

from bridle.context.compaction_report import Dropped
from bridle.transcripts.session import Session
from bridle.types.block import text_of
from bridle.types.entry import ConversationEntry


class Compacted(Struct, frozen=True, kw_only=True):
    """A compaction as a person looks at it, also after a resume."""

    trigger: str
    tokens_before: int
    tokens_after: int | None = None
    """Known only while it is new."""
    dropped: tuple[Dropped, ...] = ()
    summary: str = ""
    """What stands in the place of what was said."""
    kept: int = 0
    """Messages that stayed word for word."""


def last_compaction(session: Session) -> Compacted | None:
    """The newest compaction that the conversation continues from; None where there was none."""
    at = next((i for i, entry in enumerate(session.entries) if _is_line(entry)), None)
    if at is None:
        return None
    line: Any = session.entries[at]
    metadata = line.get("compactMetadata") or {}
    after = session.entries[at + 1 :]
    summary = next((entry for entry in after if entry.get("isCompactSummary")), None)
    return Compacted(
        trigger=str(metadata.get("trigger", "manual")),
        tokens_before=_count(metadata.get("preTokens")),
        dropped=_dropped(metadata.get("dropped")),
        summary="" if summary is None or summary["type"] == "system" else _words(summary),
        kept=sum("copyOf" in entry for entry in after),
    )


def _is_line(entry: ConversationEntry) -> bool:
    return entry["type"] == "system" and entry["subtype"] == "compact_boundary"


def _words(entry: Any) -> str:
    return text_of(entry["message"]["content"])


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _dropped(value: Any) -> tuple[Dropped, ...]:
    """The rows of a report; a file of another program has none."""
    try:
        return msgspec.convert(value, tuple[Dropped, ...])
    except msgspec.ValidationError:
        return ()
