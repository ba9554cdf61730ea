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

    async def rewind(self, prompt: str, *, dry_run: bool = False) -> Rewound:
        """Put files back as they were when this prompt came; the conversation stays as it is.

        Raises:
            SessionError: nothing is known about this prompt.
        """
        ...

    async def close(self) -> None: ...
