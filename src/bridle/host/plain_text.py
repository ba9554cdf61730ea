"""Turns what programs print into text that is safe and cheap to show."""

import re

_SEQUENCES = (
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colors, cursor movement
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # titles, links, device strings
    r"|\x1b[ -/]*[0-~]"
)
_CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"
_CONTROLS_BUT_ESCAPE = r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]"
_COLORS = r"\x1b\[[0-9;:]*m"


def plain(data: bytes) -> str:
    """The text in some output: control sequences and control characters left out, bad UTF-8 marked.

    Of a line that was written again and again, as progress is, the last state stays.
    """
    text = re.sub(_SEQUENCES, "", data.decode("utf-8", "replace"))
    # Compiled when first needed: this module is read at every start.
    return re.sub(_CONTROLS, "", settled(text))


def colored(data: bytes) -> str:
    """Like `plain`, but colors stay; empty when there are none."""
    if b"\x1b[" not in data:
        return ""
    text = data.decode("utf-8", "replace")
    if re.search(_COLORS, text) is None:
        return ""
    text = re.sub(_SEQUENCES, lambda found: found[0] if re.fullmatch(_COLORS, found[0]) else "", text)
    return re.sub(_CONTROLS_BUT_ESCAPE, "", settled(text))


def settled(text: str) -> str:
    """Lines as they look in the end: what a carriage return let be written over is gone."""
    if "\r" not in text:
        return text
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] if "\r" in line else line for line in lines)


def newest_lines(text: str, limit: int) -> str:
    """The end of a text, at most `limit` characters, from the beginning of a line where possible."""
    if len(text) <= limit:
        return text
    tail = text[-limit:]
    _, newline, lines = tail.partition("\n")
    return lines if newline and lines else tail
