"""Whom a session can hand work to, and everybody who works for it."""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from bridle.context.single_line import one_line
from bridle.engine.agents.builtin import builtin_agents
from bridle.engine.agents.means import Means
from bridle.types.agent import AgentDefinition, AgentSource
from bridle.types.task import Task

if TYPE_CHECKING:
    from bridle.engine.agents.run import AgentRun
    from bridle.engine.teams.crew import Crew
    from bridle.engine.teams.membership import Membership
    from bridle.engine.teams.pane_run import PaneRun
    from bridle.engine.turn import Turn
    from bridle.types.delegation import AgentLaunched, AgentReport, Delegation
    from bridle.types.turn import Prompt

_ORDER: tuple[AgentSource, ...] = ("builtin", "plugin", "user", "project", "flag", "host", "managed")
"""Whose definition of a name counts: the later one."""
_LONGEST_LINE = 500
_STOP_PATIENCE = 5.0


class Staff:
    """Everybody who works for one session, whoever started them."""

    def __init__(self, means: Means, env: Mapping[str, str]) -> None:
        self.means = means
        self.env = env
        self.offered: tuple[AgentDefinition, ...] = ()
        """Those that the host brought."""
        self.running: dict[str, AgentRun | PaneRun] = {}
        self.beside: dict[str, asyncio.Task[None]] = {}
        """Those whom nobody waits for."""
        self.lead: Turn | None = None
        """The newest turn of the main thread that started somebody: who is woken later works for it."""
        self.deliver: Callable[[Prompt], None] | None = None
        """Puts a message before the main thread, where it takes any."""
        self.watchers: dict[str, set[str]] = {}
        """Who wants to know when an agent has ended, by the agent's id."""
        self.door: str | None = None
        """The socket at which other sessions reach this one."""
        self.reply: tuple[str, str] | None = None
        """Where sessions on other machines reach this one, and the name by which it is shared, if it is."""
        self.crew: Crew | None = None
        """Those that have processes of their own, where teammates may."""
        self.membership: Membership | None = None
        """The team that this whole process is a member of, where it is one."""
        self._cleaning: set[asyncio.Task[object]] = set()

    def clean_later(self, work: Coroutine[Any, Any, object]) -> None:
        """Do something after an agent that nobody need wait for, except the end of the session."""
        task = asyncio.create_task(work)
        self._cleaning.add(task)
        task.add_done_callback(self._cleaning.discard)

    async def clean_up(self) -> None:
        """Let what is being cleaned up come to its end."""
        if self._cleaning:
            await asyncio.wait(self._cleaning, timeout=_STOP_PATIENCE)


class Agents:
    """The agents of a session as one of its threads sees them; closed with the session."""

    def __init__(self, staff: Staff, *, depth: int = 0, allowed: tuple[str, ...] | None = None) -> None:
        self.staff = staff
        self.depth = depth
        """How many agents stand between this thread and the main one."""
        self._allowed = allowed
        """The only types that this thread may start; None for all."""

    def below(self, allowed: tuple[str, ...] | None) -> "Agents":
        """The same for an agent that this thread starts."""
        return Agents(self.staff, depth=self.depth + 1, allowed=allowed)

    def definitions(self) -> tuple[AgentDefinition, ...]:
        """Everybody who can be named, looked up anew; of two with one name the more important one."""
        staff, means = self.staff, self.staff.means
        known: dict[str, AgentDefinition] = {}
        builtin = builtin_agents(staff.env, interactive=means.interactive, hosted=means.hosted)
        every = (*builtin, *means.found(), *staff.offered)
        for definition in sorted(every, key=lambda each: _ORDER.index(each.source)):
            known[definition.name] = definition
        if self._allowed is None:
            return tuple(known.values())
        return tuple(each for each in known.values() if each.name in self._allowed)

    def find(self, name: str) -> AgentDefinition | None:
        return next((each for each in self.definitions() if each.name == name), None)

    def listing(self, without: Collection[str] = ()) -> str | None:
        """What the model is told of whom it can hand work to, `without` those that rules keep away."""
        chosen = (each for each in self.definitions() if each.listed and each.name not in without)
        lines = [f"- {each.name}: {_short(each.description)}" for each in chosen]
        return "# Agent types\n" + "\n".join(lines) if lines else None

    def take_from_host(self, agents: Mapping[str, Any]) -> tuple[str, ...]:
        """Know the agents that a host brings; a sentence about each that cannot be used."""
        from bridle.engine.agents.reading import read_agents

        self.staff.offered, problems = read_agents(agents, "host")
        return problems

    def running(self) -> tuple[Task, ...]:
        """The agents at work, as they stand now."""
        return tuple(run.task for run in self.staff.running.values())

    async def run(self, turn: "Turn", delegation: "Delegation", *, call_id: str) -> "AgentReport":
        """Let an agent do something; in the background only its start is waited for.

        Raises:
            ToolError: there is no such agent, it may not be started, or it could not finish.
        """
        # With the first agent comes all that only agents need.
        from bridle.engine.agents.start import start

        if self.depth == 0:
            self.staff.lead = turn
        return await start(self, turn, delegation, call_id=call_id)

    async def resume(self, turn: "Turn", agent_id: str, prompt: str, *, call_id: str) -> "AgentLaunched":
        """Let an agent that has ended go on with another prompt, in the background.

        Raises:
            ToolError: there is no such agent, it still runs, or it cannot go on.
        """
        from bridle.engine.agents.start import resume

        # Whoever writes to it, it works for the main thread again.
        root = self if self.depth == 0 else Agents(self.staff)
        return await resume(root, self.staff.lead or turn, agent_id, prompt, call_id=call_id)

    async def stop(self, agent_id: str) -> None:
        """End one agent that works in the background; harmless when it has ended."""
        if (task := self.staff.beside.get(agent_id)) is not None:
            task.cancel()
            await asyncio.wait([task], timeout=_STOP_PATIENCE)
        elif self.staff.crew is not None:
            await self.staff.crew.end(agent_id)

    async def stop_all(self) -> int:
        """End every agent that works in the background; how many there were."""
        tasks = tuple(self.staff.beside.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_STOP_PATIENCE)
        idle = 0 if self.staff.crew is None else await self.staff.crew.end_idle()
        return len(tasks) + idle

    def move_to_background(self, agent_id: str | None = None) -> int:
        """Let agents that somebody waits for, or one of them, go on beside the conversation; how many did."""
        moved = [
            run
            for run in self.staff.running.values()
            if agent_id in (None, run.work.agent_id) and run.work.depth == 1 and run.move_to_background()
        ]
        return len(moved)

    def interrupt(self) -> int:
        """Begin to end every agent in the background, because the user wants quiet; how many there are."""
        for agent_id, task in self.staff.beside.items():
            self.staff.running[agent_id].hush()
            task.cancel()
        return len(self.staff.beside)

    async def close(self) -> None:
        """End everybody."""
        await self.stop_all()
        await self.staff.clean_up()


def _short(text: str) -> str:
    return one_line(" ".join(text.split()), _LONGEST_LINE)
