"""The conversation of an agent: how it begins, and the last of what was said in it."""

from bridle.engine.assignment import Assignment
from bridle.engine.turn import Turn
from bridle.features.agents.records import transcript_path
from bridle.transcripts.session import Session
from bridle.types.agent import AgentDefinition
from bridle.types.block import text_of
from bridle.types.entry import AssistantEntry
from bridle.types.permission import Mode

_LEADING: tuple[Mode, ...] = ("bypassPermissions", "acceptEdits", "auto")
"""Modes of a session that its agents keep, whatever their definitions say."""


def begin_session(lead: Turn, work: Assignment) -> Session:
    """The conversation of an agent: empty, or for a fork a copy of the lead's."""
    runtime = lead.runtime
    cwd = runtime.workspace.cwd if work.place is None else work.place.path
    session = lead.session.child(work.agent_id, transcript_path(runtime, work.agent_id), cwd=cwd)
    if work.fork:
        session.go_on_from(lead.session)
    take_on_state(session, lead, work)
    return session


def take_on_state(session: Session, lead: Turn, work: Assignment) -> None:
    """Rules, mode and model with which an agent begins."""
    state = lead.session.state
    session.swap(
        model=work.model,
        mode=begin_mode(lead, work.definition),
        rules=state.rules,
        denials=state.denials,
        thinking=state.thinking,
        measured=state.measured if work.fork else None,
    )


def last_answer(session: Session) -> AssistantEntry | None:
    """The last answer of the agent itself."""
    for entry in reversed(session.entries):
        if entry["type"] == "assistant" and not entry.get("isApiErrorMessage"):
            return entry if entry.get("agentId") == session.agent_id else None
    return None


def last_words(session: Session) -> str:
    """The last text that the agent itself has written."""
    for entry in reversed(session.entries):
        if entry.get("agentId") != session.agent_id:
            return ""
        if entry["type"] != "assistant" or entry.get("isApiErrorMessage"):
            continue
        if text := text_of(entry["message"]["content"]).strip():
            return text
    return ""


def begin_mode(lead: Turn, definition: AgentDefinition) -> Mode:
    """The mode in which an agent of this turn begins."""
    current, wanted = lead.session.state.mode, definition.permission_mode
    if wanted is None or current in _LEADING:
        return current
    approved_content = (
        lead.runtime.gate.trusted or definition.source != "project" or wanted in ("plan", "dontAsk")
    )
    return wanted if approved_content and wanted in lead.runtime.gate.modes else current
