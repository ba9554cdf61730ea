"""Reads a prompt that begins with a slash: which commands it names, and with what arguments."""

from collections.abc import Sequence

from msgspec import Struct

from bridle.types.block import UserBlock
from bridle.types.command import Command, Commands, find_command
from bridle.types.slash import read_slash_line
from bridle.types.turn import Prompt

MOST_CHAINED = 6


class Invocation(Struct, frozen=True, kw_only=True):
    """The commands of a prompt: one, or several skills in a row."""

    commands: tuple[Command, ...]
    arguments: str
    typed: str
    """The whole line."""
    rest: tuple[UserBlock, ...] = ()
    """What came with it, such as pictures."""


def read_invocation(prompt: Prompt, commands: Commands) -> Invocation | None:
    """The commands that a prompt calls; None for one that calls none, or an unknown one."""
    typed, rest = _typed(prompt.content)
    if prompt.verbatim or prompt.meta:
        return None
    found: list[Command] = []
    left = typed
    while len(found) < MOST_CHAINED and (slashed := read_slash_line(left)) is not None:
        command = find_command(slashed, commands)
        if command is None or (found and not (_chains(command) and _chains(found[0]))):
            break
        found.append(command)
        left = slashed.rest
        if not _chains(command):
            break
    if not found:
        return None
    return Invocation(commands=tuple(found), arguments=left.strip(), typed=typed, rest=rest)


def _chains(command: Command) -> bool:
    """Whether a command stands for a prompt that may be joined with others."""
    return command.source not in ("builtin", "mcp")


def _typed(content: str | Sequence[UserBlock]) -> tuple[str, tuple[UserBlock, ...]]:
    if isinstance(content, str):
        return content.strip(), ()
    first = next((block for block in content if block["type"] == "text"), None)
    if first is None or first["type"] != "text":
        return "", ()
    return first["text"].strip(), tuple(block for block in content if block is not first)
