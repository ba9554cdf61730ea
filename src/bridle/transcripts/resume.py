"""Finds conversations again and continues them."""

import os
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from bridle.host.paths import project_dir
from bridle.transcripts.attachments import entries_of
from bridle.transcripts.conversation import MISSING_RESULT, blocks_of
from bridle.transcripts.cost import Cost, to_note
from bridle.transcripts.deferred_calls import DEFERRED, recall_deferred
from bridle.transcripts.line import is_uuid
from bridle.transcripts.reader import Loaded, load, opening
from bridle.transcripts.session import Session
from bridle.transcripts.shortened_results import STRIPPED, shorten, shortened, stripped, stripped_in
from bridle.transcripts.state_lines import SCHEDULED, SKILLS, recall_scheduled, recall_skills
from bridle.transcripts.store import (
    INTERACTIVE,
    TranscriptPath,
    fresh_id,
    lookup,
    make_session,
    make_writer,
    transcript_path,
)
from bridle.transcripts.transcript import Transcript
from bridle.transcripts.truncation import cut_at, without_leftovers
from bridle.types.block import result_block
from bridle.types.entry import ConversationEntry
from bridle.types.errors import SessionError
from bridle.types.ledger import HELD, PINS, Ledger
from bridle.types.saved_prompt import SAVED_PROMPT, SavedPrompt
from bridle.types.workspace import IN_WORKTREE


def resume(
    path: str,
    place: TranscriptPath,
    *,
    fork: bool = False,
    session_id: str | None = None,
    at: str | None = None,
    drops_turn: str | None = None,
    team: bool = False,
) -> Session:
    """Continue a conversation in its file, or with `fork` in a new one under a new id.

    `at` keeps the history up to that entry; `drops_turn` demands that all the rest is the turn of one prompt.
    `team` is for the conversation of a teammate. Calls that never got a result are answered with an error.

    Raises:
        SessionError: there is no conversation, another process is in it, or it cannot be cut like that.
    """
    if drops_turn is not None and at is None:
        raise SessionError("--resume-drops-turn says what a cut may drop: add --resume-session-at.")
    if fork:
        loaded = _load(path, team=team)
        entries = _kept(loaded, at, drops_turn)
        return _answered(_fork(loaded, entries, session_id, place), loaded)
    writer = make_writer(path, place)
    if isinstance(writer, Transcript):
        writer.claim()
    try:
        loaded = _load(path, team=team)
        entries = _kept(loaded, at, drops_turn)
    except SessionError:
        writer.close()
        raise
    writer.append(loaded.pending)
    session = make_session(loaded.session_id, place, writer)
    session.restore(entries, loaded.cost)
    return _answered(session, loaded)


def find(session_id: str, cwd: str, env: Mapping[str, str]) -> str:
    """The transcript of a session, by its id, a path, its name or a part of that: this project's first.

    Raises:
        SessionError: there is none, or several have the name.
    """
    if session_id.endswith(".jsonl") and os.path.isfile(path := os.path.join(cwd, session_id)):
        return path
    if (found := lookup(session_id, cwd, env)) is not None:
        return found
    if not is_uuid(session_id):
        # Most sessions are resumed by their id.
        from bridle.transcripts.listing import find_by_name, locate

        named = find_by_name(session_id, env, directory=cwd)
        found = None if named is None else locate(named, env, cwd) or locate(named, env)
    if found is None:
        raise _unknown(session_id)
    return found


def newest(
    cwd: str, env: Mapping[str, str], *, interactive: bool = False, without: Collection[str] = ()
) -> str | None:
    """The transcript of this project's newest conversation; `interactive` passes over those of programs.

    Those whose ids are in `without` are passed over, too.
    """
    transcripts = sorted(_transcripts(project_dir(cwd, env)), reverse=True)
    wanted = (path for _, path in transcripts if os.path.basename(path).removesuffix(".jsonl") not in without)
    return next((path for path in wanted if _is_conversation(path, interactive=interactive)), None)


def _transcripts(folder: str) -> Iterator[tuple[int, str]]:
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        try:
            if name.endswith(".jsonl"):
                yield os.stat(path).st_mtime_ns, path
        except OSError:
            continue  # It was deleted in the meantime.


def _is_conversation(path: str, *, interactive: bool) -> bool:
    try:
        first = opening(path)
    except OSError:
        return False
    return first is not None and not (interactive and first.get("entrypoint", INTERACTIVE) != INTERACTIVE)


def _load(path: str, *, team: bool = False) -> Loaded:
    try:
        loaded = load(path, team=team)
    except OSError as error:
        raise SessionError(f"Cannot read {path} ({error.strerror}): check the file and try again.") from error
    if not loaded.entries:
        raise _unknown(loaded.session_id)
    return loaded


def _kept(loaded: Loaded, at: str | None, drops_turn: str | None) -> list[ConversationEntry]:
    entries = loaded.entries if at is None else cut_at(loaded.entries, at, drops_turn=drops_turn)
    return without_leftovers(entries)


def _fork(
    loaded: Loaded, entries: list[ConversationEntry], session_id: str | None, place: TranscriptPath
) -> Session:
    fresh = fresh_id(session_id, place)
    writer = make_writer(transcript_path(fresh, place.cwd, place.env), place)
    rows = _copied(loaded, {entry["uuid"] for entry in entries}, fresh)
    writer.append(rows)
    session = make_session(fresh, place, writer)
    session.restore(entries_of(rows), loaded.cost)
    if loaded.cost != Cost():
        # What it has cost before it was copied is not counted again in sums over all conversations.
        session.note(to_note(loaded.cost, fresh))
    return session


def _copied(loaded: Loaded, kept: set[str], session_id: str) -> list[dict[str, Any]]:
    """The chain up to its last kept entry under another id, with whatever stands between kept entries."""
    last = max((i for i, row in enumerate(loaded.chain) if row["uuid"] in kept), default=-1)
    rows: list[dict[str, Any]] = []
    for row in loaded.chain[: last + 1]:
        rows.append(
            {
                **row,
                "parentUuid": rows[-1]["uuid"] if rows else None,
                "sessionId": session_id,
                "forkedFrom": {"sessionId": loaded.session_id, "messageUuid": row["uuid"]},
            }
        )
    return rows


def _answered(session: Session, loaded: Loaded) -> Session:
    _recall(session, loaded)
    if recall_deferred(session, loaded.notes.get(DEFERRED)):
        return session
    sources = {
        block["id"]: entry["uuid"]
        for entry in session.entries
        if entry["type"] == "assistant"
        for block in blocks_of(entry["message"]["content"])
        if block["type"] == "tool_use"
    }
    for call in session.open_calls():
        session.say_user(
            [result_block(call["id"], MISSING_RESULT, is_error=True)],
            data=f"Error: {MISSING_RESULT}",
            source=sources[call["id"]],
        )
    return session


def _recall(session: Session, loaded: Loaded) -> None:
    """Take over what the lines outside the chain say; a copy of the conversation needs those lines too."""
    forked = session.id != loaded.session_id
    if loaded.replacements:
        if forked:
            shorten(session, loaded.replacements)
        else:
            session.rewrite(shortened(session.entries, loaded.replacements))
    if (left_out := loaded.notes.get(STRIPPED)) is not None:
        session.stripped_media = stripped_in(left_out)
        session.rewrite(stripped(session.entries, session.stripped_media))
        if forked:
            session.note({**left_out, "sessionId": session.id})
    if (pins := loaded.notes.get(PINS)) is not None:
        session.swap(ledger=Ledger.from_note(pins))
        if forked:
            session.note({**pins, "sessionId": session.id})
    if (prompt := loaded.notes.get(SAVED_PROMPT)) is not None:
        session.swap(kept_prompt=SavedPrompt.from_note(prompt))
        if forked:
            session.note({**prompt, "sessionId": session.id})
    if (held := loaded.notes.get(HELD)) is not None:
        session.swap(pinned_items=_ids_in(held))
        if forked:
            session.note({**held, "sessionId": session.id})
    match loaded.notes.get(IN_WORKTREE):
        case {"worktreeSession": {"worktreePath": str() as path}} if not forked:
            session.worktree = path
        case _:
            pass  # It is in none, or the tree is that of the conversation that this is a copy of.
    if (scheduled := loaded.notes.get(SCHEDULED)) is not None and not forked:
        # A copy has none: they would come twice.
        recall_scheduled(session, scheduled)
    if (skills := loaded.notes.get(SKILLS)) is not None:
        recall_skills(session, skills)
        if forked:
            session.note({**skills, "sessionId": session.id})


def _ids_in(note: Mapping[str, Any]) -> frozenset[str]:
    """What a line says is held; what makes no sense is passed over."""
    items: Any = note.get("items")
    return (
        frozenset(item for item in items if isinstance(item, str)) if isinstance(items, list) else frozenset()
    )


def _unknown(session_id: str) -> SessionError:
    return SessionError(f"No conversation found with session ID: {session_id}")
