"""What one turn has added up to so far."""

from msgspec import Struct

from bridle.engine.runtime import Runtime
from bridle.sessions.session import Session
from bridle.types.errors import ProviderError
from bridle.types.event import TurnFinished
from bridle.types.turn import Denial, Outcome, Prompt, ResultSubtype, TurnReason
from bridle.types.usage import Usage


class Ending(Struct, frozen=True):
    """Why the loop stopped, in the words of the result."""

    reason: TurnReason
    subtype: ResultSubtype = "success"
    text: str = ""
    errors: tuple[str, ...] = ()
    is_error: bool = False
    status: int | None = None

    @classmethod
    def failed(cls, reason: TurnReason, subtype: ResultSubtype, error: str) -> "Ending":
        return cls(reason, subtype, errors=(error,), is_error=True)


class Turn:
    """The tallies of a turn; the engine's functions share one and nobody else sees it."""

    def __init__(self, session: Session, prompt: Prompt, runtime: Runtime) -> None:
        self.session = session
        self.prompt = prompt
        self.runtime = runtime
        self.model = session.state.model
        """The model that answers; a fallback stays for the rest of the turn."""
        self.steps = 0
        self.user_lines = 0
        self.usage = Usage()
        self.denials: list[Denial] = []
        self.stop_reason: str | None = None
        self.max_tokens: int | None = None
        """A raised output limit, once an answer was cut."""
        self.streaming = False
        self.stopped_by: str | None = None
        """Why a person or a hook ended the turn in the middle of its calls."""
        self.stopped_by_hook = False
        self.began = runtime.clock()
        self.api_seconds = 0.0
        self.ttft_ms: int | None = None

    def spend(self, model: str, usage: Usage, *, main: bool) -> None:
        """Count one model call, on the main thread or on the side."""
        facts = self.runtime.facts(model)
        self.session.record_cost(
            model,
            usage,
            usd=facts.cost(usage),
            context_window=facts.context_window,
            max_output=facts.max_output,
        )
        if main:
            self.usage += usage

    def finish(self, ending: Ending) -> Outcome:
        """Report the result, exactly once."""
        self.session.save_cost()
        reached = self.steps > 0 or self.user_lines > 0
        outcome = Outcome(
            subtype=ending.subtype,
            reason=ending.reason,
            is_error=ending.is_error,
            text=ending.text,
            errors=ending.errors,
            stop_reason=self.stop_reason,
            num_turns=1 + self.user_lines if reached else 0,
            duration_ms=round((self.runtime.clock() - self.began) * 1000),
            duration_api_ms=round(self.api_seconds * 1000),
            ttft_ms=self.ttft_ms,
            usage=self.usage,
            total_cost_usd=self.session.total_cost_usd,
            spend=dict(self.session.spend),
            denials=tuple(self.denials),
            api_error_status=ending.status,
            origin=self.prompt.origin,
            prompt_uuid=self.prompt.uuid,
        )
        self.runtime.channel.emit(TurnFinished(outcome))
        return outcome


def api_ending(error: ProviderError) -> Ending:
    """The end of a turn whose model call failed: a success that reports an error, as hosts expect it."""
    text = str(error)
    reason: TurnReason = "api_error"
    if error.status in (400, 413) and "too long" in text.lower():
        reason = "prompt_too_long"
    elif error.status in (400, 413) and "image" in text.lower():
        reason = "image_error"
    return Ending(reason, text=text, is_error=True, status=error.status)
