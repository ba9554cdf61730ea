"""What a session that moves to the background takes along, and what it loses."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from bridle.types.services.tasks import Task
from bridle.types.variables import is_on
from bridle.types.workspace import Workspace

if TYPE_CHECKING:
    from bridle.host.background import BackgroundShells, HandedOverCommand

_INTERRUPTED = "The session was moved to the background while you worked. Continue where you stopped."
_MOST_NAMED = 10
_LONGEST = 80


class Handover:
    """A move that has begun: commands run on until the session over there has them, or `finish` ends them."""

    def __init__(self, workspace: Workspace, env: Mapping[str, str], *, sandboxed: bool) -> None:
        self._shells: BackgroundShells | None = None
        self._adopts = not is_on(env, "CLAUDE_DISABLE_ADOPT")
        may_hand_over = not sandboxed and not is_on(env, "CLAUDE_CODE_DISABLE_BG_EXIT_HANDOFF")
        self.handed = self._hand_over(workspace) if self._adopts and may_hand_over else ()
        kept = {each.task.id for each in self.handed}
        running = (task for task in workspace.jobs() if task.status == "running")
        self._stopped = tuple(task for task in running if task.id not in kept)

    def first_prompt(self, prompt: str, queued: Sequence[str], *, is_busy: bool) -> str:
        """What the session begins with over there: a prompt or "continue", and what was lost by the move."""
        parts = [prompt] if prompt else [_INTERRUPTED] if is_busy and self._adopts else []
        parts += queued
        if self._stopped and self._adopts:
            rows = "\n".join(f"- {_lost(task)}" for task in self._stopped[:_MOST_NAMED])
            parts.append(f"The move stopped this background work:\n{rows}\nRestart what is still needed.")
        return "\n\n".join(parts)

    @property
    def hands_over(self) -> bool:
        """Whether commands run on."""
        return self._shells is not None

    def finish(self, *, taken: bool) -> list[str]:
        """The other session has the commands, or they end now; those that were lost, in a few words."""
        if self._shells is not None:
            self._shells.part(taken=taken)
        handed = () if taken else (each.task for each in self.handed)
        lost = [task for task in (*self._stopped, *handed) if task.kind == "local_bash"]
        return [_short(task) for task in lost[:_MOST_NAMED]]

    def _hand_over(self, workspace: Workspace) -> "tuple[HandedOverCommand, ...]":
        if not workspace.jobs():
            return ()
        from bridle.host.background import BackgroundShells

        if not isinstance(shells := workspace.tasks, BackgroundShells):
            return ()
        handed = shells.hand_over()
        self._shells = shells if handed else None
        return handed


def take_over(handed: object, workspace: Workspace) -> None:
    """Adopt commands that another program of this session has handed over, as it wrote them down."""
    from bridle.host.background import BackgroundShells, HandedOverCommand

    shells = workspace.tasks
    if isinstance(shells, BackgroundShells):
        for each in msgspec.convert(handed, list[HandedOverCommand]):
            shells.take_over(each)


def _lost(task: Task) -> str:
    if task.kind == "local_bash":
        return f"command {_short(task)}"
    return f"agent {task.id} ({_short(task)}): SendMessage to {task.id} resumes it from its transcript"


def _short(task: Task) -> str:
    text = " ".join((task.command or task.description).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
