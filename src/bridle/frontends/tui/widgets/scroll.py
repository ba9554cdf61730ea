"""Rows that are longer than the window."""

from collections.abc import Sequence

from bridle.frontends.tui.style.text import Line
from bridle.frontends.tui.terminal.keys import Key

_STEPS = {
    "scroll:lineUp": (-1, 0.0), "scroll:lineDown": (1, 0.0),
    "scroll:pageUp": (0, -1.0), "scroll:pageDown": (0, 1.0),
    "scroll:fullPageUp": (0, -1.0), "scroll:fullPageDown": (0, 1.0),
    "scroll:halfPageUp": (0, -0.5), "scroll:halfPageDown": (0, 0.5),
}  # fmt: skip
_KEYS = {
    "up": "scroll:lineUp", "down": "scroll:lineDown", "pageup": "scroll:pageUp",
    "pagedown": "scroll:pageDown", "home": "scroll:top", "end": "scroll:bottom",
}  # fmt: skip


def step_of(key: Key, action: str | None, page: int) -> int | None:
    """How many rows a key scrolls by; None when it does not scroll."""
    name = action if action is not None and action.startswith("scroll:") else _KEYS.get(str(key), "")
    if name in ("scroll:top", "scroll:bottom"):
        return -(1 << 30) if name == "scroll:top" else 1 << 30
    if name not in _STEPS:
        return None
    rows, share = _STEPS[name]
    return rows + round(share * max(1, page - 1))


class Scroll:
    """Which part of some rows is shown."""

    def __init__(self) -> None:
        self.top = 0
        self.page = 1

    def press(self, key: Key, action: str | None) -> bool:
        """Move as the key asks; False when it does not scroll."""
        step = step_of(key, action, self.page)
        if step is None:
            return False
        self.top = max(0, self.top + step)
        return True

    def show(self, rows: Sequence[Line], height: int) -> list[Line]:
        """The rows that fit, from where the reader is."""
        self.page = height
        self.top = min(self.top, max(0, len(rows) - height))
        return list(rows[self.top : self.top + height])
