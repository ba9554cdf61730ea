"""What the user says, as text for the prompt."""

from collections.abc import Callable
from typing import Literal, Protocol

from bridle.types.services.service import Service

VoiceMode = Literal["hold", "tap"]


class Recording(Protocol):
    """What the microphone takes in, from a key to the next."""

    @property
    def seconds(self) -> float:
        """How much there is by now."""
        ...

    async def finish(self) -> str:
        """Stop, and turn what was said into text; empty where there was nothing.

        Raises:
            UsageError: the recording is empty, or it cannot be turned into text.
        """
        ...

    async def discard(self) -> None:
        """Stop, and keep nothing."""
        ...


class Voice(Protocol):
    """Dictation as the settings have it now."""

    @property
    def is_on(self) -> bool: ...

    @property
    def mode(self) -> VoiceMode: ...

    @property
    def submits(self) -> bool:
        """Whether the user wants what was said to be sent at once."""
        ...

    async def record(self, changed: Callable[[], None]) -> Recording:
        """Begin to listen; `changed` is called when there is more, and when the microphone has ended.

        Raises:
            UsageError: there is no microphone or no engine.
        """
        ...


VOICE: Service[Voice] = Service("voice", missing="This session takes no dictation.")
