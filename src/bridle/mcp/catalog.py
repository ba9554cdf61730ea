"""What a server offers, read from its lists with everything odd left out or put right."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.mcp.names import UniqueNames, distinct, tool_name
from bridle.mcp.transports.headers import BadAnnotation, header_paths
from bridle.types.model import ToolDefinition
from bridle.types.services.mcp import Prompt, PromptArgument, Resource, ToolFacts
from bridle.types.text import encodable, encodable_value

_LONGEST_DESCRIPTION = 2048
_CUT = "… [truncated]"
_MOST_SHARED = 1_000
"""Schemas that are looked for among those of other tools; with more, hardly two are the same."""
_NO_PATHS: Mapping[str, tuple[str, ...]] = {}
_NOT_ON_TOP = ("oneOf", "anyOf", "allOf", "not", "if", "then", "else")
"""Keywords that model services refuse at the top of an input schema."""


class ServerTool(Struct, frozen=True, kw_only=True):
    """A tool as its server describes it."""

    full_name: str
    name: str
    """What the server calls it."""
    description: str
    schema_json: bytes
    """What it takes, as JSON: a tenth of what the same takes as values, and hardly ever needed."""
    read_only: bool = False
    """Only what the server claims, and no one has checked."""
    destructive: bool | None = None
    open_world: bool | None = None
    always_load: bool = False
    search_hint: str = ""
    needs_person: bool = False
    most_chars: int | None = None
    """How long its results may be, when it says so."""
    header_paths: Mapping[str, tuple[str, ...]] = {}

    @property
    def schema(self) -> dict[str, Any]:
        """What it takes, as its server wrote it."""
        return msgspec.json.decode(self.schema_json)

    def definition(self) -> ToolDefinition:
        """What the model gets."""
        return {
            "name": self.full_name,
            "description": self.description,
            "input_schema": for_models(self.schema),
        }

    def facts(self) -> ToolFacts:
        return ToolFacts(
            name=self.name,
            description=self.description,
            read_only=self.read_only or None,
            destructive=self.destructive,
            open_world=self.open_world,
        )


def read_tools(
    server: str, listed: Iterable[Mapping[str, Any]], *, checks_headers: bool, prefixed: bool = True
) -> tuple[tuple[ServerTool, ...], tuple[str, ...]]:
    """The tools that can be offered, and a sentence about each that cannot."""
    problems: list[str] = []
    tools: list[ServerTool] = []
    schemas: dict[bytes, bytes] = {}
    distinct_name = UniqueNames()
    for each in listed:
        name = each.get("name")
        if not isinstance(name, str) or not name:
            problems.append("skipped a tool without a name")
            continue
        given = each.get("inputSchema")
        if (schema := _schema(given, schemas)) is None:
            problems.append(f"skipped the tool {name[:100]}: its input is not an object")
            continue
        name = encodable(name)
        full_name = distinct_name(tool_name(server, name, prefixed=prefixed))
        try:
            paths = header_paths(given) if checks_headers else _NO_PATHS
        except BadAnnotation as fault:
            problems.append(f"skipped the tool {name[:100]}: {fault}")
            continue
        tools.append(_tool(full_name, name, each, schema, paths))
    return tuple(tools), tuple(problems)


def read_resources(
    server: str, listed: Iterable[Mapping[str, Any]], templates: Iterable[Mapping[str, Any]]
) -> tuple[Resource, ...]:
    found = [_resource(server, each, each.get("uri"), template=False) for each in listed]
    found += [_resource(server, each, each.get("uriTemplate"), template=True) for each in templates]
    return tuple(each for each in found if each is not None)


def read_prompts(server: str, listed: Iterable[Mapping[str, Any]]) -> tuple[Prompt, ...]:
    named = [(each["name"], each) for each in listed if isinstance(each.get("name"), str) and each["name"]]
    commands = distinct(tool_name(server, name) for name, _ in named)
    return tuple(
        Prompt(
            server=server,
            name=name,
            command=command,
            title=_text_or_none(each.get("title")),
            description=_cut_or_none(each.get("description")),
            arguments=tuple(_arguments(each.get("arguments"))),
        )
        for command, (name, each) in zip(commands, named, strict=True)
    )


def for_models(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema that model services take: an object with properties and no alternatives at the top."""
    if (
        "type" in schema
        and isinstance(schema.get("properties"), dict)
        and schema.keys().isdisjoint(_NOT_ON_TOP)
    ):
        return schema
    kept = {key: value for key, value in schema.items() if key not in _NOT_ON_TOP}
    return {**kept, "type": "object", "properties": _object(schema.get("properties"))}


def cut(text: str) -> str:
    """A text of a server short enough for the model."""
    text = encodable(text)
    return text if len(text) <= _LONGEST_DESCRIPTION else text[:_LONGEST_DESCRIPTION] + _CUT


def _tool(
    full_name: str,
    name: str,
    each: Mapping[str, Any],
    schema: bytes,
    paths: Mapping[str, tuple[str, ...]],
) -> ServerTool:
    annotations, meta = _object(each.get("annotations")), _object(each.get("_meta"))
    most = meta.get("anthropic/maxResultSizeChars")
    hint = meta.get("anthropic/searchHint")
    return ServerTool(
        full_name=full_name,
        name=name,
        description=cut(each["description"]) if isinstance(each.get("description"), str) else "",
        schema_json=schema,
        read_only=annotations.get("readOnlyHint") is True,
        destructive=_switch(annotations.get("destructiveHint")),
        open_world=_switch(annotations.get("openWorldHint")),
        always_load=meta.get("anthropic/alwaysLoad") is True,
        search_hint=" ".join(hint.split())[:200] if isinstance(hint, str) else "",
        needs_person=meta.get("anthropic/requiresUserInteraction") is True,
        most_chars=most if isinstance(most, int) and not isinstance(most, bool) and most > 0 else None,
        header_paths=paths,
    )


def _schema(given: Any, known: dict[bytes, bytes]) -> bytes | None:
    """An input schema as JSON; None when the input is something else than an object.

    Servers with very many tools give most of them the same few schemas: each is kept once.
    """
    if given is None:
        given = {"type": "object", "properties": {}}
    if not isinstance(given, dict) or given.get("type", "object") != "object":
        return None
    try:
        encoded = msgspec.json.encode(given)
    except UnicodeEncodeError:
        encoded = msgspec.json.encode(encodable_value(given))
    except RecursionError:
        return None
    if len(known) < _MOST_SHARED:
        return known.setdefault(encoded, encoded)
    return known.get(encoded, encoded)


def _resource(server: str, each: Mapping[str, Any], uri: Any, *, template: bool) -> Resource | None:
    if not isinstance(uri, str) or not uri:
        return None
    name, size = each.get("name"), each.get("size")
    return Resource(
        server=server,
        uri=encodable(uri),
        name=encodable(name) if isinstance(name, str) else uri,
        title=_text_or_none(each.get("title")),
        description=_cut_or_none(each.get("description")),
        mime_type=_text_or_none(each.get("mimeType")),
        size=size if isinstance(size, int) else None,
        template=template,
    )


def _arguments(listed: Any) -> Iterable[PromptArgument]:
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and isinstance(each.get("name"), str):
            yield PromptArgument(
                name=each["name"],
                description=_cut_or_none(each.get("description")),
                required=each.get("required") is True,
            )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _switch(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _text_or_none(value: Any) -> str | None:
    return encodable(value)[:_LONGEST_DESCRIPTION] if isinstance(value, str) else None


def _cut_or_none(value: Any) -> str | None:
    return cut(value) if isinstance(value, str) else None
