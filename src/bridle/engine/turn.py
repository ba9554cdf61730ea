"""What one turn has added up to so far."""

import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from bridle.engine.calls.call import Call
from bridle.engine.calls.repetition import Repetitions
from bridle.engine.runtime import Runtime
from bridle.transcripts.cost import Work
from bridle.transcripts.session import Session
from bridle.types.errors import OverBudget, ProviderError
from bridle.types.event import TurnFinished
from bridle.types.ids import new_uuid
from bridle.types.permission import Rule
from bridle.types.turn import Denial, Outcome, Prompt, ResultSubtype, TurnReason
from bridle.types.usage import ModelSpend, Usage
from bridle.types.variables import is_on

_METRICS = "BRIDLE_API_METRICS"


class Ending(Struct, frozen=True):
    """Why the loop stopped, in the words of the result."""

    reason: TurnReason
    subtype: ResultSubtype = "success"
    text: str = ""
    errors: tuple[str, ...] = ()
    is_error: bool = False
    status: int | None = None
    structured: Any = UNSET
    """The answer in the shape that was asked for."""

    @classmethod
    def failed(cls, reason: TurnReason, subtype: ResultSubtype, error: str) -> "Ending":
        return cls(reason, subtype, errors=(error,), is_error=True)


class Turn:
    """The tallies of a turn; the engine's functions share one, and no other code sees it."""

    def __init__(self, session: Session, prompt: Prompt, runtime: Runtime) -> None:
        self.session = session
        self.prompt = prompt
        self.id = prompt.uuid or new_uuid()
        self.runtime = runtime
        self.model = prompt.model or session.state.model
        """The model that answers; a fallback stays for the rest of the turn."""
        self.chosen_model = session.state.model
        self.folded: list[Prompt] = []
        """Prompts that came later and were taken in."""
        self.steps = 0
        self.user_lines = 0
        self.usage = Usage()
        self.denials: list[Denial] = []
        self.stop_reason: str | None = None
        self.max_tokens: int | None = None
        """A raised output limit, once an answer was cut."""
        self.fixed_units: int | None = None
        """The weight of prompt and tools, once it was asked for."""
        self.streaming = False
        self.answer_whole = asyncio.Event()
        """Nothing more will come of the newest answer."""
        self.answer_whole.set()
        self.stopped_by: str | None = None
        """Why a person or a hook ended the turn in the middle of its calls."""
        self.stopped_by_hook = False
        self.deferred: Call | None = None
        """The call that a hook deferred to a later run."""
        self.repetitions = Repetitions()
        """Calls that keep failing."""
        self.began = runtime.clock()
        self.api_seconds = 0.0
        self.api_seconds_without_retries = 0.0
        self.ttft_ms: int | None = None

    def begin(self) -> None:
        """Notify what waits for turns that one begins."""
        if self.session.agent_id is None and self.prompt.origin.is_person:
            self.runtime.workspace.refused_calls.clear()
        self.runtime.asking.shape.begin()
        for feature in self.runtime.features.at("begin_turn"):
            feature.begin_turn(self)

    def _note_duration(self) -> None:
        """At a terminal the transcript tells how long a turn took."""
        took = round((self.runtime.clock() - self.began) * 1000)
        counts = {"durationMs": took, "messageCount": len(self.session.entries), "isMeta": False}
        self.session.say_system("turn_duration", fields=counts)
        if is_on(self.runtime.env, _METRICS):
            self.session.say_system("api_metrics", fields=self._metrics(took))

    def _metrics(self, took: int) -> Mapping[str, Any]:
        """How long the model and the tools took, and how fast the model wrote."""
        seconds = self.api_seconds_without_retries
        return {
            "ttftMs": self.ttft_ms,
            "otps": round(self.usage.output / seconds, 1) if seconds else None,
            "turnDurationMs": took,
            "apiDurationMs": round(self.api_seconds * 1000),
            "steps": self.steps,
            "isMeta": False,
        }

    def _sized(self, model: str, spend: ModelSpend) -> ModelSpend:
        """What a model has cost; a transcript does not tell how much it can read and write."""
        if spend.context_window:
            return spend
        facts = self.runtime.facts(model)
        return replace(spend, context_window=facts.context_window, max_output=facts.max_tokens)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What counts now: the rules of the session and those of the command that began the turn."""
        return (*self.session.state.rules, *self.prompt.rules)

    def spend(self, model: str, usage: Usage) -> float:
        """Count one answer of the conversation; what it cost."""
        self.usage += usage
        return record_spend(self.session, self.runtime, model, usage)

    def finish(self, ending: Ending) -> Outcome:
        """Report the result, exactly once."""
        api_ms = round(self.api_seconds * 1000)
        if api_ms:
            last_ms = min(api_ms, round(self.api_seconds_without_retries * 1000))
            self.session.record_work(Work(api_ms=api_ms, api_ms_without_retries=last_ms))
        reached = self.steps > 0 or self.user_lines > 0
        if reached and self.session.entrypoint == "cli" and self.session.agent_id is None:
            self._note_duration()
        outcome = Outcome(
            subtype=ending.subtype,
            reason=ending.reason,
            is_error=ending.is_error,
            text=ending.text,
            errors=ending.errors,
            stop_reason=self.stop_reason if self.deferred is None else "tool_deferred",
            deferred=None if self.deferred is None else self.deferred.as_use(),
            num_turns=1 + self.user_lines if reached else 0,
            duration_ms=round((self.runtime.clock() - self.began) * 1000),
            duration_api_ms=api_ms,
            ttft_ms=self.ttft_ms,
            usage=self.usage,
            total_cost_usd=self.session.total_cost_usd,
            spend={model: self._sized(model, spend) for model, spend in self.session.spend.items()},
            denials=tuple(self.denials),
            api_error_status=ending.status,
            origin=self.prompt.origin.on_result(),
            prompt_uuid=self.prompt.uuid,
            prompt_uuids=tuple(
                prompt.uuid for prompt in (self.prompt, *self.folded) if prompt.uuid is not None
            ),
            structured_output=ending.structured,
        )
        self.runtime.channel.emit(TurnFinished(outcome))
        for feature in self.runtime.features.at("after_turn"):
            feature.after_turn(self, outcome)
        return outcome


def record_spend(session: Session, runtime: Runtime, model: str, usage: Usage) -> float:
    """Add a model call to what a session has cost; its price, 0 where none is known."""
    facts = runtime.facts(model)
    usd = facts.cost(usage)
    session.record_cost(
        model,
        usage,
        usd,
        context_window=facts.context_window,
        max_output=facts.max_tokens,
        is_priced=facts.is_priced,
    )
    return usd


def api_ending(error: ProviderError) -> Ending:
    """The end of a turn whose model call failed: a success that reports an error, as hosts expect it."""
    text = str(error)
    if isinstance(error, OverBudget):
        return Ending.failed("budget_exhausted", "error_max_budget_usd", text)
    reason: TurnReason = "api_error"
    if error.status in (400, 413) and "too long" in text.lower():
        reason = "prompt_too_long"
    elif error.status in (400, 413) and "image" in text.lower():
        reason = "image_error"
    return Ending(reason, text=text, is_error=True, status=error.status)
