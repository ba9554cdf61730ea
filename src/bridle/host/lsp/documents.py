"""The files that a language server has open."""

import os
from collections import OrderedDict
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from bridle.host.files import read_bytes
from bridle.host.lsp.framing import LspFault

MOST_OPEN = 50
LARGEST = 4 * 1024 * 1024

Notify = Callable[[str, Any], None]


class Documents:
    """Keeps a server's picture of files as they are on disk; those not used for longest are closed."""

    def __init__(self, language: Callable[[str], str]) -> None:
        self._language = language
        self._open: OrderedDict[str, tuple[int, tuple[int, int], str]] = OrderedDict()
        """Version, stamp and text of each file."""

    def sync(self, path: str, notify: Notify) -> str:
        """Let the server see a file as it is now; its text.

        Raises:
            LspFault: it cannot be read.
        """
        uri = uri_of(path)
        try:
            status = os.stat(path)
            stamp = (status.st_mtime_ns, status.st_size)
            known = self._open.get(path)
            if known is not None and known[1] == stamp:
                self._open.move_to_end(path)
                return known[2]
            text = read_bytes(path, LARGEST).decode(errors="replace")
        except OSError as error:
            self.forget(path, notify)
            raise LspFault(f"{path} cannot be read: {error.strerror or error}") from error
        version = 1 if known is None else known[0] + 1
        if known is None:
            document = {"uri": uri, "languageId": self._language(path), "version": version, "text": text}
            notify("textDocument/didOpen", {"textDocument": document})
        else:
            changed = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]}
            notify("textDocument/didChange", changed)
        self._open[path] = (version, stamp, text)
        self._open.move_to_end(path)
        while len(self._open) > MOST_OPEN:
            self.forget(next(iter(self._open)), notify)
        return text

    def refresh(self, notify: Notify) -> None:
        """Send the changes of every open file."""
        for path in tuple(self._open):
            try:
                self.sync(path, notify)
            except LspFault:
                continue  # It is gone, and has been forgotten.

    def forget(self, path: str, notify: Notify) -> None:
        """Let the server look for the file on disk again."""
        if self._open.pop(path, None) is not None:
            notify("textDocument/didClose", {"textDocument": {"uri": uri_of(path)}})

    def reset(self) -> None:
        """The server has restarted and knows nothing."""
        self._open.clear()


def uri_of(path: str) -> str:
    return "file://" + quote(path)


def path_of(uri: str) -> str | None:
    """The file that an address names; None when it names none."""
    parts = urlsplit(uri)
    return os.path.normpath(unquote(parts.path)) if parts.scheme == "file" else None
