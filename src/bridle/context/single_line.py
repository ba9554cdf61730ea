"""Makes text from outside fit into one line of what the model reads."""

from bridle.types.text import printable


def one_line(text: str, limit: int = 500) -> str:
    """The text without line breaks, control characters or bytes that are no text, at most `limit` long."""
    shown = printable(text[: limit + 1])
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
