"""What a command that only judgement allowed may see and change."""

from typing import Literal

from msgspec import Struct


class View(Struct, frozen=True, kw_only=True):
    """Made by the gate with its decision; all paths are absolute."""

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


class Refusal(Struct, frozen=True, kw_only=True):
    """Something beyond what a command was judged to do, which the kernel kept it from."""

    deed: str
    """What it tried, behind "to": "write /a/b"."""
    call: str
    """The system call, or how else it was noticed."""
    path: str | None = None


def beyond_words(refusal: Refusal) -> str:
    """What happened, as a clause for people and models."""
    return f"the command tried to {refusal.deed}, which is more than it was judged to do"
