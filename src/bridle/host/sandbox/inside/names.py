"""Which names are protected, wherever they are made."""

from __future__ import annotations

import errno

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Names:
    """Looks at paths below the folders that may be written, and not where packages are kept."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._roots: list[str] = sorted(given["roots"], key=len, reverse=True)
        self._free: frozenset[str] = frozenset(given["free"])
        self._protected = frozenset(name.casefold() for name in given["names"])
        self._packages = frozenset(given["packages"])
        self._closed: frozenset[str] = frozenset(given["closed"])
        self._open_again: frozenset[str] = frozenset(given["open_again"])
        self._only_in_roots: bool = given["alone"]
        self._is_denied: Callable[[str], object] | None = None
        if given["denied"]:
            import re

            whole = "|".join(f"(?:{expression})" for expression in given["denied"])
            self._is_denied = re.compile(whole, re.DOTALL).fullmatch

    most_moved = 5_000
    """How many names in a folder are looked at when it is moved; what is larger is copied by the program."""

    @property
    def depends_on_folders(self) -> bool:
        """Whether what is free under one path may be closed under another."""
        return self._is_denied is not None

    def is_protected(self, path: str) -> bool:
        """Whether something at this path would decide what runs later, or is closed to commands."""
        if self._is_closed(path) or (self._is_denied is not None and self._is_denied(path)):
            return True
        parts = self._below(path)
        if parts is None or not self._packages.isdisjoint(parts[:-1]):
            return False
        for index, part in enumerate(parts):
            name = part.casefold()
            if name in self._protected:
                return True
            if name == "git" and index and parts[index - 1].casefold() == ".config":
                return True
        return False

    def is_free(self, path: str) -> bool:
        """Whether everything may be made there."""
        parts = self._below(path)
        return parts is None or not self._packages.isdisjoint(parts)

    def refuse_protected(self, path: str) -> None:
        """Raises OSError for a protected path."""
        if self.is_protected(path):
            raise OSError(errno.EROFS, "protected")

    def refuse_change(self, path: str, *, nameless: bool) -> None:
        """Raises OSError where modes, owners and the like must stay; what was never in a folder is free."""
        self.refuse_protected(path)
        without_place = not path.startswith("/") or (nameless and path.startswith("/memfd:"))
        if self._only_in_roots and not without_place and self._root_of(path) is None:
            raise OSError(errno.EROFS, "outside")

    def refuse_configuration(self, path: str) -> None:
        """Raises OSError where a folder or link would bring along a protected `git` of its own."""
        if self.is_protected(f"{path}/git") and not self.is_protected(path):
            raise OSError(errno.EROFS, "protected")

    def _below(self, path: str) -> list[str] | None:
        root = self._root_of(path)
        # Outside of all roots nothing can be written anyway.
        return None if root is None or root in self._free else path[len(root) :].strip("/").split("/")

    def _root_of(self, path: str) -> str | None:
        for root in self._roots:
            if path == root or path.startswith(root.rstrip("/") + "/"):
                return root
        return None

    def _is_closed(self, path: str) -> bool:
        """Whether the innermost folder that says anything about a path closes it."""
        while len(path) > 1:
            if path in self._closed:
                return True
            if path in self._open_again:
                return False
            path = path.rpartition("/")[0]
        return False
