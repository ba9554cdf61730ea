"""How new work trees are made."""

from typing import Literal

from msgspec import Struct

from bridle.types.services.service import Service


class WorktreeOptions(Struct, frozen=True, kw_only=True):
    base: Literal["fresh", "head"] = "fresh"
    """Where they begin: at the newest of the remote's main branch, or at the current commit."""
    sparse: tuple[str, ...] = ()
    """The only folders that are checked out, where any are named."""
    links: tuple[str, ...] = ()
    """Folders that they share with the main checkout."""
    protected: str | None = None
    """The main checkout, where a session in the background may change nothing before it is in a work tree."""


WORKTREE_OPTIONS: Service[WorktreeOptions] = Service(
    "worktree_options", missing="There are no work trees in this session."
)
