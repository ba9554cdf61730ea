"""The channel of print mode: questions are refused, and presenters print events."""

from typing import Protocol

from bridle.host.streams import Output
from bridle.types.event import (
    Answered,
    Event,
    FromAgent,
    PermissionDenied,
    TurnFinished,
    TurnStarted,
)
from bridle.types.question import Answer, Question, Refused
from bridle.types.turn import Outcome

NO_APPROVER = "No one can approve it in this session."
"""The end of the refusal that the model reads when a call needs a person's approval."""


class Presenter(Protocol):
    """Shows a run to a reader who cannot answer."""

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
        return Refused(message=NO_APPROVER, by_person=False)

    def finish(self) -> None:
        for presenter in self._presenters:
            presenter.finish(self.outcome)


class DenialPresenter:
    """Prints denied calls to standard error, each once, with what would allow them."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._written: set[str] = set()

    def take(self, event: Event) -> None:
        match event:
            case PermissionDenied():
                self._tell(event)
            case FromAgent(event=PermissionDenied() as denied):
                self._tell(denied, agent=event.description or event.agent_type)
            case _:
                pass  # Nothing else is printed here.

    def finish(self, outcome: Outcome | None) -> None:
        """Everything is out already."""

    def _tell(self, event: PermissionDenied, *, agent: str = "") -> None:
        from bridle.frontends.print.call_summary import tell_denial  # Most runs deny nothing.

        tell_denial(event, self._output, agent=agent, written=self._written)


class TextPresenter:
    """Prints the answer of every turn that has one, as soon as it is whole, and nothing else."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._has_printed = False
        self._held = ""
        """What a command said, until it is known whether it has only begun what brings the answer."""

    def take(self, event: Event) -> None:
        match event:
            case TurnStarted(meta=meta):
                self._release(drop=meta)
            case Answered(text=text):
                self._print(text)
            case TurnFinished(outcome=outcome) if outcome.reason == "command":
                self._release()
                self._held = outcome.text
            case TurnFinished(outcome=outcome):
                self._print(outcome.text if outcome.subtype == "success" else "\n".join(outcome.errors))
            case _:
                pass  # Only answers are shown.

    def finish(self, outcome: Outcome | None) -> None:
        self._release()
        if outcome is not None and not self._has_printed:
            self._output.write(b"\n")

    def _release(self, *, drop: bool = False) -> None:
        text, self._held = self._held, ""
        if not drop:
            self._print(text)

    def _print(self, text: str) -> None:
        if text.strip():
            self._has_printed = True
            self._output.write(f"{text}\n".encode(errors="replace"))
