"""The channel of print mode: nobody answers, and presenters show what happens."""

from typing import Protocol

from bridle.host.streams import Output
from bridle.types.event import Event, TurnFinished
from bridle.types.question import Answer, Question, Refused
from bridle.types.turn import Outcome

NOBODY = "Nobody is there to approve this call. Go on without it, or say what you lack."
"""What the model hears when a call would need somebody's approval."""


class Presenter(Protocol):
    """Shows a run to somebody who only looks."""

    def take(self, event: Event) -> None: ...

    def finish(self, outcome: Outcome | None) -> None:
        """The run is over; `outcome` is that of its last turn."""
        ...


class PrintChannel:
    """Shows every event to its presenters and answers every question with no."""

    def __init__(self, *presenters: Presenter) -> None:
        self._presenters = presenters
        self.outcome: Outcome | None = None

    def emit(self, event: Event) -> None:
        if isinstance(event, TurnFinished):
            self.outcome = event.outcome
        for presenter in self._presenters:
            presenter.take(event)

    async def ask(self, question: Question) -> Answer:
        del question
        return Refused(message=NOBODY, by_person=False)

    def finish(self) -> None:
        for presenter in self._presenters:
            presenter.finish(self.outcome)


class TextPresenter:
    """Prints the final answer and nothing else."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def take(self, event: Event) -> None:
        """Only the end is shown."""

    def finish(self, outcome: Outcome | None) -> None:
        if outcome is not None:
            text = outcome.text if outcome.subtype == "success" else "\n".join(outcome.errors)
            self._output.write(f"{text}\n".encode(errors="replace"))
