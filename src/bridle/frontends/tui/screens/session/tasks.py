"""Work in the background: what runs, what it prints, and how to stop it."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from bridle.frontends.tui.render.call import duration
from bridle.frontends.tui.render.collapse import fold_output
from bridle.frontends.tui.render.layout import MUTED, paragraph, style
from bridle.frontends.tui.render.markdown import render_markdown
from bridle.frontends.tui.screens.actions import EditFile
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.list_pane import Command, ListPane
from bridle.frontends.tui.widgets.message_pane import MessagePane
from bridle.frontends.tui.widgets.page import heading, pair
from bridle.frontends.tui.widgets.pane import Do, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView
from bridle.types.command import Says
from bridle.types.services.tasks import Task, TaskStatus

_TAIL = 20_000
_ROWS = 200
_SIGNS: dict[TaskStatus, tuple[str, str]] = {
    "running": ("◐", "accent"),
    "completed": ("✓", "success"),
    "failed": ("✗", "error"),
    "killed": ("■", "warning"),
}


class StopTask(Struct, frozen=True):
    id: str


class StopAllTasks(Struct, frozen=True):
    """End everything that runs in the background."""


class OpenAgent(Struct, frozen=True):
    """Show the conversation of an agent."""

    id: str
    title: str


class MessageAgent(Struct, frozen=True):
    """Write to an agent; it reads the message at its next step, or continues with it."""

    id: str
    text: str


def tasks_view(
    tasks: Sequence[Task],
    *,
    read: Callable[[str, int], str],
    clock: Callable[[], float],
    do: Do = nothing,
) -> tuple[TabbedView[Sequence[Task]], Callable[[Says], None]]:
    """Every job with its newest output, and what shows in the view what came of a message or a stop.

    `read` gives the end of what a job printed.
    """

    def items(now: Sequence[Task]) -> list[Item[str]]:
        return [_item(task, clock()) for task in sorted(now, key=lambda each: each.status != "running")]

    known = {task.id: task for task in tasks}
    pane: ListPane[str] = ListPane(
        items(tasks),
        details=lambda id, width: _details(known[id], read(id, _TAIL), clock(), width),
        do=do,
        empty="nothing is running in the background",
        accept=(
            Command(
                key="enter",
                words="open its conversation",
                closes=True,
                when=lambda id: known[id].kind == "local_agent",
                act=lambda id, _: OpenAgent(id, _label(known[id])) if id else None,
            ),
        ),
        commands=(
            Command(
                key="m",
                words="message",
                ask="Message to the agent",
                check=lambda _, text: "" if text else "type a message, or press esc",
                when=lambda id: known[id].kind == "local_agent",
                act=lambda id, given: MessageAgent(id, given.text) if id else None,
            ),
            Command(
                key="s",
                words="stop",
                confirm="Stop it and everything it started?",
                when=lambda id: _can_be_stopped(known[id]),
                act=lambda id, _: StopTask(id) if id else None,
            ),
            Command(
                key="shift+s",
                label="S",
                words="stop all",
                confirm="Stop everything in the background?",
                when=lambda _: any(map(_can_be_stopped, known.values())),
                act=lambda _, __: StopAllTasks(),
            ),
            Command(
                key="e",
                words="open the output",
                act=lambda id, _: EditFile(known[id].output_file) if id else None,
            ),
        ),
    )

    def update(now: Sequence[Task]) -> None:
        known.update((task.id, task) for task in now)
        pane.replace(items(now))

    noted = MessagePane(pane)
    return TabbedView("Background work", [("", noted)], update=update, refresh=1.0), noted.tell


def _can_be_stopped(task: Task) -> bool:
    return task.status == "running" or task.resident


def _item(task: Task, now: float) -> Item[str]:
    sign, color = _SIGNS[task.status]
    return Item(
        value=task.id,
        label=_label(task),
        facts=(_state(task), duration((task.ended or now) - task.started)),
        detail=task.command if task.description else "",
        group="Running" if task.status == "running" else "Ended",
        words=task.id,
        sign=Span(sign, style(color)),
    )


def _label(task: Task) -> str:
    name = task.name or (task.agent_type if task.kind == "local_agent" else None)
    named = f"{name}: " if name and task.description else name or ""
    return f"{named}{task.description or task.command}"


def _state(task: Task) -> str:
    return "idle" if task.resident else task.status


def _details(task: Task, output: str, now: float, width: int) -> list[Line]:
    rows = [heading(_label(task) or task.id)]
    rows += paragraph(task.command, width, style("code")) if task.command else []
    ending = "" if task.exit_code is None else f", exit code {task.exit_code}"
    rows += pair("state", f"{_state(task)}{ending}", width, column=8)
    rows += pair("time", duration((task.ended or now) - task.started), width, column=8)
    if found := (task.error or task.result or "").strip():
        rows += [(), heading("result"), *render_markdown(found[:_TAIL], width)]
    rows += [(), heading("output")]
    shown = fold_output(output, width, head=0, tail=_ROWS)
    return [*rows, *(shown or paragraph("no output yet", width, MUTED))]
