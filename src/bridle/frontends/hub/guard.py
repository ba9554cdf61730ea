"""What is checked before a request is read: its host, its origin, and how often its address was wrong."""

import time
from collections import OrderedDict, deque
from collections.abc import Callable

from starlette.datastructures import Headers

from bridle.frontends.hub.refusals import Refusal
from bridle.frontends.remote.access import is_known_host, is_same_origin, known_names

_MOST_WRONG = 20
_WHILE_SECONDS = 60.0
_MOST_ADDRESSES = 10_000


class Guard:
    """Limits for each address, before a key is looked at."""

    def __init__(self, listen: str, names: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._names = known_names(listen, names)
        self._clock = clock
        self._wrong: OrderedDict[str, deque[float]] = OrderedDict()

    def check(self, headers: Headers, address: str, *, is_page: bool = False) -> None:
        """Refuse requests that no key could make right; the page itself may be linked to from anywhere.

        Raises:
            Refusal: it is one of those.
        """
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not is_known_host(hosts[0], self._names):
            raise Refusal(421, "This host name is not allowed: add it with --host.")
        if is_page:
            return
        if not is_same_origin(headers):
            raise Refusal(403, "Requests from other pages are rejected.")
        wrong = self._wrong.get(address)
        if wrong is not None and len(wrong) == _MOST_WRONG:
            left = _WHILE_SECONDS - (self._clock() - wrong[0])
            if left > 0:
                text = "Too many wrong keys or codes from this address. Wait and try again."
                raise Refusal(429, text, retry_after=int(left) + 1)

    def blame(self, address: str) -> None:
        """Count a wrong key or code."""
        wrong = self._wrong.setdefault(address, deque(maxlen=_MOST_WRONG))
        wrong.append(self._clock())
        self._wrong.move_to_end(address)
        while len(self._wrong) > _MOST_ADDRESSES:
            self._wrong.popitem(last=False)
