"""The definition of each tool for the model: written from the code by `make definitions`, read as one file.

Building a schema costs more than reading it, and a file under version control shows every change of the
text that users pay for.
"""

import os.path
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import msgspec

from bridle.tools.catalog import CATALOG, Listing
from bridle.types.model import ToolDefinition
from bridle.types.tool import Tool

_FOLDER = os.path.dirname(__file__)
PATH = os.path.join(_FOLDER, "definitions.json")
_LEFT_OUT = (("default", None), ("additionalProperties", False), ("required", []))


def load() -> dict[str, ToolDefinition]:
    """Every definition by tool name."""
    with open(PATH, "rb") as file:
        return msgspec.json.decode(file.read(), type=dict[str, ToolDefinition])


def build() -> bytes:
    """The content that the definitions file must have."""
    definitions = {listing.name: _definition(listing) for listing in CATALOG}
    return msgspec.json.format(msgspec.json.encode(definitions), indent=1) + b"\n"


def find_tool(listing: Listing) -> Tool:
    """Import a tool.

    Raises:
        ImportError: the catalog names a module that is not there.
    """
    return msgspec.structs.replace(import_module(listing.module).TOOL, traits=listing.traits)


def input_schema(input: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of a tool's input, with references resolved and nulls left out."""
    (schema,), parts = msgspec.json.schema_components([input])
    return _plain(schema, parts)


def _definition(listing: Listing) -> ToolDefinition:
    tool = find_tool(listing)
    with open(os.path.join(_FOLDER, "prompts", f"{_file_name(listing)}.md"), encoding="utf-8") as file:
        description = file.read().strip()
    return {"name": listing.name, "description": description, "input_schema": input_schema(tool.input)}


def _file_name(listing: Listing) -> str:
    return listing.module.rpartition(".")[2]


def _plain(schema: Mapping[str, Any], parts: Mapping[str, Any]) -> dict[str, Any]:
    """Models read a schema better without `$ref`, titles, null alternatives and what others fill in.

    `additionalProperties` is left out too: an unknown parameter is answered with an error anyway.
    """
    if "$ref" in schema:
        return _plain(parts[schema["$ref"].rpartition("/")[2]], parts)
    if "anyOf" in schema:
        chosen = [branch for branch in schema["anyOf"] if branch.get("type") != "null"]
        rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
        if len(chosen) == 1:
            return _plain({**chosen[0], **rest}, parts)
        return {**rest, "anyOf": [_plain(branch, parts) for branch in chosen]}
    plain: dict[str, Any] = {"type": "string"} if "enum" in schema and "type" not in schema else {}
    for key, value in schema.items():
        if key == "properties":
            listed = {name: _plain(child, parts) for name, child in value.items()}
            plain[key] = {name: child for name, child in listed.items() if not child.pop("unlisted", False)}
        elif key == "items":
            plain[key] = _plain(value, parts)
        elif (key, value) in _LEFT_OUT or key == "title":
            continue
        else:
            plain[key] = value
    return plain
