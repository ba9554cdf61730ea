"""The first phase of a call: its input is parsed once, and every later phase uses the result."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import msgspec

from bridle.engine.calls.call import Call
from bridle.engine.calls.parameter_names import with_own_names
from bridle.permissions.preparation import only_reads
from bridle.types.errors import ToolError
from bridle.types.tool import Tool

_MOST_NAMED = 20
"""So many unknown parameters are repeated at most."""


def parse_input(tool: Tool, call: Call) -> tuple[Call, Any]:
    """The call with the input that its tool will get, as plain JSON, and that input as the tool takes it.

    Numbers, booleans, lists and objects written as text are read as what they mean, and parameters under the
    names of other harnesses as the tool's own. Rules, hooks, people and records see that meaning, never the
    text it was read from: two readers of one text can disagree.

    Raises:
        ToolError: parameters are missing, unknown or of the wrong kind; the text names all of them.
    """
    if call.flaw is not None:
        raise ToolError(
            f"InputValidationError: the input of {tool.name} is not a JSON object: {call.flaw}. Send it "
            f"again, complete.{_parameters(tool)}"
        )
    # The copy is the tool's own: nothing that others do to what they were shown changes it.
    given = _as_meant(tool, msgspec.to_builtins(call.input))
    try:
        input = msgspec.convert(given, tool.input, strict=False)
    except msgspec.ValidationError as error:
        faults = "; ".join(_faults(tool, given)) or _plainly(str(error))
        raise ToolError(
            f"InputValidationError: invalid input for {tool.name}: {faults}.{_parameters(tool)}"
        ) from error
    return msgspec.structs.replace(call, input=canonical(given, input)), input


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
    return call, tool.parallel(input) or (tool.shell == "awaited" and only_reads(tool.subject(input)))


def changes_something(tool: Tool | None, call: Call) -> bool:
    """Whether a call may leave anything else than it was."""
    if tool is None:
        return False
    try:
        _, input = parse_input(tool, call)
    except ToolError:
        return False
    return not tool.read_only(input) and not (tool.shell == "awaited" and only_reads(tool.subject(input)))


def _as_given(given: Any, parsed: Any) -> Any:
    """The parsed value without the defaults of parameters that were not given."""
    match given, parsed:
        case Mapping(), dict():
            return {name: _as_given(given[name], value) for name, value in parsed.items() if name in given}
        case list() | tuple(), list():
            return [_as_given(*pair) for pair in zip(given, parsed, strict=True)]
        case _:
            return parsed


@cache
def _fields(input: Any) -> Mapping[str, msgspec.structs.FieldInfo]:
    """The parameters of a tool by their names; none where a JSON Schema describes them elsewhere."""
    if not (isinstance(input, type) and issubclass(input, msgspec.Struct)):
        return {}
    return {field.encode_name: field for field in msgspec.structs.fields(input)}


def _as_meant(tool: Tool, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The input under the tool's own names, with lists and objects in place of their text."""
    if not (fields := _fields(tool.input)):
        return given
    required = [name for name, field in fields.items() if field.required]
    given = with_own_names(given, fields.keys(), required, tool=tool.name)
    return {
        name: _unquoted(value, fields[name]) if isinstance(value, str) and name in fields else value
        for name, value in given.items()
    }


def _unquoted(text: str, field: msgspec.structs.FieldInfo) -> Any:
    """A list or an object that was written as text, where the parameter takes no text."""
    if not text.lstrip().startswith(("[", "{")) or _fault_of(text, field) is None:
        return text
    try:
        value: Any = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return value if _fault_of(value, field) is None else text


def _faults(tool: Tool, given: Mapping[str, Any]) -> Iterator[str]:
    """Everything that is wrong with an input, a clause for each kind."""
    if not (fields := _fields(tool.input)):
        return
    if unknown := [name for name in given if name not in fields]:
        yield f"unknown parameter{'' if len(unknown) == 1 else 's'} {_quoted(unknown)}"
    if missing := [name for name, field in fields.items() if field.required and name not in given]:
        plural, verb = ("", "is") if len(missing) == 1 else ("s", "are")
        yield f"the required parameter{plural} {_quoted(missing)} {verb} missing"
    for name, value in given.items():
        if name in fields and (fault := _fault_of(value, fields[name])) is not None:
            reason, _, place = fault.partition(" - at ")
            yield f"{name}{place.strip('`').removeprefix('$')}: {reason}"


def _fault_of(value: Any, field: msgspec.structs.FieldInfo) -> str | None:
    try:
        msgspec.convert(value, field.type, strict=False)
    except msgspec.ValidationError as error:
        return str(error)
    return None


def _parameters(tool: Tool) -> str:
    """The parameters that there are, those that must be given first."""
    fields = _fields(tool.input)
    if not fields:
        return ""
    names = [f"{name} (required)" for name, field in fields.items() if field.required]
    names += [name for name, field in fields.items() if not field.required]
    return f" Parameters of {tool.name}: {', '.join(names)}."


def _quoted(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names[:_MOST_NAMED])


def _plainly(fault: str) -> str:
    """msgspec's sentence in words that name the parameter first."""
    for start, sentence in (
        ("Object missing required field ", "the required parameter {} is missing"),
        ("Object contains unknown field ", "unknown parameter {}"),
    ):
        if fault.startswith(start):
            name, _, place = fault.removeprefix(start).partition(" - at ")
            return sentence.format(name) + (f" (at {place})" if place else "")
    reason, _, place = fault.partition(" - at ")
    return f"{place.strip('`').removeprefix('$.')}: {reason}" if place else reason
