"""How often skills are used, so that a short listing describes those that matter."""

import os.path
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.host.files import read_bytes
from bridle.host.paths import bridle_dir

_LARGEST = 4 * 1024 * 1024
_HALF_LIFE = 14 * 24 * 3600.0
"""Seconds after which a use counts half."""


class _Use(Struct):
    count: float = 0.0
    last: float = 0.0


class SkillUsage:
    """Counts that fade, kept in a file that all sessions share."""

    def __init__(self, env: Mapping[str, str], *, now: Callable[[], float] = time.time) -> None:
        self._file = os.path.join(bridle_dir(env), "skill-usage.json")
        self._now = now

    def scores(self) -> dict[str, float]:
        """How much each skill was used, lately more than long ago."""
        try:
            uses = msgspec.json.decode(read_bytes(self._file, _LARGEST), type=dict[str, _Use])
        except (OSError, msgspec.DecodeError, RecursionError):
            return {}
        return {name: _faded(use, self._now()) for name, use in uses.items()}

    def note(self, name: str) -> None:
        """Count one use; blocks while another process writes.

        Raises:
            ConfigError: the file is not what it should be, or locked for too long.
            OSError: it cannot be written.
        """
        now = self._now()

        def change(values: dict[str, Any]) -> dict[str, Any]:
            before = values.get(name)
            return {**values, name: {"count": _faded(_use_of(before), now) + 1, "last": now}}

        from bridle.config.edit import update  # Most runs use no skill.

        update(self._file, change, mode=0o600)


def _use_of(value: object) -> _Use:
    """What was counted; nothing where the file has something else."""
    try:
        return msgspec.convert(value, _Use)
    except msgspec.ValidationError:
        return _Use()


def _faded(use: _Use, now: float) -> float:
    return use.count * 0.5 ** (max(0.0, now - use.last) / _HALF_LIFE)
