"""Telemetry of what happens outside sessions: the next session that reports to a collector reports it."""

import os
import os.path
import time
from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Struct

from bridle.host.files import make_folders, read_bytes
from bridle.host.paths import bridle_dir
from bridle.types.variables import is_on

_FILE = "pending-telemetry.jsonl"
_LARGEST = 64 * 1024
_REFUSED = ("DISABLE_TELEMETRY", "DO_NOT_TRACK")


class PendingEvent(Struct, frozen=True, kw_only=True):
    """Something that happened while no one reported."""

    name: str
    at: float
    attributes: dict[str, str | int | bool] = {}


def note_event(env: Mapping[str, str], name: str, **attributes: str | int | bool) -> None:
    """Keep an event where the user has turned telemetry on; what cannot be saved is lost."""
    if not is_on(env, "CLAUDE_CODE_ENABLE_TELEMETRY") or any(env.get(name) for name in _REFUSED):
        return
    path = os.path.join(bridle_dir(env), _FILE)
    row = msgspec.json.encode(PendingEvent(name=name, at=time.time(), attributes=attributes))
    try:
        make_folders(os.path.dirname(path), private=True)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(file).st_size < _LARGEST:
                os.write(file, row + b"\n")
        finally:
            os.close(file)
    except OSError:
        return


def take_events(env: Mapping[str, str]) -> Iterator[PendingEvent]:
    """The events that were kept, each once."""
    path = os.path.join(bridle_dir(env), _FILE)
    taken = f"{path}.{os.getpid()}"
    try:
        os.rename(path, taken)
    except OSError:
        return
    try:
        lines = read_bytes(taken, 2 * _LARGEST).splitlines()
    except OSError:
        lines = []
    os.unlink(taken)
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=PendingEvent)
        except msgspec.DecodeError:
            continue
