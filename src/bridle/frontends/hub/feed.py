"""Wakes those who follow a session or the list of sessions; the newest events are held in memory for them."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Sequence

from bridle.frontends.hub.sessions import Event, Side

_MOST_EVENTS = 512
"""Held for each session and side; who is further behind reads the store."""
_MOST_TAILS = 4_096


class Tail:
    """The newest events of one side of a session."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque(maxlen=_MOST_EVENTS)
        self._news = asyncio.Event()
        self.closed = ""
        """Why those who follow have to leave."""

    def add(self, events: Sequence[Event]) -> None:
        self._events.extend(events)
        self.wake()

    def wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    def since(self, after: int) -> list[Event] | None:
        """The events behind a number; None when they are not all held here."""
        if not self._events or self._events[0].number > after + 1:
            return None
        # Numbers only grow, so those that are new are at the end.
        found = list[Event]()
        for event in reversed(self._events):
            if event.number <= after:
                break
            found.append(event)
        found.reverse()
        return found

    def mark(self) -> asyncio.Event:
        """Set by whatever happens from now on."""
        return self._news


class Watch:
    """What has changed in the lists since a browser looked last."""

    def __init__(self) -> None:
        self.sessions: set[str] = set()
        self.questions = False
        self.machines = False
        self.events: dict[str, list[Event]] = {}
        self._news = asyncio.Event()

    def wake(self) -> None:
        self._news.set()

    async def news(self, seconds: float) -> bool:
        """Wait for a change; False when the time is over."""
        if not await happens(self._news, seconds):
            return False
        self._news.clear()
        return True


class Feed:
    """Everything that happens in this process, for the streams that it serves."""

    def __init__(self) -> None:
        self._tails: OrderedDict[tuple[str, Side], Tail] = OrderedDict()
        self._watches: set[Watch] = set()
        self._work: dict[str, asyncio.Event] = {}

    def tail(self, session: str, side: Side) -> Tail:
        key = session, side
        if key not in self._tails:
            self._tails[key] = Tail()
            while len(self._tails) > _MOST_TAILS:
                self._tails.popitem(last=False)[1].wake()
        self._tails.move_to_end(key)
        return self._tails[key]

    def publish(self, session: str, side: Side, events: Sequence[Event]) -> None:
        """Events are on disk: pass them to those who follow."""
        self.tail(session, side).add(events)
        self.change(session=session)

    def replace_worker(self, session: str) -> None:
        """Streams of older workers end."""
        tail = self._tails.pop((session, "in"), None)
        if tail is not None:
            tail.closed = "Another worker has taken over."
            tail.wake()
        self.change(session=session)

    def watch(self) -> Watch:
        watch = Watch()
        self._watches.add(watch)
        return watch

    def leave(self, watch: Watch) -> None:
        self._watches.discard(watch)

    def change(self, *, session: str = "", questions: bool = False, machines: bool = False) -> None:
        """Something in the lists is different."""
        for watch in self._watches:
            if session:
                watch.sessions.add(session)
            watch.questions |= questions
            watch.machines |= machines
            watch.wake()

    def work_mark(self, environment: str) -> asyncio.Event:
        """Set by work that is offered from now on."""
        return self._work.setdefault(environment, asyncio.Event())

    def offer_work(self, environment: str) -> None:
        """Wake the worker that polls for an environment."""
        if (waiting := self._work.pop(environment, None)) is not None:
            waiting.set()


async def happens(mark: asyncio.Event, seconds: float) -> bool:
    """Wait for something; False when the time is over."""
    try:
        async with asyncio.timeout(seconds):
            await mark.wait()
    except TimeoutError:
        return False
    return True
