"""A host that says what it brings before anything is begun: its plugins count like those of flags."""

import os
from typing import Any

from msgspec import Struct

from bridle.cli.args import Args
from bridle.protocol.control import ControlRequest
from bridle.protocol.prompts import read_line
from bridle.types.errors import UsageError

_STDIN = 0
_READ_SIZE = 65_536


class Introduced(Struct, frozen=True):
    """The command line with what the host has added to it."""

    args: Args
    read: bytes = b""
    """What was taken from standard input so far, for whoever reads on."""


def await_introduction(args: Args, *, descriptor: int = _STDIN) -> Introduced:
    """Read up to the line in which a host introduces itself, where it was said that one will.

    Raises:
        UsageError: a line before it cannot be read, or it names a plugin of a kind that there is not.
    """
    if not args.on("await-initialize") or args.text("input-format") != "stream-json":
        return Introduced(args)
    read, seen = b"", 0
    while chunk := os.read(descriptor, _READ_SIZE):
        read += chunk
        while (end := read.find(b"\n", seen)) >= 0:
            line = read_line(read[seen:end])
            seen = end + 1
            if isinstance(line, ControlRequest) and line.subtype == "initialize":
                return Introduced(_with_plugins(args, line.request.get("plugins")), read)
    return Introduced(args, read)


def _with_plugins(args: Args, plugins: object) -> Args:
    listed: list[Any] = plugins if isinstance(plugins, list) else []
    values = dict(args.values)
    for plugin in listed:
        match plugin:
            case {"type": "local", "path": str() as path}:
                flag = "plugin-dir-no-mcp" if plugin.get("skipMcpDiscovery") is True else "plugin-dir"
                earlier = values.get(flag)
                values[flag] = [*(earlier if isinstance(earlier, list) else ()), path]
            case _:
                raise UsageError("a plugin of the host must be {type: local, path: …}")
    return Args(values, args.words)
