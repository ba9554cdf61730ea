"""Headers for the collector from the user's own command (`otelHeadersHelper`)."""

import subprocess
import threading
import time
from collections.abc import Callable, Mapping

import msgspec

from bridle.host.secrets import SECRETS
from bridle.types.errors import ConfigError
from bridle.types.variables import whole_number

_SECONDS = 30.0
_PAUSE_MS = 1_740_000
_LARGEST = 64 * 1024


class HelperHeaders:
    """What the command printed last; run again once that is old."""

    def __init__(
        self, command: str, env: Mapping[str, str], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._command = command
        self._env = env
        self._clock = clock
        self._pause = (whole_number(env, "CLAUDE_CODE_OTEL_HEADERS_HELPER_DEBOUNCE_MS") or _PAUSE_MS) / 1000
        self._headers: dict[str, str] = {}
        self._ran: float | None = None
        self._lock = threading.Lock()

    def current(self) -> dict[str, str]:
        """The headers that count now.

        Raises:
            ConfigError: the command fails, and has printed nothing before.
        """
        with self._lock:
            now = self._clock()
            if self._ran is None or now - self._ran >= self._pause:
                try:
                    self._headers = self._run()
                except ConfigError:
                    if self._ran is None:
                        raise
                self._ran = now
            return self._headers

    def _run(self) -> dict[str, str]:
        try:
            done = subprocess.run(
                ["/bin/sh", "-c", self._command],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=dict(self._env),
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ConfigError(f"could not run otelHeadersHelper: {error}") from error
        if done.returncode != 0:
            raise ConfigError(f"otelHeadersHelper exited with {done.returncode}.")
        try:
            headers = msgspec.json.decode(done.stdout[:_LARGEST], type=dict[str, str])
        except msgspec.DecodeError as error:
            raise ConfigError("otelHeadersHelper must print a JSON object of headers.") from error
        SECRETS.learn(*headers.values())
        return {name.lower(): value for name, value in headers.items()}
