"""What views of several kinds ask for."""

from msgspec import Struct


class EditFile(Struct, frozen=True):
    """Open a file in the user's editor."""

    path: str
    line: int | None = None


class OpenText(Struct, frozen=True):
    """Show a text in the user's editor."""

    text: str


class CopyText(Struct, frozen=True):
    """Put a text on the clipboard."""

    text: str


class SaveText(Struct, frozen=True):
    """Write a text to a file."""

    text: str
    path: str


class RunCommand(Struct, frozen=True):
    """Put a slash command into the prompt, as if it had been typed."""

    name: str
