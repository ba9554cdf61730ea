"""Lists of things to do, and jobs beside the conversation."""

from collections.abc import Mapping, Sequence
from typing import Any

from bridle.frontends.tui.render.call import Call, Look, mark, sentence
from bridle.frontends.tui.render.collapse import fold_output
from bridle.frontends.tui.render.layout import MUTED, count, fit, hanging, one_line, style
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span, Style
from bridle.tools.catalog import traits_of

_MARKS: Mapping[str, tuple[str, Style, Style]] = {
    "completed": ("✓", style("success"), style("muted", strike=True)),
    "in_progress": ("▸", style("accent"), style(bold=True)),
}
_PENDING = ("○", style("muted"), style())


def todo_lines(todos: Sequence[Any], width: int, *, most: int | None = None) -> list[Line]:
    """A list of things to do; with `most`, finished ones make room for what is left."""
    items = [each for each in todos if isinstance(each, Mapping)]
    hidden = 0
    if most is not None and len(items) > most:
        done = [each for each in items if each.get("status") == "completed"]
        left_out = done[: len(items) - most]
        hidden = len(left_out)
        rest = [each for each in items if not any(each is other for other in left_out)]
        hidden += max(0, len(rest) - most)
        items = rest[:most]
    lines: list[Line] = []
    for each in items:
        lines += _todo(each, width)
    if hidden:
        lines += sentence(f"… {hidden} more", width)
    return fit(lines, width)


def _todo(todo: Mapping[str, Any], width: int) -> list[Line]:
    sign, mark_style, text_style = _MARKS.get(str(todo.get("status")), _PENDING)
    text = one_line(_words(todo)[:500])
    return hanging(
        (Span(text, text_style),), width, first=(Span(f"{sign} ", mark_style),), rest=(Span("  "),)
    )


def group_line(calls: Sequence[Call], width: int, *, frame: int = 0) -> Line:
    """What some calls did to the task list, on one row: `Tasks · 3 added · 1 of 3 done · Fixing the sum`."""
    is_running = any(call.state in ("waiting", "running") for call in calls)
    known = next((call.fact_list("list") for call in reversed(calls) if call.fact_list("list")), None)
    items = [each for each in known or () if isinstance(each, Mapping)]
    parts: list[str] = []
    if added := sum(_adds(call) and call.state == "done" for call in calls):
        parts.append(f"{added:,} added")
    if items and added < len(calls):
        done = sum(each.get("status") == "completed" for each in items)
        parts.append(f"{done:,} of {len(items):,} done")
        current = (each for each in items if each.get("status") == "in_progress")
        parts += [one_line(_words(each)[:200]) for each in current][:1]
    text = f" · {' · '.join(parts)}" if parts else ""
    line = (mark("running" if is_running else "done", frame), Span("Tasks", style("tool")), Span(text, MUTED))
    return cells.truncate(line, width)


def _words(todo: Mapping[str, Any]) -> str:
    """What a task says: in its active form while it is being done."""
    name = todo.get("activeForm") if todo.get("status") == "in_progress" else None
    return str(name or todo.get("content") or todo.get("subject") or "")


def _adds(call: Call) -> bool:
    """Whether a call adds a task: one that changes a task names it."""
    return traits_of(call.tool).kind == "task" and "taskId" not in call.input


def _todo_result(call: Call, width: int, *, expanded: bool) -> list[Line]:
    return todo_lines(call.fact_list("newTodos"), width, most=None if expanded else 10)


def _todo_note(call: Call) -> str:
    todos = [each for each in call.fact_list("newTodos") if isinstance(each, Mapping)]
    done = sum(each.get("status") == "completed" for each in todos)
    return f"{done} of {len(todos)} done"


def _task_subject(call: Call) -> str:
    number = call.text("taskId")
    return f"#{number} {call.text('subject')}".strip() if number else call.text("subject")


def _task_result(call: Call, width: int, *, expanded: bool) -> list[Line]:
    if tasks := call.fact_list("tasks"):
        return todo_lines(tasks, width, most=None if expanded else 10)
    if isinstance(changed := call.fact("statusChange"), Mapping):
        return sentence(f"{changed.get('from')} → {changed.get('to')}", width)
    if number := call.fact_text("task", "id"):
        return sentence(f"#{number} {call.fact_text('task', 'subject')}", width)
    return []


def _job_id(call: Call) -> str:
    names = ("task_id", "bash_id", "shell_id", "agentId")
    return next((text for name in names if (text := call.text(name))), "")


def _output_result(call: Call, width: int, *, expanded: bool) -> list[Line]:
    return fold_output(
        call.fact_text("task", "output"), width, head=2, tail=4, expanded=expanded
    ) or sentence("no output yet" if call.fact_text("task", "status") == "running" else "no output", width)


def _output_note(call: Call) -> str:
    status, code = call.fact_text("task", "status"), call.fact("task", "exitCode")
    return f"{status}, exit code {code}" if isinstance(code, int) and code else status


def _stop_result(call: Call, width: int, *, expanded: bool) -> list[Line]:
    del expanded
    return sentence(call.fact_text("command") or call.fact_text("message"), width)


TODO = Look(title=lambda _: "Todos", subject=lambda _: "", result=_todo_result, note=_todo_note)
TASK = Look(title=lambda call: call.tool, subject=_task_subject, result=_task_result)
OUTPUT = Look(title=lambda call: call.tool, subject=_job_id, result=_output_result, note=_output_note)
STOP = Look(title=lambda call: call.tool, subject=_job_id, result=_stop_result)
LIST = Look(
    title=lambda call: call.tool,
    subject=lambda _: "",
    result=_task_result,
    note=lambda call: count(len(call.fact_list("tasks")), "task"),
)
