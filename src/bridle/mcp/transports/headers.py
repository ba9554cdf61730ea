"""Parts of a message that are repeated in HTTP headers, so that proxies need not read bodies."""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any

from bridle.mcp.protocol_versions import REVISION, is_modern

_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PLAIN = r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?|"
_PRIMITIVE = ("string", "integer", "boolean")
_LARGEST = 2**53 - 1


def mirrored(message: Mapping[str, Any], agreed: str) -> dict[str, str]:
    """The headers that repeat what a message says; `agreed` is the revision that both sides speak so far."""
    params: Mapping[str, Any] = message.get("params") or {}
    revision: str = (params.get("_meta") or {}).get(REVISION, agreed)
    if not revision:
        return {}
    headers = {"MCP-Protocol-Version": revision}
    method: str = message.get("method", "")
    if not is_modern(revision) or not method:
        return headers
    headers["Mcp-Method"] = method
    if isinstance(value := params.get(_NAMED.get(method, "")), str):
        headers["Mcp-Name"] = encoded(value)
    return headers


def encoded(value: str) -> str:
    """A text as a header value; what HTTP cannot carry is packed."""
    if re.fullmatch(_PLAIN, value) and not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    return f"=?base64?{b64encode(value.encode('utf-8', 'replace')).decode()}?="


class BadAnnotation(ValueError):
    """A tool wants a parameter in a header and says so in a way that is not allowed."""


def header_paths(schema: Any) -> dict[str, tuple[str, ...]]:
    """The header of each parameter that is repeated in one, with the way to its value.

    Raises:
        BadAnnotation: an annotation is not allowed where or as it stands.
    """
    found: dict[str, tuple[str, ...]] = {}
    for path, node, reachable in _annotations(schema, (), reachable=True):
        name = node["x-mcp-header"]
        if not isinstance(name, str) or re.fullmatch(_TOKEN, name) is None:
            raise BadAnnotation(f"{name!r} is not a valid header name")
        if not reachable:
            raise BadAnnotation(f"{name} is for a value without a fixed place")
        if node.get("type") not in _PRIMITIVE:
            raise BadAnnotation(f"{name} is for a value that is not a string, integer or boolean")
        if name.lower() in (known.lower() for known in found):
            raise BadAnnotation(f"{name} is used twice")
        found[name] = path
    return found


def parameter_headers(paths: Mapping[str, tuple[str, ...]], arguments: Mapping[str, Any]) -> dict[str, str]:
    """The headers for one call."""
    headers: dict[str, str] = {}
    for name, path in paths.items():
        value: Any = arguments
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        match value:
            case bool():
                headers[f"Mcp-Param-{name}"] = str(value).lower()
            case int() if abs(value) <= _LARGEST:
                headers[f"Mcp-Param-{name}"] = str(value)
            case str():
                headers[f"Mcp-Param-{name}"] = encoded(value)
            case _:
                pass
    return headers


def _annotations(
    node: Any, path: tuple[str, ...], *, reachable: bool
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any], bool]]:
    if isinstance(node, list):
        for each in node:
            yield from _annotations(each, path, reachable=False)
        return
    if not isinstance(node, dict) or len(path) > 64:
        return
    if "x-mcp-header" in node:
        yield path, node, reachable and bool(path)
    for key, value in node.items():
        if key == "properties" and isinstance(value, dict):
            for name, child in value.items():
                yield from _annotations(child, (*path, name), reachable=reachable)
        elif key not in ("const", "default", "enum", "examples", "x-mcp-header"):
            yield from _annotations(value, path, reachable=False)
