"""The scheduled prompts that a project brings, and which of them the user has approved."""

import os.path
from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.config import approvals
from bridle.host.files import read_bytes

LARGEST = 1024 * 1024
_MARKS = frozenset({"lastFiredAt"})
"""What is noted in an entry when it comes; all else is its content."""

Entry = dict[str, Any]


def schedule_file(folder: str) -> str:
    """The file of a project with the prompts that outlive sessions."""
    return os.path.join(folder, ".claude", "scheduled_tasks.json")


def read_schedules(folder: str) -> list[Entry]:
    """Every entry of the file that has an id; none where there is no file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not what it should be.
    """
    path = schedule_file(folder)
    try:
        values = msgspec.json.decode(read_bytes(path, LARGEST), type=dict[str, Any])
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    listed = values.get("tasks", [])
    entries: list[Any] = listed if isinstance(listed, list) else []
    return [each for each in entries if isinstance(each, dict) and isinstance(each.get("id"), str)]


def is_approved(env: Mapping[str, str], folder: str, entry: Entry) -> bool:
    """Whether the user approved exactly this schedule: its times, its prompt and all else it says."""
    name = _name(folder, entry)
    return approvals.is_approved(env, folder, kind="schedule", name=name, definition=content(entry))


def was_approved(env: Mapping[str, str], folder: str, entry: Entry) -> bool:
    """Whether the user approved a schedule of this id, whatever it said then."""
    return approvals.is_known(env, folder, kind="schedule", name=_name(folder, entry))


def approve(env: Mapping[str, str], folder: str, entry: Entry) -> None:
    """Let a schedule come from now on, as it is; a change of it ends that.

    Raises:
        ConfigError: the file of approvals does not parse, or another process keeps it locked.
        OSError: it cannot be written.
    """
    name = _name(folder, entry)
    approvals.approve(env, folder, kind="schedule", name=name, definition=content(entry))


def forget(env: Mapping[str, str], folder: str, entry: Entry) -> None:
    """Take an approval back.

    Raises:
        ConfigError: the file of approvals does not parse, or another process keeps it locked.
        OSError: it cannot be written.
    """
    approvals.forget(env, folder, kind="schedule", name=_name(folder, entry))


def content(entry: Entry) -> Entry:
    """What an approval holds for."""
    return {key: value for key, value in entry.items() if key not in _MARKS}


def _name(folder: str, entry: Entry) -> str:
    return f"{os.path.realpath(schedule_file(folder))}#{entry['id']}"
