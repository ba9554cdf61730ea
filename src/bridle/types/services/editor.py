"""Files and terminals of the editor that a session runs in."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from bridle.types.services.service import Service


class EditorFiles(Protocol):
    """Files as the editor has them, with what is not saved yet."""

    async def read(self, path: str) -> str | None:
        """The text of a file as the editor has it; None where it does not say."""
        ...

    async def write(self, path: str, text: str) -> bool:
        """Let the editor change and save a file; whether it says that it did."""
        ...


class TerminalRun(Struct, frozen=True, kw_only=True):
    """A command that has ended in a terminal of the editor."""

    output: str
    truncated: bool
    """The beginning of the output is missing."""
    exit_code: int | None
    signal: str | None
    timed_out: bool = False


class EditorTerminals(Protocol):
    """Terminals that the editor shows to its user."""

    async def run(
        self,
        argv: Sequence[str],
        *,
        call_id: str,
        cwd: str,
        env: Mapping[str, str],
        seconds: float,
        most_bytes: int,
        progress: Callable[[str], None],
    ) -> TerminalRun | None:
        """Run a program to its end, at most so long; None where the editor cannot run it.

        Cancelling ends the program.
        """
        ...


EDITOR_FILES: Service[EditorFiles] = Service("editor files", missing="This session runs in no editor.")
EDITOR_TERMINALS: Service[EditorTerminals] = Service(
    "editor terminals", missing="This session runs in no editor."
)
