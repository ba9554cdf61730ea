"""Follows the workflow runs of a session, and shows each active one on one row."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from bridle.frontends.tui.render.call import duration, mark, tokens
from bridle.frontends.tui.render.layout import MUTED, one_line, style
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span
from bridle.types.event import FromAgent, ToolStarted
from bridle.types.services.tasks import Task

_LEAST_HEIGHT = 8
"""A window with fewer rows shows none."""
_MOST = 3
_LONGEST_NAME = 40
_AGENT = ("Agent", "Task")


class _Run(Struct, frozen=True):
    task: Task
    words: str


class WorkflowRows:
    """The active runs, in the order in which they began."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` tells the seconds since the epoch."""
        self._clock = clock
        self._runs: dict[str, _Run] = {}
        self._calls: dict[str, str] = {}
        """Calls below which agents of a run work, with the run."""

    def __bool__(self) -> bool:
        return bool(self._runs)

    def take(self, task: Task, words: str = "") -> bool:
        """A job has begun, is further on or is over; whether it is a workflow run."""
        if task.kind != "local_workflow":
            return False
        if task.status == "running":
            before = self._runs.get(task.id)
            self._runs[task.id] = _Run(task, words or ("" if before is None else before.words))
            self._calls[task.call_id] = task.id
        else:
            self._runs.pop(task.id, None)
            self._calls = {call: run for call, run in self._calls.items() if run != task.id}
        return True

    def owns(self, event: FromAgent) -> bool:
        """Whether it happened below a run: its agents are many, and `/workflows` shows them."""
        run = self._calls.get(event.call_id)
        if run is None:
            return False
        if isinstance(event.event, ToolStarted) and event.event.tool in _AGENT:
            self._calls[event.event.call_id] = run
        return True

    def rows(self, width: int, height: int, *, frame: int) -> list[Line]:
        """One row for each run, as many as there is room for."""
        if height < _LEAST_HEIGHT:
            return []
        shown = tuple(self._runs.values())[:_MOST]
        rows = [cells.truncate(self._row(each, frame), width) for each in shown]
        if hidden := len(self._runs) - len(shown):
            rows.append(cells.truncate((Span(f"  … {hidden} more, see /workflows", MUTED),), width))
        return rows

    def _row(self, run: _Run, frame: int) -> Line:
        task = run.task
        name = cells.truncate_text(one_line(task.name or task.id), _LONGEST_NAME)
        facts: Sequence[str] = (
            run.words,
            duration(self._clock() - task.started),
            tokens(task.usage.tokens) if task.usage is not None and task.usage.tokens else "",
            "/workflows",
        )
        text = " · ".join(one_line(each) for each in facts if each)
        return (mark("running", frame), Span(name, style("tool", bold=True)), Span(f" · {text}", MUTED))
