"""One simple command as it stands in a command line, before anybody judges it."""

from typing import Literal

from msgspec import Struct

from bridle.permissions.shell.words import Word

Places = frozenset[str] | None
"""The directories a command may run in; None when that cannot be told."""

Kind = Literal["command", "declaration", "test", "condition", "arithmetic", "assignment", "redirection"]


class Assignment(Struct, frozen=True):
    """`NAME=value` before a command or alone."""

    name: str
    value: Word
    raw: str
    plain: bool = True
    """Not an element or an array."""


class Redirection(Struct, frozen=True):
    """Where one of the streams goes or comes from."""

    operator: str
    target: Word | None
    raw: str
    content: str = ""
    """The text of a here-document."""
    document: Word | None = None
    """What bash fills in in it."""


class Simple(Struct, frozen=True, kw_only=True):
    """A simple command with the directories it may run in."""

    text: str
    words: tuple[Word, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    places: Places
    kind: Kind = "command"
