"""The conversation in the form that requests carry."""

from collections.abc import Callable

from bridle.types.block import SentMessage


class History:
    """Messages of a request in order; all but the last are settled and never change again.

    A dialect encodes each settled message once: `encoded` remembers the bytes, so a step costs what it adds
    and not what came before it.
    """

    __slots__ = ("_encoded", "messages", "origins")

    def __init__(self) -> None:
        self.messages: list[SentMessage] = []
        self.origins: list[str | None] = []
        """The model that wrote the message at the same place, None for the user's."""
        self._encoded: dict[str, list[bytes]] = {}

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

    def encoded(self, form: str, encode: Callable[[SentMessage, str | None], bytes]) -> list[bytes]:
        """Every message but the last as `encode` writes it, remembered under `form`."""
        known = self._encoded.setdefault(form, [])
        for index in range(len(known), len(self.messages) - 1):
            known.append(encode(self.messages[index], self.origins[index]))
        return known
