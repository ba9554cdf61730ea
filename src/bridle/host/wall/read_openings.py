"""Opens files for reading in the place of a judged command, where rules close some of the working folders.

The kernel lets such a command read nothing in those folders on its own, so a path that changes between the
look and the opening gains nothing: what is opened here was looked at, and all else is left to the kernel.
"""

import ctypes
import errno
import os

from bridle.host.sandbox.inside.kernel import open_without_links
from bridle.host.sandbox.inside.names import Names
from bridle.host.sandbox.inside.openings import Openings
from bridle.host.sandbox.inside.requests import Request
from bridle.host.sandbox.inside.targets import FOLDER, KIND, REGULAR, where
from bridle.host.wall.call_receiver import AllowedPaths
from bridle.host.wall.closed_files import ClosedFiles


class ReadOpenings:
    """Each method answers one call that opens for reading."""

    def __init__(self, closed: ClosedFiles, free: AllowedPaths) -> None:
        self._closed = closed
        self.free = free
        names = _ReadNames(closed)
        self._openings = Openings(names)
        self.retry = self._openings.retry

    def open(self, request: Request, name: str) -> bool:
        """Open what a call names, or let the kernel do that where nothing is closed."""
        base, at = (None, 0) if name == "open" else (0, 1)
        text = request.text(at)
        if self.free.covers(os.fsencode(text)):
            request.proceed()
            return True
        folder, text = request.given(base, at)
        flags = request.integer(at + 1)
        try:
            found = open_without_links(folder, text, flags | os.O_NONBLOCK)
            number = ctypes.get_errno()
            if found < 0:
                if number not in (errno.ELOOP, errno.ENXIO):
                    raise OSError(number, "opening for reading")
                self._closed.refuse(os.path.normpath(os.path.join(where(folder), text)))
                return self._step_by_step(request, base)
        finally:
            os.close(folder)
        try:
            facts = os.fstat(found)
            if facts.st_mode & KIND not in (REGULAR, FOLDER):
                return self._step_by_step(request, base)
            self._closed.refuse(where(found), facts)
            if not flags & os.O_NONBLOCK:
                os.set_blocking(found, True)
            request.give(found, closes=bool(flags & os.O_CLOEXEC))
        finally:
            os.close(found)
        return True

    def _step_by_step(self, request: Request, base: int | None) -> bool:
        """Follow links one by one, each of them looked at, and wait for the other ends of pipes."""
        return self._openings.open(request) if base is None else self._openings.openat(request)


class _ReadNames(Names):
    """Asked for every hop on the way to a file, and for what is there in the end."""

    def __init__(self, closed: ClosedFiles) -> None:
        self._closed_files = closed

    def refuse_protected(self, path: str) -> None:
        """Raises ClosedFile for a path that rules close."""
        self._closed_files.refuse(path)
