"""The hooks of a session, put together from what the command line and the settings say."""

from collections.abc import Callable, Sequence

from bridle.engine.runtime import Runtime
from bridle.engine.session_hooks import Basis, SessionHooks
from bridle.hooks.table import Table
from bridle.providers import catalog
from bridle.session import choices
from bridle.session.setup import Setup
from bridle.sessions.session import Session
from bridle.sessions.store import transcript_path
from bridle.types.hook import Setup as SettingUp
from bridle.types.sandbox import Sandbox
from bridle.types.turn import Prompt


def make_hooks(
    setup: Setup,
    session: Session,
    runtime: Runtime,
    *,
    wake: Callable[[Prompt], None],
    plugins: Sequence[Table] = (),
) -> SessionHooks:
    """What runs the hooks of a session; where only the host may bring some, those of files do not count."""
    closed = choices.is_closed(setup.options, setup.env)
    return SessionHooks(
        session,
        runtime,
        Basis(
            layers=() if closed else setup.config.layers,
            plugins=plugins,
            trusted=setup.trusted,
            vouched=setup.config.vouched,
            transcript_path=transcript_path(session.id, setup.cwd, setup.env),
            agent_type=None if setup.agent is None else setup.agent.name,
            export=setup.env.__setitem__,
            wake=wake,
            sandbox=_boundary(setup, runtime.sandbox),
            reload_skills=lambda: None if runtime.skills is None else runtime.skills.catalog.reload(),
            resolve_model=lambda name: catalog.resolve(
                name, setup.env, own=setup.config.raw.get("bridleModels")
            ),
        ),
    )


def _boundary(setup: Setup, sandbox: Sandbox | None) -> Sandbox | None:
    if sandbox is None:
        return None
    from bridle.config.sandboxing import sandbox_for_programs

    return sandbox_for_programs(setup.config, sandbox)


async def greet(hooks: SessionHooks, setup: Setup, session: Session) -> None:
    """Tell hooks that the session begins, and let them set the project up first where that was asked for."""
    options = setup.options
    if options.init or options.init_only or options.maintenance:
        await hooks.prepare(SettingUp(trigger="maintenance" if options.maintenance else "init"))
    resumed = bool(session.entries)
    await hooks.greet("fork" if resumed and options.fork_session else "resume" if resumed else "startup")
