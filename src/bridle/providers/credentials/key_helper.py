"""Asks the user's own command for a key, and keeps what it said for a while."""

import asyncio
import time
from collections.abc import Callable, Mapping

from bridle.providers.credentials.user_command import fault, output_of

_KEPT_MS = 300_000
_PATIENCE = 60.0
_SETTING = "apiKeyHelper"
_REMEDY = "set ANTHROPIC_API_KEY"


class KeyHelper:
    """The command of the setting `apiKeyHelper`; requests that come while it runs share that run."""

    def __init__(
        self,
        command: str,
        env: Mapping[str, str],
        *,
        cwd: str = "/",
        patience: float = _PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._command = command
        self._env = env
        self._cwd = cwd
        self._patience = patience
        self._clock = clock
        self._key = ""
        self._until = 0.0
        self._running = asyncio.Lock()

    async def key(self) -> str:
        """A key that is fresh enough.

        Raises:
            ProviderError: the command gives none.
        """
        async with self._running:
            if not self._key or self._clock() >= self._until:
                self._key = await self._ask()
                self._until = self._clock() + _kept_for(self._env)
            return self._key

    def forget(self) -> None:
        """What the command said last was refused; the next question runs it again."""
        self._key = ""

    async def _ask(self) -> str:
        key = await output_of(
            self._command, self._env, setting=_SETTING, remedy=_REMEDY, patience=self._patience, cwd=self._cwd
        )
        if not key.isascii() or not key.isprintable() or not key or " " in key:
            what = "did not print one key on one line" if key else "printed nothing"
            raise fault(_SETTING, what, _REMEDY)
        return key


def _kept_for(env: Mapping[str, str]) -> float:
    given = env.get("CLAUDE_CODE_API_KEY_HELPER_TTL_MS", "")
    return (int(given) if given.isdecimal() else _KEPT_MS) / 1000
