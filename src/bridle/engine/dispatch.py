"""One tool call through its six phases: schema, semantics, pre hook, permission, run, post hook."""

import asyncio
import os.path
from collections.abc import Mapping
from typing import Any, NoReturn

import msgspec
from msgspec import Struct

from bridle.engine.consult import consult
from bridle.engine.turn import Turn
from bridle.host.paths import config_home
from bridle.types.errors import ToolError
from bridle.types.event import PermissionDenied, ToolProgressed
from bridle.types.hook import PostToolUse, PostToolUseFailure, PreToolUse
from bridle.types.permission import Access, Allow, Ask, Case, Decision, Deny
from bridle.types.question import Chosen, PermissionQuestion, Permitted, Refused
from bridle.types.tool import Tool, ToolContext, ToolOutput
from bridle.types.turn import Denial


class Call(Struct, frozen=True, kw_only=True):
    """A tool_use block on its way through."""

    id: str
    name: str
    input: Mapping[str, Any]
    flaw: str | None = None
    """Why the input could not be read at all."""


class Settled(Struct, frozen=True, kw_only=True):
    """What a call came to."""

    output: ToolOutput
    context: tuple[str, ...] = ()
    """Text for the model beside the result: instructions for the files it touched, words of hooks."""


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

    call, input = await _permitted(call, tool, input, turn, hook=said.decision)
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
    access = tool.access(input, runtime.workspace)
    beside = runtime.briefing.beside((*access.reads, *access.writes)) if not output.is_error else None
    extra = (*said.context, *heard.context, *((heard.block,) if heard.block else ()))
    return Settled(output=output, context=(*extra, *((beside,) if beside else ())))


def failure(message: str) -> ToolOutput:
    """A result that says what went wrong."""
    return ToolOutput(content=message, data=f"Error: {message}", is_error=True)


def parse_input(tool: Tool, call: Call) -> Struct:
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
        return tool.parallel(msgspec.convert(call.input, tool.input, strict=False))
    except msgspec.ValidationError:
        return False


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
    )


async def _permitted(
    call: Call, tool: Tool, input: Struct, turn: Turn, *, hook: Decision | None
) -> tuple[Call, Struct]:
    """The fourth phase: the call and input to run, or _TurnedAwayError."""
    decision = turn.runtime.decide(_case(call, tool, input, turn, hook=hook))
    match decision:
        case Allow():
            return call, input
        case Deny():
            _turn_away(call, tool, turn, decision)
        case Ask():
            return await _ask(call, tool, input, turn, decision)


async def _ask(call: Call, tool: Tool, input: Struct, turn: Turn, doubt: Ask) -> tuple[Call, Struct]:
    answer = await turn.runtime.channel.ask(
        PermissionQuestion(
            call_id=call.id,
            tool=tool.name,
            input=call.input,
            reason=doubt.reason,
            reason_type=doubt.reason_type,
            suggestions=doubt.suggestions,
        )
    )
    match answer:
        case Permitted(input=None):
            return call, input
        case Permitted(input=changed):
            call = msgspec.structs.replace(call, input=changed)
            input = parse_input(tool, call)
            again = turn.runtime.decide(_case(call, tool, input, turn, hook=None))
            if isinstance(again, Deny):
                _turn_away(call, tool, turn, again)
            return call, input
        case Refused(by_person=False):
            _turn_away(
                call, tool, turn, Deny(doubt.reason, doubt.reason_type, doubt.rule), message=answer.message
            )
        case Refused():
            turn.denials.append(Denial(tool.name, call.id, call.input))
            if answer.interrupt:
                turn.stopped_by = answer.message
            raise _TurnedAwayError(answer.message)
        case Chosen():
            raise ToolError(
                f"{tool.name} was not run: the permission question got an answer of another kind."
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


def _case(call: Call, tool: Tool, input: Struct, turn: Turn, *, hook: Decision | None) -> Case:
    workspace = turn.runtime.workspace
    access = tool.access(input, workspace)
    return Case(
        tool=tool.name,
        input=call.input,
        subject=tool.subject(input),
        read_only=tool.read_only(input),
        access=Access(reads=_spellings(access.reads), writes=_spellings(access.writes)),
        rules=turn.session.state.rules,
        mode=turn.session.state.mode,
        cwd=workspace.cwd,
        roots=_spellings(workspace.roots),
        readable=_spellings((turn.runtime.storage,)),
        home=turn.runtime.env.get("HOME"),
        config_home=config_home(turn.runtime.env),
        hook=hook,
    )


def _spellings(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Where each path leads and how it was written, so that rules see both."""
    return tuple(dict.fromkeys(spelling for path in paths for spelling in (os.path.realpath(path), path)))


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
