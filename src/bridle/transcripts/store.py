"""Begins sessions, and knows where they are kept."""

import os
import time
from collections.abc import Callable, Mapping

from msgspec import Struct

from bridle.host.paths import project_dir, projects_dir
from bridle.transcripts.line import is_uuid
from bridle.transcripts.session import Session
from bridle.transcripts.transcript import Follow, NoTranscript, Transcript, Writer
from bridle.types.errors import SessionError
from bridle.types.ids import new_uuid

INTERACTIVE = "cli"


class TranscriptPath(Struct, frozen=True, kw_only=True):
    """Where a session works, and how it is kept."""

    cwd: str
    env: Mapping[str, str]
    warn: Callable[[str], None]
    """Called once when the transcript cannot be written."""
    git_branch: str = ""
    entrypoint: str = INTERACTIVE
    persist: bool = True
    follow: Follow | None = None
    """Called with every line of the transcript once it is written."""
    clock: Callable[[], float] = time.time


def begin(place: TranscriptPath, *, session_id: str | None = None) -> Session:
    """A new session; its file is made by the first entry.

    Raises:
        SessionError: the id is not a UUID, or some conversation has it.
    """
    session_id = fresh_id(session_id, place)
    return make_session(
        session_id, place, make_writer(transcript_path(session_id, place.cwd, place.env), place)
    )


def transcript_path(session_id: str, cwd: str, env: Mapping[str, str]) -> str:
    return os.path.join(project_dir(cwd, env), f"{session_id}.jsonl")


def lookup(session_id: str, cwd: str, env: Mapping[str, str]) -> str | None:
    """The transcript with this id: this project's first, then any project's."""
    if not session_id or os.sep in session_id:
        return None
    if os.path.isfile(path := transcript_path(session_id, cwd, env)):
        return path
    try:
        projects = sorted(os.listdir(projects_dir(env)))
    except OSError:
        return None
    paths = (os.path.join(projects_dir(env), project, f"{session_id}.jsonl") for project in projects)
    return next(filter(os.path.isfile, paths), None)


def fresh_id(session_id: str | None, place: TranscriptPath) -> str:
    """An id that no conversation has.

    Raises:
        SessionError: the wish is not a UUID, or some conversation has it.
    """
    if session_id is None:
        return new_uuid()
    if not is_uuid(session_id):
        raise SessionError(f"{session_id!r} is not a session ID: give a UUID, or leave the option out.")
    if lookup(session_id, place.cwd, place.env) is not None:
        raise SessionError(f"Session ID {session_id} is already in use: resume it, or give another one.")
    return session_id


def make_session(session_id: str, place: TranscriptPath, writer: Writer) -> Session:
    """An empty session at a place."""
    return Session(
        session_id,
        writer=writer,
        cwd=place.cwd,
        git_branch=place.git_branch,
        entrypoint=place.entrypoint,
        clock=place.clock,
    )


def make_writer(path: str, place: TranscriptPath) -> Writer:
    """Who writes the transcript of a session at a place."""
    if not place.persist:
        return NoTranscript()
    writer = Transcript(path, warn=place.warn)
    if place.follow is None:
        return writer
    from bridle.transcripts.mirror import MirroredWriter  # Only hosts with a store of their own follow.

    return MirroredWriter(writer, path, place.follow)
