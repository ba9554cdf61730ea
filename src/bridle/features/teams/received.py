"""For every message of another session: the user sees it, and there are only so many a minute."""

import time
from collections import deque
from collections.abc import Callable

from bridle.types.event import Noticed
from bridle.types.services.messages import AgentMessage
from bridle.types.text import printable

MOST_A_MINUTE = 30
_MINUTE = 60.0
_MOST_SHOWN = 2_000


class MessageRate:
    """Counts messages, since each may begin a turn that costs money."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._taken: deque[float] = deque(maxlen=MOST_A_MINUTE)

    def is_exceeded(self) -> bool:
        """Whether no more can be taken for now."""
        return len(self._taken) == MOST_A_MINUTE and self._clock() - self._taken[0] < _MINUTE

    def count(self) -> None:
        """One more was taken."""
        self._taken.append(self._clock())


TOO_MANY = f"it accepts {MOST_A_MINUTE} messages per minute: try again in a minute"


def announcement(letter: AgentMessage) -> Noticed:
    """What the user of a session sees of a message that came."""
    text = printable(letter.text.strip(), keep="\n\t")
    left = len(text) - _MOST_SHOWN
    shown = text if left <= 0 else f"{text[:_MOST_SHOWN]}… ({left:,} more characters)"
    return Noticed(f"Message from {printable(letter.sender)}:\n{shown}", "notice")
