"""One agent at work: a conversation of its own, driven by the same loop as any other."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from bridle.engine.agents_channel import AgentChannel, AgentView, SharedCheckpoints
from bridle.engine.agents_fork import fork_content
from bridle.engine.agents_log import AgentLog
from bridle.engine.agents_means import Means
from bridle.engine.agents_memory import memory_prompt
from bridle.engine.agents_tools import AgentToolbox, Standing, select
from bridle.engine.agents_worktree import Place, close_place
from bridle.engine.cache_watch import CacheWatch
from bridle.engine.grants import grant
from bridle.engine.loop import run_turn
from bridle.engine.metering import charged_to
from bridle.engine.runtime import Briefing, Limits, Runtime
from bridle.engine.turn import Turn
from bridle.host.files import make_folders
from bridle.sessions.session import Session
from bridle.tools.toolbox import JoinedToolbox
from bridle.types.agent import AgentDefinition
from bridle.types.block import TextBlock, UserBlock, text_block, text_of
from bridle.types.delegation import AgentCompleted
from bridle.types.entry import AssistantEntry
from bridle.types.errors import ToolError
from bridle.types.event import AssistantSaid, Event, FromAgent, TaskProgressed, ToolStarted
from bridle.types.hook import Stop, SubagentStart, SubagentStop
from bridle.types.permission import Mode
from bridle.types.task import Task, TaskStatus, TaskUsage
from bridle.types.tool import Tool, Toolbox
from bridle.types.turn import Outcome, Prompt
from bridle.types.usage import Usage
from bridle.types.workspace import Workspace

if TYPE_CHECKING:
    from bridle.engine.agents import Agents

_LONGEST_RESULT = 100_000
_LEADING: tuple[Mode, ...] = ("bypassPermissions", "acceptEdits", "auto")
"""Modes of a session that its agents keep, whatever their definitions say."""


class Assignment(Struct, frozen=True, kw_only=True):
    """Who does what, and how."""

    agent_id: str
    definition: AgentDefinition
    description: str
    prompt: str
    call_id: str
    name: str | None = None
    model: str
    effort: str | None = None
    background: bool = False
    depth: int = 1
    fork: bool = False
    place: Place | None = None


class AgentRun:
    """An agent from its first request to its report; `lead` is the turn that started it."""

    def __init__(
        self,
        lead: Turn,
        work: Assignment,
        means: Means,
        *,
        agents: "Callable[[tuple[str, ...] | None], Agents]",
        share: Callable[[Iterable[Mapping[str, Any]]], None] = lambda updates: None,
        clean_later: Callable[[Coroutine[Any, Any, object]], None],
        session: Session | None = None,
    ) -> None:
        self.lead = lead
        self.work = work
        self.session = session or begin_session(lead, work)
        self._means = means
        self._agents = agents
        """What this agent starts others with, given the only types that it may start."""
        self._share = share
        self._clean_later = clean_later
        """Runs what must be done after the agent was stopped, without anybody waiting for it."""
        self._log = AgentLog(output_path(lead.runtime, work.agent_id))
        self._began = lead.runtime.clock()
        self._tool_uses = 0
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
        """List the agent among the jobs of the session."""
        _write_meta(self.lead.runtime, self.work)
        self.lead.runtime.workspace.tasks.begin(self.task, stop)

    def hush(self) -> None:
        """Let the end of the agent begin no turn."""
        self.task = msgspec.structs.replace(self.task, hushed=True)

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
            self._end(status, error, done)

    async def _work(self) -> AgentCompleted:
        work, lead = self.work, self.lead
        take_away = self._means.add_hooks(work.definition, work.agent_id)
        servers = None
        if self._means.open_servers is not None and work.definition.mcp_servers:
            servers = await self._means.open_servers(work.definition, work.agent_id)
        try:
            runtime = self._runtime(None if servers is None else servers.tools)
            await self._prepare(runtime)
            outcome = await self._turn(runtime)
            warning = await self._review(runtime)
        except BaseException:
            if work.place is not None:
                self._clean_later(close_place(lead.runtime, work.place))
            raise
        finally:
            take_away()
            if servers is not None:
                self._clean_later(servers.close())
            self.session.close()
            self._log.close()
        kept = work.place is not None and not await close_place(lead.runtime, work.place)
        return self._completed(outcome, warning=warning, kept=kept)

    async def _review(self, runtime: Runtime) -> str | None:
        """What is wrong with its work in the eyes of a reviewer, whom only auto mode has."""
        if self.session.state.mode != "auto":
            return None
        from bridle.engine.agents_handoff import handoff_warning

        return await handoff_warning(self.session, runtime)

    async def _prepare(self, runtime: Runtime) -> None:
        """What stands before the prompt: skills, and what hooks have to say."""
        definition = self.work.definition
        texts = [text for name in definition.skills if (text := self._means.skill(name)) is not None]
        if runtime.hooks.hears("SubagentStart"):
            start = SubagentStart(agent_id=self.work.agent_id, agent_type=definition.name)
            texts += (await runtime.hooks.fire(start)).context
        if texts:
            self.session.say_user([text_block(text) for text in texts], meta=True)

    async def _turn(self, runtime: Runtime) -> Outcome:
        work = self.work
        content: str | list[UserBlock] = work.prompt
        if work.fork:
            lead_cwd = self.lead.runtime.workspace.cwd
            content = fork_content(self.session, work.prompt, parent_cwd=lead_cwd, cwd=runtime.workspace.cwd)
        prompt = Prompt(content=content, verbatim=True)
        if not work.background:
            return await run_turn(self.session, prompt, runtime)
        self._stall_seconds = _stall_seconds(runtime.env)
        async with asyncio.timeout(self._stall_seconds) as self._stall:
            return await run_turn(self.session, prompt, runtime)

    def _runtime(self, extra_tools: Callable[[], Sequence[Tool]] | None) -> Runtime:
        lead, work, definition = self.lead.runtime, self.work, self.work.definition
        base: Toolbox = lead.toolbox if extra_tools is None else JoinedToolbox(lead.toolbox, extra_tools)
        selection = select(
            definition,
            Standing(
                background=work.background,
                planning=self.session.state.mode == "plan",
                may_start=work.depth < most_depth(lead.env),
            ),
        )
        workspace = _workspace(lead, work)
        habits = lead.habits
        if definition.auto_compact_window is not None:
            habits = msgspec.structs.replace(habits, window=definition.auto_compact_window)
        return msgspec.structs.replace(
            lead,
            provider=charged_to(lead.provider, definition.name),
            channel=AgentChannel(
                lead.channel, self._mark, agent_id=work.agent_id, notice=self._notice, agreed=self._agree
            ),
            workspace=workspace,
            toolbox=base if work.fork else AgentToolbox(base, selection.takes),
            briefing=lead.briefing if work.fork else self._briefing(workspace.cwd),
            asking=msgspec.structs.replace(lead.asking, effort=work.effort, task_budget=None),
            hooks=AgentView(
                lead.hooks.for_agent(work.agent_id, definition.name, workspace=workspace),
                self._stopped,
                reminder=definition.reminder,
            ),
            limits=Limits(
                max_turns=definition.max_turns,
                max_budget_usd=lead.limits.max_budget_usd,
                parallel_calls=lead.limits.parallel_calls,
                message_result_chars=lead.limits.message_result_chars,
            ),
            checkpoints=None if lead.checkpoints is None else SharedCheckpoints(lead.checkpoints),
            habits=habits,
            restore=(),
            notes=None,
            errands=None,
            memory=None,
            planner=None,
            watch=CacheWatch(),
            transcript=None if lead.transcript is None else transcript_path(lead, work.agent_id),
            shape=None,
            arrivals=None,
            defers=False,
            agents=self._agents(selection.agents),
        )

    def _briefing(self, cwd: str) -> Briefing:
        definition, lead = self.work.definition, self.lead.runtime
        remembered = memory_prompt(definition, cwd=lead.workspace.start, env=lead.env)
        appended = f"\n\n{self._means.appended}" if self._means.appended else ""
        return lead.briefing.for_agent(
            f"{definition.prompt.strip()}{remembered}{appended}",
            cwd=cwd,
            instructions=not definition.omit_instructions,
        )

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
                self._tool_uses += 1
                self._last_tool = event.tool
                self._log.take(event)
                self.task = msgspec.structs.replace(self.task, usage=self._usage(), last_tool=event.tool)
                self.lead.runtime.workspace.tasks.change(self.task)
                self.lead.runtime.channel.emit(TaskProgressed(self.task))
            case AssistantSaid():
                self._log.take(event)
            case _:
                pass

    async def _agree(self, updates: Iterable[Mapping[str, Any]]) -> None:
        """What somebody agrees to for an agent holds for the session that it works in."""
        runtime = msgspec.structs.replace(self.lead.runtime, persist=None, shape=None)
        await grant(Turn(self.lead.session, self.lead.prompt, runtime), updates)
        self._share(updates)

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
        last = _last_answer(self.session)
        text = (outcome.text if outcome.subtype == "success" else "") or _last_words(self.session)
        if outcome.is_error and outcome.reason not in ("max_turns", "budget_exhausted"):
            so_far = f"\n\nIts last words before that:\n{text}" if text and text != outcome.text else ""
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
            tool_uses=self._tool_uses,
            duration_ms=self._usage().duration_ms,
            tokens=self._usage().tokens,
            usage={} if last is None else last["message"]["usage"],
            model=self.session.state.model,
            partial=partial,
            worktree_path=work.place.path if kept and work.place is not None else None,
            worktree_branch=tree.branch if kept and tree is not None else None,
            warning=warning,
        )

    def _usage(self) -> TaskUsage:
        last = _last_answer(self.session)
        used = Usage() if last is None else Usage.from_api(last["message"]["usage"])
        milliseconds = round((self.lead.runtime.clock() - self._began) * 1000)
        return TaskUsage(used.context + used.output, self._tool_uses, milliseconds)

    def settle(self) -> None:
        """See to it that the job has an end; one that was stopped before its first step has none yet."""
        if self.task.status == "running":
            self._end("killed", None, None)

    def _end(self, status: TaskStatus, error: str | None, done: AgentCompleted | None) -> None:
        result = None if done is None else done.text
        self.task = msgspec.structs.replace(
            self.task, status=status, ended=time.time(), usage=self._usage(), result=result, error=error
        )
        self.lead.runtime.workspace.tasks.change(self.task)


def begin_session(lead: Turn, work: Assignment) -> Session:
    """The conversation of an agent, empty, or for a fork the lead's as it stands."""
    runtime = lead.runtime
    cwd = runtime.workspace.cwd if work.place is None else work.place.path
    session = lead.session.child(work.agent_id, transcript_path(runtime, work.agent_id), cwd=cwd)
    if work.fork:
        session.go_on_from(lead.session)
    take_on_state(session, lead, work)
    return session


def take_on_state(session: Session, lead: Turn, work: Assignment) -> None:
    """Rules, mode and model with which an agent begins."""
    state = lead.session.state
    session.swap(
        model=work.model,
        mode=_mode(lead, work.definition),
        rules=state.rules,
        denials=state.denials,
        thinking=state.thinking,
        measured=state.measured if work.fork else None,
    )


def transcript_path(runtime: Runtime, agent_id: str) -> str:
    return os.path.join(runtime.storage, "subagents", f"agent-{agent_id}.jsonl")


def output_path(runtime: Runtime, agent_id: str) -> str:
    return os.path.join(runtime.storage, "tasks", f"{agent_id}.output")


def most_depth(env: Mapping[str, str]) -> int:
    """How deep agents may start agents."""
    text = env.get("CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH", "")
    return int(text) if text.isdecimal() and int(text) else 3


def _mode(lead: Turn, definition: AgentDefinition) -> Mode:
    current, wanted = lead.session.state.mode, definition.permission_mode
    if wanted is None or current in _LEADING:
        return current
    vouched = lead.runtime.trusted or definition.source != "project" or wanted in ("plan", "dontAsk")
    return wanted if vouched and wanted in lead.runtime.modes else current


def _workspace(lead: Runtime, work: Assignment) -> Workspace:
    """A place of the agent's own; the jobs stay those of the session."""
    before = lead.workspace
    cwd = before.cwd if work.place is None else work.place.path
    start = before.start if work.place is None else work.place.path
    workspace = Workspace(start, tasks=lambda: before.tasks, extra_roots=before.roots[1:])
    workspace.cwd = cwd
    workspace.origins = before.origins if start == before.start else (*before.origins, before.start)
    if work.place is None:
        for path, state in reversed(before.files.newest()):
            workspace.files.note(path, state)
    return workspace


def _last_answer(session: Session) -> AssistantEntry | None:
    """The last answer of the agent itself."""
    for entry in reversed(session.entries):
        if entry["type"] == "assistant" and not entry.get("isApiErrorMessage"):
            return entry if entry.get("agentId") == session.agent_id else None
    return None


def _last_words(session: Session) -> str:
    """The last text that the agent itself has written."""
    for entry in reversed(session.entries):
        if entry.get("agentId") != session.agent_id:
            return ""
        if entry["type"] != "assistant" or entry.get("isApiErrorMessage"):
            continue
        if text := text_of(entry["message"]["content"]).strip():
            return text
    return ""


def _write_meta(runtime: Runtime, work: Assignment) -> None:
    """Keep what a resume must know; without a transcript there is nothing to resume."""
    if runtime.transcript is None:
        return
    meta = {
        "agentType": work.definition.name,
        "description": work.description,
        "toolUseId": work.call_id,
        "model": work.model,
        **({"name": work.name} if work.name else {}),
        **({"worktreePath": work.place.path} if work.place is not None else {}),
    }
    path = os.path.join(runtime.storage, "subagents", f"agent-{work.agent_id}.meta.json")
    try:
        make_folders(os.path.dirname(path), private=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(path, flags, 0o600), "wb") as file:
            file.write(msgspec.json.encode(meta))
    except OSError:
        pass  # The agent works all the same; it only cannot be found again by a later process.


def _stall_seconds(env: Mapping[str, str]) -> float:
    text = env.get("CLAUDE_ASYNC_AGENT_STALL_TIMEOUT_MS", "")
    return int(text) / 1000 if text.isdecimal() and int(text) else 600.0
