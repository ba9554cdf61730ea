"""What the frames of a session say that no event carries."""

from bridle.engine.runtime import Runtime
from bridle.features.agents.feature import AGENTS
from bridle.features.skills.feature import SESSION_SKILLS
from bridle.protocol.init_frame import InitFacts, Inventory
from bridle.session.setup import Setup, may_leave_out
from bridle.transcripts.session import Session
from bridle.types.command import Commands
from bridle.types.services.fast_mode import FAST_MODE
from bridle.types.services.plugins import PLUGINS
from bridle.types.services.session import MEMORY
from bridle.types.variables import is_on


def facts_of(setup: Setup, session: Session) -> InitFacts:
    """The facts of the init message."""
    left_out, ways = _left_out(setup)
    return InitFacts(
        left_out=left_out,
        ways=ways,
        spent=dict(session.spend),
        session_id=session.id,
        api_key_source=key_source(setup),
        output_style=setup.config.settings.output_style or "default",
        betas=setup.options.betas,
    )


def _left_out(setup: Setup) -> tuple[tuple[tuple[str, str], ...], str]:
    if setup.trusted or not may_leave_out(setup):
        return (), ""
    from bridle.session.untrusted import WAYS, left_out

    return left_out(setup), WAYS


def key_source(setup: Setup) -> str:
    """Where the key for the model comes from: a variable, `apiKeyHelper`, `login`, or `none`."""
    env = setup.env
    if env.get("ANTHROPIC_API_KEY") and "/" not in setup.model:
        return "ANTHROPIC_API_KEY"
    if env.get("ANTHROPIC_AUTH_TOKEN") and "/" not in setup.model:
        return "none"
    from bridle.providers.model_listing import Choice, offer

    own = setup.config.raw.get("bridleModels") or {}
    line = offer(setup.model, Choice(settings=setup.config.settings, own=own, env=env))
    return line.key_source or "none"


def command_names(commands: Commands) -> tuple[list[str], list[str]]:
    """The names of commands that work everywhere, and of those that need a terminal."""
    shown = [each for each in commands.all() if not each.hidden]
    return [each.name for each in shown if not each.screen_only], [
        each.name for each in shown if each.screen_only
    ]


def inventory_of(runtime: Runtime | None) -> Inventory:
    """What the session has besides its tools, as it stands now."""
    if runtime is None:
        return Inventory()
    agents = runtime.features.find(AGENTS)
    servers = runtime.servers.status()
    plugins, skills = runtime.features.find(PLUGINS), runtime.features.find(SESSION_SKILLS)
    fast = runtime.features.find(FAST_MODE)
    everywhere, terminal = command_names(runtime.commands)
    return Inventory(
        commands=everywhere,
        terminal_commands=terminal,
        skills=() if skills is None else skills.shown(),
        servers=[{"name": each.name, "status": each.status, "source": each.source} for each in servers],
        agents=() if agents is None else [each.name for each in agents.definitions()],
        plugins=() if plugins is None else plugins.listing(),
        plugin_errors=() if plugins is None else plugins.faults(),
        fast_mode=None if fast is None else fast.state,
        start=runtime.workspace.start,
        folders=runtime.workspace.roots[1:],
        memory=runtime.features.find(MEMORY),
    )


def tells_agent_text(setup: Setup, runtime: Runtime | None) -> bool:
    """Whether the text of agents is sent too."""
    if setup.options.forward_subagent_text or is_on(setup.env, "CLAUDE_CODE_FORWARD_SUBAGENT_TEXT"):
        return True
    return runtime is not None and runtime.host.offer.forward_subagent_text
