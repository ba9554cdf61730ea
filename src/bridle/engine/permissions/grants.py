"""Approvals beyond one call: rules, a mode, folders; for the session first, then saved."""

from collections.abc import Iterable, Mapping
from typing import Any

from bridle.engine.runtime import Runtime
from bridle.engine.turn import Turn
from bridle.permissions.auto.grants import mode_notice
from bridle.permissions.updates import PERSISTENT, changed_folders, changed_rules, mode_of, read_update
from bridle.transcripts.session import Session
from bridle.types.errors import ConfigError
from bridle.types.event import ModeChanged, Noticed
from bridle.types.permission import Mode, PermissionUpdate


async def grant(turn: Turn, updates: Iterable[Mapping[str, Any]]) -> None:
    """Apply updates to the session and write those that are meant to last; problems are reported."""
    for given in updates:
        try:
            update = read_update(given)
            _apply(turn, update)
        except ValueError as error:
            _warn(turn, f"Ignored a permission update: {error}")
            continue
        if update["destination"] in PERSISTENT:
            await _persist(turn, update)


def set_mode(session: Session, runtime: Runtime, mode: Mode) -> None:
    """Change the mode and tell the other side."""
    if mode != session.state.mode:
        session.swap(mode=mode)
        runtime.channel.emit(ModeChanged(mode))


def _apply(turn: Turn, update: PermissionUpdate) -> None:
    session, workspace = turn.session, turn.runtime.workspace
    match update["type"]:
        case "addRules" | "replaceRules" | "removeRules":
            session.swap(rules=changed_rules(session.state.rules, update))
        case "addDirectories" | "removeDirectories":
            workspace.roots = (workspace.start, *changed_folders(workspace.roots, update)[1:])
        case "setMode":
            mode = mode_of(update)
            if mode not in (*turn.runtime.gate.modes, session.state.mode):
                raise ValueError(f"this session cannot switch to {mode}.")
            if (notice := mode_notice(session.state.mode, mode, session.state.rules)) is not None:
                _warn(turn, notice)
            set_mode(session, turn.runtime, mode)


async def _persist(turn: Turn, update: PermissionUpdate) -> None:
    try:
        await turn.runtime.gate.persist(update)
    except (ConfigError, OSError) as error:
        _warn(turn, f"Could not save the permission; it applies to this session only: {error}")


def _warn(turn: Turn, text: str) -> None:
    turn.runtime.channel.emit(Noticed(text, "warning"))
