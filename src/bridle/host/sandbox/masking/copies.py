"""Copies of credential files that commands read instead of the real ones."""

import os
import os.path

from msgspec import Struct

from bridle.host.files import write_new
from bridle.host.sandbox.masking.credentials import CredentialStore
from bridle.host.sandbox.masking.settings import MaskedFile

LARGEST = 8 * 1024 * 1024


class FileOverlays(Struct, frozen=True):
    """What lies over real files while a command runs."""

    shown: tuple[tuple[str, str], ...] = ()
    """Real paths, each with its copy."""
    hidden: tuple[str, ...] = ()
    """Files that cannot be masked, so nothing of them is shown."""


NOTHING = FileOverlays()


class Copies:
    """Makes copies in a folder of the session, and makes them again when a file has changed."""

    def __init__(self, files: tuple[MaskedFile, ...], vault: CredentialStore, folder: str) -> None:
        self._files = files
        self._vault = vault
        self._folder = folder
        self._made: dict[str, tuple[tuple[int, ...], str]] = {}

    def cover(self) -> FileOverlays:
        """The state of all files now; a file in which nothing was found and that may be read is left out."""
        shown: dict[str, str] = {}
        hidden: list[str] = []
        for file in self._files:
            path = os.path.realpath(file.path)
            if not os.path.lexists(path):
                continue
            copy = self._copy(file, path)
            if copy:
                shown[path] = copy
            elif copy is None:
                hidden.append(path)
        return FileOverlays(tuple(shown.items()), tuple(hidden))

    def all_hidden(self) -> FileOverlays:
        """For walls that can hide a file and not put another in its place."""
        return FileOverlays((), tuple(os.path.realpath(file.path) for file in self._files))

    def finds_nothing_in(self, file: MaskedFile) -> bool:
        """Whether a file is there and its mask does not fit it."""
        text = read_text(os.path.realpath(file.path))
        return text is not None and self._vault.cover(text, file.mask) is None

    def _copy(self, file: MaskedFile, path: str) -> str | None:
        """The copy, None when the file must be hidden, empty when it may be read as it is."""
        try:
            state = os.stat(path)
        except OSError:
            return None
        mark = (state.st_ino, state.st_size, state.st_mtime_ns)
        if (made := self._made.get(path)) is not None and made[0] == mark:
            return made[1]
        text = read_text(path)
        covered = None if text is None else self._vault.cover(text, file.mask)
        if text is None or covered is None:
            return "" if text is not None and file.mask.no_match == "warn" else None
        copy = os.path.join(self._folder, f"mask-{os.urandom(8).hex()}")
        write_new(copy, covered.encode())
        self._made[path] = (mark, copy)
        return copy


def read_text(path: str) -> str | None:
    """What a plain file of moderate size says; None for anything else."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > LARGEST:
            return None
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return None
