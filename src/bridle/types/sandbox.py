"""The boundary that the kernel holds around commands, and what a single command may see and change."""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from msgspec import Struct

OUT_OF_SANDBOX = (
    "The command was not run: it was approved for the sandbox, and would run outside of it now. "
    "Call it again."
)


class Confined(Struct, frozen=True, kw_only=True):
    """How to start a program so that it stays inside."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    pass_fds: tuple[int, ...] = ()


Pattern = tuple[str, tuple[str, ...]]
"""A folder, and what must follow below it: a pattern for each component, `**` for any number of them."""


class Denials(Struct, frozen=True, kw_only=True):
    """What rules keep from a command, whatever it runs; a pattern for a folder closes all that is in it."""

    unreadable: tuple[Pattern, ...] = ()
    unwritable: tuple[Pattern, ...] = ()
    programs: tuple[str, ...] = ()
    """Names, beginnings of names with a star, or absolute paths."""
    hosts: tuple[str, ...] = ()


NOTHING_DENIED = Denials()


class Sandbox(Protocol):
    """Made for a session from its settings, never from what a model says."""

    def covers(self, command: str) -> bool:
        """Whether a shell command would run inside; excluded commands do not."""
        ...

    @property
    def may_be_left(self) -> bool:
        """Whether a command may ask to run outside."""
        ...

    def confine(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], pass_fds: tuple[int, ...] = ()
    ) -> Confined:
        """The program inside the boundary, with the standard descriptors and `pass_fds` open.

        Raises:
            ToolError: the boundary cannot be set up; nothing runs without it.
        """
        ...

    def under(self, denials: Denials) -> "Sandbox":
        """This boundary, closed further for one command; `close` is for the whole only."""
        ...

    def annotate(self, output: str, *, failed: bool, command: str = "") -> str:
        """A sentence about what the boundary refused, when a command failed because of it; else empty."""
        ...

    async def close(self) -> None:
        """End the proxy and remove what was made for the session."""
        ...


class View(Struct, frozen=True, kw_only=True):
    """What a command that only judgment allowed may see and change: made by the gate, all paths absolute."""

    level: Literal["read", "edit"]
    """Whether the command was judged to read only, or to edit in the working folders as well."""
    roots: tuple[str, ...]
    """The working folders."""
    readable: tuple[str, ...] = ()
    """Files and folders elsewhere that the gate let it read."""
    protected: tuple[str, ...] = ()
    """Folders of configuration that it never changes, wherever they are."""
    protected_names: frozenset[str] = frozenset()
    """Names that it never makes or changes at any depth, in lower case."""
    unreadable: tuple[Pattern, ...] = ()
    """Files that rules keep from being read; those in the working folders are closed to it."""


class Refusal(Struct, frozen=True, kw_only=True):
    """Something beyond what a command was judged to do, which the kernel kept it from."""

    deed: str
    """What it tried, behind "to": "write /a/b"."""
    call: str
    """The system call, or how else it was noticed."""
    path: str | None = None


def beyond_words(refusal: Refusal) -> str:
    """What happened, as a clause for people and models."""
    return f"the command tried to {refusal.deed}, which bridle did not expect"
