"""Calls the hooks of an event, all at once, and makes one answer of theirs."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bridle.config.hook_schema import CommandHook
from bridle.hooks.fold import fold
from bridle.hooks.handler import (
    Answered,
    Background,
    Detached,
    Failed,
    Handler,
    HookCall,
    Kind,
    Ran,
    Refused,
    Reply,
    TimedOut,
    kind_of,
)
from bridle.hooks.output import LONGEST_TEXT, Cut, interpret
from bridle.hooks.payload import HookContext, encode, payload
from bridle.hooks.table import Entry, Listeners, choose
from bridle.host.secrets import SECRETS
from bridle.types.hooks.calls import ToolEvent
from bridle.types.hooks.events import HookEvent
from bridle.types.hooks.outcome import NOTHING_SAID, HookOutcome, HookProgressed, HookRun, HookStarted
from bridle.types.ids import new_uuid

_SECONDS: dict[Kind, float] = {
    "command": 600, "http": 600, "mcp_tool": 600, "prompt": 30, "agent": 60, "callback": 60, "function": 60,
}  # fmt: skip
_SECONDS_AT_MOST: dict[str, float] = {
    "UserPromptSubmit": 30, "PreModelSwitch": 30, "PostModelSwitch": 30, "MessageDisplay": 10,
}  # fmt: skip
"""Seconds for events that the user waits for; a hook's own timeout and the host's code may take longer."""
SESSION_END_SECONDS = 1.5
_SESSION_END_AT_MOST = 60.0
_OF_THE_HOST = ("callback", "function")

Covers = Callable[[str, str, Mapping[str, Any]], bool]
"""Whether a permission rule matches a call of a tool; True if that is unclear."""


class RunnerContext(Struct, frozen=True, kw_only=True):
    """What the runner needs from the parts around it."""

    handlers: Mapping[Kind, Handler]
    context: Callable[[], HookContext]
    cut: Cut
    covers: Covers = lambda _rule, _tool, _input: True
    emit: Callable[[HookStarted | HookProgressed | HookRun], None] = lambda _: None
    """Called for every hook but the host's own."""
    background: Background | None = None
    """Without one, hooks that want to run in the background are waited for."""
    session_end_seconds: float = SESSION_END_SECONDS
    """What all hooks of the end share; a hook that names a longer time raises it."""
    clock: Callable[[], float] = time.monotonic
    may_run: Callable[[Entry], bool] = lambda _: True
    """Whether a hook is still what was approved; asked each time before it runs."""


class HookRunner:
    """The hooks of one session, or of one agent in it; several may share their listeners."""

    def __init__(self, listeners: Listeners, around: RunnerContext) -> None:
        self.listeners = listeners
        self._around = around

    async def fire(self, event: HookEvent) -> HookOutcome:
        """Run every hook that listens to the event and fold what they say."""
        if not (entries := self.listeners.of(event.name)):
            return NOTHING_SAID
        context = self._around.context()
        subject = event.subject
        chosen = [
            entry
            for entry in choose(entries, subject, context.agent_id)
            if self._is_meant(entry, event) and self._around.may_run(entry)
        ]
        if not chosen:
            return NOTHING_SAID
        for entry in chosen:
            if entry.once:
                self.listeners.remove(entry)
        calls = self._calls(chosen, event, context)
        if len(calls) == 1:
            return await self._run(calls[0])
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._run(call)) for call in calls]
        return fold([task.result() for task in tasks])

    def _is_meant(self, entry: Entry, event: HookEvent) -> bool:
        rule = entry.hook.condition
        if rule is None:
            return True
        if not isinstance(event, ToolEvent):
            return False
        try:
            return self._around.covers(rule, event.tool, event.input)
        except Exception:
            # A condition that cannot be weighed keeps no hook back: better asked once too often.
            return True

    def _calls(self, chosen: list[Entry], event: HookEvent, context: HookContext) -> list[HookCall]:
        input = payload(context, event)
        data = encode(input)
        name = event.name if event.subject is None else f"{event.name}:{event.subject}"
        timeouts = self._timeouts(chosen, event)
        return [
            HookCall(
                id=new_uuid(),
                name=name,
                hook=entry.hook,
                origin=entry.origin,
                event=event,
                payload=input,
                data=data,
                timeout=timeout,
            )
            for entry, timeout in zip(chosen, timeouts, strict=True)
        ]

    def _timeouts(self, chosen: list[Entry], event: HookEvent) -> list[float]:
        if event.name != "SessionEnd":
            return [entry.hook.timeout or _default_timeout(entry.kind, event.name) for entry in chosen]
        longest = max(entry.hook.timeout or 0.0 for entry in chosen)
        budget = max(self._around.session_end_seconds, min(longest, _SESSION_END_AT_MOST))
        return [min(entry.hook.timeout or budget, budget) for entry in chosen]

    async def _run(self, call: HookCall) -> HookOutcome:
        emit = self._around.emit if kind_of(call.hook) not in _OF_THE_HOST else _keep_silent
        event, message = call.event.name, call.hook.status_message
        emit(HookStarted(id=call.id, name=call.name, event=event, status_message=message))
        began = self._around.clock()
        try:
            reply = await self._reply(replace(call, progress=_reporter(call, emit)))
        except asyncio.CancelledError:
            seconds = self._around.clock() - began
            emit(HookRun(id=call.id, name=call.name, event=event, outcome="cancelled", seconds=seconds))
            raise
        said = interpret(call, reply, cut=self._around.cut)
        run = _record(call, reply, said, self._around.clock() - began)
        emit(run)
        return replace(said, runs=(run,))

    async def _reply(self, call: HookCall) -> Reply:
        kind = kind_of(call.hook)
        if (handler := self._around.handlers.get(kind)) is None:
            return Failed(reason=f"cannot run: {kind} hooks are not supported here")
        if self._around.background is not None and _is_async(call):
            adopted = self._around.background.adopt(
                call, Detached(rest=lambda: _whole(handler, call), timeout=call.timeout)
            )
            return Answered(output={}) if adopted else _TOO_MANY
        reply = await _within(call.timeout, lambda: handler(call))
        return await self._detach(call, reply) if isinstance(reply, Detached) else reply

    async def _detach(self, call: HookCall, detached: Detached) -> Reply:
        """Move a running hook to the background."""
        if self._around.background is None:
            return await _within(detached.timeout, detached.rest)
        if self._around.background.adopt(call, detached):
            return detached
        await _within(0, detached.rest)
        return _TOO_MANY


_TOO_MANY = Failed(reason="was stopped: too many background hooks")


async def _within(seconds: float, work: Callable[[], Awaitable[Reply]]) -> Reply:
    """The reply, whatever happens to the hook."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await work()
    except Exception as error:
        # The boundary of what a hook may do to a session: a defect in its handler is a failure of the hook.
        if limit.expired():
            return TimedOut(seconds=seconds)
        return Failed(reason=f"failed unexpectedly: {type(error).__name__}: {error}")


async def _whole(handler: Handler, call: HookCall) -> Reply:
    """A hook that is in the background already cannot go there again."""
    reply = await handler(call)
    return await reply.rest() if isinstance(reply, Detached) else reply


def _default_timeout(kind: Kind, event: str) -> float:
    usual = _SECONDS[kind]
    return usual if kind in _OF_THE_HOST else min(usual, _SECONDS_AT_MOST.get(event, usual))


def _is_async(call: HookCall) -> bool:
    return isinstance(call.hook, CommandHook) and bool(call.hook.run_async or call.hook.async_rewake)


def _reporter(
    call: HookCall, emit: Callable[[HookStarted | HookProgressed | HookRun], None]
) -> Callable[[str, str], None]:
    def report(stdout: str, stderr: str) -> None:
        event = call.event.name
        emit(HookProgressed(id=call.id, name=call.name, event=event, stdout=stdout, stderr=stderr))

    return report


def _keep_silent(_: HookStarted | HookProgressed | HookRun) -> None:
    """The host knows of its own code."""


def _record(call: HookCall, reply: Reply, said: HookOutcome, seconds: float) -> HookRun:
    run = HookRun(id=call.id, name=call.name, event=call.event.name, outcome="success", seconds=seconds)
    match reply:
        case Ran(exit_code=code, stdout=stdout, stderr=stderr):
            outcome = "success" if code == 0 and not said.problems else "error"
            return replace(run, outcome=outcome, exit_code=code, stdout=_head(stdout), stderr=_head(stderr))
        case Failed(exit_code=code, stdout=stdout, stderr=stderr):
            words = stderr or reply.reason
            return replace(run, outcome="error", exit_code=code, stdout=_head(stdout), stderr=_head(words))
        case Answered(text=text):
            return replace(run, outcome="error" if said.problems else "success", stdout=_head(text))
        case Refused(reason=reason):
            return replace(run, stdout=_head(reason))
        case TimedOut():
            return replace(run, outcome="cancelled")
        case Detached():
            return run


def _head(text: str) -> str:
    return SECRETS.hide(text)[:LONGEST_TEXT]
