"""Who may begin to work when: so many at once, none while paused, and the first of a kind alone."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from bridle.features.agents.records import most_at_once

_MOST_AT_ONCE = 16
_USUAL_STAGGER = 3.0


class Slots:
    """The places of one run, shared by the workflows that it calls."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._places = asyncio.Semaphore(min(_MOST_AT_ONCE, most_at_once(env)))
        self._stagger = _stagger(env)
        self._warm: dict[tuple[object, ...], asyncio.Event] = {}
        self._going = asyncio.Event()
        self._going.set()

    @property
    def paused(self) -> bool:
        return not self._going.is_set()

    def pause(self) -> None:
        """Start no agents. Running agents continue."""
        self._going.clear()

    def resume(self) -> None:
        self._going.set()

    @asynccontextmanager
    async def place(self, prefix: tuple[object, ...]) -> AsyncGenerator[asyncio.Event]:
        """A place to work at, in the order of asking.

        What is given is to be set with the first answer: agents whose requests begin alike wait for it,
        since the service then reads the shared beginning from its cache.
        """
        async with self._places:
            await self._going.wait()
            if (warm := self._warm.get(prefix)) is None:
                warm = self._warm[prefix] = asyncio.Event()
            elif self._stagger and not warm.is_set():
                await self._wait(warm)
                await self._going.wait()
            try:
                yield warm
            finally:
                # An agent that failed before its first answer must not block the others.
                warm.set()

    async def _wait(self, warm: asyncio.Event) -> None:
        try:
            async with asyncio.timeout(self._stagger):
                await warm.wait()
        except TimeoutError:
            pass  # Waiting longer would cost more than the cache saves.


def _stagger(env: Mapping[str, str]) -> float:
    text = env.get("CLAUDE_CODE_WORKFLOW_PREFIX_STAGGER_MS", "").strip()
    return int(text) / 1000 if text.isdecimal() else _USUAL_STAGGER
