"""What files held before a session changed them, and how to get it back."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from msgspec import Struct


class Rewound(Struct, frozen=True, kw_only=True):
    """What going back changed, or would change."""

    can_rewind: bool = True
    files_changed: tuple[str, ...] = ()
    insertions: int = 0
    deletions: int = 0
    skipped_links: tuple[str, ...] = ()
    """Files that were left alone because their path leads elsewhere now."""
    unkept: tuple[str, ...] = ()
    """Files that were left alone because nothing is kept of what they held."""
    foreign: tuple[str, ...] = ()
    """Files that another program has changed since: without force nothing is changed because of them."""


class Redone(Struct, frozen=True, kw_only=True):
    """A rewind that was undone."""

    files: Rewound
    leaf: str | None
    """The last entry of the conversation before the rewind."""


class Changes(Protocol):
    """Called by tools before they change files."""

    async def before_change(self, path: str) -> None:
        """The file at this absolute path, links followed, is about to be written, made or removed."""
        ...

    async def before_command(self) -> Callable[[], Awaitable[None]]:
        """A command is about to run; what is returned is to be called when it has ended."""
        ...


class Checkpoints(Changes, Protocol):
    """The states of files at each prompt of a session."""

    async def begin(self, prompt: str) -> None:
        """A turn begins with the prompt whose entry has this uuid."""
        ...

    async def end(self) -> None:
        """The turn has ended: what changes from now on was changed by others."""
        ...

    async def rewind(
        self, prompt: str, *, dry_run: bool = False, force: bool = False, leaf: str | None = None
    ) -> Rewound:
        """Put files back as they were when this prompt came; the conversation stays as it is.

        `leaf` is the entry that the conversation ends with, for `redo`; `force` overwrites what others have
        changed since.

        Raises:
            SessionError: nothing is known about this prompt, others have changed files since, or they
                cannot be written; then all files are as they were.
        """
        ...

    async def leave_branch(self, prompt: str, leaf: str) -> None:
        """The conversation alone goes back to this prompt; `redo` continues it from `leaf`."""
        ...

    async def redo(self, *, force: bool = False) -> Redone:
        """Take the newest rewind back, until something else is done.

        Raises:
            SessionError: there is none, others have changed files since, or they cannot be written.
        """
        ...

    async def close(self) -> None: ...
