"""The models that hooks are tried with: those of a session in this folder, counted like its own."""

import asyncio
from collections.abc import Mapping

from bridle.engine.hook_models import ask_model, run_inspector
from bridle.frontends.printing import PrintChannel
from bridle.providers import catalog
from bridle.session.assembly import Parts, assemble
from bridle.session.conversation import open_session
from bridle.session.options import SessionOptions
from bridle.session.prepare import set_up
from bridle.sessions.session import Session

_OPTIONS = SessionOptions(print_mode=True, no_session_persistence=True)


class TrialModels:
    """Makes a session when the first model is asked; closed after the trial."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._lock = asyncio.Lock()
        self._made: tuple[Session, Parts] | None = None

    @property
    def usd(self) -> float | None:
        """What the models have cost; None when none was asked."""
        return None if self._made is None else self._made[0].total_cost_usd

    async def ask(self, prompt: str, *, system: str, model: str | None) -> str:
        session, parts = await self._open()
        return await ask_model(session, parts.runtime, self._resolve)(prompt, system=system, model=model)

    async def inspect(self, prompt: str, *, system: str, model: str | None, timeout: float) -> str:
        session, parts = await self._open()
        run = run_inspector(session, parts.runtime, self._resolve, transcript=None)
        return await run(prompt, system=system, model=model, timeout=timeout)

    async def close(self) -> None:
        if self._made is not None:
            await self._made[1].close()

    async def _open(self) -> tuple[Session, Parts]:
        async with self._lock:
            if self._made is None:
                setup = set_up(_OPTIONS, self._env)
                session = open_session(setup, warn=lambda _: None)
                parts = await assemble(setup, session, PrintChannel(), on_task=lambda _: None, greets=False)
                self._made = session, parts
            return self._made

    def _resolve(self, name: str) -> str:
        return catalog.resolve(name, self._env)
