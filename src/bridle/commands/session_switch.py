"""Switches a session to another conversation: a new one, a saved one, or a copy."""

from bridle.commands.context import CommandContext
from bridle.engine.runtime import Records
from bridle.features.worktrees.session import SessionWorktree
from bridle.transcripts import listing, management
from bridle.transcripts import resume as resuming
from bridle.transcripts.origins import origin_folders
from bridle.transcripts.session import Session
from bridle.transcripts.store import begin, transcript_path
from bridle.types.command import Resets
from bridle.types.errors import SessionError, ToolError
from bridle.types.event import ConversationReset, SessionRenamed
from bridle.types.hooks.outcome import EndReason, StartSource
from bridle.types.workspace import FileStates

_LONGEST_NAME = management.LONGEST_TITLE


async def move(wanted: Resets, context: CommandContext, *, prompt_uuid: str | None = None) -> str:
    """Switch to the chosen conversation; returns the message for the user.

    Raises:
        SessionError: there is no such conversation, or another process is in it.
    """
    session = context.session
    if wanted.session_id == session.id:
        return "You are in that conversation."
    ending: EndReason = "clear" if wanted.trigger == "clear" else "resume"
    beginning: StartSource = "clear" if wanted.trigger == "clear" else "resume"
    path, other = _open(wanted, context)
    await context.hooks.fire_session_end(ending)
    before = session.id
    session.become(other)
    _follow(context, before, path)
    place = _go_to_worktree(context)
    context.runtime.channel.emit(
        ConversationReset(
            before=before, session_id=session.id, trigger=wanted.trigger, prompt_uuid=prompt_uuid
        )
    )
    if wanted.name is not None:
        name_session(wanted.name, context)
    await context.hooks.fire_session_start(beginning)
    return "" if wanted.session_id is None else f"Continuing {_titled(context)}.{place}"


def name_session(name: str, context: CommandContext) -> str:
    """Give the conversation a name, and return it as it was kept."""
    title = " ".join(name.split())[:_LONGEST_NAME]
    session = context.session
    session.note({"type": "custom-title", "customTitle": title, "sessionId": session.id})
    context.runtime.channel.emit(SessionRenamed(title))
    return title


def _open(wanted: Resets, context: CommandContext) -> tuple[str, Session]:
    """The file of the conversation, and the conversation."""
    place = context.place
    if wanted.session_id is None:
        fresh = begin(place)
        return transcript_path(fresh.id, place.cwd, place.env), fresh
    if (path := listing.locate(wanted.session_id, place.env)) is None:
        raise SessionError(f"No conversation with id {wanted.session_id}. /resume lists all.")
    return path, resuming.resume(path, place)


def _follow(context: CommandContext, before: str, path: str) -> None:
    """Bring what knows the old conversation by its id up to the new one."""
    session, runtime = context.session, context.runtime
    kept = context.place.persist
    asking, old = runtime.asking, runtime.records
    user = None if asking.user_id is None else asking.user_id.replace(before, session.id)
    context.server.change(
        records=Records(
            storage=path.removesuffix(".jsonl") if kept else old.storage.replace(before, session.id),
            earlier=tuple(dict.fromkeys((*origin_folders(session, runtime.env), old.storage, *old.earlier))),
            transcript=path if kept else None,
            checkpoints=context.open_checkpoints(),
        ),
        asking=asking.for_user(user),
    )
    context.hooks.move(path if kept else "")
    workspace = context.workspace
    workspace.files = FileStates()
    workspace.todos = []
    for feature in runtime.features.at("follow"):
        feature.follow()


def _go_to_worktree(context: CommandContext) -> str:
    """Move to the work tree in which the conversation was left; what the user should know of that."""
    session = context.session
    if session.worktree is None:
        return ""
    try:
        visit = SessionWorktree(context.runtime, session).resume_in(session.worktree)
    except ToolError as error:
        return f" Its worktree is unavailable; continuing in {context.workspace.cwd}: {error}"
    if visit is None:
        return ""
    session.say_user(
        f"<system-reminder>\nThe session now works in {visit.path}.\n</system-reminder>", meta=True
    )
    return f" Working in {visit.path}."


def _titled(context: CommandContext) -> str:
    path = context.runtime.records.transcript
    info = None if path is None else listing.read_info(path)
    return f"“{info.summary}”" if info is not None else context.session.id
