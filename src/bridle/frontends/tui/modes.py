"""The order in which permission modes follow each other on one key."""

from collections.abc import Collection

from bridle.types.permission import Mode

_CYCLE: tuple[Mode, ...] = ("default", "acceptEdits", "plan", "auto", "bypassPermissions")


def next_mode(now: Mode, available: Collection[Mode]) -> Mode:
    """The mode after this one, among those that are available."""
    offered: list[Mode] = [mode for mode in _CYCLE if mode in available]
    return offered[(offered.index(now) + 1) % len(offered)] if now in offered else "default"
