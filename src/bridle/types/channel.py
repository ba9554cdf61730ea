"""The channel of the engine to its other end: it reports events and asks questions."""

from typing import Protocol

from bridle.types.event import Event
from bridle.types.question import Answer, Question


class Channel(Protocol):
    """The other end of the engine: a terminal, a pipe, a host program, a parent agent."""

    def emit(self, event: Event) -> None:
        """Take note of an event; never blocks and never fails the turn."""
        ...

    async def ask(self, question: Question) -> Answer:
        """Put a question to a person or a program and wait for the answer."""
        ...
