"""Sees from the text before the cursor what may be completed."""

import re
from typing import Literal

from msgspec import Struct

_COMMAND = re.compile(r"/([^\s/]*)$")
_ARGUMENT = re.compile(r"/([^\s/]+)\s+(.*)$", re.DOTALL)
_QUOTED = re.compile(r'(?:^|[\s(\[{])(@"([^"\n]*))$')
_MENTION = re.compile(r"""(?:^|[\s(\[{'"])(@([^\s"'`]*))$""")

_EMOJI = re.compile(r"(?:^|\s)(:([a-z+-][a-z0-9_+-]*))$")

Mode = Literal["prompt", "command", "bash", "memory"]
Kind = Literal["command", "argument", "mention", "emoji"]


class Trigger(Struct, frozen=True, kw_only=True):
    """What is being typed: the part of the text between `start` and the cursor stands for it."""

    kind: Kind
    query: str
    start: int
    quoted: bool = False
    command: str = ""
    """Whose arguments are typed."""


def mode_of(text: str) -> Mode:
    """What the first character of the input makes of it."""
    match text[:1]:
        case "!":
            return "bash"
        case "#":
            return "memory"
        case "/" if not _looks_like_path(text):
            return "command"
        case _:
            return "prompt"


def trigger_at(text: str, cursor: int) -> Trigger | None:
    """What can be completed at the cursor, if anything."""
    before = text[: max(0, cursor)]
    if before.startswith("/") and (found := _COMMAND.match(before)):
        return Trigger(kind="command", query=found[1], start=0)
    if quoted := _QUOTED.search(before):
        return Trigger(kind="mention", query=quoted[2], start=quoted.start(1), quoted=True)
    if mention := _MENTION.search(before):
        return Trigger(kind="mention", query=mention[2], start=mention.start(1))
    if emoji := _EMOJI.search(before):
        return Trigger(kind="emoji", query=emoji[2], start=emoji.start(1))
    if before.startswith("/") and (found := _ARGUMENT.match(before)) and "\n" not in before:
        return Trigger(kind="argument", query=found[2], start=found.start(2), command=found[1])
    return None


def _looks_like_path(text: str) -> bool:
    """`/usr/bin` is no command."""
    return "/" in text[1:].split(maxsplit=1)[0] if text[1:].strip() and text[1:2].strip() else False
