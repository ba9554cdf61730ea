"""Tries again when a model service fails in a way that may pass, and falls back to other models."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from bridle.host.secrets import SECRETS
from bridle.providers import catalog
from bridle.providers.facts import Model
from bridle.types.block import text_of
from bridle.types.errors import ProviderError, StreamBroken
from bridle.types.model import (
    BlockClosed,
    Completed,
    FallbackStarted,
    ModelEvent,
    ModelRequest,
    Provider,
    Restarted,
    Started,
    Waiting,
)

_FIRST_DELAY = 0.5
LONGEST_DELAY = 32.0
"""Seconds between two tries, unless the service asks for more."""
_LONGEST_PATIENCE = 600.0
"""A service that wants to be left alone for longer is not worth waiting for unasked."""
_TROUBLES_BEFORE_FALLBACK = 3
_LONGEST_WAIT_WITH_FALLBACK = 60.0
"""Seconds; a limit that lasts longer is not waited out when another model can continue."""
_BREAKS_BEFORE_WHOLE_ANSWER = 2


@runtime_checkable
class WarmingProvider(Protocol):
    """A provider that can connect ahead of the first request."""

    async def warm_up(self, model: str) -> None: ...


def chance() -> float:
    """A random number from 0 up to 1."""
    return int.from_bytes(os.urandom(4), "big") / 2**32


class Retrying:
    """A provider that shields its caller from the passing faults of another.

    `fallbacks` answer in their order when a service stays overloaded or out of reach, or a limit or quota is
    used up; they may be on other services. One that cannot take the request is passed over.
    """

    def __init__(
        self,
        provider: Provider,
        *,
        max_retries: int = 10,
        longest_overload_delay: float = LONGEST_DELAY,
        fallbacks: tuple[str, ...] = (),
        find: Callable[[str], Model] = catalog.find,
        rng: Callable[[], float] = chance,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        whole_answers: bool = True,
        patient: bool = False,
        stops_on_overload: bool = False,
        switches_when_declined: bool = True,
    ) -> None:
        self.provider = provider
        self._max_retries = max_retries
        self._longest_overload_delay = longest_overload_delay
        """Seconds; the pauses before an overloaded service is asked again grow up to this."""
        self._fallbacks = fallbacks
        self._find = find
        self._rng = rng
        self._sleep = sleep
        self._whole_answers = whole_answers
        """Whether a request whose stream keeps breaking may be sent without streaming."""
        self._patient = patient
        """Whether limits and overload are waited out for as long as they last."""
        self._stops_on_overload = stops_on_overload
        """Whether overload that stays ends the call, where no other model is left."""
        self._switches_when_declined = switches_when_declined
        """Whether a request that a model declines without a word goes to the next."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        tally = _Tally(self._after(request.model))
        while True:
            seen = _Seen()
            taken: tuple[FallbackStarted, ModelRequest] | None = None
            try:
                async for event in self.provider.stream(request):
                    seen.note(event)
                    if type(event) is Completed and self._is_declined(event, seen):
                        taken = self._next(
                            request, tally, ProviderError(f"{request.model} declined to answer.")
                        )
                    if taken is None:
                        yield event
            except ProviderError as error:
                # Whatever a service repeats of a key in its complaint goes no further.
                error.args = (SECRETS.hide(str(error)),)
                tally.count(error)
                if tally.wants_another(error, seen) and (taken := self._next(request, tally, error)):
                    fallen, request = taken
                    yield fallen
                    continue
                self._check(error, seen, tally)
                if seen.started:
                    yield Restarted(str(error))
                delay = self._delay(tally.retries, error)
                yield Waiting(tally.retries, self._max_retries, delay, error.kind, error.status, error.cause)
                await self._sleep(delay)
                if self._whole_answers and tally.breaks >= _BREAKS_BEFORE_WHOLE_ANSWER:
                    request = replace(request, stream=False)
            else:
                if taken is None:
                    return
                fallen, request = taken
                yield fallen

    async def warm_up(self, model: str) -> None:
        """Get ready for a first request to `model`, where its service has a connection to open."""
        if isinstance(self.provider, WarmingProvider):
            await self.provider.warm_up(model)

    async def close(self) -> None:
        await self.provider.close()

    def _is_declined(self, event: Completed, seen: "_Seen") -> bool:
        refused = event.message["stop_reason"] == "refusal" and self._switches_when_declined
        return refused and not seen.called and not text_of(event.message["content"]).strip()

    def _after(self, model: str) -> list[str]:
        """The fallbacks that are left when a call starts with `model`."""
        if model in self._fallbacks:
            return list(self._fallbacks[self._fallbacks.index(model) + 1 :])
        return list(self._fallbacks)

    def _next(
        self, request: ModelRequest, tally: "_Tally", error: ProviderError
    ) -> tuple[FallbackStarted, ModelRequest] | None:
        """The next model that can continue, and the request in its form; what has come so far is void."""
        from bridle.providers import fallbacks  # Only a run whose model fails needs it.

        before = self._find(request.model)
        passed: list[str] = []
        while tally.left:
            name = tally.left.pop(0)
            model = self._find(name)
            if (lack := fallbacks.lack(request, model)) is not None:
                passed.append(f"Skipped {name}: {lack}.")
                continue
            tally.begin_anew()
            reason = " ".join((str(error), *passed, *fallbacks.price_change(before, model)))
            return FallbackStarted(request.model, name, reason), fallbacks.fitted(request, model)
        return None

    def _check(self, error: ProviderError, seen: "_Seen", tally: "_Tally") -> None:
        """Raise what the caller must deal with; return when another try is due."""
        if seen.has_substance:
            raise StreamBroken(
                str(error),
                kind=error.kind,
                status=error.status,
                error_type=error.error_type,
                request_id=error.request_id,
            ) from error
        passing = error.retryable or isinstance(error, StreamBroken)
        again = error.status == 401 and tally.refusals > 1
        if not passing or again:
            raise error
        if (
            self._stops_on_overload
            and tally.trouble == "overload"
            and tally.in_row >= _TROUBLES_BEFORE_FALLBACK
        ):
            raise error
        if self._patient and tally.trouble in ("overload", "limit"):
            return
        if (error.retry_after or 0) > _LONGEST_PATIENCE or tally.retries > self._max_retries:
            raise error

    def _delay(self, attempt: int, error: ProviderError) -> float:
        exponential = _FIRST_DELAY * 2 ** min(attempt - 1, 20) * (1 + 0.25 * self._rng())
        overloaded = _trouble(error) == "overload"
        longest = self._longest_overload_delay if overloaded else LONGEST_DELAY
        return max(min(exponential, longest), error.retry_after or 0.0)


class _Seen:
    """What one attempt has delivered."""

    def __init__(self) -> None:
        self.started = False
        self.called = False
        self.has_substance = False
        """Whether a block came whole that must not be thrown away: text, or a call that may be running."""

    def note(self, event: ModelEvent) -> None:
        match event:
            case Started():
                self.started = True
            case BlockClosed(block={"type": "tool_use"}):
                self.called = self.has_substance = True
            case BlockClosed(block={"type": "text"}):
                self.has_substance = True
            case _:
                pass


class _Tally(Struct):
    """What has gone wrong in one call."""

    left: list[str]
    """Fallback models that have not been tried."""
    retries: int = 0
    trouble: str | None = None
    """Why another model may be needed, as the last error had it."""
    in_row: int = 0
    """How often it was the same trouble without another in between."""
    breaks: int = 0
    refusals: int = 0
    fallen: bool = False
    """Whether a fallback is being asked."""

    def count(self, error: ProviderError) -> None:
        self.retries += 1
        trouble = _trouble(error)
        self.in_row = self.in_row + 1 if trouble is not None and trouble == self.trouble else 1
        self.trouble = trouble
        self.breaks += isinstance(error, StreamBroken)
        self.refusals += error.status == 401

    def wants_another(self, error: ProviderError, seen: _Seen) -> bool:
        """Whether it is time for the next model; a call that may be running is never voided."""
        if not self.left or seen.called:
            return False
        if self.fallen and error.kind in _HELPLESS:
            return True
        match self.trouble:
            case None:
                return False
            case "quota":
                return True
            case "limit" if (error.retry_after or 0) > _LONGEST_WAIT_WITH_FALLBACK:
                return True
            case "overload" if seen.has_substance:
                return True
            case _:
                return self.in_row >= _TROUBLES_BEFORE_FALLBACK and not seen.has_substance

    def begin_anew(self) -> None:
        self.retries = self.in_row = self.breaks = self.refusals = 0
        self.trouble = None
        self.fallen = True


_HELPLESS = ("authentication_failed", "model_not_found", "invalid_request")
"""Faults of a fallback that leave the ones after it."""


def _trouble(error: ProviderError) -> str | None:
    """The kind of fault that another model may not have."""
    if error.status == 529 or error.kind == "overloaded" or error.error_type == "overloaded_error":
        return "overload"
    if error.kind == "billing_error":
        return "quota"
    if error.kind == "rate_limit" or error.status == 429:
        return "limit"
    if isinstance(error, StreamBroken):
        return None
    outage = error.status is None or error.status >= 500
    return "outage" if error.retryable and outage else None
