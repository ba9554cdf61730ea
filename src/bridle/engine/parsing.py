"""The first phase of a call: its input as the type of its tool."""

from typing import Any

import msgspec

from bridle.engine.call import Call
from bridle.permissions.prepare import only_reads
from bridle.types.errors import ToolError
from bridle.types.tool import Tool


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
