"""Runs the administrator's program that prints managed settings (`policyHelper`)."""

import os
import os.path
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import IO, Any

import msgspec
from msgspec import Struct, convert

from bridle.config.schema import PolicyHelper
from bridle.config.sources import Layer
from bridle.host.programs import PROGRAMS
from bridle.types.errors import ConfigError
from bridle.types.text import printable
from bridle.version import COMPATIBLE_WITH

_LARGEST = 1024 * 1024
_SECONDS = 10.0
_LEAST_PAUSE_MS = 60_000
_LONGEST_FAULT = 500
_MOMENT = 1.0


class HelperPolicy(Struct, frozen=True):
    """What the helper said last."""

    helper: PolicyHelper
    values: dict[str, Any] | None
    """The managed settings; None if it leaves them to the files."""
    files: tuple[Layer, ...] = ()
    """What the managed files say, which does not count beside these settings."""

    @property
    def refresh_seconds(self) -> float | None:
        """The pause until it runs again; None for never."""
        pause = self.helper.refresh_interval_ms
        return pause / 1000 if pause else None


def helper_of(layers: Sequence[Layer]) -> PolicyHelper | None:
    """The helper that managed files name, the last of them first.

    Raises:
        ConfigError: invalid.
    """
    named = (each.values.get("policyHelper") for each in reversed(layers))
    found = next(filter(None, named), None)
    if found is None:
        return None
    helper = convert(found, PolicyHelper)
    if not os.path.isabs(helper.path) or os.path.normpath(helper.path) != helper.path:
        path = printable(helper.path)
        raise ConfigError(f"policyHelper.path must be an absolute path without . and .., not {path}.")
    pause, least = helper.refresh_interval_ms, _LEAST_PAUSE_MS
    if pause and pause < least:
        raise ConfigError(f"policyHelper.refreshIntervalMs must be 0 or at least {least}, not {pause}.")
    return helper


def run_helper(helper: PolicyHelper, env: Mapping[str, str]) -> HelperPolicy:
    """What the helper says now.

    It gets no arguments, no input, and nothing of the environment that could change what it does.

    Raises:
        ConfigError: it failed, took too long, or printed something else than it should.
    """
    seconds = _SECONDS if helper.timeout_ms is None else helper.timeout_ms / 1000
    out, err, code = _run(helper.path, env, seconds)
    if code is None:
        raise _refusal(helper, f"it timed out after {seconds:g} s")
    if code != 0:
        raise _refusal(helper, f"it exited with {code}: {err}" if err else f"it exited with {code}")
    if len(out) > _LARGEST:
        raise _refusal(helper, "it printed more than 1 MiB")
    try:
        envelope = msgspec.json.decode(out)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _refusal(helper, "it did not print JSON") from error
    values = envelope.get("managedSettings") if isinstance(envelope, dict) else ()
    if values is not None and not isinstance(values, dict):
        raise _refusal(helper, 'it did not print {"managedSettings": {…}}')
    return HelperPolicy(helper, values)


def _refusal(helper: PolicyHelper, why: str) -> ConfigError:
    return ConfigError(f"Your administrator's policy helper failed: {why} ({printable(helper.path)}).")


def _run(path: str, env: Mapping[str, str], seconds: float) -> tuple[bytes, str, int | None]:
    """Output, the beginning of the errors, and the exit code; None if it took too long."""
    helper_env = {**PROGRAMS.plain_environment(env), "CLAUDE_CODE_VERSION": COMPATIBLE_WITH}
    try:
        process = subprocess.Popen(
            [path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            env=helper_env,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(
            f"Could not start your administrator's policy helper: {why} ({printable(path)})."
        ) from error
    assert process.stdout is not None and process.stderr is not None
    out, err = _Reader(process.stdout, _LARGEST + 1), _Reader(process.stderr, _LONGEST_FAULT)
    try:
        code: int | None = process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        code = None
    # What it left behind must not hold the output open.
    _end(process)
    fault = err.ended().decode("utf-8", "replace").strip()
    return out.ended(), printable(" ".join(fault.split())), code


class _Reader:
    """Keeps the beginning of what a program prints, and lets it print more."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream = stream
        self._most = most
        self._kept = bytearray()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def ended(self) -> bytes:
        """All that was kept; the program is over."""
        self._thread.join(timeout=_MOMENT)
        return bytes(self._kept)

    def _read(self) -> None:
        with self._stream as stream:
            while chunk := os.read(stream.fileno(), 65_536):
                self._kept += chunk[: max(0, self._most - len(self._kept))]


def _end(process: "subprocess.Popen[bytes]") -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # It has ended, with all that it started.
    process.wait()
