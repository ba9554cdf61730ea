"""Rows from the user's side: prompts, results of calls, and what bridle puts beside them."""

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

from bridle.transcripts.attachments import MAKER
from bridle.types.block import UserBlock, text_of
from bridle.types.entry import LinkedEntry, UserEntry
from bridle.types.origin import Origin

INTERRUPTED = "[Request interrupted by user"
"""How the text begins that stands where the user stopped a turn."""


def prompt_text(content: str | list[UserBlock], *, data: Any, meta: bool, summary: bool) -> str | None:
    """The words of a prompt; None for a row that is none."""
    if data is not UNSET or meta or summary:
        return None
    words = text_of(content)
    return None if words.startswith(INTERRUPTED) else words


def user_entry(
    link: LinkedEntry,
    content: str | list[UserBlock],
    *,
    meta: bool,
    summary: bool,
    data: Any,
    source: str | None,
    ran: Mapping[str, Any] | None,
    origin: Origin | None,
    attachment: Mapping[str, Any] | None,
    decision: Mapping[str, str] | None,
    facts: Mapping[str, Any],
) -> UserEntry:
    """A row with the fields that it needs and no others; `Session.say_user` says what they are."""
    entry: UserEntry = {**link, "type": "user", "message": {"role": "user", "content": content}}
    if data is not UNSET:
        entry["toolUseResult"] = data
    if decision is not None:
        entry["permissionDecision"] = dict(decision)
        if decision.get("decision") == "reject":
            entry["toolDenialKind"] = "user-rejected"
    whole: Any = {**entry, **facts}
    if source is not None:
        whole["sourceToolAssistantUUID"] = source
    if ran is not None:
        whole["ranInput"] = dict(ran)
    if meta:
        whole["isMeta"] = True
    if attachment is not None:
        whole["attachment"] = {**attachment, "source": MAKER}
    if summary:
        whole["isCompactSummary"] = whole["isVisibleInTranscriptOnly"] = True
    if origin is not None:
        whole["origin"] = origin.to_entry()
    return whole
