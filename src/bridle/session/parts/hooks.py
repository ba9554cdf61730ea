"""The hooks of a session; what runs them is imported where there are any."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from bridle.engine.hooks.lazy_hooks import LazyHooks
from bridle.engine.runtime import Runtime
from bridle.features.skills.feature import SESSION_SKILLS
from bridle.session import choices
from bridle.session.parts.plugins import OpenPlugins
from bridle.session.setup import Setup
from bridle.transcripts.session import Session
from bridle.types.sandbox import Sandbox
from bridle.types.turn import Prompt

if TYPE_CHECKING:
    from bridle.engine.hooks.session_hooks import SessionHooks


def lazy_hooks(
    setup: Setup,
    session: Session,
    runtime: Callable[[], Runtime],
    *,
    wake: Callable[[Prompt], None],
    warn: Callable[[str], None],
    plugins: OpenPlugins,
) -> LazyHooks:
    """The hooks of a session, made with the first that listens."""
    return LazyHooks(lambda: _make_hooks(setup, session, runtime(), wake=wake, warn=warn, plugins=plugins))


def has_hooks(hooks: LazyHooks, setup: Setup) -> bool:
    """Whether settings, plugins or packages bring any that count."""
    named = hooks.is_open or any(layer.values.get("hooks") for layer in setup.config.layers)
    return named and not choices.is_closed(setup.options, setup.env)


async def fire_session_start(hooks: "SessionHooks", setup: Setup, session: Session) -> None:
    """Tell hooks that the session begins, and let them set the project up first where that was asked for."""
    options = setup.options
    if options.init or options.init_only or options.maintenance:
        from bridle.types.hooks.events import Setup as SettingUp

        await hooks.prepare(SettingUp(trigger="maintenance" if options.maintenance else "init"))
    resumed = bool(session.entries)
    await hooks.fire_session_start(
        "fork" if resumed and options.fork_session else "resume" if resumed else "startup"
    )


def _make_hooks(
    setup: Setup,
    session: Session,
    runtime: Runtime,
    *,
    wake: Callable[[Prompt], None],
    warn: Callable[[str], None],
    plugins: OpenPlugins,
) -> "SessionHooks":
    """What runs hooks; where only the host may bring some, those of files do not count."""
    from bridle.engine.hooks.session_hooks import Basis, SessionHooks
    from bridle.providers import catalog
    from bridle.transcripts.store import transcript_path

    closed = choices.is_closed(setup.options, setup.env)
    return SessionHooks(
        session,
        runtime,
        Basis(
            layers=() if closed else setup.config.layers,
            plugins=plugins.hook_tables(),
            trusted=setup.trusted,
            approved_content=setup.config.approved_content,
            transcript_path=transcript_path(session.id, setup.cwd, setup.env),
            agent_type=None if setup.agent is None else setup.agent.name,
            export=setup.env.__setitem__,
            wake=wake,
            warn=warn,
            sandbox=_boundary(setup, runtime.gate.sandbox),
            reload_skills=lambda: _reload_skills(runtime),
            resolve_model=lambda name: catalog.resolve(
                name, setup.env, own=setup.config.raw.get("bridleModels")
            ),
        ),
    )


def _reload_skills(runtime: Runtime) -> None:
    if (skills := runtime.features.find(SESSION_SKILLS)) is not None:
        skills.catalog.reload()


def _boundary(setup: Setup, sandbox: Sandbox | None) -> Sandbox | None:
    if sandbox is None:
        return None
    from bridle.config.sandbox.settings import sandbox_for_programs

    return sandbox_for_programs(setup.config, sandbox)
