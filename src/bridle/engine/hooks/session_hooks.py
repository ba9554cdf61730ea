"""The hooks of one session: who listens, and what they run on."""

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bridle.config.hook_schema import CommandHook
from bridle.config.load import LazyContentApprovals
from bridle.config.sources import SHARED, Layer
from bridle.engine.compaction.cache_state import cache_state
from bridle.engine.hooks.agent_hooks import AgentHooks
from bridle.engine.hooks.conditions import covers
from bridle.engine.hooks.effects import HookEffects
from bridle.engine.hooks.models import ask_model, run_inspector
from bridle.engine.null_parts import NO_SERVERS
from bridle.engine.runtime import Runtime
from bridle.hooks.background import BackgroundHooks
from bridle.hooks.callback import callback_handler, run_function
from bridle.hooks.command import CommandHooks
from bridle.hooks.environment_exports import Exports
from bridle.hooks.file_watch import Change, FileWatch
from bridle.hooks.handler import Failed, FunctionHook, Handler, HookCall, Kind, Reply
from bridle.hooks.http import HttpLimits, http_handler
from bridle.hooks.mcp_tool import CallTool, mcp_tool_handler, tool_caller
from bridle.hooks.model_hooks import RunAgent, agent_handler, prompt_handler
from bridle.hooks.output import cut_into
from bridle.hooks.payload import HookContext
from bridle.hooks.runner import SESSION_END_SECONDS, HookRunner, RunnerContext
from bridle.hooks.table import Entry, Listeners, Table, from_host, from_host_request, from_layers
from bridle.host.file_watch import INTERVAL
from bridle.host.files import make_folders
from bridle.host.reaper import Reaper
from bridle.transcripts.listing import read_info
from bridle.transcripts.session import Session
from bridle.types.hooks.environment import FileChanged
from bridle.types.hooks.events import HookEvent, SessionEnd, SessionStart, Setup, UserPromptSubmit
from bridle.types.hooks.outcome import (
    NOTHING_SAID,
    AgentState,
    AskHost,
    EndReason,
    HookOutcome,
    Hooks,
    StartSource,
)
from bridle.types.origin import HOOK
from bridle.types.sandbox import Sandbox
from bridle.types.turn import Prompt
from bridle.types.workspace import Workspace

_MOST_SHOWN = 500
_LATE = "Output of a background hook:\n{text}"
_LAST_NOTICES = 1.5


class Basis(Struct, frozen=True, kw_only=True):
    """What the hooks of a session stand on besides its runtime."""

    layers: Sequence[Layer] = ()
    plugins: Sequence[Table] = ()
    trusted: bool = True
    approved_content: LazyContentApprovals | None = None
    """What of a trusted folder the user has approved as it is; None where all of it counts."""
    transcript_path: str = ""
    agent_type: str | None = None
    """The agent that the main thread is, if it is one."""
    export: Callable[[str, str], None] = lambda _name, _value: None
    """Sets a variable for later commands."""
    wake: Callable[[Prompt], None] = lambda _: None
    """Starts a turn that no one asked for."""
    sandbox: Sandbox | None = None
    """The boundary that hooks run in too, when the settings say so."""
    resolve_model: Callable[[str], str] = lambda name: name
    """The full id of a model that a hook names."""
    run_agent: RunAgent | None = None
    """Runs agent hooks; without one a small agent with reading tools does."""
    call_tool: CallTool | None = None
    """Calls tools for hooks; without one the servers of the session do."""
    reload_skills: Callable[[], None] = lambda: None
    watch_interval: float = INTERVAL
    warn: Callable[[str], None] = lambda _: None
    """Warns of what goes wrong when the conversation has ended."""


class SessionHooks:
    """Runs the hooks of settings, plugins and host; closed with the session."""

    def __init__(self, session: Session, runtime: Runtime, basis: Basis) -> None:
        self._session = session
        self._parts: Callable[[], Runtime] = lambda: runtime
        self._basis = basis
        self._plugins = basis.plugins
        self._limits = HttpLimits.of(basis.layers, trusted=basis.trusted)
        self._ask_host: AskHost | None = None
        self._take_host_hooks_away: Callable[[], None] = lambda: None
        self._notices: set[asyncio.Task[HookOutcome]] = set()
        self._reported: set[str] = set()
        self._prompt_id: str | None = None
        self._kept_title: tuple[str, str | None] = ("", None)
        """A transcript that was looked into, and the name that it gives the session."""
        self._scratchpads: dict[str, bool] = {}
        """Folders for hooks to leave things in, and whether they could be made."""
        self._ended = False
        self.listeners = Listeners()
        folder = os.path.join(runtime.records.storage, "hooks")
        self._watch = FileWatch(self._note_change, interval=basis.watch_interval)
        self._effects = HookEffects(
            session,
            channel=runtime.channel,
            workspace=runtime.workspace,
            listeners=self.listeners,
            exports=Exports(folder, runtime.env, basis.export),
            watch=self._watch,
            reload_skills=basis.reload_skills,
        )
        self._reaper = Reaper()
        self._commands = CommandHooks(
            project_dir=runtime.workspace.start,
            storage=runtime.records.storage,
            env=lambda: runtime.env,
            reaper=self._reaper,
            sandbox=basis.sandbox,
        )
        self._background = BackgroundHooks(rewake=self._rewake, tell=self._effects.warn, cut=cut_into(folder))
        self._around = self._runner_context(folder)
        self._runner = HookRunner(self.listeners, self._around)
        self.reload(basis.layers)

    def follow(self, parts: Callable[[], Runtime]) -> None:
        """From now on, describe the session to hooks by the parts that it has when an event happens."""
        self._parts = parts

    def listens_to(self, event: str) -> bool:
        return bool(self.listeners.of(event))

    async def fire(self, event: HookEvent) -> HookOutcome:
        return await self.run(self._runner, event)

    def notify(self, event: HookEvent) -> None:
        self.spawn(self._runner, event)

    def collect(self) -> tuple[str, ...]:
        return (*self._effects.collect(), *self._background.collect())

    @property
    def running(self) -> int:
        """How many hooks run in the background."""
        return len(self._background)

    def begin_turn(self, prompt_id: str) -> None:
        self._prompt_id = prompt_id

    def for_agent(
        self,
        agent_id: str,
        agent_type: str,
        *,
        workspace: Workspace | None = None,
        standing: Callable[[], AgentState] | None = None,
    ) -> Hooks:
        def context() -> HookContext:
            place = workspace or self._parts().workspace
            common = replace(self._context(), agent_id=agent_id, agent_type=agent_type, cwd=place.cwd)
            if standing is None:
                return common
            now = standing()
            return replace(common, permission_mode=now.mode, effort=now.effort)

        runner = HookRunner(self.listeners, replace(self._around, context=context))
        return AgentHooks(
            self,
            fire=lambda event: self.run(runner, event),
            notify=lambda event: self.spawn(runner, event),
        )

    def add_host_hooks(self, hooks: Mapping[str, Any], ask: AskHost) -> int:
        """Let callbacks of the host listen; those of an earlier request are replaced."""
        entries, problems = from_host_request(hooks)
        self._take_host_hooks_away()
        self._ask_host = ask
        self._take_host_hooks_away = self.add(entries)
        for problem in problems:
            self._effects.warn(problem)
        return len(entries)

    def add_function(
        self, event: str, hook: FunctionHook, *, matcher: str | None = None
    ) -> Callable[[], None]:
        """Let a function of this process listen; what is returned takes it away again."""
        return self.add([from_host(event, hook, matcher=matcher)])

    def add(self, entries: Iterable[Entry]) -> Callable[[], None]:
        """Let more hooks listen, such as those of a skill; what is returned takes them away again."""
        take_away = self.listeners.add(entries)
        self._effects.watch_files()
        return take_away

    def reload(self, layers: Sequence[Layer], *, plugins: Sequence[Table] | None = None) -> None:
        """Use other settings from the next event on; each problem in them is reported once."""
        trusted = self._basis.trusted
        self._plugins = self._plugins if plugins is None else plugins
        self._limits = HttpLimits.of(layers, trusted=trusted)
        table = from_layers(layers, trusted=trusted, plugins=self._plugins)
        self.listeners.replace(table)
        for problem in map(str, table.problems):
            if problem not in self._reported:
                self._reported.add(problem)
                self._effects.warn(problem)
        self._effects.watch_files()

    async def prepare(self, setup: Setup) -> None:
        """Let hooks set the project up, before the session begins."""
        said = await self.fire(setup)
        self._say(said.context)

    async def fire_session_start(self, source: StartSource) -> None:
        """Fire SessionStart, and add the messages of hooks to the conversation."""
        self._ended = False
        if not self.listens_to("SessionStart"):
            return
        said = await self.fire(self._beginning(source))
        self._say(said.context)
        if said.initial_user_message is not None:
            self._basis.wake(Prompt(content=said.initial_user_message, origin=HOOK))

    async def fire_session_end(self, reason: EndReason = "other") -> None:
        """Tell hooks that the conversation ends, once."""
        if not self._ended:
            self._ended = True
            said = await self.fire(SessionEnd(reason=reason))
            for run in said.runs:
                if run.outcome == "error":
                    words = run.stderr.strip() or f"exit code {run.exit_code}"
                    self._basis.warn(f"A SessionEnd hook failed: {words[:_MOST_SHOWN]}")

    async def late_words(self) -> str | None:
        """What the next hook in the background that may wake the model says, once it has ended."""
        text = await self._background.woken()
        return None if text is None else _LATE.format(text=text)

    async def close(self) -> None:
        """End what hooks left running; hooks that were only notified may finish if they are quick."""
        await self._watch.close()
        if self._notices:
            await asyncio.wait(self._notices, timeout=_LAST_NOTICES)
        left = tuple(self._notices)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self._background.close()
        await self._commands.close()
        await asyncio.to_thread(self._reaper.close)
        for folder in self._scratchpads:
            _remove_if_empty(folder)

    def move(self, transcript_path: str) -> None:
        """The session continues with another conversation, in this file."""
        self._basis = replace(self._basis, transcript_path=transcript_path)

    async def run(self, runner: HookRunner, event: HookEvent) -> HookOutcome:
        """Fire an event, on the main thread or for an agent."""
        said = await runner.fire(self._completed(event))
        if said is not NOTHING_SAID or event.name == "CwdChanged":
            self._effects.take_in(event, said)
        return said

    def spawn(self, runner: HookRunner, event: HookEvent) -> None:
        """Fire an event without waiting for hooks."""
        if self.listens_to(event.name):
            task = asyncio.create_task(self.run(runner, event))
            self._notices.add(task)
            task.add_done_callback(self._notices.discard)

    def _runner_context(self, folder: str) -> RunnerContext:
        runtime = self._parts()
        return RunnerContext(
            handlers=self._handlers(runtime.env),
            context=self._context,
            cut=cut_into(folder),
            covers=lambda rule, tool, input: covers(rule, tool, input, self._parts()),
            emit=runtime.channel.emit,
            background=self._background,
            session_end_seconds=_session_end_seconds(runtime.env),
            may_run=self._may_run,
        )

    def _may_run(self, entry: Entry) -> bool:
        """Whether a hook of the folder, and each script there that it names, is as it was approved."""
        content_approvals, origin = self._basis.approved_content, entry.origin
        if content_approvals is None or not (origin.shared or origin.source in SHARED):
            return True
        approved_content = content_approvals.open()
        hook = entry.hook
        words = [hook.command, *(hook.args or ())] if isinstance(hook, CommandHook) else []
        # A hook of a settings file was compared when the file was read.
        approved = not origin.shared or approved_content.covers_file(origin.file)
        if approved and approved_content.covers_scripts(words):
            return True
        problem = f"{entry.event} {origin.file} {words}"
        if problem not in self._reported:
            self._reported.add(problem)
            self._effects.warn(
                f"Skipped a {entry.event} hook in {origin.file}: it or its script changed since you "
                "trusted this folder. Run `bridle trust` to review it."
            )
        return False

    def _handlers(self, env: Mapping[str, str]) -> Mapping[Kind, Handler]:
        return {
            "command": self._commands.run,
            "http": http_handler(env=env, limits=lambda: self._limits),
            "prompt": self._judge,
            "agent": self._inspect,
            "mcp_tool": self._call_tool,
            "callback": self._call_back,
            "function": run_function,
        }

    async def _judge(self, call: HookCall) -> Reply:
        ask = ask_model(self._session, self._parts(), self._basis.resolve_model)
        return await prompt_handler(ask)(call)

    async def _inspect(self, call: HookCall) -> Reply:
        basis = self._basis
        usual = run_inspector(
            self._session, self._parts(), basis.resolve_model, transcript=basis.transcript_path or None
        )
        return await agent_handler(basis.run_agent or usual)(call)

    async def _call_back(self, call: HookCall) -> Reply:
        if self._ask_host is None:
            return Failed(reason="cannot run: no host program is connected")
        return await callback_handler(self._ask_host)(call)

    async def _call_tool(self, call: HookCall) -> Reply:
        servers = self._parts().servers
        usual = None if servers is NO_SERVERS else tool_caller(servers)
        return await mcp_tool_handler(self._basis.call_tool or usual)(call)

    def _context(self) -> HookContext:
        session, runtime = self._session, self._parts()
        efforts = runtime.facts(session.state.model).efforts
        return HookContext(
            session_id=session.id,
            transcript_path=self._basis.transcript_path,
            cwd=runtime.workspace.cwd,
            permission_mode=session.state.mode,
            prompt_id=self._prompt_id,
            effort=runtime.asking.effort if runtime.asking.effort in efforts else None,
            agent_type=self._basis.agent_type,
            scratchpad_dir=self._scratchpad(),
        )

    def _scratchpad(self) -> str | None:
        """A folder of the session that hooks may use as they like; made when the first of them runs."""
        folder = os.path.join(self._parts().records.storage, "scratchpad")
        if folder not in self._scratchpads:
            try:
                make_folders(folder, private=True)
            except OSError as error:
                self._effects.warn(f"Cannot create the folder for hook data: {error.strerror or error}.")
            self._scratchpads[folder] = os.path.isdir(folder)
        return folder if self._scratchpads[folder] else None

    def _completed(self, event: HookEvent) -> HookEvent:
        """The event with what only the session knows, where the caller left that out."""
        match event:
            case SessionStart(session_title=None):
                agent_type = event.agent_type or self._basis.agent_type
                return replace(event, session_title=self._title(), agent_type=agent_type)
            case UserPromptSubmit(session_title=None):
                return replace(event, session_title=self._title())
            case _:
                return event

    def _title(self) -> str | None:
        """The name of the session, given in this process or kept in its transcript."""
        path = self._basis.transcript_path
        if self._session.title is None and self._kept_title[0] != path:
            info = read_info(path) if self._session.entries else None
            self._kept_title = (path, None if info is None else info.custom_title)
        return self._session.title or self._kept_title[1]

    def _beginning(self, source: StartSource) -> SessionStart:
        model = self._session.state.model
        if source not in ("resume", "fork"):
            return SessionStart(source=source, model=model)
        now = cache_state(self._session, self._parts(), model)
        return SessionStart(
            source=source,
            model=model,
            seconds_since_last_response=now.seconds,
            context_tokens=now.context_tokens,
            prompt_cache_likely_expired=not now.cache_warm,
            estimated_cache_write_usd=now.cache_write_usd,
        )

    def _say(self, texts: tuple[str, ...]) -> None:
        self._session.attach_hook_context("SessionStart", texts)

    def _rewake(self, text: str) -> None:
        self._basis.wake(Prompt(content=_LATE.format(text=text), origin=HOOK, meta=True))

    async def _note_change(self, path: str, change: Change) -> None:
        await self.fire(FileChanged(file_path=path, event=change))


def _remove_if_empty(folder: str) -> None:
    """Remove what was never used: the folder, and the one above it if it is empty then."""
    with contextlib.suppress(OSError):
        os.rmdir(folder)
        os.rmdir(os.path.dirname(folder))


def _session_end_seconds(env: Mapping[str, str]) -> float:
    """What all hooks of the end share."""
    text = env.get("CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS", "").strip()
    return int(text) / 1000 if text.isdecimal() and int(text) else SESSION_END_SECONDS
