"""Lets others know of a session at a terminal, for as long as it lives."""

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.host.jobs import records
from bridle.host.jobs.paths import private_folder
from bridle.host.liveness import birth, is_alive
from bridle.host.paths import bridle_dir

_MOST = 1000
_LARGEST = 10_000


class SessionFile:
    """A small file with the number of this process; removed with it."""

    def __init__(self, env: Mapping[str, str], cwd: str) -> None:
        pid = os.getpid()
        self._path = os.path.join(_folder(env), f"{pid}.json")
        self._facts: dict[str, Any] = {
            "pid": pid,
            "birth": birth(pid),
            "cwd": cwd,
            "kind": "interactive",
            "startedAt": records.now_ms(),
            "status": "idle",
        }

    def tell(self, values: Mapping[str, Any]) -> None:
        """Write the state of the session, for lists of sessions."""
        merged = {**self._facts, **values}
        merged.pop("state", None)
        self._facts = {key: value for key, value in merged.items() if value is not None}
        try:
            private_folder(os.path.dirname(self._path))
            records.replace_file(self._path, msgspec.json.encode(self._facts))
        except OSError:
            pass  # Without it the session is not listed, and nothing else is lost.

    def close(self) -> None:
        try:
            os.unlink(self._path)
        except FileNotFoundError:
            pass  # It could not be written.


def interactive_sessions(env: Mapping[str, str]) -> list[dict[str, Any]]:
    """The sessions at terminals that live; what dead ones left is removed."""
    folder = _folder(env)
    try:
        names = sorted(os.listdir(folder))[:_MOST]
    except FileNotFoundError:
        return []
    found: list[dict[str, Any]] = []
    for path in (os.path.join(folder, name) for name in names if name.endswith(".json")):
        try:
            with open(path, "rb") as file:
                facts = msgspec.json.decode(file.read(_LARGEST), type=dict[str, Any])
            if is_alive(facts["pid"], facts["birth"]):
                found.append(facts)
            else:
                os.unlink(path)
        except (OSError, msgspec.MsgspecError, KeyError, TypeError):
            continue  # A file of another process, or one that is gone already.
    return found


def _folder(env: Mapping[str, str]) -> str:
    return os.path.join(bridle_dir(env), "live")
