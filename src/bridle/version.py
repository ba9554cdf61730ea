"""The version of bridle, and the release of Claude Code whose surface it speaks."""

__version__ = "0.1.0"

COMPATIBLE_WITH = "2.1.325"
"""Hosts compare this with the oldest command line they accept: it leads `--version` and the init message."""


def version_line(*, for_people: bool) -> str:
    """What `--version` prints: programs compare a number at its beginning, people want the name first."""
    if for_people:
        return f"bridle {__version__} (compatible with Claude Code {COMPATIBLE_WITH})\n"
    return f"{COMPATIBLE_WITH} (bridle {__version__})\n"
