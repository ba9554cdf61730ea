"""Turns what programs print into text that is safe and cheap to show."""

import re

_SEQUENCES = (
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movement
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # titles, links, device strings
    r"|\x1b[ -/]*[0-~]"
)
_CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"


def plain(data: bytes) -> str:
    """The text in some output: control sequences and control characters left out, bad UTF-8 marked."""
    text = data.decode("utf-8", "replace")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    # Compiled when first needed: this module is read at every start.
    return re.sub(_CONTROLS, "", re.sub(_SEQUENCES, "", text))


def newest_lines(text: str, limit: int) -> str:
    """The end of a text, at most `limit` characters, from the beginning of a line where possible."""
    if len(text) <= limit:
        return text
    tail = text[-limit:]
    _, newline, lines = tail.partition("\n")
    return lines if newline and lines else tail
