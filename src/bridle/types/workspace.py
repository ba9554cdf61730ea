"""What the tools of one session share: where they stand, what they have read, what still runs."""

import os.path
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from bridle.types.errors import ToolError
from bridle.types.services.tasks import Task, Tasks

IN_WORKTREE = "worktree-state"
"""The kind of line that says in which work tree a conversation is; the form is shared with other readers."""
_MOST_FILES = 100
_MOST_BYTES = 25 * 1024 * 1024


class FileState(Struct, frozen=True, kw_only=True):
    """A file as the model last saw it."""

    content: str
    mtime_ns: int
    partial: bool = False
    """Only a part was shown, so overwriting the whole would lose what was not seen."""


class FileStates:
    """The newest state of each file seen, bounded in number and size; spellings of a path are one path."""

    def __init__(self) -> None:
        self._states: OrderedDict[str, FileState] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._states)

    def paths(self) -> tuple[str, ...]:
        """The files whose state is known."""
        return tuple(self._states)

    def note(self, path: str, state: FileState) -> None:
        self.forget(path)
        self._states[os.path.normpath(path)] = state
        self._bytes += _weight(state)
        while len(self._states) > _MOST_FILES or (self._bytes > _MOST_BYTES and len(self._states) > 1):
            _, dropped = self._states.popitem(last=False)
            self._bytes -= _weight(dropped)

    def find(self, path: str) -> FileState | None:
        key = os.path.normpath(path)
        if (state := self._states.get(key)) is not None:
            self._states.move_to_end(key)
        return state

    def newest(self) -> list[tuple[str, FileState]]:
        """Every file with its state, the one seen last first."""
        return list(reversed(self._states.items()))

    def forget(self, path: str) -> None:
        if (state := self._states.pop(os.path.normpath(path), None)) is not None:
            self._bytes -= _weight(state)


class EnteredWorktree(Struct, frozen=True, kw_only=True):
    """A stay in a work tree, and what to go back to."""

    path: str
    start: str
    cwd: str
    branch: str | None = None
    """None when git did not make the tree during this session; so for the next two."""
    base: str | None = None
    repository: str | None = None
    made: bool = False
    """The session had it made, so it may be removed again."""


class Workspace:
    """Made when a session opens; the background jobs are closed with it."""

    def __init__(
        self,
        cwd: str,
        *,
        tasks: Tasks | Callable[[], Tasks] | None = None,
        extra_roots: tuple[str, ...] = (),
    ) -> None:
        self.start = cwd
        """Where the session began: the project directory."""
        self.cwd = cwd
        self.roots = (cwd, *extra_roots)
        self._tasks = tasks
        """The background jobs, or how to make the place for them when the first begins; None for nowhere."""
        self.files = FileStates()
        self.unsaved: dict[str, str] = {}
        """Texts that an editor holds for files and has not saved, by path."""
        self.is_draft = False
        """Edits stay in `unsaved` and never reach the disk."""
        self.todos: list[dict[str, Any]] = []
        self.origins: tuple[str, ...] = ()
        """Where it began before it moved to a work tree: rules that are anchored there still hold."""
        self.stopped_commands: dict[str, str] = {}
        """Commands that tried more than they were judged to do, and what that was: they are asked about."""
        self.refused_calls: dict[str, str] = {}
        """Calls that a person refused since the last prompt, each with the answer."""
        self.worktree: EnteredWorktree | None = None
        """The work tree that the session has moved to."""

    def bring_tasks(self, make: Callable[[], Tasks]) -> None:
        """Let background jobs be kept in what `make` returns, unless there is a place for them already."""
        self._tasks = make if self._tasks is None else self._tasks

    @property
    def tasks(self) -> Tasks:
        """The background jobs.

        Raises:
            ToolError: there can be none.
        """
        if self._tasks is None:
            raise ToolError("Nothing can run in the background of this session.")
        if callable(self._tasks):
            self._tasks = self._tasks()
        return self._tasks

    def jobs(self) -> tuple[Task, ...]:
        """Every background job so far."""
        return () if self._tasks is None or callable(self._tasks) else self._tasks.all()

    def is_told(self, task_id: str) -> bool:
        """Whether the model knows already that a background job has ended."""
        return not (self._tasks is None or callable(self._tasks)) and self._tasks.is_told(task_id)

    def resolve(self, path: str) -> str:
        """An absolute, normalized spelling of a path that the model or the user wrote."""
        resolved = os.path.normpath(os.path.join(self.cwd, os.path.expanduser(path)))
        # POSIX lets two leading slashes mean something else; no system that bridle runs on does.
        return resolved[1:] if resolved.startswith("//") else resolved


def _weight(state: FileState) -> int:
    return max(1, len(state.content))
