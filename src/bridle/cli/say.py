"""Prints to standard output; a closed pipe is no error."""

from bridle.host.stdio import complain, let_go_of_output, write_out
from bridle.types.visible import visible_line

_END = "\n"


def say(text: str) -> int:
    """Print some text and return the exit code that follows from it."""
    try:
        write_out(text)
    except BrokenPipeError:
        let_go_of_output()
        return 141
    except OSError as error:
        let_go_of_output()
        complain(f"error: can't write the output: {error.strerror}")
        return 1
    return 0


def tell(*lines: str) -> int:
    """Say lines that hold names and words of strangers; returns the exit code.

    Each stays one line, and nothing in it stays unseen, on a terminal or not.
    """
    return say("".join(f"{visible_line(line.removesuffix(_END))}\n" for line in lines))
