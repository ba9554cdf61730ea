"""Asks the user's own command for a key, and keeps what it said for a while."""

import asyncio
import time
from collections.abc import Callable, Mapping

from bridle.types.errors import ProviderError

_KEPT_MS = 300_000
_PATIENCE = 60.0
_LARGEST = 64 * 1024
_QUOTED = 200
"""Characters of the command's complaint that an error repeats."""


class KeyHelper:
    """The command of the setting `apiKeyHelper`; whoever asks while it runs waits for the same run."""

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
        from bridle.host.process import run  # Few have such a command.

        try:
            said = await run(
                ("/bin/sh", "-c", self._command),
                cwd=self._cwd,
                env=self._env,
                timeout=self._patience,
                limit=_LARGEST,
            )
        except OSError as error:
            raise _fault(f"cannot be run ({error.strerror})") from error
        if said.timed_out:
            raise _fault(f"did not end within {self._patience:g} s")
        if said.code != 0:
            complaint = " ".join(said.stderr.decode(errors="replace").split())[:_QUOTED]
            raise _fault(f"failed with exit code {said.code}{': ' + complaint if complaint else ''}")
        key = said.stdout.decode(errors="replace").strip()
        if not key.isascii() or not key.isprintable() or not key or " " in key:
            raise _fault("did not print one key on one line" if key else "printed nothing")
        return key


def _kept_for(env: Mapping[str, str]) -> float:
    given = env.get("CLAUDE_CODE_API_KEY_HELPER_TTL_MS", "")
    return (int(given) if given.isdecimal() else _KEPT_MS) / 1000


def _fault(what: str) -> ProviderError:
    return ProviderError(
        f"The command of apiKeyHelper {what}: mend it in your settings, or set ANTHROPIC_API_KEY.",
        kind="authentication_failed",
    )
