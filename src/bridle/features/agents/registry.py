"""The agents that a session can start, and those that work for it."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from bridle.features.agents.builtin import builtin_agents
from bridle.types.agent import AgentDefinition, AgentSource
from bridle.types.services.tasks import Task
from bridle.types.text import one_line

if TYPE_CHECKING:
    from bridle.engine.turn import Turn
    from bridle.features.agents.interfaces import AgentProcesses, Run
    from bridle.types.services.delegation import AgentLaunched, AgentReport, Delegation
    from bridle.types.tool import Tool, Toolbox

_ORDER: tuple[AgentSource, ...] = ("builtin", "plugin", "user", "project", "flag", "host", "managed")
"""Whose definition of a name counts: the later one."""
_LONGEST_LINE = 500
_STOP_PATIENCE = 5.0


class AgentServers(Struct, frozen=True, kw_only=True):
    """The MCP servers that an agent brings along."""

    tools: "Callable[[], Sequence[Tool]]"
    close: Callable[[], Coroutine[Any, Any, None]]


class AgentSetup(Struct, frozen=True, kw_only=True):
    """What agents need from the session."""

    found: Callable[[], Sequence[AgentDefinition]] = tuple
    """The agents of files, plugins and flags, as they are now."""
    resolve_model: Callable[[str, str], str] = lambda name, parent: name
    """The full id of a model that a definition names, in a session whose model is the second."""
    may_choose: Callable[[str, str], bool] = lambda name, parent: True
    """Whether anyone other than the user may choose this model instead of the parent's."""
    add_hooks: Callable[[AgentDefinition, str], Callable[[], None]] = lambda definition, agent_id: (
        lambda: None
    )
    """Adds the hooks of an agent. Returns a function that removes them."""
    open_servers: Callable[[AgentDefinition, str], Awaitable[AgentServers | None]] | None = None
    skill: Callable[[str], Awaitable[str | None]] | None = None
    """The text of a skill that an agent begins with."""
    appended: str = ""
    """The end of every agent's system prompt."""
    interactive: bool = False
    hosted: bool = False
    texts: Mapping[str, Mapping[str, str]] = {}
    """Descriptions and prompts of built-in agents from a lock file; none without one."""

    def builtin(self, env: Mapping[str, str]) -> tuple[AgentDefinition, ...]:
        """The built-in agents; with a lock file those that are in it, with its texts."""
        known = builtin_agents(env, interactive=self.interactive, hosted=self.hosted)
        if not self.texts:
            return known
        return tuple(replace(each, **self.texts[each.name]) for each in known if each.name in self.texts)


class AgentRegistry:
    """All agents of one session, at every depth."""

    def __init__(self, setup: AgentSetup, env: Mapping[str, str]) -> None:
        self.setup = setup
        self.env = env
        self.offered: tuple[AgentDefinition, ...] = ()
        """Those that the host brought."""
        self.running: dict[str, Run] = {}
        self.beside: dict[str, asyncio.Task[None]] = {}
        """Agents in the background, by id."""
        self.lead: Turn | None = None
        """The newest turn of the main thread that started an agent. An agent that is resumed works for it."""
        self.watchers: dict[str, set[str]] = {}
        """Who wants to know when an agent has ended, by the agent's id."""
        self.processes: AgentProcesses | None = None
        """Those that have processes of their own, where teammates may."""
        self.workers: Toolbox | None = None
        """The tools of agents, where the main thread has fewer because it only leads."""
        self._cleaning: set[asyncio.Task[object]] = set()

    def clean_later(self, work: Coroutine[Any, Any, object]) -> None:
        """Run the clean-up of an agent in the background. Only the end of the session waits for it."""
        task = asyncio.create_task(work)
        self._cleaning.add(task)
        task.add_done_callback(self._cleaning.discard)

    async def clean_up(self) -> None:
        """Wait for all clean-ups."""
        if self._cleaning:
            await asyncio.wait(self._cleaning, timeout=_STOP_PATIENCE)


class Agents:
    """The agents of a session as one of its threads sees them; closed with the session."""

    def __init__(
        self, registry: AgentRegistry, *, depth: int = 0, allowed: tuple[str, ...] | None = None
    ) -> None:
        self.registry = registry
        self.depth = depth
        """The depth of this thread; 0 for the main one."""
        self._allowed = allowed
        """The only types that this thread may start; None for all."""

    def below(self, allowed: tuple[str, ...] | None) -> "Agents":
        """The agents that an agent of this thread can start."""
        return Agents(self.registry, depth=self.depth + 1, allowed=allowed)

    def definitions(self) -> tuple[AgentDefinition, ...]:
        """All agent types, read again. Of two with one name the one with the higher precedence is taken."""
        registry, setup = self.registry, self.registry.setup
        known: dict[str, AgentDefinition] = {}
        every = (*setup.builtin(registry.env), *setup.found(), *registry.offered)
        for definition in sorted(every, key=lambda each: _ORDER.index(each.source)):
            known[definition.name] = definition
        if self._allowed is None:
            return tuple(known.values())
        return tuple(each for each in known.values() if each.name in self._allowed)

    def find(self, name: str) -> AgentDefinition | None:
        return next((each for each in self.definitions() if each.name == name), None)

    def listing(self, without: Collection[str] = ()) -> str | None:
        """The list of agent types for the model, `without` those that rules deny."""
        chosen = (each for each in self.definitions() if each.listed and each.name not in without)
        lines = [f"- {each.name}: {_short(each.description)}" for each in chosen]
        return "# Agent types\n" + "\n".join(lines) if lines else None

    def take_from_host(self, agents: Mapping[str, Any]) -> tuple[str, ...]:
        """Know the agents that a host brings; a sentence about each that cannot be used."""
        from bridle.features.agents.definitions import read_agents

        self.registry.offered, problems = read_agents(agents, "host")
        return problems

    def running(self) -> tuple[Task, ...]:
        """The running agents."""
        return tuple(run.task for run in self.registry.running.values())

    async def run(self, turn: "Turn", delegation: "Delegation", *, call_id: str) -> "AgentReport":
        """Let an agent do something; in the background only its start is waited for.

        Raises:
            ToolError: there is no such agent, it may not be started, or it could not finish.
        """
        # With the first agent comes all that only agents need.
        from bridle.features.agents.start import start

        if self.depth == 0:
            self.registry.lead = turn
        return await start(self, turn, delegation, call_id=call_id)

    async def resume(self, turn: "Turn", agent_id: str, prompt: str, *, call_id: str) -> "AgentLaunched":
        """Resume an agent that has ended with another prompt, in the background.

        Raises:
            ToolError: there is no such agent, it still runs, or it cannot be resumed.
        """
        from bridle.features.agents.start import resume

        # It works for the main thread again, also if another agent wrote to it.
        root = self if self.depth == 0 else Agents(self.registry)
        return await resume(root, self.registry.lead or turn, agent_id, prompt, call_id=call_id)

    async def stop(self, agent_id: str) -> None:
        """End one agent that works in the background; harmless when it has ended."""
        if (task := self.registry.beside.get(agent_id)) is not None:
            task.cancel()
            await asyncio.wait([task], timeout=_STOP_PATIENCE)
        elif self.registry.processes is not None:
            await self.registry.processes.end(agent_id)

    async def stop_all(self) -> int:
        """End all agents in the background. Returns how many there were."""
        tasks = tuple(self.registry.beside.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_STOP_PATIENCE)
        idle = 0 if self.registry.processes is None else await self.registry.processes.end_idle()
        return len(tasks) + idle

    def move_to_background(self, call_id: str | None = None) -> int:
        """Move agents in the foreground, or that of one call, to the background. Returns how many moved."""
        moved = [
            run
            for run in self.registry.running.values()
            if call_id in (None, run.work.call_id) and run.work.depth == 1 and run.move_to_background()
        ]
        return len(moved)

    def interrupt(self) -> int:
        """Begin to end all agents in the background without notifications. Returns how many there are."""
        for agent_id, task in self.registry.beside.items():
            self.registry.running[agent_id].hush()
            task.cancel()
        return len(self.registry.beside)

    async def close(self) -> None:
        """End all agents."""
        await self.stop_all()
        await self.registry.clean_up()


def _short(text: str) -> str:
    return one_line(" ".join(text.split()), _LONGEST_LINE)
