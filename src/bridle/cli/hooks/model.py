"""The models that hooks are tried with: those of a session in this folder, counted like its own."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack

from bridle.config.options import SessionOptions
from bridle.engine.hooks.models import ask_model, run_inspector
from bridle.frontends.print.channel import PrintChannel
from bridle.providers import catalog
from bridle.session.host import Host
from bridle.session.open import LiveSession, open_session

_OPTIONS = SessionOptions(print_mode=True, no_session_persistence=True)


class TrialModels:
    """Makes a session when the first model is asked; closed after the trial."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._lock = asyncio.Lock()
        self._live: LiveSession | None = None
        self._stack = AsyncExitStack()

    @property
    def usd(self) -> float | None:
        """What the models have cost; None when none was asked."""
        return None if self._live is None else self._live.session.total_cost_usd

    async def ask(self, prompt: str, *, system: str, model: str | None) -> str:
        live = await self._open()
        ask = ask_model(live.session, live.server.runtime, self._resolve)
        return await ask(prompt, system=system, model=model)

    async def inspect(self, prompt: str, *, system: str, model: str | None, timeout: float) -> str:
        live = await self._open()
        run = run_inspector(live.session, live.server.runtime, self._resolve, transcript=None)
        return await run(prompt, system=system, model=model, timeout=timeout)

    async def close(self) -> None:
        await self._stack.aclose()

    async def _open(self) -> LiveSession:
        async with self._lock:
            if self._live is None:
                host = Host(env=self._env, tell=lambda _: None, greets=False)
                opening = open_session(_OPTIONS, PrintChannel(), host=host)
                self._live = await self._stack.enter_async_context(opening)
            return self._live

    def _resolve(self, name: str) -> str:
        return catalog.resolve(name, self._env)
