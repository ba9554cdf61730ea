"""One tool call through its six phases: schema, semantics, pre hook, permission, run, post hook."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from bridle.engine.calls.call import Call, DeferredCall, Settled, failure
from bridle.engine.calls.changed_input import with_note
from bridle.engine.calls.confinement import keeper, view_of
from bridle.engine.calls.parsing import prepare_call
from bridle.engine.feature import RunningCall
from bridle.engine.hooks.call_hooks import (
    can_be_deferred,
    fire_cwd_changed,
    fire_post_tool_use,
    fire_post_tool_use_failure,
    fire_pre_tool_use,
    notify_interrupted_call,
)
from bridle.engine.permissions.gate import AllowedCall, CallDenied, ask_again, pass_gate, read_call, standing
from bridle.engine.side_calls import consult
from bridle.engine.turn import Turn
from bridle.permissions.files.hidden_files import hides
from bridle.permissions.kernel_rules import denials
from bridle.permissions.preparation import approvals, only_reads
from bridle.types.errors import CommandStopped, ToolError
from bridle.types.event import CallChanged, Noticed, ToolProgressed
from bridle.types.hooks.outcome import HookOutcome
from bridle.types.permission import Permit
from bridle.types.sandbox import Sandbox
from bridle.types.services.checkpoints import Changes
from bridle.types.tool import Tool, ToolContext, ToolOutput

__all__ = ["Call", "dispatch", "prepare_call"]


async def dispatch(
    call: Call, turn: Turn, *, is_alone: Callable[[], Awaitable[bool]]
) -> Settled | DeferredCall:
    """Take a call from its block to its result; every fault becomes a result that the model can read.

    `is_alone` tells whether the answer makes no other call, once that is known.
    """
    try:
        return await _phases(call, turn, is_alone)
    except ToolError as error:
        return Settled(output=failure(str(error)))
    except Exception as error:
        # The boundary of what a call may do to a session: a defect on its way becomes its result.
        return Settled(output=failure(_defect(call, error)))


async def _phases(call: Call, turn: Turn, is_alone: Callable[[], Awaitable[bool]]) -> Settled | DeferredCall:
    tool = _find(call, turn)
    call, input = read_call(call, tool, turn)
    context = _context(call, tool, turn)
    tool.check(input, context)

    said = await fire_pre_tool_use(call, tool, turn)
    if said.deferred is not None and await can_be_deferred(call, turn, is_alone):
        return DeferredCall(call=call)
    asked = call
    try:
        if said.updated_input is not None:
            changed = msgspec.structs.replace(call, input=said.updated_input)
            call, input = read_call(changed, tool, turn)
            tool.check(input, context)
        allowed = await pass_gate(call, tool, input, turn, hook=said.decision)
        if allowed.call is not call:
            _check_revised(allowed, tool, context)
    except (CallDenied, ToolError) as refusal:
        decision = _rejection(refusal) if isinstance(refusal, CallDenied) else None
        return Settled(output=failure(str(refusal)), context=said.context, decision=decision)
    _tell_revision(asked, allowed.call, tool, turn)
    settled = await _run(allowed, tool, context, turn, said)
    changed = settled.ran_input != asked.input
    return settled if changed else msgspec.structs.replace(settled, ran_input=None)


def _check_revised(allowed: AllowedCall, tool: Tool, context: ToolContext) -> None:
    try:
        tool.check(allowed.input, context)
    except ToolError as error:
        raise ToolError(f"{allowed.note}{error}") from error


def _tell_revision(made: Call, runs: Call, tool: Tool, turn: Turn) -> None:
    """Let people see what runs, where that is not what the model wrote."""
    if made.input != runs.input:
        turn.runtime.channel.emit(CallChanged(call_id=runs.id, tool=tool.name, input=runs.input))


async def _run(
    allowed: AllowedCall, tool: Tool, context: ToolContext, turn: Turn, said: HookOutcome
) -> Settled:
    """The last two phases."""
    runtime, call = turn.runtime, allowed.call
    context = msgspec.structs.replace(
        context,
        permit=_permit(allowed, tool, context, turn),
        changes=_changes(tool, allowed.input, turn),
    )
    running = RunningCall(turn=turn, tool=tool, allowed=allowed)
    context = await runtime.features.before_call(running, context)
    before, began, ran = runtime.workspace.cwd, runtime.clock(), True
    decision = _acceptance(allowed)
    try:
        async with runtime.features.around_call(running):
            output, allowed = await _held(allowed, tool, context, turn)
            call = allowed.call
    except asyncio.CancelledError:
        notify_interrupted_call(call, tool, turn, seconds=runtime.clock() - began)
        raise
    except CallDenied as refusal:
        output, ran, decision = failure(str(refusal)), False, _rejection(refusal)
    except ToolError as error:
        output = failure(str(error))
    except Exception as error:
        # The boundary of what a tool may do to a session: a defect in one becomes its result.
        output = failure(_defect(call, error))
    seconds, loaded = runtime.clock() - began, output.beside
    output = runtime.features.after_call(running, output)
    await fire_cwd_changed(turn, before)
    if output.is_error:
        words = await fire_post_tool_use_failure(call, tool, turn, output, seconds=seconds)
    else:
        output, words = await fire_post_tool_use(call, tool, turn, output, seconds=seconds)
    beside = runtime.briefing.beside(allowed.case.touched) if not output.is_error else None
    for feature in () if output.is_error else runtime.features.at("settle"):
        feature.settle(running)
    remarks = (f"<system-reminder>{line}</system-reminder>" for line in runtime.features.remarks())
    more = (*loaded, *((beside,) if beside else ()), *remarks)
    if allowed.note:
        output = msgspec.structs.replace(output, content=with_note(allowed.note, output.content))
    return Settled(
        output=output,
        context=(*said.context, *words, *more),
        ran=ran,
        ran_input=call.input,
        decision=decision,
        sandboxed=context.permit.sandbox is not None if tool.shell and ran else None,
    )


def _acceptance(allowed: AllowedCall) -> dict[str, str]:
    if allowed.reason_type is None:
        return {"decision": "accept", "source": "user"}
    known = {} if allowed.reason_type == "other" else {"reasonType": allowed.reason_type}
    rule = {"ruleSource": allowed.rule_source} if allowed.rule_source else {}
    return {"decision": "accept", "source": "config", **known, **rule}


def _rejection(denied: CallDenied) -> dict[str, str]:
    return {
        "decision": "reject",
        "source": "user" if denied.by_person else "config",
        "reasonCode": "unknown",
    }


def _permit(allowed: AllowedCall, tool: Tool, context: ToolContext, turn: Turn) -> Permit:
    """The bounds of what the gate let through."""
    runtime, case = turn.runtime, allowed.case
    return Permit(
        approved=approvals(case),
        sandbox=_boundary(allowed, tool, turn),
        confined=case.confined,
        local_host=case.local_host and (allowed.approved or allowed.reason_type == "rule"),
        view=view_of(case, allowed.judged, runtime.env),
        refused=keeper(case, allowed.judged, runtime.workspace, runtime.env, _warn(turn)),
        hides=context.permit.hides,
    )


def _warn(turn: Turn) -> Callable[[str], None]:
    return lambda text: turn.runtime.channel.emit(Noticed(text, "warning"))


async def _held(
    allowed: AllowedCall, tool: Tool, context: ToolContext, turn: Turn
) -> tuple[ToolOutput, AllowedCall]:
    """The result of the call and what ran: within what it was judged to do, if only that let it through."""
    before, call = turn.runtime.workspace.cwd, allowed.call
    try:
        return await tool.run(allowed.input, context), allowed
    except CommandStopped as error:
        turn.runtime.workspace.cwd = before
        context.permit.refused(error.refusal)
        try:
            allowed = await ask_again(allowed, tool, turn, error.refusal)
        except CallDenied as refusal:
            raise CallDenied(f"{error} {refusal}") from refusal
    if allowed.call is not call:
        _check_revised(allowed, tool, context)
        _tell_revision(call, allowed.call, tool, turn)
    unbound = msgspec.structs.replace(context.permit, view=None)
    try:
        return await tool.run(allowed.input, msgspec.structs.replace(context, permit=unbound)), allowed
    except ToolError as error:
        raise ToolError(f"{allowed.note}{error}") from error


def _boundary(allowed: AllowedCall, tool: Tool, turn: Turn) -> Sandbox | None:
    """What a command runs in: rules for files, programs and hosts hold whatever it starts."""
    sandbox = turn.runtime.gate.sandbox
    if sandbox is None or not tool.shell:
        return sandbox
    case = msgspec.structs.replace(allowed.case, rules=turn.rules)
    return sandbox.under(denials(case, approved=allowed.approved))


def _changes(tool: Tool, input: Any, turn: Turn) -> Changes | None:
    """What keeps the files that a call may change; a command that only reads changes nothing."""
    checkpoints = turn.runtime.records.checkpoints
    reads = checkpoints is not None and tool.shell == "awaited" and only_reads(tool.subject(input))
    return None if reads else checkpoints


def _find(call: Call, turn: Turn) -> Tool:
    if (tool := turn.runtime.toolbox.find(call.name)) is not None:
        return tool
    if (refusal := turn.runtime.features.refuse_tool(call.name)) is not None:
        raise ToolError(refusal)
    from bridle.engine.calls.missing_tools import why_missing  # Models rarely make tools up.

    raise ToolError(why_missing(call.name, turn))


def _context(call: Call, tool: Tool, turn: Turn) -> ToolContext:
    runtime = turn.runtime
    began = runtime.clock()

    def progress(text: str) -> None:
        seconds = runtime.clock() - began
        runtime.channel.emit(ToolProgressed(call_id=call.id, tool=tool.name, text=text, seconds=seconds))

    return ToolContext(
        call_id=call.id,
        session_id=turn.session.id,
        workspace=runtime.workspace,
        storage=runtime.records.storage,
        env=runtime.env,
        progress=progress,
        ask=runtime.channel.ask,
        consult=lambda question: consult(turn, question),
        permit=Permit(sandbox=runtime.gate.sandbox, hides=hides(turn.rules, lambda: standing(turn))),
        agent_id=turn.session.agent_id,
        offered=runtime.toolbox.names,
        services=lambda key: runtime.features.offered(key, call, turn),
    )


def _defect(call: Call, error: Exception) -> str:
    return f"{call.name} failed unexpectedly: {type(error).__name__}: {error}"
