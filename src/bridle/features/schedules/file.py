"""The project's file of durable prompts, and which of several processes runs them."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from bridle.config import schedules
from bridle.features.schedules.times import describe, parse
from bridle.host.files import make_folders, read_bytes, write_atomic
from bridle.host.lock import FileLock, Locked, locked_folder
from bridle.types.errors import ConfigError
from bridle.types.services.schedules import Scheduled

_MOST = 50

Entries = list[dict[str, Any]]


class ScheduleFile:
    """`.claude/scheduled_tasks.json`; what is not understood in it is kept as it is."""

    def __init__(self, project: str, env: Mapping[str, str]) -> None:
        self._project = project
        self._env = env
        """Says where approvals are kept."""
        self._folder = os.path.join(project, ".claude")
        self.path = schedules.schedule_file(project)
        self._owner = FileLock(os.path.join(self._folder, "scheduled_tasks.lock"))
        self.owned = False
        """This process runs the prompts of the file."""

    def exists(self) -> bool:
        return os.path.exists(self.path)

    def own(self) -> bool:
        """Become the process that runs them, if no other does."""
        try:
            self.owned = self.owned or (os.path.isdir(self._folder) and self._owner.try_acquire())
        except OSError:
            self.owned = False  # A folder that cannot be written has nothing for us to let come.
        return self.owned

    def disown(self) -> None:
        """Leave it to another process."""
        self._owner.release()
        self.owned = False

    def stamp(self) -> tuple[int, int] | None:
        """Changes with the content."""
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size

    def read(self, now: float) -> tuple[Scheduled, ...]:
        """The prompts in it; an entry that is none is passed over, one without a date is of `now`.

        Raises:
            OSError: it cannot be read.
            ValueError: it is not what it should be.
        """
        entries = schedules.read_schedules(self._project)[:_MOST]
        found = (_scheduled(entry, now, approved=self._is_approved(entry)) for entry in entries)
        return tuple(each for each in found if each is not None)

    def is_approved(self, id: str) -> bool:
        """Whether the user has approved a prompt of the file as it is now."""
        try:
            entries = schedules.read_schedules(self._project)
        except (OSError, ValueError):
            return False
        return any(each["id"] == id and self._is_approved(each) for each in entries)

    def add(self, wanted: Scheduled) -> None:
        """Write one more that the user has just let be made, which approves it; the same for the next two.

        Raises:
            OSError: it cannot be written.
            ValueError: it is not what it should be.
        """
        make_folders(self._folder, private=False)
        entry = {
            "id": wanted.id,
            "cron": wanted.cron,
            "prompt": wanted.prompt,
            "createdAt": round(wanted.created * 1000),
            "recurring": wanted.recurring,
        }
        try:
            schedules.approve(self._env, self._project, entry)
        except ConfigError as error:
            raise ValueError(str(error)) from error
        self._change(lambda entries: [*entries, entry])

    def remove(self, id: str) -> None:
        self._change(lambda entries: [each for each in entries if each.get("id") != id])

    def mark(self, id: str, fired: float) -> None:
        """Record when a prompt ran."""

        def change(entries: Entries) -> Entries:
            stamp = {"lastFiredAt": round(fired * 1000)}
            return [{**each, **stamp} if each.get("id") == id else each for each in entries]

        self._change(change)

    def _is_approved(self, entry: dict[str, Any]) -> bool:
        return schedules.is_approved(self._env, self._project, entry)

    def _change(self, change: Callable[[Entries], Entries]) -> None:
        try:
            with locked_folder(self._folder):
                values = self._values()
                values["tasks"] = change(_entries(values))
                write_atomic(self.path, msgspec.json.format(msgspec.json.encode(values), indent=2) + b"\n")
        except Locked as busy:
            raise OSError(str(busy)) from busy

    def _values(self) -> dict[str, Any]:
        try:
            return msgspec.json.decode(read_bytes(self.path, schedules.LARGEST), type=dict[str, Any])
        except FileNotFoundError:
            return {}
        except (msgspec.DecodeError, RecursionError) as error:
            raise ValueError(f"{self.path} is not JSON: {error}") from error


def _entries(values: dict[str, Any]) -> Entries:
    listed = values.get("tasks", [])
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def _scheduled(entry: dict[str, Any], now: float, *, approved: bool) -> Scheduled | None:
    match entry:
        case {"id": str() as id, "cron": str() as cron, "prompt": str() as prompt}:
            pass
        case _:
            return None
    try:
        parse(cron)
    except ValueError:
        return None
    created = entry.get("createdAt")
    return Scheduled(
        id=id,
        cron=cron,
        prompt=prompt,
        recurring=entry.get("recurring") is True,
        durable=True,
        created=created / 1000 if isinstance(created, int | float) else now,
        permanent=entry.get("permanent") is True,
        words=describe(cron),
        approved=approved,
    )
