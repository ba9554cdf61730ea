"""A host that says what it brings before anything is begun: its plugins count like those of flags."""

import os
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bridle.config.options import SessionOptions
from bridle.protocol.control import ControlRequest
from bridle.protocol.input_lines import read_line
from bridle.types.errors import UsageError

_STDIN = 0
_READ_SIZE = 65_536


class Introduced(Struct, frozen=True):
    """The options with what the host has added to them."""

    options: SessionOptions
    read: bytes = b""
    """What was read from standard input so far."""


def await_introduction(options: SessionOptions, *, descriptor: int = _STDIN) -> Introduced:
    """Read up to the line in which a host introduces itself, where it was said that one will.

    Raises:
        UsageError: a line before it cannot be read, or it names a plugin of a kind that there is not.
    """
    if not options.await_initialize or not options.is_hosted:
        return Introduced(options)
    read, seen = b"", 0
    while chunk := os.read(descriptor, _READ_SIZE):
        read += chunk
        while (end := read.find(b"\n", seen)) >= 0:
            line = read_line(read[seen:end])
            seen = end + 1
            if isinstance(line, ControlRequest) and line.subtype == "initialize":
                return Introduced(_with_plugins(options, line.request.get("plugins")), read)
    return Introduced(options, read)


def _with_plugins(options: SessionOptions, plugins: object) -> SessionOptions:
    listed: list[Any] = plugins if isinstance(plugins, list) else []
    for plugin in listed:
        match plugin:
            case {"type": "local", "path": str() as path, "skipMcpDiscovery": True}:
                options = replace(options, plugin_dir_no_mcp=(*options.plugin_dir_no_mcp, path))
            case {"type": "local", "path": str() as path}:
                options = replace(options, plugin_dir=(*options.plugin_dir, path))
            case _:
                raise UsageError("a plugin of the host must be {type: local, path: …}")
    return options
