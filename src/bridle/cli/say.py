"""Words on standard output, for whoever is still there to read them."""

from bridle.host.stdio import complain, let_go_of_output, write_out


def say(text: str) -> int:
    """Print some text and return the exit code that follows from it."""
    try:
        write_out(text)
    except BrokenPipeError:
        let_go_of_output()
        return 141
    except OSError as error:
        let_go_of_output()
        complain(f"error: the output cannot be written: {error.strerror}")
        return 1
    return 0


def tell(text: str) -> int:
    """Say lines that hold words of strangers, in which nothing may stay unseen; returns the exit code."""
    from bridle.types.text import encodable, printable

    return say(printable(encodable(text), keep="\n"))
