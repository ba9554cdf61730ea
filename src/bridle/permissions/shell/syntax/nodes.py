"""A command line as bash reads it: which command stands where, by places in the text."""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

Span = tuple[int, int]
Joint = Literal["", "&&", "||"]


class Redirect(Struct, frozen=True):
    """`2>file`, `<<END` and the like."""

    start: int
    operator: str
    target: Span
    """For a here-document, the word that says how it ends."""


class HereDocument(Struct, frozen=True):
    """The text of a here-document."""

    first: int
    last: int
    """Where the line begins that ends it."""
    quoted: bool
    """Nothing is filled in."""


class Command(Struct, frozen=True):
    """A simple command."""

    start: int
    assignments: tuple[Span, ...]
    words: tuple[Span, ...]
    redirects: tuple[Redirect, ...]


class Condition(Struct, frozen=True):
    """`[[ … ]]`: operands and operators without the brackets."""

    start: int
    end: int
    words: tuple[Span, ...]


class Arithmetic(Struct, frozen=True):
    """`(( … ))`."""

    start: int
    end: int


class Pipeline(Struct, frozen=True):
    """Commands with pipes between them, or one that is negated."""

    commands: "tuple[Node, ...]"
    negated: bool


class Statement(Struct, frozen=True):
    """Commands joined by `&&` and `||`, each with what stands before it."""

    chain: "tuple[tuple[Joint, Node], ...]"
    background: bool = False


class Listing(Struct, frozen=True):
    """Statements one after the other."""

    statements: tuple[Statement, ...]


class Subshell(Struct, frozen=True):
    body: Listing


class Group(Struct, frozen=True):
    body: Listing


class If(Struct, frozen=True):
    branches: tuple[tuple[Listing, Listing], ...]
    """Condition and body of each."""
    otherwise: Listing | None


class While(Struct, frozen=True):
    start: int
    end: int
    condition: Listing
    body: Listing


class For(Struct, frozen=True):
    start: int
    end: int
    variable: Span
    words: tuple[Span, ...] | None
    selects: bool
    body: Listing


class Counting(Struct, frozen=True):
    """`for ((…; …; …))`."""

    start: int
    end: int
    head: Span
    body: Listing


class Case(Struct, frozen=True):
    start: int
    end: int
    word: Span
    branches: tuple[tuple[tuple[Span, ...], Listing], ...]
    """Patterns and body of each."""


class Function(Struct, frozen=True):
    name: Span
    body: "Node"


class Redirected(Struct, frozen=True):
    """A compound command with redirections of its own."""

    body: "Node"
    redirects: tuple[Redirect, ...]


Node = (
    Command
    | Condition
    | Arithmetic
    | Pipeline
    | Subshell
    | Group
    | If
    | While
    | For
    | Counting
    | Case
    | Function
    | Redirected
)
Token = tuple[int, int, str]
"""Where a token begins and ends, and what it is."""


class Inner(Struct, frozen=True):
    """A substitution: what runs in it, or None where backquotes are still to be read."""

    start: int
    end: int
    body: Listing | None


class Script(Struct, frozen=True):
    """A command line that could be read to its end."""

    text: str
    """One character per byte, with continued lines joined."""
    body: Listing
    tokens: Sequence[Token]
    ends: Mapping[int, int]
    """From the start of each expansion and substitution to its end."""
    inner: Sequence[Inner]
    """Every substitution, in the order in which they begin."""
    documents: Mapping[int, HereDocument]
    """By the place of their operator."""
    certain: bool = False
    """Nothing in it can be read in a second way, so that the grammar need not be asked."""
