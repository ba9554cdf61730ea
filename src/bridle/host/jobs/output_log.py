"""Keeps what a program has shown, in two files that take turns, so that they never grow."""

import os

_LARGEST = 1 << 20
_REPEATED = 32 * 1024
CURRENT, OLDER = "output", "output.old"


class OutputLog:
    """Written by the holder alone."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._file = -1
        self._size = 0
        self._open()

    def add(self, data: bytes) -> None:
        """Keep more; a full disk keeps nothing, and the program keeps running."""
        try:
            if self._size + len(data) > _LARGEST:
                os.close(self._file)
                os.replace(os.path.join(self._folder, CURRENT), os.path.join(self._folder, OLDER))
                self._open()
            os.write(self._file, data)
        except OSError:
            return
        self._size += len(data)

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(os.path.join(self._folder, CURRENT), flags, 0o600)
        self._size = os.fstat(self._file).st_size


def last_shown(folder: str, most: int = _REPEATED) -> bytes:
    """The newest of what a program has shown, from the beginning of a line where something is left out."""
    data = everything(folder)
    if len(data) <= most:
        return data
    data = data[-most:]
    return data[data.find(b"\n") + 1 :]


def everything(folder: str) -> bytes:
    """All that is kept of what a program has shown."""
    found = b""
    for name in (OLDER, CURRENT):
        try:
            with open(os.path.join(folder, name), "rb") as file:
                found += file.read()
        except FileNotFoundError:
            pass  # It has not shown that much.
    return found
