"""One running agent: a conversation of its own, driven by the same loop as any other."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.engine.assignment import Assignment
from bridle.engine.loop import run_turn
from bridle.engine.runtime import Runtime
from bridle.engine.turn import Turn
from bridle.engine.worktrees import close_agent_worktree, conflict_note
from bridle.features.agents.channel import AgentChannel
from bridle.features.agents.fork import fork_content
from bridle.features.agents.log import AgentLog
from bridle.features.agents.mailbox import Mail, agent_mailbox
from bridle.features.agents.records import output_path, stall_seconds, transcript_path, write_meta
from bridle.features.agents.runtime import AgentParts, agent_runtime
from bridle.features.agents.session import begin_session, last_answer, last_words
from bridle.features.agents.team import IdleCheck, member_words
from bridle.permissions.updates import changed_rules
from bridle.transcripts.session import Session
from bridle.types.block import TextBlock, UserBlock, text_block
from bridle.types.errors import ToolError
from bridle.types.event import AssistantReplied, Event, FromAgent, TaskProgressed, ToolStarted
from bridle.types.hooks.events import Stop, SubagentStart, SubagentStop
from bridle.types.origin import AGENT, HOOK
from bridle.types.permission import Mode, PermissionUpdate
from bridle.types.services.delegation import AgentCompleted
from bridle.types.services.tasks import Task, TaskStatus, TaskUsage
from bridle.types.tool import Tool, Toolbox
from bridle.types.turn import Outcome, Prompt
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from bridle.features.agents.registry import AgentSetup

_LONGEST_RESULT = 100_000
_LEADING: tuple[Mode, ...] = ("bypassPermissions", "acceptEdits", "auto")
"""Modes of a session that its agents keep, whatever their definitions say."""


class AgentRun:
    """An agent from its first request to its report; `lead` is the turn that started it."""

    def __init__(
        self,
        lead: Turn,
        work: Assignment,
        setup: "AgentSetup",
        *,
        share: Callable[[Turn, Iterable[Mapping[str, Any]]], Awaitable[None]],
        clean_later: Callable[[Coroutine[Any, Any, object]], None],
        session: Session | None = None,
        on_task: Callable[[Task], None] | None = None,
        workers: Toolbox | None = None,
    ) -> None:
        self.lead = lead
        self.work = work
        self.session = session or begin_session(lead, work)
        self._setup = setup
        self._workers = workers
        """What it chooses its tools from, where that is not what the lead has."""
        self._share = share
        self._clean_later = clean_later
        """Runs the clean-up after the agent was stopped, in the background."""
        self._on_task = on_task
        """Called when its task changes, where the task is not one of the session."""
        self._log = AgentLog(output_path(lead.runtime, work.agent_id))
        self._began = lead.runtime.clock()
        self._mail = Mail(agent_mailbox(lead.runtime.records.storage, work.agent_id), self.session)
        self.mail: Mail | None = self._mail
        """Where to write to it; None once it takes nothing in any more."""
        self.over = asyncio.Event()
        self.moved = asyncio.Event()
        """Set when it was moved to the background."""
        self._calls: Counter[str] = Counter()
        self._last_tool: str | None = None
        self._stall: asyncio.Timeout | None = None
        self._stall_seconds = 0.0
        self.task = Task(
            id=work.agent_id,
            kind="local_agent",
            description=work.description,
            call_id=work.call_id,
            output_file=self._log.path,
            started=time.time(),
            backgrounded=work.background,
            name=work.name,
            agent_type=work.definition.name,
            prompt=work.prompt,
            depth=work.depth,
            usage=TaskUsage(),
        )

    def begin(self, stop: Callable[[], Awaitable[None]]) -> None:
        """Add the agent to the tasks of the session."""
        write_meta(self.lead, self.work)
        if self._on_task is not None:
            self._on_task(self.task)
        else:
            self.lead.runtime.workspace.tasks.begin(self.task, stop)

    def move_to_background(self) -> bool:
        """Move it to the background. Returns False if it is there already or has ended."""
        if self.task.backgrounded or self.task.status != "running":
            return False
        self.task = msgspec.structs.replace(self.task, backgrounded=True)
        self._tell()
        self.moved.set()
        return True

    def hush(self) -> None:
        """Make the end of the agent start no turn."""
        self.task = msgspec.structs.replace(self.task, hushed=True)

    def take_rules(self, update: PermissionUpdate) -> None:
        """Apply a change of the rules of the session."""
        self.session.swap(rules=changed_rules(self.session.state.rules, update))

    async def report(self) -> AgentCompleted:
        """Work to the end, and leave nothing behind.

        Raises:
            ToolError: the agent could not finish, and why.
        """
        status, error, done = "failed", "It ended unexpectedly.", None
        try:
            done = await self._work()
            status, error = "completed", None
            return done
        except asyncio.CancelledError:
            status, error = "killed", None
            raise
        except TimeoutError:
            error = f"It made no progress for {self._stall_seconds:g} seconds and was stopped."
            raise ToolError(error) from None
        except ToolError as fault:
            error = str(fault)
            raise
        finally:
            self.mail = None
            self._end(status, error, done)

    async def _work(self) -> AgentCompleted:
        work, lead = self.work, self.lead
        take_away = self._setup.add_hooks(work.definition, work.agent_id)
        servers = runtime = None
        try:
            if self._setup.open_servers is not None and work.definition.mcp_servers:
                servers = await self._setup.open_servers(work.definition, work.agent_id)
            runtime = agent_runtime(lead.runtime, work, self._own(None if servers is None else servers.tools))
            await self._prepare(runtime)
            outcome = await self._turn(runtime)
            warning = await self._review(runtime)
        except BaseException:
            if work.place is not None:
                self._clean_later(close_agent_worktree(lead.runtime, work.place))
            raise
        finally:
            take_away()
            if servers is not None:
                self._clean_later(servers.close())
            if runtime is not None:
                self._clean_later(runtime.features.close())
            self.session.close()
            write_meta(lead, work, finished=True)
            self._log.close()
        kept = work.place is not None and not await close_agent_worktree(lead.runtime, work.place)
        conflicts = await conflict_note(lead.runtime, work.place) if kept and work.place else None
        return self._completed(outcome, warning=_joined(warning, conflicts), kept=kept)

    async def _review(self, runtime: Runtime) -> str | None:
        """What the reviewer of auto mode objects to in its work; None for nothing."""
        if self.session.state.mode != "auto":
            return None
        from bridle.features.agents.review import handoff_warning

        return await handoff_warning(self.session, runtime)

    async def _prepare(self, runtime: Runtime) -> None:
        """Put skills and the context of hooks before the prompt."""
        definition = self.work.definition
        skill = self._setup.skill
        found = [] if skill is None else [await skill(name) for name in definition.skills]
        self.session.attach("invoked_skills", [text_block(text) for text in found if text is not None])
        if runtime.hooks.listens_to("SubagentStart"):
            start = SubagentStart(agent_id=self.work.agent_id, agent_type=definition.name)
            said = await runtime.hooks.fire(start)
            self.session.attach_hook_context("SubagentStart", said.context)

    async def _turn(self, runtime: Runtime) -> Outcome:
        work = self.work
        content: str | list[UserBlock] = work.prompt
        if work.fork:
            lead_cwd = self.lead.runtime.workspace.cwd
            content = fork_content(self.session, work.prompt, parent_cwd=lead_cwd, cwd=runtime.workspace.cwd)
        prompt = Prompt(content=content, origin=AGENT, verbatim=True, rules=work.rules)
        if not work.background:
            return await self._run_turns(prompt, runtime)
        self._stall_seconds = stall_seconds(runtime.env)
        async with asyncio.timeout(self._stall_seconds) as self._stall:
            return await self._run_turns(prompt, runtime)

    async def _run_turns(self, prompt: Prompt, runtime: Runtime) -> Outcome:
        """One turn for the task, and more while there is mail or a hook objects."""
        work = self.work
        self._mail.open()
        member = work.name is not None and work.team is not None
        rest = IdleCheck(self.lead, work.name or "", work.team or "") if member else None
        while True:
            outcome = await run_turn(self.session, prompt, runtime)
            await self._mail.settle()
            if outcome.is_error:
                break
            following = self._mail.pop()
            if following is None and rest is not None and (why := await rest.objection()) is not None:
                following = Prompt(content=why, origin=HOOK, meta=True, verbatim=True)
            if (following := following or self._mail.pop()) is None:
                break
            prompt = following
        self.mail = None
        return outcome

    def _own(self, extra_tools: Callable[[], Sequence[Tool]] | None) -> AgentParts:
        channel = AgentChannel(
            self.lead.runtime.channel,
            self._mark,
            agent_id=self.work.agent_id,
            notice=self._notice,
            agreed=self._agree,
        )
        return AgentParts(
            channel=channel,
            stopped=self._stopped,
            toolbox=self._workers,
            extra_tools=extra_tools,
            planning=self.session.state.mode == "plan",
            mode=lambda: self.session.state.mode,
            arrivals=self._mail,
            appended=self._appended(),
        )

    def _appended(self) -> str:
        work = self.work
        words = member_words(work.name, work.team) if work.name and work.team else ""
        return f"{self._setup.appended}{words}"

    def _mark(self, event: Event) -> FromAgent:
        work = self.work
        return FromAgent(
            call_id=work.call_id,
            agent_id=work.agent_id,
            agent_type=work.definition.name,
            description=work.description,
            event=event,
        )

    def _notice(self, event: Event) -> None:
        self._still_alive()
        match event:
            case ToolStarted():
                self._calls[event.tool] += 1
                self._last_tool = event.tool
                self._log.take(event)
                self.task = msgspec.structs.replace(self.task, usage=self._usage(), last_tool=event.tool)
                self._tell()
                if self._on_task is None:
                    self.lead.runtime.channel.emit(TaskProgressed(self.task))
            case AssistantReplied():
                self._log.take(event)
            case _:
                pass

    async def _agree(self, updates: Iterable[Mapping[str, Any]]) -> None:
        """What the user allows for an agent applies to the session that it works in."""
        await self._share(self.lead, updates)

    def _still_alive(self) -> None:
        if self._stall is not None and not self._stall.expired():
            self._stall.reschedule(asyncio.get_running_loop().time() + self._stall_seconds)

    def _stopped(self, stop: Stop) -> SubagentStop:
        return SubagentStop(
            active=stop.active,
            agent_id=self.work.agent_id,
            agent_type=self.work.definition.name,
            agent_transcript_path=transcript_path(self.lead.runtime, self.work.agent_id),
            last_message=stop.last_message,
            background_tasks=stop.background_tasks,
            session_crons=stop.session_crons,
        )

    def _completed(self, outcome: Outcome, *, warning: str | None, kept: bool) -> AgentCompleted:
        work = self.work
        last = last_answer(self.session)
        text = (outcome.text if outcome.subtype == "success" else "") or last_words(self.session)
        if outcome.is_error and outcome.reason not in ("max_turns", "budget_exhausted"):
            so_far = f"\n\nIts last message:\n{text}" if text and text != outcome.text else ""
            why = "; ".join(outcome.errors) or outcome.text
            raise ToolError(f"The agent could not finish: {why}{so_far[:_LONGEST_RESULT]}")
        partial = None
        if outcome.reason == "max_turns":
            partial = f"The agent reached its limit of {work.definition.max_turns} turns before it was done."
        elif outcome.is_error:
            partial = f"The agent was stopped before it was done: {'; '.join(outcome.errors)}."
        content: list[TextBlock] = [text_block(text)] if text else []
        tree = work.place.tree if work.place is not None else None
        return AgentCompleted(
            agent_id=work.agent_id,
            agent_type=work.definition.name,
            prompt=work.prompt,
            content=content,
            tool_uses=self._calls.total(),
            duration_ms=self._usage().duration_ms,
            tokens=self._usage().tokens,
            usage={} if last is None else last["message"]["usage"],
            model=self.session.state.model,
            partial=partial,
            worktree_path=work.place.path if kept and work.place is not None else None,
            worktree_branch=tree.branch if kept and tree is not None else None,
            warning=warning,
            calls=dict(self._calls),
            lines_added=self.session.work.lines_added,
            lines_removed=self.session.work.lines_removed,
            structured=outcome.structured_output,
        )

    def _usage(self) -> TaskUsage:
        last = last_answer(self.session)
        used = Usage() if last is None else Usage.from_api(last["message"]["usage"])
        milliseconds = round((self.lead.runtime.clock() - self._began) * 1000)
        return TaskUsage(used.context + used.output, self._calls.total(), milliseconds)

    def settle(self) -> None:
        """Make sure that the task is ended, also if it was stopped before its first step."""
        if self.task.status == "running":
            self._end("killed", None, None)

    def _end(self, status: TaskStatus, error: str | None, done: AgentCompleted | None) -> None:
        result = None if done is None else done.text
        self.task = msgspec.structs.replace(
            self.task, status=status, ended=time.time(), usage=self._usage(), result=result, error=error
        )
        self._tell()

    def _tell(self) -> None:
        """Report the current state of the task."""
        if self._on_task is not None:
            self._on_task(self.task)
        else:
            self.lead.runtime.workspace.tasks.change(self.task)


def _joined(*notes: str | None) -> str | None:
    return "\n".join(note for note in notes if note) or None
