"""The version of bridle, and the release of Claude Code whose surface it speaks."""

__version__ = "0.1.0"

COMPATIBLE_WITH = "2.1.325"
"""Hosts compare this with the oldest command line they accept: it leads `--version` and the init message."""
