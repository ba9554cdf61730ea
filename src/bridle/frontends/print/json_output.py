"""Presenters for programs: the result as JSON, or every message as a line of JSON."""

from bridle.host.streams import Output
from bridle.protocol.frames import Frame, Framer, encode
from bridle.types.event import Event, TurnFinished
from bridle.types.turn import Outcome


class JsonPresenter:
    """Prints the last result as one object, or all messages as one array."""

    def __init__(self, output: Output, framer: Framer, *, everything: bool = False) -> None:
        self._output = output
        self._framer = framer
        self._everything = everything
        self._frames: list[Frame] = []
        self._result: Frame | None = None

    def take(self, event: Event) -> None:
        if self._everything:
            self._frames.extend(self._framer.frames(event))
        elif isinstance(event, TurnFinished):
            self._result = self._framer.result(event.outcome)

    def finish(self, outcome: Outcome | None) -> None:
        del outcome
        if self._everything:
            self._output.write(encode(self._frames))
        elif self._result is not None:
            self._output.write(encode(self._result))


class LinePresenter:
    """Prints every message as it happens."""

    def __init__(self, output: Output, framer: Framer) -> None:
        self._output = output
        self._framer = framer

    def take(self, event: Event) -> None:
        for frame in self._framer.frames(event):
            self._output.write(encode(frame))

    def finish(self, outcome: Outcome | None) -> None:
        """Everything is out already."""
