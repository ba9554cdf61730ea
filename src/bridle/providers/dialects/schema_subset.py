"""JSON Schema cut down to the part of OpenAPI that Google's function declarations understand."""

from collections.abc import Mapping
from typing import Any

_KEPT = (
    "description", "title", "default", "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength",
    "pattern", "minProperties", "maxProperties",
)  # fmt: skip
_FORMATS = ("date-time", "enum", "int32", "int64", "float", "double")
_DEEPEST = 12


def subset(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with references put in place, and with nothing that would be refused."""
    defined: Mapping[str, Any] = schema.get("$defs") or schema.get("definitions") or {}
    return _subset(schema, defined, 0)


def _subset(schema: Any, defined: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return {"type": "string"} if depth > _DEEPEST else {}
    if isinstance(reference := schema.get("$ref"), str):
        target = defined.get(reference.rpartition("/")[2], {})
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    found: dict[str, Any] = {key: schema[key] for key in _KEPT if schema.get(key) is not None}
    if schema.get("format") in _FORMATS:
        found["format"] = schema["format"]
    found |= _typed(schema)
    if "const" in schema:
        found |= {"type": "string", "enum": [str(schema["const"])]}
    elif isinstance(words := schema.get("enum"), list):
        found |= {"type": "string", "enum": [str(word) for word in words if word is not None]}
        if None in words:
            found["nullable"] = True
    if isinstance(inner := schema.get("properties"), Mapping):
        found["properties"] = {name: _subset(each, defined, depth + 1) for name, each in inner.items()}
        needed = [name for name in schema.get("required") or () if name in inner]
        found |= {"required": needed} if needed else {}
    if found.get("type") == "array":
        found["items"] = _subset(schema.get("items") or {}, defined, depth + 1) or {"type": "string"}
    return found | _alternatives(schema, defined, depth)


def _typed(schema: Mapping[str, Any]) -> dict[str, Any]:
    kind = schema.get("type")
    if isinstance(kind, list):
        kinds = [each for each in kind if each != "null"]
        found: dict[str, Any] = {"nullable": True} if "null" in kind else {}
        if len(kinds) == 1:
            return found | {"type": kinds[0]}
        return found | {"anyOf": [{"type": each} for each in kinds]} if kinds else found
    return {"type": kind} if isinstance(kind, str) and kind != "null" else {}


def _alternatives(schema: Mapping[str, Any], defined: Mapping[str, Any], depth: int) -> dict[str, Any]:
    given = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf") or []
    options = [each for each in given if each != {"type": "null"}]
    if not options:
        return {}
    found: dict[str, Any] = {"nullable": True} if len(options) < len(given) else {}
    if len(options) == 1:
        return _subset(options[0], defined, depth + 1) | found
    return found | {"anyOf": [_subset(each, defined, depth + 1) for each in options]}
