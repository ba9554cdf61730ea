"""Columns as people count them, and as language servers do."""

_WIDTHS = {"utf-8": 1, "utf-16": 2, "utf-32": 4}


def units_before(line: str, character: int, encoding: str) -> int:
    """The units in front of a character, counted from zero."""
    codec, width = _codec(encoding)
    return len(line[:character].encode(codec, "surrogatepass")) // width


def _codec(encoding: str) -> tuple[str, int]:
    name = encoding if encoding in _WIDTHS else "utf-16"
    return (name if name == "utf-8" else f"{name}-le"), _WIDTHS[name]
