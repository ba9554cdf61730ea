"""A provider that answers from what was made ahead, where there is anything."""

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

from bridle.engine.side_calls import charged_to
from bridle.types.model import ModelEvent, ModelRequest, Provider

if TYPE_CHECKING:
    from bridle.features.side_work.run_ahead import RunAhead


class AheadProvider:
    """Answers like the provider within, except for requests that were made ahead."""

    def __init__(self, inner: Provider, ahead: "Callable[[], RunAhead | None]") -> None:
        self._inner, self._ahead = inner, ahead

    def charged_to(self, agent: str | None, source: str | None = None) -> Provider:
        """The provider within: agents and calls on the side are never made ahead."""
        return charged_to(self._inner, agent, source)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """The answer.

        Raises:
            ProviderError: the provider within fails.
        """
        ahead = self._ahead()
        known = None if ahead is None else await ahead.find(request)
        if known is not None:
            for event in known:
                yield event
            return
        async for event in self._inner.stream(request):
            yield event

    async def close(self) -> None:
        await self._inner.close()
