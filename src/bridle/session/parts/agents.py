"""The agents of a session, put together from what the command line and the settings say."""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.config.load import Config, users_models
from bridle.config.options import SessionOptions
from bridle.config.source_limits import CHANGED
from bridle.engine.agents import Agents, Staff
from bridle.engine.agents.means import AgentServers, Means
from bridle.engine.hook_door import HookDoor
from bridle.providers import catalog
from bridle.session import choices
from bridle.session.base import SessionBase
from bridle.session.parts.teams import member_tools
from bridle.session.setup import Setup
from bridle.transcripts.session import Session
from bridle.types.agent import AgentDefinition
from bridle.types.errors import UsageError
from bridle.types.nearest import did_you_mean
from bridle.types.origin import Origin
from bridle.types.tool import Toolbox
from bridle.types.turn import Prompt

if TYPE_CHECKING:
    from bridle.session.parts.extensions import Extensions

_FILE = Origin(source="file")
_STRICT_MODES = (None, "plan", "dontAsk")
_ALIASES = ("sonnet", "opus", "haiku", "fable")

Found = Callable[[], Sequence[AgentDefinition]]
"""Agents of files and plugins, looked up anew."""


def make_agents(
    setup: Setup,
    hooks: HookDoor,
    *,
    warn: Callable[[str], None],
    found: Found = tuple,
    skill: Callable[[str], Awaitable[str | None]] | None = None,
    toolbox: Toolbox | None = None,
    open_servers: Callable[[AgentDefinition, str], Awaitable[AgentServers | None]] | None = None,
) -> Agents:
    """Whom this session can hand work to; what runs them is imported with the first.

    `toolbox` is what workers have where the main thread only leads.

    Raises:
        UsageError: `--agents` cannot be read.
    """
    given = flag_agents(setup.options)
    as_approved = _Approved(setup, warn)
    return Agents(
        Staff(
            Means(
                found=lambda: (*map(as_approved, found()), *given),
                resolve_model=lambda name, parent: resolve_model(name, parent, setup),
                # An alias stands for a model of the vendor that the parent's is of.
                may_choose=lambda name, parent: name.lower() in _ALIASES or may_choose(name, setup, parent),
                add_hooks=lambda definition, agent_id: _add_hooks(definition, agent_id, setup, hooks),
                open_servers=open_servers,
                skill=skill,
                workers=toolbox
                if setup.agent is not None and coordinator(setup.env) == setup.agent
                else None,
                appended=setup.options.append_subagent_system_prompt or "",
                interactive=is_interactive(setup.options),
                hosted=setup.env.get("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk-"),
            ),
            setup.env,
        )
    )


def open_agents(base: SessionBase, extensions: "Extensions", toolbox: Toolbox) -> tuple[Agents, Toolbox]:
    """Whom a session can hand work to, and its tools, fewer where it is an agent itself."""
    setup = base.setup
    agents = make_agents(
        setup,
        base.hooks,
        warn=base.warn,
        found=extensions.agents.definitions,
        skill=extensions.skill_text,
        toolbox=toolbox,
        open_servers=lambda definition, _: _own_servers(base, definition),
    )
    if setup.agent is None:
        return agents, toolbox
    if setup.member is not None:
        return agents, member_tools(toolbox, setup.agent, setup.member)
    toolbox, allowed = as_agent(toolbox, setup.agent)
    return Agents(agents.staff, allowed=allowed), toolbox


async def _own_servers(base: SessionBase, definition: AgentDefinition) -> AgentServers | None:
    if not definition.mcp_servers:
        return None
    from bridle.session.parts.agent_servers import open_agent_servers

    return await open_agent_servers(base, definition)


def flag_agents(options: SessionOptions) -> tuple[AgentDefinition, ...]:
    """The agents of `--agents`: JSON, or in print mode a file with it.

    Raises:
        UsageError: it cannot be read, or an agent in it cannot be used.
    """
    if (text := options.agents) is None:
        return ()
    from bridle.engine.agents.reading import read_agents

    if not text.lstrip().startswith("{"):
        try:
            with open(os.path.expanduser(text), encoding="utf-8") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--agents takes a JSON object or a file with one: {error}") from error
    try:
        values = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise UsageError(f"--agents is not a JSON object: {error}") from error
    agents, problems = read_agents(values, "flag")
    if problems:
        raise UsageError(f"--agents: {problems[0]}")
    return agents


def main_agent(
    options: SessionOptions,
    config: Config,
    env: Mapping[str, str],
    *,
    found: Found = tuple,
    proposed: Sequence[str] = (),
) -> AgentDefinition | None:
    """The agent that the main thread is to be, by flag or setting, else the first that plugins proposed.

    Raises:
        UsageError: the flag names one that is not there.
    """
    flagged = options.agent
    named = flagged or config.raw.get("agent")
    if not named and (leader := coordinator(env)) is not None:
        return leader
    names = (named,) if isinstance(named, str) and named else tuple(proposed)
    if not names:
        return None
    given = flag_agents(options)
    means = Means(found=lambda: (*found(), *given), interactive=is_interactive(options))
    agents = Agents(Staff(means, env))
    known = (agents.find(name) for name in names)
    if (definition := next((each for each in known if each is not None), None)) is not None:
        return definition
    if flagged is None:
        return None
    names = [each.name for each in agents.definitions()]
    hint = did_you_mean(str(named), names) or f"; there are {', '.join(names)}"
    raise UsageError(f"--agent: unknown agent {named!r}{hint}")


def coordinator(env: Mapping[str, str]) -> AgentDefinition | None:
    """The agent that only leads others, where a variable asks for it."""
    if "CLAUDE_CODE_COORDINATOR_MODE" not in env:
        return None
    from bridle.engine.teams.coordinator import COORDINATOR
    from bridle.engine.teams.team import is_coordinating

    return COORDINATOR if is_coordinating(env) else None


def as_agent(toolbox: Toolbox, definition: AgentDefinition) -> tuple[Toolbox, tuple[str, ...] | None]:
    """The tools of a main thread that is an agent, and the only agents that it may start."""
    from bridle.engine.agents.tools import AgentToolbox, Standing, select

    selection = select(definition, Standing(main=True))
    return AgentToolbox(toolbox, selection.takes), selection.agents


def agent_prompt(definition: AgentDefinition, setup: Setup) -> str:
    """The system prompt of a main thread that is an agent."""
    from bridle.engine.agents.memory import memory_prompt

    return definition.prompt.strip() + memory_prompt(
        definition, cwd=setup.cwd, env=setup.env, trusted=setup.trusted
    )


def with_initial(definition: AgentDefinition | None, prompts: list[Prompt], session: Session) -> list[Prompt]:
    """The prompts with what the agent of the main thread begins with, in a new conversation."""
    if definition is None or not definition.initial_prompt or session.entries:
        return prompts
    if not prompts or not isinstance(text := prompts[0].content, str):
        return [Prompt(content=definition.initial_prompt, origin=_FILE), *prompts]
    first = f"{definition.initial_prompt}\n\n"
    origin = prompts[0].origin
    start, end = origin.words or (0, len(text))
    whose = msgspec.structs.replace(origin, words=(len(first) + start, len(first) + end))
    return [msgspec.structs.replace(prompts[0], content=first + text, origin=whose), *prompts[1:]]


def is_interactive(options: SessionOptions) -> bool:
    """Whether a person is at the terminal."""
    return not (options.print_mode or options.input_format is not None or options.output_format is not None)


def resolve_model(name: str, parent: str, setup: Setup) -> str:
    """The full id of a model that an agent names; where its vendor is another one's, the nearest there is."""
    own = setup.config.raw.get("bridleModels")
    main = catalog.find(parent, own)
    if main.dialect == "offline":
        return parent
    if name.lower() in _ALIASES and main.vendor != "anthropic":
        return catalog.small_model(setup.env, main) if name.lower() == "haiku" else parent
    return catalog.resolve(name, setup.env, own=own)


def may_choose(name: str, setup: Setup, *more: str) -> bool:
    """Whether a project or a model may choose a model: it is on a service that the user's own models are on.

    `more` are models that are in use already.
    """
    options = setup.options
    flags = (options.model, options.fallback_model, options.advisor)
    return name == "inherit" or users_models(setup.config, *flags, setup.model, *more).cover(name)


class _Approved:
    """Leaves out the mode of an agent of the project whose file has changed since it was approved."""

    def __init__(self, setup: Setup, warn: Callable[[str], None]) -> None:
        self._setup = setup
        self._warn = warn
        self._told: set[str] = set()

    def __call__(self, definition: AgentDefinition) -> AgentDefinition:
        approved_content, file = self._setup.config.approved_content, definition.file or ""
        if (
            definition.source != "project"
            or approved_content is None
            or definition.permission_mode in _STRICT_MODES
        ):
            return definition
        if not self._setup.trusted or approved_content.covers_file(file):
            return definition
        if file not in self._told:
            self._told.add(file)
            mode = definition.permission_mode
            self._warn(
                f"the agent {definition.name} runs without its permissionMode {mode}: its file {CHANGED}"
            )
        return msgspec.structs.replace(definition, permission_mode=None)


def _add_hooks(
    definition: AgentDefinition, agent_id: str, setup: Setup, hooks: HookDoor
) -> Callable[[], None]:
    closed = choices.is_closed(setup.options, setup.env)
    if not definition.hooks or closed:
        return lambda: None
    from bridle.hooks.handler import Origin
    from bridle.hooks.table import from_values

    origin = Origin(
        source="agent",
        file=definition.file or "",
        owner=definition.name,
        shared=definition.source == "project",
    )
    return hooks.open().add(from_values(definition.hooks, origin, scope=agent_id).entries)
