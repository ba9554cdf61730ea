"""Tool calls for servers that have none: every answer is held to a schema that only calls and text fit."""

from collections.abc import Mapping
from typing import Any

from msgspec import DecodeError
from msgspec.json import decode as from_json
from msgspec.json import encode as to_json

from bridle.providers.dialects.content import functions
from bridle.providers.dialects.text_calls import Call
from bridle.types.block import SentMessage
from bridle.types.model import ModelRequest, ToolDefinition

_RULE = (
    "Answer with one JSON object and nothing else. "
    'To use a tool: {"tool": "its name", "input": {…}}; its result comes with the next message. To '
    'answer the user, or when you are done: {"answer": "your text"}.'
)
_DESCRIBED = 300
_LEFT_OUT = ("description", "title", "default", "format", "$schema")


def rule(tools: tuple[ToolDefinition, ...]) -> str:
    """Instructions for the model about the form of its answers."""
    lines = [
        f"- {name}: {_short(description)} Input: {to_json(bare(schema)).decode()}"
        for name, description, schema in functions(tools)
    ]
    return "\n".join((_RULE, "Tools:", *lines))


def response_format(tools: tuple[ToolDefinition, ...]) -> dict[str, Any]:
    """The schema of an answer, in the words of Chat Completions."""
    answer = _closed({"answer": {"type": "string"}})
    calls = [
        _closed({"tool": {"const": name}, "input": bare(schema)}) for name, _, schema in functions(tools)
    ]
    return {
        "type": "json_schema",
        "json_schema": {"name": "step", "strict": True, "schema": {"anyOf": [*calls, answer]}},
    }


def bare(schema: Any) -> Any:
    """A schema without what only people read."""
    if isinstance(schema, list):
        return [bare(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in _LEFT_OUT}
    named = schema.get("properties")
    if isinstance(named, dict):
        # A property may be called like a word of the schema.
        kept["properties"] = {name: bare(value) for name, value in named.items()}
    return {key: value if key == "properties" else bare(value) for key, value in kept.items()}


def plain(message: SentMessage, names: Mapping[str, str]) -> SentMessage:
    """A message with its calls and results as text; `names` are the tools of calls by their ids."""
    content: Any = message["content"]
    if isinstance(content, str):
        return message
    if message["role"] == "assistant":
        blocks = [_spoken(block) for block in content]
        return {"role": "assistant", "content": blocks}
    blocks = [part for block in content for part in _heard(block, names)]
    return {"role": "user", "content": blocks}


def tool_names(request: ModelRequest) -> dict[str, str]:
    """The tool of each call of the conversation by its id."""
    found: dict[str, str] = {}
    for message in request.history.messages:
        content: Any = message["content"]
        if message["role"] == "assistant" and not isinstance(content, str):
            found |= {block["id"]: block["name"] for block in content if block["type"] == "tool_use"}
    return found


class Constrained:
    """Holds the whole answer back, because only its end tells whether it is a call."""

    def __init__(self, request: ModelRequest) -> None:
        self._names = frozenset(name for name, _, _ in functions(request.tools))
        self._parts: list[str] = []

    def feed(self, text: str) -> str:
        self._parts.append(text)
        return ""

    def finish(self, *, called: bool) -> tuple[str, list[Call]]:
        text = "".join(self._parts)
        if called:
            return text, []
        try:
            value: Any = from_json(text)
        except (DecodeError, UnicodeDecodeError):
            return text, []
        match value:
            case {"tool": str() as name, "input": dict() as given} if name in self._names:
                return "", [Call(name, given)]
            case {"answer": str() as answer}:
                return answer, []
            case _:
                return text, []


def _spoken(block: Any) -> Any:
    if block["type"] != "tool_use":
        return block
    return {"type": "text", "text": to_json({"tool": block["name"], "input": block["input"]}).decode()}


def _heard(block: Any, names: Mapping[str, str]) -> list[Any]:
    if block["type"] != "tool_result":
        return [block]
    name = names.get(block["tool_use_id"], "the tool")
    failed = "Error from" if block.get("is_error") else "Result of"
    inner = block.get("content") or ""
    parts = [{"type": "text", "text": inner}] if isinstance(inner, str) else list(inner)
    return [{"type": "text", "text": f"{failed} {name}:"}, *parts]


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _short(description: str) -> str:
    first = description.partition("\n\n")[0].replace("\n", " ")
    return first if len(first) <= _DESCRIBED else f"{first[:_DESCRIBED]}…"
