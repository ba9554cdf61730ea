"""Short notices below the input: one at a time, the most urgent first, each for a few seconds."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from bridle.frontends.tui.render.messages import Level

Priority = Literal["immediate", "high", "medium", "low"]
_ORDER: tuple[Priority, ...] = ("immediate", "high", "medium", "low")
_SECONDS = 8.0


class Notice(Struct, frozen=True, kw_only=True):
    """Something worth a glance that need not be read again."""

    key: str
    """Two notices with one key say the same: the second is not added while the first waits or is shown."""
    text: str
    level: Level = "notice"
    priority: Priority = "medium"
    seconds: float = _SECONDS
    replaces: tuple[str, ...] = ()
    """Keys of notices that this one makes wrong."""


class NoticeQueue:
    """Shows one notice after the other; an immediate one goes before the one that is shown."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._shown: Notice | None = None
        self._until = 0.0
        self._waiting: list[Notice] = []

    def add(self, notice: Notice) -> None:
        """Show a notice now or after those that are more urgent."""
        now = self.current
        wrong = {*notice.replaces, *((notice.key,) if notice.priority == "immediate" else ())}
        waiting = [each for each in self._waiting if each.key not in wrong]
        is_wrong = now is not None and now.key in wrong
        if notice.priority == "immediate":
            back = [now] if now is not None and not is_wrong and now.priority != "immediate" else []
            self._waiting = [*back, *(each for each in waiting if each.priority != "immediate")]
            self._show(notice)
            return
        self._waiting = waiting
        if is_wrong:
            self._shown = None
        known = {each.key for each in (*waiting, *((now,) if now is not None and not is_wrong else ()))}
        if notice.key not in known:
            self._waiting.append(notice)

    @property
    def current(self) -> Notice | None:
        """What is to be shown now."""
        if self._shown is not None and self._clock() < self._until:
            return self._shown
        self._shown = None
        if self._waiting:
            urgent = min(self._waiting, key=lambda each: _ORDER.index(each.priority))
            self._waiting.remove(urgent)
            self._show(urgent)
        return self._shown

    @property
    def remaining(self) -> float | None:
        """Seconds until another notice is to be shown, or none."""
        return None if self.current is None else max(self._until - self._clock(), 0.01)

    def _show(self, notice: Notice) -> None:
        self._shown, self._until = notice, self._clock() + notice.seconds
