"""The conversation in the form that requests carry."""

from collections.abc import Callable

from bridle.types.block import SentMessage


class History:
    """Messages of a request in order; all but the last are settled and never change again.

    A dialect encodes each settled message once: `encoded` remembers the bytes, so a step costs what it adds
    and not what came before it.
    """

    __slots__ = ("_encoded", "_weights", "messages", "origins")

    def __init__(self) -> None:
        self.messages: list[SentMessage] = []
        self.origins: list[str | None] = []
        """The model that wrote the message at the same place, None for the user's."""
        self._encoded: dict[str, list[bytes]] = {}
        self._weights: list[int] = []

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
        """Forget the messages from `length` on, because they are about to be drawn anew."""
        del self.messages[length:]
        del self.origins[length:]
        for known in self._encoded.values():
            # The message before the cut may become the last again, and then it is not settled.
            del known[max(0, length - 1) :]
        del self._weights[max(0, length - 1) :]

    def extended(self, message: SentMessage) -> "History":
        """The same conversation with one more message; what is encoded already need not be encoded again."""
        longer = History()
        longer.messages = [*self.messages, message]
        longer.origins = [*self.origins, None]
        longer._encoded = {form: [*known] for form, known in self._encoded.items()}
        return longer

    def branched(self) -> "History":
        """A copy that goes its own way from here; what is encoded already need not be encoded again."""
        other = History()
        other.messages, other.origins = [*self.messages], [*self.origins]
        other._encoded = {form: [*known] for form, known in self._encoded.items()}
        other._weights = [*self._weights]
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
