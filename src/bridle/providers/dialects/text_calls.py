"""Finds tool calls that a model wrote as text, because it or its server has no other way to make them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from msgspec import Struct

from bridle.providers.dialects.json_repair import repair_json
from bridle.types.model import ModelRequest

_LARGEST = 256 * 1024
"""Characters that are held back at most."""
_TAGS = ("<tool_call>", "<function=", "<function_call>", "<invoke ", "<tools>", "<|python_tag|>")
_OPENING = re.compile(r"^[ \t]*(?:```|[<{\[])", re.MULTILINE)
_INFO = re.compile(r"```[ \t]*(?:json|tool_call|tool_code|tool|function_call|xml)?[ \t]*(?:\n|$)")
_FENCE = re.compile(
    r"```[ \t]*(?:json|tool_call|tool_code|tool|function_call|xml)?[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL
)
_CLOSING = re.compile(r"^[ \t]*```[ \t]*\n", re.MULTILINE)
_TAGGED = re.compile(r"<(tool_call|function_call|tools)>\s*(.*?)\s*(?:</\1>|\Z)", re.DOTALL)
_FUNCTION = re.compile(r"<function=([\w.-]+)>\s*(.*?)\s*</function>", re.DOTALL)
_INVOKE = re.compile(r"<invoke name=\"([\w.-]+)\">\s*(.*?)\s*</invoke>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter(?:=| name=\")([\w.-]+)\"?>\n?(.*?)\n?</parameter>", re.DOTALL)
_MARK = re.compile(r"<\|python_tag\|>|\[TOOL_CALLS\]")


class Call(Struct, frozen=True):
    """A call as the text has it."""

    name: str
    input: dict[str, Any]


class Hold(Protocol):
    """Reads the text of an answer before it is shown."""

    def feed(self, text: str) -> str:
        """What may be shown by now."""
        ...

    def finish(self, *, called: bool) -> tuple[str, list[Call]]:
        """What is left to show, and the calls in the rest; none when the model `called` tools natively."""
        ...


class Recovery:
    """Holds text back from where a call may begin until it is clear that none does.

    A call counts only as the last thing that is said, in a form that models are known to use, for a tool that
    was offered, with input that fits its schema, and not when it repeats text of someone else.
    """

    def __init__(self, request: ModelRequest) -> None:
        self._request = request
        self._held = ""
        self._inside_line = False
        self._in_code = False
        """Whether a fence around something else than a call is open."""

    def feed(self, text: str) -> str:
        self._held += text
        shown = ""
        while self._held:
            start = self._held.find("\n") + 1 if self._inside_line else 0
            if self._inside_line and not start:
                return shown + self._release(len(self._held))
            if self._in_code:
                closing = _CLOSING.search(self._held, start)
                self._in_code = closing is None
                shown += self._release(_last_line(self._held) if closing is None else closing.end())
                if closing is None:
                    break
                continue
            opening = _OPENING.search(self._held, start)
            shown += self._release(_last_line(self._held) if opening is None else opening.start())
            if opening is None or _may_be_call(self._held):
                break
            length, self._in_code = _past(self._held)
            shown += self._release(length)
        return shown

    def finish(self, *, called: bool) -> tuple[str, list[Call]]:
        held, self._held = self._held, ""
        calls = [] if called else find_calls(held, self._request)
        return ("", calls) if calls else (held, [])

    def _release(self, length: int) -> str:
        released, self._held = self._held[:length], self._held[length:]
        if released:
            self._inside_line = not released.endswith("\n")
        return released


def find_calls(text: str, request: ModelRequest) -> list[Call]:
    """The calls that `text` consists of; none unless it is calls and nothing else."""
    try:
        found = [call for part in _parts(text.strip()) for call in _calls(part)]
    except _NoCallError:
        return []
    schemas = {tool["name"]: tool.get("input_schema") or {} for tool in request.tools}
    if not all(call.name in schemas for call in found):
        return []
    fitting = [_fitting(call, schemas[call.name]) for call in found]
    calls = [call for call in fitting if call is not None]
    if len(calls) < len(found) or (calls and _is_quoted(text, request)):
        return []
    return calls


class _NoCallError(Exception):
    """The text is something else than calls."""


def _last_line(held: str) -> int:
    """Where the last line begins, if there is nothing in it yet that tells what it is."""
    start = held.rfind("\n") + 1
    rest = held[start:].lstrip(" \t")
    return start if not rest or rest in ("`", "``", "```") else len(held)


def _may_be_call(held: str) -> bool:
    """Whether what begins like a call may still turn out to be one."""
    text = held.lstrip()
    if len(text) > _LARGEST:
        return False
    if text.startswith("```"):
        return _fence_may(text)
    if text[0] == "<":
        return any(text.startswith(tag) or tag.startswith(text) for tag in _TAGS)
    inside = text[1:].lstrip()
    if text[0] == "{":
        return not inside or inside[0] in "\"'}"
    return not inside or inside[0] == "{" or "TOOL_CALLS]".startswith(inside[:11])


def _fence_may(text: str) -> bool:
    first, newline, rest = text.partition("\n")
    if not newline:
        return _INFO.match(first) is not None or first[3:].strip() in _INFO_STARTS
    if _INFO.match(text) is None or (rest.strip() and rest.lstrip()[0] not in "{[<"):
        return False
    closed = rest.find("\n```")
    after = rest[closed + 4 :].strip() if closed >= 0 else ""
    return not after or _may_be_call(after)


_INFO_STARTS = frozenset(
    word[:length]
    for word in ("json", "tool_call", "tool_code", "function_call", "xml")
    for length in range(len(word))
)


def _past(held: str) -> tuple[int, bool]:
    """The end of the line that has turned out not to begin a call, and whether it opens a fence."""
    end = held.find("\n") + 1 or len(held)
    return end, held.lstrip().startswith("```")


def _parts(text: str) -> Iterator[Any]:
    """Each part of the text as a value or as a call."""
    if not text:
        raise _NoCallError
    while text:
        if (mark := _MARK.match(text)) is not None:
            text = text[mark.end() :].lstrip()
            continue
        if (match := _FENCE.match(text)) is not None or (match := _TAGGED.match(text)) is not None:
            yield from _parts(match[match.lastindex or 1].strip())
        elif (match := _FUNCTION.match(text)) is not None or (match := _INVOKE.match(text)) is not None:
            yield _marked_up(match[1], match[2])
        else:
            value, end = _json(text)
            yield value
            text = text[end:].lstrip()
            continue
        text = text[match.end() :].lstrip()


def _json(text: str) -> tuple[Any, int]:
    from json import JSONDecodeError, JSONDecoder

    try:
        return JSONDecoder().raw_decode(text)
    except (JSONDecodeError, RecursionError):
        if text[0] != "{" or (repaired := repair_json(text)) is None:
            raise _NoCallError from None
        return repaired, len(text)


def _marked_up(name: str, body: str) -> Call:
    if body.startswith("{"):
        value, end = _json(body)
        if isinstance(value, dict) and not body[end:].strip():
            return Call(name, value)
    given = _PARAMETER.findall(body)
    if _PARAMETER.sub("", body).strip():
        raise _NoCallError
    return Call(name, dict(given))


def _calls(value: Any) -> Iterator[Call]:
    match value:
        case Call():
            yield value
        case list() if value:
            for each in value:
                yield from _calls(each)
        case {"tool_calls": list() as several, **rest} if not rest.keys() - {"content", "role"}:
            yield from _calls(several)
        case {"function": {"name": str() as name, **inner}, **rest} if not rest.keys() - _BESIDE:
            yield Call(name, _input(inner))
        case {"function_call": {"name": str() as name, **inner}}:
            yield Call(name, _input(inner))
        case {"name": str() as name, **rest}:
            yield Call(name, _input(rest))
        case {"tool": str() as name, **rest} | {"tool_name": str() as name, **rest}:
            yield Call(name, _input(rest))
        case {"function": str() as name, **rest} | {"action": str() as name, **rest}:
            yield Call(name, _input(rest))
        case _:
            raise _NoCallError


_BESIDE = frozenset({"id", "type", "index", "tool_call_id"})
_INPUTS = ("arguments", "parameters", "input", "args", "tool_input", "action_input")


def _input(fields: Mapping[str, Any]) -> dict[str, Any]:
    given = [key for key in _INPUTS if key in fields]
    if len(given) > 1 or fields.keys() - _BESIDE - set(given):
        raise _NoCallError
    value = fields[given[0]] if given else {}
    if isinstance(value, str):
        value = repair_json(value) if value.strip() else {}
    if not isinstance(value, dict):
        raise _NoCallError
    return value


def _fitting(call: Call, schema: dict[str, Any]) -> Call | None:
    """The call if its input fits the schema, None if not; text becomes what the schema wants it to be."""
    from jsonschema_rs import ValidationError, is_valid

    try:
        if is_valid(schema, call.input):
            return call
        typed = Call(call.name, {key: _typed(value, schema, key) for key, value in call.input.items()})
        return typed if is_valid(schema, typed.input) else None
    except ValidationError:
        return None


def _typed(value: Any, schema: Mapping[str, Any], key: str) -> Any:
    wanted = (schema.get("properties") or {}).get(key) or {}
    if not isinstance(value, str) or wanted.get("type") not in (
        "integer",
        "number",
        "boolean",
        "array",
        "object",
    ):
        return value
    from json import JSONDecodeError, loads

    try:
        return loads(value)
    except JSONDecodeError:
        return value


def _is_quoted(text: str, request: ModelRequest) -> bool:
    """Whether the model only repeats what stands in a message of the user or in a result."""
    core = _plain(_FENCE.sub(r"\1", text))
    return any(core in _plain(said) for said in _said_by_others(request))


def _said_by_others(request: ModelRequest) -> Iterator[str]:
    for message in request.history.messages:
        content: Any = message["content"]
        if message["role"] != "user":
            continue
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            inner = block.get("content") if block["type"] == "tool_result" else block.get("text")
            if isinstance(inner, str):
                yield inner
            elif isinstance(inner, list):
                yield from (each["text"] for each in inner if each.get("type") == "text")


def _plain(text: str) -> str:
    return "".join(text.split())
