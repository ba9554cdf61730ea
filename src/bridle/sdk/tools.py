"""Tools that are functions of the program."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypedDict, get_args, get_origin, get_type_hints, is_typeddict

import msgspec
from msgspec import Struct

from bridle.types.block import Base64Source, ResultContent, text_block
from bridle.types.errors import ToolError, UsageError
from bridle.types.permission import Access
from bridle.types.tool import Tool, ToolContext, ToolOutput

ToolFunction = Callable[[Any], Awaitable[Mapping[str, Any]]]

_SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}
_MOST_CHARS = 100_000
_SNAKE = {
    "read_only_hint": "readOnlyHint",
    "destructive_hint": "destructiveHint",
    "idempotent_hint": "idempotentHint",
    "open_world_hint": "openWorldHint",
    "max_result_size_chars": "maxResultSizeChars",
}


class ToolAnnotations:
    """Hints about a tool, each in either spelling: `readOnlyHint` or `read_only_hint`.

    Args:
        title: a name for people.
        hints: `readOnlyHint` lets calls run at the same time, `maxResultSizeChars` limits the result;
            `destructiveHint`, `idempotentHint`, `openWorldHint` and others are kept and have no effect.
    """

    def __init__(self, *, title: str | None = None, **hints: Any) -> None:
        self.title = title
        given = {_SNAKE.get(name, name): value for name, value in hints.items()}
        self.readOnlyHint: bool | None = given.pop("readOnlyHint", None)
        self.destructiveHint: bool | None = given.pop("destructiveHint", None)
        self.idempotentHint: bool | None = given.pop("idempotentHint", None)
        self.openWorldHint: bool | None = given.pop("openWorldHint", None)
        self.maxResultSizeChars: int | None = given.pop("maxResultSizeChars", None)
        self.extra = given


class SdkMcpTool(Struct):
    """A tool of your program, made by `tool`."""

    name: str
    """Its name without the name of the server."""
    description: str
    """What the model reads about it."""
    input_schema: Any
    """The schema as it was given to `tool`."""
    handler: ToolFunction
    """The function."""
    annotations: Any = None
    """Hints; see `ToolAnnotations`."""


class ToolServer(Struct, frozen=True):
    """A named set of such tools."""

    name: str
    version: str
    tools: tuple[SdkMcpTool, ...]


class McpSdkServerConfig(TypedDict):
    """A set of tools of this program, made by `create_sdk_mcp_server`."""

    type: Literal["sdk"]
    name: str
    instance: Any


def tool(
    name: str, description: str, input_schema: Any, annotations: Any = None
) -> Callable[[ToolFunction], SdkMcpTool]:
    """Make an async function a tool.

    The function takes the input as a dict and returns `{"content": [{"type": "text", "text": "…"}]}`, with
    `"is_error": True` if it failed. An exception becomes an error result.

    Args:
        name: the name of the tool.
        description: what the model reads about it.
        input_schema: a dict of names and types, a TypedDict, or a JSON Schema.
        annotations: hints; see `ToolAnnotations`.

    Returns:
        A decorator for the function.
    """

    def build(handler: ToolFunction) -> SdkMcpTool:
        return SdkMcpTool(name, description, input_schema, handler, annotations)

    return build


def create_sdk_mcp_server(
    name: str, version: str = "1.0.0", tools: Sequence[SdkMcpTool] | None = None
) -> McpSdkServerConfig:
    """Put tools together for `Options.mcp_servers`; the model sees them as `mcp__<key>__<tool>`.

    Args:
        name: the name of the set.
        version: its version, for status reports.
        tools: the tools in it.
    """
    return {"type": "sdk", "name": name, "instance": ToolServer(name, version, tuple(tools or ()))}


def session_tools(servers: Mapping[str, ToolServer]) -> tuple[Tool, ...]:
    """The tools of all servers as a session takes them.

    Raises:
        UsageError: a schema cannot be used.
    """
    return tuple(_session_tool(key, each) for key, server in servers.items() for each in server.tools)


def full_name(server: str, name: str) -> str:
    """The name that models and rules use."""
    return f"mcp__{_plain(server)}__{_plain(name)}"


def json_schema(given: Any) -> dict[str, Any]:
    """The JSON Schema of a tool's input."""
    if isinstance(given, dict):
        if isinstance(given.get("type"), str) and "properties" in given:
            return given
        properties = {name: _schema_of(kind) for name, kind in given.items()}
        return {"type": "object", "properties": properties, "required": list(properties)}
    if is_typeddict(given):
        return _typed_dict(given)
    return {"type": "object", "properties": {}}


def _session_tool(server: str, given: SdkMcpTool) -> Tool:
    schema = json_schema(given.input_schema)
    name = full_name(server, given.name)
    validator = _Validator(name, schema)
    hints = given.annotations
    reads = bool(getattr(hints, "readOnlyHint", None) or getattr(hints, "read_only_hint", None))
    most = getattr(hints, "maxResultSizeChars", None)

    async def run(input: Any, context: ToolContext) -> ToolOutput:
        del context
        return _output(await given.handler(input))

    def check(input: Any, context: ToolContext) -> None:
        del context
        validator.check(input)

    return Tool(
        name=name,
        input=dict[str, Any],
        summary=given.description,
        run=run,
        subject=lambda _: "",
        access=lambda _, __: Access(),
        # The hint lets calls run beside each other; it is the program's word and no reason not to ask.
        read_only=lambda _: False,
        parallel=lambda _: reads,
        check=check,
        max_result_chars=most if isinstance(most, int) else _MOST_CHARS,
        definition={"name": name, "description": given.description, "input_schema": schema},
        server={"name": server, "source": "sdk"},
    )


class _Validator:
    """A schema that is compiled when the first call needs it."""

    def __init__(self, name: str, schema: Mapping[str, Any]) -> None:
        self._name = name
        self._schema = schema
        self._compiled: Any = None

    def check(self, input: Any) -> None:
        if self._compiled is None:
            import jsonschema_rs

            try:
                self._compiled = jsonschema_rs.validator_for(dict(self._schema), offline=True)
            except ValueError as error:
                raise UsageError(f"invalid input schema for {self._name}: {error}") from error
        fault = next(iter(self._compiled.iter_errors(input)), None)
        if fault is not None:
            place = "/".join(map(str, fault.instance_path))
            raise ToolError(f"Input validation error: {f'{place}: ' if place else ''}{fault.message[:500]}")


def _output(result: Mapping[str, Any]) -> ToolOutput:
    given: Sequence[Mapping[str, Any]] = result.get("content") or ()
    content = [shown for block in given if (shown := _shown(block)) is not None]
    is_error = bool(result.get("is_error") or result.get("isError"))
    data: Any = msgspec.to_builtins(content)
    if is_error:
        words = "\n".join(block["text"] for block in content if block["type"] == "text")
        return ToolOutput(content=content, data=f"Error: {words}", is_error=True)
    return ToolOutput(content=content, data=data)


def _shown(block: Mapping[str, Any]) -> ResultContent | None:
    """A piece of the result as a model takes it; what has no such form is left out."""
    match block:
        case {"type": "text", "text": text}:
            return text_block(str(text))
        case {"type": "image", "data": str() as data, "mimeType": str() as kind}:
            source: Base64Source = {"type": "base64", "media_type": kind, "data": data}
            return {"type": "image", "source": source}
        case {"type": "resource_link"}:
            parts = [str(block[key]) for key in ("name", "uri", "description") if block.get(key)]
            return text_block("\n".join(parts) or "Resource link")
        case {"type": "resource", "resource": {"text": text}}:
            return text_block(str(text))
        case _:
            return None


def _schema_of(kind: Any) -> dict[str, Any]:
    origin, parts = get_origin(kind), get_args(kind)
    if getattr(origin, "_name", None) in ("NotRequired", "Required", "ReadOnly"):
        return _schema_of(parts[0])
    if origin is Annotated:
        words = next((each for each in parts[1:] if isinstance(each, str)), None)
        schema = _schema_of(parts[0])
        return schema if words is None else {**schema, "description": words}
    if origin is Literal:
        return {"enum": list(parts)}
    if origin is list:
        return {"type": "array", "items": _schema_of(parts[0])} if parts else {"type": "array"}
    if origin is dict:
        return {"type": "object"}
    if origin is not None:
        options = [each for each in parts if each is not type(None)]
        return _schema_of(options[0]) if len(options) == 1 else {"anyOf": list(map(_schema_of, options))}
    if is_typeddict(kind):
        return _typed_dict(kind)
    return {"type": _SIMPLE.get(kind, "string")}


def _typed_dict(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: _schema_of(each) for name, each in hints.items()},
    }
    required: Any = getattr(kind, "__required_keys__", frozenset(hints))
    return {**schema, "required": sorted(required)} if required else schema


def _plain(name: str) -> str:
    return "".join(each if each.isascii() and (each.isalnum() or each in "_-") else "_" for each in name)
