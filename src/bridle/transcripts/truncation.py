"""Takes the end off a conversation, or the last compaction back."""

from bridle.transcripts.conversation import blocks_of, is_prompt, speaks
from bridle.transcripts.reader import load_before
from bridle.transcripts.session import Session
from bridle.types.entry import ConversationEntry
from bridle.types.errors import SessionError


def cut_at(
    entries: list[ConversationEntry], uuid: str, *, drops_turn: str | None = None
) -> list[ConversationEntry]:
    """Everything up to and including one entry.

    Raises:
        SessionError: no entry has that uuid, or more than the turn of the prompt `drops_turn` would go.
    """
    place = next((index for index, entry in enumerate(entries) if entry["uuid"] == uuid), None)
    if place is None:
        raise SessionError(f"No message found with message.uuid of: {uuid}")
    if drops_turn is not None:
        _check_turn(entries, place, drops_turn)
    return entries[: place + 1]


def without_leftovers(entries: list[ConversationEntry]) -> list[ConversationEntry]:
    """The entries without an empty answer at the end: only thinking, or only blank text."""
    stop = len(entries)
    while stop and _is_silent(entries[stop - 1]):
        stop -= 1
    same_message = _message_id(entries[stop]) if stop < len(entries) else None
    if stop and same_message is not None and _message_id(entries[stop - 1]) == same_message:
        return entries
    return entries[:stop]


def undo_compaction(session: Session, path: str) -> bool:
    """Go back to the conversation before the newest compaction; False when there was none.

    What was said since the compaction is left behind, in the file and out of the conversation.

    Raises:
        OSError: the transcript cannot be read.
    """
    boundary = next(
        (
            entry
            for entry in reversed(session.entries)
            if entry["type"] == "system" and entry["subtype"] == "compact_boundary"
        ),
        None,
    )
    if boundary is None or (leaf := boundary.get("logicalParentUuid")) is None:
        return False
    session.flush()
    session.go_back(load_before(path, leaf))
    return True


def _check_turn(entries: list[ConversationEntry], place: int, prompt: str) -> None:
    turn: str | None = None
    for index, entry in enumerate(entries):
        if entry["type"] == "user" and is_prompt(entry):
            turn = entry["uuid"]
        if index > place and turn != prompt:
            raise SessionError(
                f"Resume rejected by --resume-drops-turn: entry {entry['uuid']} after the cut "
                f"is not part of the turn of {prompt}."
            )


def _is_silent(entry: ConversationEntry) -> bool:
    if entry["type"] != "assistant" or entry.get("isApiErrorMessage"):
        return False
    return not any(map(speaks, blocks_of(entry["message"]["content"])))


def _message_id(entry: ConversationEntry) -> str | None:
    return entry["message"].get("id") if entry["type"] == "assistant" else None
