"""Begins the conversation of a session, or continues one."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from bridle.host.git import repository
from bridle.host.paths import config_home, project_dir
from bridle.session import choices, permission_choices
from bridle.session.base import SessionBase
from bridle.session.setup import Setup
from bridle.transcripts import store
from bridle.transcripts.session import Session
from bridle.transcripts.transcript import Follow
from bridle.types.errors import ConfigError, UsageError
from bridle.types.variables import is_on, own_entrypoint
from bridle.types.workspace import Workspace

if TYPE_CHECKING:
    from bridle.config.load import Config
    from bridle.transcripts.files.checkpoints import FileCheckpoints


def open_conversation(setup: Setup, *, warn: Callable[[str], None], follow: Follow | None = None) -> Session:
    """Begin a conversation, or continue one.

    Raises:
        SessionError: there is no such conversation, or it cannot be opened.
    """
    options, env = setup.options, setup.env
    place = place_of(setup, warn=warn, follow=follow)
    if options.continues:
        session = _continue(setup, place)
    else:
        session = store.begin(place, session_id=options.session_id)
    mode = permission_choices.choose_mode(options, setup.config, env)
    env["CLAUDE_CODE_SESSION_ID"] = session.id
    session.swap(model=setup.model, mode=mode, rules=setup.rules, advisor=setup.advisor)
    if mode == "auto":
        from bridle.permissions.auto.grants import entry_notice

        if (notice := entry_notice(setup.rules)) is not None:
            warn(notice)
    if (name := options.name) is not None:
        _name(session, name)
    return session


def place_of(
    setup: Setup, *, warn: Callable[[str], None], follow: Follow | None = None
) -> store.TranscriptPath:
    """Where the conversations of a session are kept."""
    options, env = setup.options, setup.env
    return store.TranscriptPath(
        cwd=setup.cwd,
        env=env,
        warn=warn,
        git_branch=repository.current_branch(setup.cwd),
        entrypoint=own_entrypoint(env, interactive=options.interactive),
        persist=not (options.no_session_persistence or is_on(env, "CLAUDE_CODE_SKIP_PROMPT_HISTORY")),
        follow=follow,
    )


def storage_of(setup: Setup, session: Session) -> str:
    """Where large outputs go: beside the transcript, or below the temporary folder when there is none."""
    if setup.options.no_session_persistence:
        base = setup.env.get("CLAUDE_CODE_TMPDIR") or setup.env.get("TMPDIR") or "/tmp"
        # No other user can know the name before the folder is there.
        return os.path.join(base, f"bridle-{session.id}")
    return os.path.join(project_dir(setup.cwd, setup.env), session.id)


def transcript_of(setup: Setup, session: Session) -> str | None:
    if setup.options.no_session_persistence:
        return None
    return store.transcript_path(session.id, setup.cwd, setup.env)


def recall_files(session: Session, workspace: Workspace) -> None:
    """A resumed conversation may edit the files that it has read."""
    results = [entry.get("toolUseResult") for entry in session.entries if entry["type"] == "user"]
    if any(results):
        from bridle.tools.files.shown_files import remember

        remember(workspace.files, results)


def _name(session: Session, title: str) -> None:
    session.note({"type": "custom-title", "customTitle": title[:200], "sessionId": session.id})


def _continue(setup: Setup, place: store.TranscriptPath) -> Session:
    """Continue a conversation; without one to continue, a new one begins."""
    from bridle.transcripts import resume

    options = setup.options
    if options.resume is True:
        raise UsageError("--resume needs the id of a conversation in print mode; --continue takes the newest")
    wanted = options.resumed_id
    path = _newest(setup) if wanted is None else resume.find(wanted, setup.cwd, setup.env)
    if path is None:
        return store.begin(place, session_id=options.session_id)
    return resume.resume(
        path,
        place,
        fork=options.fork_session,
        session_id=options.session_id,
        at=options.resume_session_at,
        drops_turn=options.resume_drops_turn,
        team=setup.member is not None,
    )


def _newest(setup: Setup) -> str | None:
    """The newest conversation of the folder; at a terminal one that belongs to a terminal."""
    from bridle.transcripts import resume

    if not setup.options.interactive:
        return resume.newest(setup.cwd, setup.env)
    from bridle.host.jobs import records

    others = records.conversations(config_home(setup.env))
    return resume.newest(setup.cwd, setup.env, interactive=True, without=others)


def checkpoints_of(base: SessionBase) -> "FileCheckpoints | None":
    """Who keeps what files held; the code is imported only where that is wanted."""
    setup, session, workspace = base.setup, base.session, base.workspace
    if not choices.keeps_files(setup.config, setup.env, interactive=setup.options.interactive):
        return None
    from bridle.transcripts.files.checkpoints import CheckpointContext
    from bridle.transcripts.files.file_history import open_checkpoints

    around = CheckpointContext(
        note=session.note,
        roots=lambda: workspace.roots,
        seen=workspace.files.paths,
        env=setup.env,
        cwd=os.path.realpath(session.cwd),
        call=session.newest_call,
        whole=True,
        say=base.warn,
    )
    kept_nowhere = setup.options.no_session_persistence
    return open_checkpoints(session, around, env=setup.env, storage=base.storage if kept_nowhere else None)


def close_conversation(session: Session, setup: Setup) -> None:
    """Close a session; sessions that have not been used for `cleanupPeriodDays` are removed then."""
    session.close()
    kept_nowhere = setup.options.no_session_persistence or setup.member is not None
    if kept_nowhere or choices.is_bare(setup.options, setup.env):
        return
    if setup.options.interactive and session.entries:
        from bridle.session.project_state import note_last_session

        note_last_session(setup.env, setup.cwd, session.last_facts())
    from bridle.transcripts.retention import remove_old_sessions

    removed = remove_old_sessions(setup.env, days=lambda: _days_kept(setup.config))
    if removed:
        from bridle.extensions.pending_events import note_event

        days = _days_kept(setup.config)
        note_event(setup.env, "retention_sweep", removed_count=len(removed), cleanup_period_days=days)
    from bridle.session.migrations import migrate

    try:
        migrate(setup.env, setup.cwd)
    except (ConfigError, OSError):
        pass  # Nothing was marked as done, so the next session tries again; doctor reports the broken file.


def _days_kept(config: "Config") -> int:
    from bridle.config.settings_table import DEFAULTS

    return config.settings.cleanup_period_days or DEFAULTS["cleanupPeriodDays"]
