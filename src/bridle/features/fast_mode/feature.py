"""Fast mode as a feature: a field and a header on requests to models that have it."""

import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.engine.feature import Feature
from bridle.engine.side_calls import charged_to
from bridle.features.context import FeatureContext
from bridle.types.errors import ProviderError
from bridle.types.model import ModelEvent, ModelRequest, Provider, Started, Waiting
from bridle.types.services.fast_mode import FAST_MODE, FastState
from bridle.types.services.service import Service
from bridle.types.variables import is_on

if TYPE_CHECKING:
    from bridle.engine.assignment import Assignment
    from bridle.engine.runtime import ModelFacts

_BETA = "fast-mode-2026-02-01"
_COOLDOWN = 600.0
_CLOUDS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
_REFUSALS = (400, 403, 404, 429, 529)


class FastModeFeature(Feature):
    """Agents answer at the usual speed: the user does not watch each of their words appear."""

    name = "fast_mode"

    def __init__(
        self,
        facts: "Callable[[str], ModelFacts]",
        *,
        on: bool = False,
        refused: str | None = None,
        tell: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._facts, self._on, self._refused = facts, on, refused
        self._tell, self._clock = tell, clock
        self._rests_until = 0.0
        self._is_around = False
        """Requests pass by; until it is turned on they need not."""

    def part(self, key: Service[Any]) -> Any:
        return self if key is FAST_MODE else None

    def provider(self, provider: Provider) -> Provider:
        return self.around(provider) if self._on else provider

    def around(self, provider: Provider) -> Provider:
        """The provider with this mode around it; once, however often it is turned on."""
        if self._is_around:
            return provider
        self._is_around = True
        return FastProvider(provider, self)

    def for_agent(self, work: "Assignment") -> None:
        return None

    @property
    def state(self) -> FastState:
        if not self._on:
            return "off"
        return "cooldown" if self._clock() < self._rests_until else "on"

    def objection(self, model: str) -> str | None:
        if self._refused is not None:
            return self._refused
        if not self._facts(model).fast_factor:
            return f"{model} has no fast mode. Choose /model opus, or /effort low for quicker answers."
        return None

    def switch(self, *, on: bool) -> None:
        self._on, self._rests_until = on, 0.0

    def rest(self, reason: str = "") -> None:
        """Ask for usual answers for a while, because the service has refused fast ones."""
        if not reason:
            return
        self._rests_until = self._clock() + _COOLDOWN
        minutes = round(_COOLDOWN / 60)
        self._tell(f"Fast mode is not available now ({reason}); usual speed for {minutes} minutes.")

    def hastened(self, request: ModelRequest) -> ModelRequest | None:
        """The request for a fast answer, where that is wanted and possible."""
        if self.state != "on" or self.objection(request.model) is not None:
            return None
        return msgspec.structs.replace(
            request, extra={**request.extra, "speed": "fast"}, betas=(*request.betas, _BETA)
        )


class FastProvider:
    """Asks for fast answers, and for a usual one where the service refuses."""

    def __init__(self, inner: Provider, mode: FastModeFeature) -> None:
        self._inner, self._mode = inner, mode

    def charged_to(self, agent: str | None, source: str | None = None) -> Provider:
        """The provider within: agents and calls on the side are in no hurry."""
        return charged_to(self._inner, agent, source)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """The answer.

        Raises:
            ProviderError: the provider within fails.
        """
        if (fast := self._mode.hastened(request)) is not None:
            begun = False
            try:
                async for event in self._inner.stream(fast):
                    if isinstance(event, Waiting) and not begun and event.status in _REFUSALS:
                        self._mode.rest(event.cause or str(event.status))
                        break  # The usual speed may be had at once.
                    begun = begun or isinstance(event, Started)
                    yield event
                else:
                    return
            except ProviderError as error:
                if begun or error.status not in _REFUSALS:
                    raise
                self._mode.rest(str(error)[:200])
        async for event in self._inner.stream(request):
            yield event

    async def close(self) -> None:
        await self._inner.close()


def open_fast_mode(context: FeatureContext) -> FastModeFeature:
    """On from the start where the settings say so and do not leave it to each session."""
    settings, env = context.config.settings, context.env
    refused = None
    if is_on(env, "CLAUDE_CODE_DISABLE_FAST_MODE"):
        refused = "CLAUDE_CODE_DISABLE_FAST_MODE turns fast mode off."
    elif any(is_on(env, name) for name in _CLOUDS):
        refused = "Fast mode works with Anthropic's own API only, not with Bedrock, Vertex or Foundry."
    on = settings.fast_mode is True and settings.fast_mode_per_session_opt_in is not True
    return FastModeFeature(context.facts, on=on and refused is None, refused=refused, tell=context.tell)
