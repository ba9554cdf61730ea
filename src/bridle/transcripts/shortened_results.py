"""Tool results that were shortened after they had been sent: a resume must send the same bytes again."""

from collections.abc import Iterable, Mapping
from typing import Any

from bridle.transcripts.session import Session
from bridle.types.entry import ConversationEntry

REPLACED = "content-replacement"
"""The kind of line that says what stands in place of a result; other programs write it too."""


def shorten(session: Session, texts: Mapping[str, str]) -> None:
    """Let each text stand for the result of the call with its id, from the next request on."""
    if not texts:
        return
    session.rewrite(shortened(session.entries, texts))
    replacements = [
        {"kind": "tool-result", "toolUseId": call_id, "replacement": text} for call_id, text in texts.items()
    ]
    session.note({"type": REPLACED, "sessionId": session.id, "replacements": replacements})


def shortened(entries: Iterable[ConversationEntry], texts: Mapping[str, str]) -> list[ConversationEntry]:
    """The entries, with a new object for each one that has a replaced result."""
    return [_shortened(entry, texts) for entry in entries]


def replacements_in(line: Mapping[str, Any]) -> dict[str, str]:
    """What one line of a transcript says about results; what makes no sense is passed over."""
    given = line.get("replacements")
    if line.get("type") != REPLACED or not isinstance(given, list):
        return {}
    found: dict[str, str] = {}
    records: list[Any] = given
    for record in records:
        match record:
            case {"toolUseId": str() as call_id, "replacement": str() as text}:
                found[call_id] = text
            case _:
                pass
    return found


def _shortened(entry: ConversationEntry, texts: Mapping[str, str]) -> ConversationEntry:
    if entry["type"] != "user" or isinstance(content := entry["message"]["content"], str):
        return entry
    if not any(block["type"] == "tool_result" and block["tool_use_id"] in texts for block in content):
        return entry
    blocks: list[Any] = [
        {**block, "content": texts[block["tool_use_id"]]}
        if block["type"] == "tool_result" and block["tool_use_id"] in texts
        else block
        for block in content
    ]
    return {**entry, "message": {**entry["message"], "content": blocks}}
