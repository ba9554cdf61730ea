"""Standard output and standard error: the one way there, so that no untrusted text controls a terminal.

What goes to a terminal has every control character made visible here; pipes and files get the text as it is.
`tests/architecture/test_one_way_out.py` keeps every other module from writing to them.
"""

import io
import os
import sys

from bridle.types.visible import visible, visible_line, visible_prose

TYPE_CHECKING = False  # As in `typing`, which `--version` does without.
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import TextIO


def write_out(text: str) -> None:
    """Write to standard output, at once.

    Raises:
        OSError: it cannot be written, or its reader is gone.
    """
    # While prints of libraries are on standard error, our own output stays where it belongs.
    stream = sys.__stdout__ if sys.stdout is sys.stderr else sys.stdout
    if stream is not None:
        stream.write(shown_on(stream, text))
        stream.flush()


def complain(text: str, *, end: str = "\n") -> None:
    """Write a line to standard error; one that cannot be written is lost.

    A line stays one, whatever names are in it; with another `end` the text is as it is.
    """
    if end == "\n" and len(text.splitlines()) > 1:
        text = visible_line(text)
    try:
        if sys.stderr is not None:
            sys.stderr.write(shown_on(sys.stderr, f"{_without_secrets(text)}{end}"))
            sys.stderr.flush()
    except OSError:
        pass  # There is no reader left.


def _without_secrets(text: str) -> str:
    """The text without what the process has learned to hide; nothing is learned before that is imported."""
    known = sys.modules.get("bridle.host.secrets")
    return text if known is None else known.SECRETS.hide(text)


def shown_on(stream: "TextIO", text: str) -> str:
    """The text as it may be written to a stream: harmless on a terminal, else as it is."""
    if is_terminal(stream):
        return _harmless(text)
    try:
        text.encode()
    except UnicodeEncodeError:
        # Rare, and `--version` is said without it.
        from bridle.types.text import encodable

        return encodable(text)
    return text


def is_terminal(stream: "TextIO | None") -> bool:
    """Whether a person reads it; a stream that is closed is none."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def for_terminal(data: bytes) -> bytes:
    """Some UTF-8 text as a terminal may get it; bytes that are no text are shown as their numbers."""
    text = data.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    return visible_prose(text).encode(_encoding(), "replace")


def ask_secret(prompt: str) -> str:
    """What is typed at the terminal without being shown."""
    from getpass import getpass

    return getpass(visible(prompt))


def libraries_on_stderr() -> "AbstractContextManager[object]":
    """What libraries print goes to standard error; `write_out` still writes to standard output."""
    from contextlib import redirect_stdout

    return redirect_stdout(sys.stderr)


def let_go_of_output() -> None:
    """Point standard output elsewhere, so that the interpreter's last flush is quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def guard_terminals() -> None:
    """Let all that is printed to a terminal pass here: also from libraries, packages and tracebacks."""
    if is_terminal(sys.stdout):
        sys.stdout = sys.__stdout__ = _guarded(sys.stdout)
    if is_terminal(sys.stderr):
        sys.stderr = sys.__stderr__ = _guarded(sys.stderr)


class _Guarded(io.TextIOWrapper):
    """A stream to a terminal that escapes control characters."""

    def write(self, text: str, /) -> int:
        super().write(_harmless(text))
        return len(text)


def _harmless(text: str) -> str:
    return visible(text.replace("\r\n", "\n"))


def _guarded(stream: "TextIO") -> "TextIO":
    if isinstance(stream, _Guarded) or not isinstance(stream, io.TextIOWrapper):
        return stream
    encoding, stays = stream.encoding, stream.write_through
    return _Guarded(
        stream.detach(), encoding=encoding, errors="replace", line_buffering=True, write_through=stays
    )


def _encoding() -> str:
    """How the terminals of this process want their text."""
    known = sys.__stdout__ or sys.__stderr__
    return "utf-8" if known is None else known.encoding
