"""Variables that hooks set for later commands: what they wrote, kept as one script for the shell."""

import os.path
from collections.abc import Callable, Mapping

from bridle.host.files import make_folders, write_atomic
from bridle.host.shell import quote

_VARIABLE = "CLAUDE_ENV_FILE"
_OF_THE_FOLDER = ("CwdChanged", "FileChanged")
"""What these set counts until the session moves on."""
_MOST = 256 * 1024


class Exports:
    """The script that every shell command of a session reads first, made with the first export."""

    def __init__(self, folder: str, env: Mapping[str, str], export: Callable[[str, str], None]) -> None:
        self._path = os.path.join(folder, "session.env")
        self._export = export
        self._before = env.get(_VARIABLE, "")
        """A script that the user gave to the session."""
        self._parts: dict[str, str] = {}

    def take(self, event: str, text: str) -> None:
        """Add what a hook wrote; when the session has moved, what counted for the last folder is dropped.

        Raises:
            OSError: the script cannot be written.
        """
        if event == "CwdChanged":
            self.leave()
        self._parts[event] = f"{self._parts.get(event, '')}{text.rstrip()}\n"[-_MOST:]
        self._write()

    def leave(self) -> None:
        """Forget what counted for one folder."""
        for event in _OF_THE_FOLDER:
            self._parts.pop(event, None)

    def _write(self) -> None:
        given = f". {quote(self._before)}\n" if self._before else ""
        make_folders(os.path.dirname(self._path), private=True)
        write_atomic(self._path, (given + "".join(self._parts.values())).encode(), mode=0o600)
        self._export(_VARIABLE, self._path)
