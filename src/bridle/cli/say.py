"""Words on standard output, for whoever is still there to read them."""

import os
import sys


def say(text: str) -> int:
    """Print some text and return the exit code that follows from it."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _let_go()
        return 141
    except OSError as error:
        _let_go()
        sys.stderr.write(f"error: the output cannot be written: {error.strerror}\n")
        return 1
    return 0


def _let_go() -> None:
    """Point the stream elsewhere, so that the interpreter's last flush is quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell(text: str) -> int:
    """Say lines that hold words of strangers, who do not steer the terminal; returns the exit code."""
    # `--version` is said without this.
    from bridle.types.text import encodable, printable

    return say(printable(encodable(text), keep="\n"))
