"""The first phase of a call: its input is read once, and everyone goes by what was read."""

from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.engine.call import Call
from bridle.permissions.prepare import only_reads
from bridle.types.errors import ToolError
from bridle.types.tool import Tool


def parse_input(tool: Tool, call: Call) -> tuple[Call, Any]:
    """The call with the input that its tool will get, as plain JSON, and that input as the tool takes it.

    Numbers and booleans written as text are read as what they mean. Rules, hooks, people and records see
    that meaning, never the text it was read from: two readers of one text can disagree.

    Raises:
        ToolError: a parameter is missing, unknown or of the wrong kind.
    """
    if call.flaw is not None:
        raise ToolError(f"InputValidationError: the input of {tool.name} is not a JSON object: {call.flaw}")
    try:
        # The copy is the tool's own: nothing that others do to what they were shown changes it.
        input = msgspec.convert(msgspec.to_builtins(call.input), tool.input, strict=False)
    except msgspec.ValidationError as error:
        raise ToolError(
            f"InputValidationError: {tool.name} cannot take this input: {_plainly(str(error))}"
        ) from error
    return msgspec.structs.replace(call, input=canonical(call.input, input)), input


def canonical(given: Mapping[str, Any], input: Any) -> dict[str, Any]:
    """A parsed input as plain JSON, with the parameters that were given and no others."""
    return _as_given(given, msgspec.to_builtins(input))


def prepare_call(tool: Tool | None, call: Call) -> tuple[Call, bool]:
    """The call with its canonical input, and whether it may run beside others.

    One that cannot be read stays as it is and runs alone.
    """
    if tool is None or call.flaw is not None:
        return call, tool is None
    try:
        call, input = parse_input(tool, call)
    except ToolError:
        return call, False
    return call, tool.parallel(input) or (tool.name == "Bash" and only_reads(tool.subject(input)))


def _as_given(given: Any, parsed: Any) -> Any:
    """The parsed value without the defaults of parameters that nobody gave."""
    match given, parsed:
        case Mapping(), dict():
            return {name: _as_given(given[name], value) for name, value in parsed.items() if name in given}
        case list() | tuple(), list():
            return [_as_given(*pair) for pair in zip(given, parsed, strict=True)]
        case _:
            return parsed


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
