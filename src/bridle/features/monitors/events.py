"""Makes events of lines: lines that come together are one event, and the rate is limited."""

from collections.abc import Callable

from bridle.host.jsonlines import LineBuffer
from bridle.host.plain_text import plain

_BURST = 10.0
_SECONDS_EACH = 6.0
_MOST_HELD = 1_000
_MOST_LINES = 30
_MOST_CHARS = 4_000
_LONGEST_LINE = 500
_LONGEST_PENDING = 64 * 1024


class Lines:
    """Takes bytes as they come and gives out whole lines."""

    def __init__(self) -> None:
        self._buffer = LineBuffer(_LONGEST_PENDING, cut=True)

    def feed(self, chunk: bytes) -> list[str]:
        """The lines that are whole now; one that does not end is cut."""
        return [text for text in map(_readable, self._buffer.feed(chunk)) if text]

    def close(self) -> list[str]:
        """The text after the last line."""
        return [text] if (text := _readable(self._buffer.rest())) else []


class Throttle:
    """Holds lines until it is time for an event: ten in a row, then one in six seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._tokens = _BURST
        self._since = clock()
        self._held: list[str] = []
        self._dropped = 0

    @property
    def is_flooded(self) -> bool:
        """More lines came than can be reported in a reasonable time."""
        return len(self._held) + self._dropped > _MOST_HELD

    def add(self, lines: list[str]) -> None:
        self._held += lines
        over = len(self._held) - _MOST_LINES
        if over > 0:
            self._dropped += over
            del self._held[:over]

    def left(self) -> float | None:
        """The seconds until the next event may be sent; None while there is none."""
        if not self._held:
            return None
        self._refill()
        return 0.0 if self._tokens >= 1 else (1 - self._tokens) * _SECONDS_EACH

    def take(self) -> str:
        """The next event."""
        self._refill()
        self._tokens = max(0.0, self._tokens - 1)
        lines, self._held = self._held, []
        dropped, self._dropped = self._dropped, 0
        text = "\n".join(lines)[-_MOST_CHARS:]
        return f"({dropped} earlier lines are not shown)\n{text}" if dropped else text

    def _refill(self) -> None:
        now = self._clock()
        self._tokens = min(_BURST, self._tokens + max(0.0, now - self._since) / _SECONDS_EACH)
        self._since = now


def _readable(line: bytes) -> str:
    return plain(line[: 4 * _LONGEST_LINE]).strip()[:_LONGEST_LINE]
