"""One simple command as it stands in a command line, before it is judged."""

from typing import Literal

from msgspec import Struct

from bridle.permissions.shell.syntax.words import Word

Places = frozenset[str] | None
"""The directories a command may run in; None when that is unknown."""

Kind = Literal["command", "declaration", "test", "condition", "arithmetic", "assignment", "redirection"]


class LineState(Struct, frozen=True):
    """How things stand when a command is reached."""

    places: Places
    certain: frozenset[str] = frozenset()
    """The variables that the command line is certain to have set itself."""


class Assignment(Struct, frozen=True):
    """`NAME=value` before a command or alone."""

    name: str
    value: Word
    raw: str
    plain: bool = True
    """Not an element or an array."""


class Loop(Struct, frozen=True):
    """The variable of a loop and the words that it goes through."""

    name: str
    words: tuple[Word, ...] | None
    """None when they do not show."""
    certain: frozenset[str]


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
    certain: frozenset[str] = frozenset()
    kind: Kind = "command"
    operands: tuple[Word, ...] = ()
    """What stands between `[[` and `]]`, operators included."""
    evaluates: tuple[str, ...] = ()
    """Expansions in it that do more than put a value in their place."""
    fed_by: "tuple[Simple, ...]" = ()
    """The commands before it in its pipeline, where each of those is a simple one."""
    feeds: bool = False
    """What it prints goes to another command, to a file, or into a word."""
