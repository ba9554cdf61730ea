"""One tool call through its six phases: schema, semantics, pre hook, permission, run, post hook."""

import asyncio
import os.path
from typing import Any, NoReturn

import msgspec
from msgspec import Struct

from bridle.engine.call import Call, Settled, failure
from bridle.engine.consult import consult
from bridle.engine.grants import grant
from bridle.engine.turn import Turn
from bridle.host.paths import config_home
from bridle.permissions.hidden import hides
from bridle.permissions.prepare import Asked, Standing, approvals, only_reads, prepare
from bridle.types.errors import ToolError
from bridle.types.event import PermissionDenied, ToolProgressed
from bridle.types.hook import PermissionRequest, PostToolUse, PostToolUseFailure, PreToolUse
from bridle.types.permission import Allow, Ask, Case, Decision, Deny
from bridle.types.question import Answer, Chosen, PermissionQuestion, Permitted, Refused
from bridle.types.tool import Tool, ToolContext, ToolOutput
from bridle.types.turn import Denial


class Passage(Struct, frozen=True, kw_only=True):
    """A call that the gate lets through, with what was known when it did."""

    call: Call
    input: Any
    case: Case


class _TurnedAwayError(Exception):
    """The gate did not let the call through."""


async def dispatch(call: Call, turn: Turn) -> Settled:
    """Take a call from its block to its result; every fault becomes a result that the model can read."""
    began = turn.runtime.clock()
    try:
        return await _phases(call, turn)
    except _TurnedAwayError as refusal:
        return Settled(output=failure(str(refusal)))
    except ToolError as error:
        return await _failed(call, turn, began, str(error))
    except Exception as error:
        # The boundary of what a tool may do to a session: a defect in one becomes its result.
        return await _failed(
            call, turn, began, f"{call.name} failed unexpectedly: {type(error).__name__}: {error}"
        )


async def _phases(call: Call, turn: Turn) -> Settled:
    runtime = turn.runtime
    tool = _find(call, turn)
    input = parse_input(tool, call)
    context = _context(call, tool, turn)
    tool.check(input, context)

    said = await runtime.hooks.fire(PreToolUse(tool=tool.name, input=call.input, call_id=call.id))
    if said.updated_input is not None:
        call = msgspec.structs.replace(call, input=said.updated_input)
        input = parse_input(tool, call)
        tool.check(input, context)

    passage = await _pass_gate(call, tool, input, turn, hook=said.decision)
    if passage.call is not call:
        tool.check(passage.input, context)
    call, input = passage.call, passage.input
    context = msgspec.structs.replace(context, approved=approvals(passage.case))
    began = runtime.clock()
    output = await tool.run(input, context)
    milliseconds = round((runtime.clock() - began) * 1000)

    heard = await runtime.hooks.fire(
        PostToolUse(
            tool=tool.name, input=call.input, call_id=call.id, response=output.data, duration_ms=milliseconds
        )
    )
    if heard.updated_output is not None:
        output = ToolOutput(content=_as_content(heard.updated_output), data=heard.updated_output)
    for stop in (said.stop, heard.stop):
        if stop is not None:
            turn.stopped_by, turn.stopped_by_hook = stop, True
    beside = runtime.briefing.beside(passage.case.touched) if not output.is_error else None
    extra = (*said.context, *heard.context, *((heard.block,) if heard.block else ()))
    return Settled(output=output, context=(*extra, *((beside,) if beside else ())))


def parse_input(tool: Tool, call: Call) -> Any:
    """The first phase: the input as its type says, numbers and booleans written as text included.

    Raises:
        ToolError: a parameter is missing, unknown or of the wrong kind.
    """
    if call.flaw is not None:
        raise ToolError(f"InputValidationError: the input of {tool.name} is not a JSON object: {call.flaw}")
    try:
        return msgspec.convert(call.input, tool.input, strict=False)
    except msgspec.ValidationError as error:
        raise ToolError(
            f"InputValidationError: {tool.name} cannot take this input: {_plainly(str(error))}"
        ) from error


def is_parallel(tool: Tool | None, call: Call) -> bool:
    """Whether the call may run beside others; one that cannot be read runs alone."""
    if tool is None or call.flaw is not None:
        return tool is None
    try:
        input = msgspec.convert(call.input, tool.input, strict=False)
    except msgspec.ValidationError:
        return False
    return tool.parallel(input) or (tool.name == "Bash" and only_reads(tool.subject(input)))


def _find(call: Call, turn: Turn) -> Tool:
    if (tool := turn.runtime.toolbox.find(call.name)) is not None:
        return tool
    offered = ", ".join(turn.runtime.toolbox.names()) or "none"
    raise ToolError(f"No such tool available: {call.name}. Tools here: {offered}.")


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
        storage=runtime.storage,
        env=runtime.env,
        progress=progress,
        ask=runtime.channel.ask,
        consult=lambda question: consult(turn, question),
        sandbox=runtime.sandbox,
        hides=hides(_standing(turn)),
    )


async def _pass_gate(call: Call, tool: Tool, input: Any, turn: Turn, *, hook: Decision | None) -> Passage:
    """The fourth phase: what to run, or _TurnedAwayError."""
    case = _case(call, tool, input, turn, hook=hook)
    decision = turn.runtime.decide(case)
    judge = turn.runtime.judge
    if isinstance(decision, Ask) and case.mode == "auto" and judge is not None and not decision.needs_person:
        decision = await judge(turn, case, decision)
    match decision:
        case Allow():
            return Passage(call=call, input=input, case=case)
        case Deny():
            _turn_away(call, tool, turn, decision)
        case Ask():
            return await _ask(Passage(call=call, input=input, case=case), tool, turn, decision)


async def _ask(asked: Passage, tool: Tool, turn: Turn, doubt: Ask) -> Passage:
    """Put the call to whoever can approve it; what they approve is this input or the one they give."""
    call = asked.call
    answer = await _answer_to(call, tool, turn, doubt)
    match answer:
        case Permitted():
            await grant(turn, answer.updates)
            return _approved(asked, answer, tool, turn)
        case Refused(by_person=False):
            denied = Deny(doubt.reason, doubt.reason_type, doubt.rule)
            _turn_away(call, tool, turn, denied, message=answer.message)
        case Refused():
            turn.denials.append(Denial(tool.name, call.id, call.input))
            if answer.interrupt:
                turn.stopped_by = answer.message
            raise _TurnedAwayError(answer.message)
        case Chosen():
            raise ToolError(
                f"{tool.name} was not run: the permission question got an answer of another kind."
            )


def _approved(asked: Passage, answer: Permitted, tool: Tool, turn: Turn) -> Passage:
    """The approval holds for one input only, and a denial that counts by now beats it."""
    if answer.input is None or answer.input == asked.call.input:
        passage = asked
        # The files stay those that were shown; if they lead elsewhere by now, opening them fails.
        case = msgspec.structs.replace(asked.case, rules=turn.session.state.rules)
    else:
        call = msgspec.structs.replace(asked.call, input=answer.input)
        input = parse_input(tool, call)
        case = _case(call, tool, input, turn, hook=None)
        passage = Passage(call=call, input=input, case=case)
    decision = turn.runtime.decide(case)
    # A session that does not ask denies what it would ask about; that is not what the person was asked.
    if isinstance(decision, Deny) and decision.reason_type != "mode":
        _turn_away(passage.call, tool, turn, decision)
    return passage


async def _answer_to(call: Call, tool: Tool, turn: Turn, doubt: Ask) -> Answer:
    """A hook may answer in a person's place, except where no stand-in will do."""
    event = PermissionRequest(tool=tool.name, input=call.input, suggestions=doubt.suggestions)
    said = await turn.runtime.hooks.fire(event)
    match said.decision:
        case Deny(reason=reason):
            return Refused(message=reason, interrupt=said.interrupt)
        case Allow() if doubt.reason_type != "safetyCheck":
            return Permitted(input=said.updated_input, updates=said.updated_permissions)
        case _:
            pass
    return await turn.runtime.channel.ask(
        PermissionQuestion(
            call_id=call.id,
            tool=tool.name,
            input=call.input,
            reason=doubt.reason,
            reason_type=doubt.reason_type,
            suggestions=doubt.suggestions,
            blocked_path=doubt.blocked_path,
            parts=doubt.parts,
        )
    )


def _turn_away(call: Call, tool: Tool, turn: Turn, denied: Deny, *, message: str | None = None) -> NoReturn:
    text = message or f"Permission to use {tool.name} was denied: {denied.reason}."
    turn.denials.append(Denial(tool.name, call.id, call.input))
    turn.runtime.channel.emit(
        PermissionDenied(
            call_id=call.id,
            tool=tool.name,
            input=call.input,
            message=text,
            reason=denied.reason,
            reason_type=denied.reason_type,
        )
    )
    raise _TurnedAwayError(text)


def _case(call: Call, tool: Tool, input: Any, turn: Turn, *, hook: Decision | None) -> Case:
    asked = Asked(
        tool=tool.name,
        input=call.input,
        subject=tool.subject(input),
        read_only=tool.read_only(input),
        access=tool.access(input, turn.runtime.workspace),
        hook=hook,
    )
    return prepare(asked, _standing(turn))


def _standing(turn: Turn) -> Standing:
    runtime, state, workspace = turn.runtime, turn.session.state, turn.runtime.workspace
    sandbox = runtime.sandbox
    configuration = config_home(runtime.env)
    return Standing(
        rules=state.rules,
        mode=state.mode,
        cwd=workspace.cwd,
        start=workspace.start,
        roots=workspace.roots,
        readable=(runtime.storage, os.path.join(configuration, "plans")),
        home=runtime.env.get("HOME") or os.path.expanduser("~"),
        config_home=configuration,
        confines=lambda command: sandbox is not None and runtime.sandbox_allows and sandbox.covers(command),
        may_leave_sandbox=sandbox is None or sandbox.may_be_left,
        # Where nobody answers, the channel says so; then an ask is a denial.
        attended=True,
        trusted=runtime.trusted,
    )


async def _failed(call: Call, turn: Turn, began: float, message: str) -> Settled:
    said = await turn.runtime.hooks.fire(
        PostToolUseFailure(
            tool=call.name,
            input=call.input,
            call_id=call.id,
            error=message,
            is_interrupt=bool((task := asyncio.current_task()) and task.cancelling()),
            duration_ms=round((turn.runtime.clock() - began) * 1000),
        )
    )
    return Settled(output=failure(message), context=said.context)


def _as_content(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _plainly(fault: str) -> str:
    """msgspec's sentence in words that name the parameter first."""
    for start, sentence in (
        ("Object missing required field ", "the required parameter {} is missing"),
        ("Object contains unknown field ", "there is no parameter {}"),
    ):
        if fault.startswith(start):
            name, _, place = fault.removeprefix(start).partition(" - at ")
            return sentence.format(name) + (f" (at {place})" if place else "")
    reason, _, place = fault.partition(" - at ")
    return f"{place.strip('`').removeprefix('$.')}: {reason}" if place else reason
