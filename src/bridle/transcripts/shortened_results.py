"""What was shortened or left out after it had been sent: a resume must send the same bytes again.

Results of tools are shortened to make room; images and documents that a service rejects are left out.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from bridle.transcripts.session import Session
from bridle.types.block import text_block
from bridle.types.entry import ConversationEntry

REPLACED = "content-replacement"
"""The kind of line that says what stands in place of a result; other programs write it too."""
STRIPPED = "bridle-stripped-media"
"""The kind of line that names the entries whose images and PDFs are left out; the newest counts."""
NONE: frozenset[str] = frozenset()
_WORDS = {
    "image": "[An image was removed: the service did not accept it.]",
    "document": "[A document was removed: the service did not accept it.]",
}


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


def strip_media(session: Session) -> bool:
    """Leave out what was not answered yet, or everything where that has none; False if there is nothing."""
    newest = _with_media(_unanswered(session.entries))
    found = newest or _with_media(session.entries)
    if not found:
        return False
    session.rewrite(stripped(session.entries, found))
    session.stripped_media |= frozenset(found)
    uuids = sorted(session.stripped_media)
    session.note({"type": STRIPPED, "sessionId": session.id, "uuids": uuids})
    return True


def stripped(entries: Iterable[ConversationEntry], uuids: Collection[str]) -> list[ConversationEntry]:
    """The entries, with a new object for each one whose media are left out."""
    return [_without_media(entry) if entry["uuid"] in uuids else entry for entry in entries]


def stripped_in(note: Mapping[str, Any]) -> frozenset[str]:
    """The entries that a line names; what makes no sense is passed over."""
    uuids: Any = note.get("uuids")
    return frozenset(each for each in uuids if isinstance(each, str)) if isinstance(uuids, list) else NONE


def without_media(entries: Iterable[ConversationEntry]) -> list[ConversationEntry]:
    """The entries with no image and no document in them."""
    return [_without_media(entry) if _has_media(entry) else entry for entry in entries]


def _unanswered(entries: list[ConversationEntry]) -> list[ConversationEntry]:
    """What stands behind the last answer of a model: no service has accepted it yet."""
    last = -1
    for index, entry in enumerate(entries):
        if entry["type"] == "assistant" and entry["message"].get("model") != "<synthetic>":
            last = index
    return entries[last + 1 :]


def _with_media(entries: Iterable[ConversationEntry]) -> list[str]:
    return [entry["uuid"] for entry in entries if _has_media(entry)]


def _has_media(entry: ConversationEntry) -> bool:
    if entry["type"] != "user" or isinstance(content := entry["message"]["content"], str):
        return False
    return any(_is_media(block) or any(map(_is_media, _inside(block))) for block in content)


def _without_media(entry: ConversationEntry) -> ConversationEntry:
    if entry["type"] != "user" or isinstance(content := entry["message"]["content"], str):
        return entry
    blocks: list[Any] = [_without_block(block) for block in content]
    return {**entry, "message": {**entry["message"], "content": blocks}}


def _without_block(block: Any) -> Any:
    if _is_media(block):
        return text_block(_WORDS[block["type"]])
    if not any(map(_is_media, _inside(block))):
        return block
    return {**block, "content": [_without_block(each) for each in _inside(block)]}


def _is_media(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in _WORDS


def _inside(block: Any) -> list[Any]:
    content = block.get("content") if isinstance(block, dict) and block.get("type") == "tool_result" else None
    return content if isinstance(content, list) else []
