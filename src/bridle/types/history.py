"""The conversation in the form that requests carry."""

from collections.abc import Callable
from typing import Any, TypeVar

from bridle.types.block import SentMessage

MISSING_RESULT = (
    "No result was recorded for this call, which may or may not have run: "
    "check its effects before you repeat it."
)
Found = TypeVar("Found")


class History:
    """Messages of a request in order; all but the last are settled and never change again.

    A dialect encodes each settled message once: `encoded` remembers the bytes, so a step costs what it adds
    and not what came before it.
    """

    __slots__ = ("_encoded", "_links", "_weights", "messages", "origins")

    def __init__(self) -> None:
        self.messages: list[SentMessage] = []
        self.origins: list[str | None] = []
        """The model that wrote the message at the same place, None for the user's."""
        self._encoded: dict[str, list[bytes]] = {}
        self._weights: list[int] = []
        self._links: list[Any] = []

    @classmethod
    def of(cls, *messages: SentMessage) -> "History":
        history = cls()
        for message in messages:
            history.add(message)
        return history

    def __len__(self) -> int:
        return len(self.messages)

    def add(self, message: SentMessage, *, origin: str | None = None) -> None:
        self.messages.append(message)
        self.origins.append(origin)

    def cut(self, length: int) -> None:
        """Forget the messages from `length` on, because they are about to be drawn again."""
        del self.messages[length:]
        del self.origins[length:]
        for known in self._encoded.values():
            # The message before the cut may become the last again, and then it is not settled.
            del known[max(0, length - 1) :]
        del self._weights[max(0, length - 1) :]
        del self._links[max(0, length - 1) :]

    def extended(self, message: SentMessage) -> "History":
        """This conversation with one more message; what is encoded already need not be encoded again."""
        longer = History()
        longer.messages = [*self.messages, message]
        longer.origins = [*self.origins, None]
        longer._encoded = {form: [*known] for form, known in self._encoded.items()}
        longer._links = [*self._links]
        return longer

    def branched(self) -> "History":
        """A copy that goes its own way from here; what is encoded already need not be encoded again."""
        other = History()
        other.messages, other.origins = [*self.messages], [*self.origins]
        other._encoded = {form: [*known] for form, known in self._encoded.items()}
        other._weights = [*self._weights]
        other._links = [*self._links]
        return other

    def encoded(self, form: str, encode: Callable[[SentMessage, str | None], bytes]) -> list[bytes]:
        """Every message but the last as `encode` writes it, remembered under `form`."""
        known = self._encoded.setdefault(form, [])
        for index in range(len(known), len(self.messages) - 1):
            known.append(encode(self.messages[index], self.origins[index]))
        return known

    def weights(self, weigh: Callable[[SentMessage], int]) -> list[int]:
        """What each message weighs; settled ones are weighed once."""
        known = self._weights
        for index in range(len(known), len(self.messages) - 1):
            known.append(weigh(self.messages[index]))
        return [*known, weigh(self.messages[-1])] if self.messages else []

    def links(self, find: Callable[[SentMessage], Found]) -> list[Found]:
        """What ties each message to the next, as `find` sees it; settled ones are looked at once."""
        known: list[Found] = self._links
        known.extend([find(message) for message in self.messages[len(known) : -1]])
        return [*known, find(self.messages[-1])] if self.messages else []
