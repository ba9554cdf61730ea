"""What outlives a turn: memory, notes, plans, budgets, and the work in the background that keeps them."""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from bridle.context.memory_place import INDEX, is_enabled, memory_folder
from bridle.context.window import read_window
from bridle.engine.runtime import Errands, Notes, Runtime
from bridle.session.choices import is_bare, is_closed
from bridle.session.setup import Setup
from bridle.transcripts.session import Session
from bridle.types.errors import UsageError
from bridle.types.turn import Outcome
from bridle.types.variables import is_off

if TYPE_CHECKING:
    from bridle.engine.errands import Errand

_AWAY_SECONDS = 300.0
_IDLE_SECONDS = 240.0
"""Shortly before the service forgets the conversation, while a summary is still cheap."""


def memory_of(setup: Setup) -> str | None:
    """The folder of what is remembered, where that is wanted."""
    settings, env = setup.config.settings, setup.env
    bare = is_closed(setup.options, env) or setup.member is not None
    if bare or not is_enabled(env, settings.auto_memory_enabled):
        return None
    return memory_folder(setup.cwd, env, chosen=_chosen_by_user(setup, "autoMemoryDirectory"))


def _chosen_by_user(setup: Setup, key: str) -> str | None:
    """What somebody else than the project says: files there may be written without asking."""
    given = {layer.source: layer.values.get(key) for layer in setup.config.layers}
    found = (given.get(source) for source in ("policySettings", "flagSettings", "userSettings"))
    return next((value for value in found if isinstance(value, str) and value), None)


def memory_listing(folder: str | None) -> Callable[[], str | None]:
    """What the model is told of earlier sessions when a conversation begins."""

    def listing() -> str | None:
        if folder is None or not os.path.exists(os.path.join(folder, INDEX)):
            return None
        from bridle.context.memory import load_memory, memory_text

        return memory_text(folder, load_memory(folder))

    return listing


def compact_at(setup: Setup) -> int | None:
    """The window that somebody chose for compaction; the flag counts more than the setting.

    Raises:
        UsageError: the flag is no window.
    """
    if (given := setup.options.autocompact) is None:
        return setup.config.settings.auto_compact_window
    try:
        return read_window(given)
    except ValueError as error:
        raise UsageError(f"--autocompact: {error}") from error


def end(session: Session, setup: Setup) -> None:
    """Close a session; sessions that have not been used for `cleanupPeriodDays` are removed then."""
    session.close()
    kept_nowhere = setup.options.no_session_persistence or setup.member is not None
    if kept_nowhere or is_bare(setup.options, setup.env):
        return
    from bridle.config.settings_table import DEFAULTS
    from bridle.transcripts.retention import remove_old_sessions

    days = setup.config.settings.cleanup_period_days or DEFAULTS["cleanupPeriodDays"]
    remove_old_sessions(setup.env, days=days)


def notes_of(setup: Setup) -> Notes | None:
    """The running notes of a session at a terminal."""
    if not _works_aside(setup) or not setup.options.interactive:
        return None
    from bridle.engine.session_notes import SessionNotes

    return SessionNotes()


def errands_of(setup: Setup, *, memory: str | None, notes: Notes | None) -> Errands | None:
    """What is done in the background; nothing in print mode, and for hosts only what they ask for."""
    if not _works_aside(setup):
        return None
    if not setup.options.interactive:
        return _for_hosts(setup)
    from bridle.engine.errands import Errands as Queue
    from bridle.engine.session_notes import SessionNotes

    settings, env = setup.config.settings, setup.env
    errands: dict[str, Errand] = {}
    if settings.prompt_suggestion_enabled is not False and not is_off(
        env, "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION"
    ):
        errands["suggestion"] = _imported_when_due(_suggestion)
    if memory is not None:
        errands["memory"] = _imported_when_due(lambda: _remembering(memory))
    if isinstance(notes, SessionNotes):
        errands["notes"] = notes.update
    errands["documents"] = _imported_when_due(_documents)
    if settings.plugin_suggestion_marketplaces:
        errands["plugins"] = _imported_when_due(lambda: _plugin_hints(setup))
    idle: dict[str, tuple[float, Errand]] = {}
    if settings.away_summary_enabled is not False and not is_off(env, "CLAUDE_CODE_ENABLE_AWAY_SUMMARY"):
        idle["recap"] = (_seconds(env, "BRIDLE_AWAY_SECONDS", _AWAY_SECONDS), _imported_when_due(_recap))
    if settings.bridle_idle_compaction:
        seconds = _seconds(env, "BRIDLE_IDLE_SECONDS", _IDLE_SECONDS)
        idle["compaction"] = (seconds, _imported_when_due(_compaction))
    return Queue(errands, idle=idle)


def _imported_when_due(load: "Callable[[], Errand]") -> "Errand":
    """An errand that is loaded when it is run for the first time: the first prompt does not wait for it."""
    loaded: list[Errand] = []

    async def run(session: Session, runtime: Runtime, outcome: Outcome) -> None:
        if not loaded:
            loaded.append(load())
        await loaded[0](session, runtime, outcome)

    return run


def _suggestion() -> "Errand":
    from bridle.engine.suggesting import suggest_prompt

    return suggest_prompt


def _recap() -> "Errand":
    from bridle.engine.suggesting import recap_for_return

    return recap_for_return


def _documents() -> "Errand":
    from bridle.engine.magic_docs import update_documents

    return update_documents


def _plugin_hints(setup: Setup) -> "Errand":
    from bridle.engine.plugin_hints import PluginHints
    from bridle.session.parts.plugins import around_plugins, suggesting_marketplaces

    return PluginHints(around_plugins(setup), suggesting_marketplaces(setup))


def _remembering(folder: str) -> "Errand":
    from bridle.engine.remembering import Remembering

    return Remembering(folder)


def _compaction() -> "Errand":
    from bridle.engine.idling import compact_while_warm

    return compact_while_warm


def _for_hosts(setup: Setup) -> Errands | None:
    options, env, name = setup.options, setup.env, "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION"
    refused = setup.config.settings.prompt_suggestion_enabled is False and not env.get(name)
    if not options.is_hosted or refused or is_off(env, name):
        return None
    from bridle.engine.errands import Errands as Queue
    from bridle.engine.suggesting import suggest_prompt, suggest_when_asked

    return Queue({"suggestion": suggest_prompt if options.prompt_suggestions else suggest_when_asked})


def _works_aside(setup: Setup) -> bool:
    if setup.config.settings.bridle_background_work is False or setup.member is not None:
        return False
    bare = is_closed(setup.options, setup.env)
    return not bare and not is_off(setup.env, "BRIDLE_BACKGROUND_WORK")


def _seconds(env: Mapping[str, str], name: str, usual: float) -> float:
    """How long a pause is, for who wants another than the usual one."""
    text = env.get(name, "").strip()
    return float(text) if text.replace(".", "", 1).isdecimal() else usual
