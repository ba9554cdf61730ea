"""Runs a script and answers what it calls: agents, and other workflows."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from bridle.features.workflows.agents import AgentCall
from bridle.features.workflows.attempts import Attempts, Refused
from bridle.features.workflows.journal import call_key
from bridle.features.workflows.options import read_request
from bridle.features.workflows.run_context import RunContext
from bridle.host.background import BackgroundShells
from bridle.host.reaper import Reaper
from bridle.host.scripts.protocol import ScriptCall, ScriptEnd
from bridle.host.scripts.script import Script, open_script
from bridle.types.errors import ToolError

MOST_AGENTS = 1_000
_MOST_NESTED = 256


class _Scene(Struct, frozen=True):
    """A running script."""

    script: Script
    within: str | None
    """The name of a workflow that another one called."""
    called: list[AgentCall]
    """The agents that it has called."""


class Calls:
    """The calls of one run, those of the workflows that it calls included."""

    def __init__(self, context: RunContext, group: asyncio.TaskGroup) -> None:
        self._context = context
        self._log = context.log
        self._attempts = Attempts(context, group)
        self._members: dict[tuple[str, int], AgentCall] = {}
        """Every agent that was ever called, by its key and how many like it came before."""
        self._seen: dict[str, int] = {}
        self._nested = 0
        self._script: asyncio.Task[ScriptEnd] | None = None

    async def run(self, source: str, args: Any) -> ScriptEnd:
        """Run a script to its end, and from its beginning again whenever an agent was restarted."""
        while True:
            self._seen, self._nested = {}, 0
            self._script = asyncio.create_task(self._play(source, args, None))
            try:
                end = await self._script
            except asyncio.CancelledError:
                own = asyncio.current_task()
                if own is None or own.cancelling():
                    raise
            else:
                self._attempts.end(self._members.values())
                return end

    def restart(self, member: AgentCall) -> None:
        """Run an agent that failed once more, although the script has continued without it.

        A promise cannot be settled twice, so the script runs again: what has finished is answered at once,
        and it finds running ones where they are.

        Raises:
            ToolError: the script has ended, or no agent may begin any more.
        """
        if self._script is None or self._script.done():
            raise ToolError("The script has ended. Resume the run when it is over.")
        self._attempts.require_budget()
        self._attempts.put_back()
        self._log.reopen(member)
        name = f"Agent {member.number} ({member.request.label})"
        self._log.begin_again(f"{name} is restarted, and the script runs again.")
        # Another one would disturb the end of its child.
        if not self._script.cancelling():
            self._script.cancel()

    async def _play(self, source: str, args: Any, within: str | None) -> ScriptEnd:
        end = ScriptEnd()
        called: list[AgentCall] = []
        async with (
            open_script(
                source,
                args=args,
                budget=self._context.budget,
                spent=lambda: self._log.spent,
                reaper=self._reaper(),
            ) as script,
            asyncio.TaskGroup() as group,
        ):
            scene = _Scene(script, within, called)
            answers: list[asyncio.Task[None]] = []
            async for event in script.events():
                self._context.on_event(event)
                if isinstance(event, ScriptEnd):
                    end = event
                elif (answer := self._take(scene, event)) is not None:
                    answers.append(group.create_task(answer))
            for each in answers:
                each.cancel()
        self._attempts.end(called)
        return end

    def _take(self, scene: _Scene, call: ScriptCall) -> Coroutine[Any, Any, None] | None:
        """The handler of a call; None where there is none."""
        match call.kind:
            case "phase":
                self._log.open_phase(_titled(str(call.payload.get("title") or ""), scene.within))
            case "log":
                self._log.log(str(call.payload.get("message") or ""))
            case "workflow":
                return self._call_workflow(scene, call)
            case "agent":
                return self._call_agent(scene, call)
        return None

    def _call_agent(self, scene: _Scene, call: ScriptCall) -> Coroutine[Any, Any, None]:
        """Look at a call at once, so that equal ones are counted in their order."""
        try:
            member = self._member(scene, call)
        except ToolError as fault:
            self._log.fault(str(fault) if call.line is None else f"line {call.line}: {fault}")
            return scene.script.fail(call.id, str(fault))
        if (known := self._context.journal.find(member.key, member.occurrence)) is not None:
            if member.live:
                member.replay(known)
                self._log.settle(member)
            return scene.script.answer(call.id, known.result)
        scene.called.append(member)
        return self._answer(scene.script, call.id, self._attempts.begin(member))

    def _member(self, scene: _Scene, call: ScriptCall) -> AgentCall:
        """The agent that a call means: a new one, or where the script runs again that of the same call.

        Raises:
            ToolError: the call makes no sense, or no agent may begin any more.
        """
        number = len(self._members) + 1
        request = read_request(call.payload, self._context.agents, self._attempts.lead, number=number)
        key = call_key(request.prompt, call.payload.get("options") or {})
        occurrence = self._seen.get(key, 0)
        if (member := self._members.get((key, occurrence))) is None:
            if number > MOST_AGENTS:
                raise ToolError(f"A run can have at most {MOST_AGENTS:,} agents.")
            self._attempts.require_budget()
            phase = _titled(request.phase or "", scene.within) or None
            member = AgentCall(number, msgspec.structs.replace(request, phase=phase), key, occurrence)
            self._members[key, occurrence] = member
        self._seen[key] = occurrence + 1
        if member.live:
            self._log.add(member)
        return member

    async def _call_workflow(self, scene: _Scene, call: ScriptCall) -> None:
        try:
            if scene.within is not None:
                raise ToolError("A nested workflow cannot call another workflow.")
            self._nested += 1
            if self._nested > _MOST_NESTED:
                raise ToolError(f"A run can call at most {_MOST_NESTED} workflows.")
            found = await self._context.find(call.payload.get("workflow"))
            end = await self._play(found.source, call.payload.get("args", UNSET), found.name)
            value = value_of(end, within=found.name)
        except ToolError as fault:
            await scene.script.fail(call.id, str(fault))
        else:
            await scene.script.answer(call.id, value)

    async def _answer(self, script: Script, call_id: int, work: asyncio.Task[Any]) -> None:
        # A second run of the script waits for the same work.
        outcome = await asyncio.shield(work)
        if isinstance(outcome, Refused):
            await script.fail(call_id, outcome.reason)
        else:
            await script.answer(call_id, outcome)

    def _reaper(self) -> Reaper | None:
        """The reaper of the session, if it has one."""
        tasks = self._attempts.lead.runtime.workspace.tasks
        return tasks.reaper if isinstance(tasks, BackgroundShells) else None


def value_of(end: ScriptEnd, *, within: str | None = None) -> Any:
    """What a script returned.

    Raises:
        ToolError: it came to no value.
    """
    if end.error is not None:
        where = f" in {within}" if within else ""
        raise ToolError(f"The script failed{where}: {str(end.error).rstrip('.')}.")
    return end.value


def _titled(title: str, within: str | None) -> str:
    """The title of a phase, with the name of the workflow that was called by another one."""
    if within is None:
        return title
    return f"{within}: {title}" if title else within
