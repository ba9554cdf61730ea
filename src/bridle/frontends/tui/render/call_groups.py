"""Tool calls from their start to their result, one by one and in groups."""

from collections.abc import Sequence

from msgspec import Struct

from bridle.frontends.tui.render.call import Call, State, below, duration, header, inner, mark, sentence
from bridle.frontends.tui.render.collapse import fold_output
from bridle.frontends.tui.render.layout import MUTED, count, fit, style
from bridle.frontends.tui.render.tools import agents, bash, tasks
from bridle.frontends.tui.render.tools.catalog import look_of
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span
from bridle.tools.catalog import traits_of
from bridle.types.tool import LOOKS_AT_FILES, Kind

_LEAST_GROUPED = 2


class CallGroup(Struct, frozen=True):
    """Calls that only look at things, or that only keep the task list, one right after the other."""

    calls: tuple[Call, ...]

    @property
    def keeps_tasks(self) -> bool:
        return _updates_tasks(self.calls[0])


def render_call(call: Call, width: int, *, expanded: bool = False, frame: int = 0) -> list[Line]:
    """A call with all that is known of it: a header, then its newest output or its result."""
    look = look_of(call.tool)
    rows = header(call, look, width, frame=frame, expanded=expanded)
    room = inner(width)
    match call.state:
        case "waiting":
            result: list[Line] = []
        case "running":
            result = _progress(call, room, expanded=expanded, frame=frame)
        case "done":
            result = look.result(call, room, expanded=expanded)
        case "failed":
            result = _failure(call, room, expanded=expanded)
        case "denied":
            result = sentence(_reason(call) or "not allowed", room, style("warning"))
        case "interrupted":
            result = sentence("interrupted", room, style("warning"))
    details = look.input(call, room) if expanded else []
    return fit([*rows, *below(details, width), *below(result, width)], width)


def group_calls(calls: Sequence[Call]) -> list[Call | CallGroup]:
    """The calls in order, with neighbors put together that only look, or only keep the task list."""
    grouped: list[Call | CallGroup] = []
    run: list[Call] = []
    for call in (*calls, None):
        if run and (call is None or not is_grouped(call) or _group_of(call) != _group_of(run[0])):
            least = 1 if _updates_tasks(run[0]) else _LEAST_GROUPED
            grouped += [CallGroup(tuple(run))] if len(run) >= least else run
            run = []
        if call is not None:
            (run if is_grouped(call) else grouped).append(call)
    return grouped


def is_grouped(call: Call) -> bool:
    """Whether a call may be folded into a group: it looks or keeps the task list, and has not failed."""
    return _group_of(call) != "" and call.state in ("waiting", "running", "done")


def _group_of(call: Call) -> str:
    return "tasks" if _updates_tasks(call) else "look" if _kind(call) in LOOKS_AT_FILES else ""


def render_group(group: CallGroup, width: int, *, expanded: bool = False, frame: int = 0) -> list[Line]:
    """One row for all calls of a group; every call when expanded."""
    if expanded:
        return [row for call in group.calls for row in render_call(call, width, expanded=False, frame=frame)]
    if group.keeps_tasks:
        return [tasks.group_line(group.calls, width, frame=frame)]
    state = _group_state(group)
    spans = [mark(state, frame), Span(describe_group(group), style("tool"))]
    if (seconds := sum(call.seconds for call in group.calls)) >= 1:
        spans.append(Span(f" · {duration(seconds)}", MUTED))
    rows: list[Line] = [cells.truncate(tuple(spans), width)]
    if state == "running":
        current = next(call for call in reversed(group.calls) if call.state != "done")
        rows += below(sentence(look_of(current.tool).subject(current), inner(width))[:1], width)
    return fit(rows, width)


def describe_group(group: CallGroup) -> str:
    """`Read 5 files, searched for 2 patterns, listed 1 pattern`."""
    files = {call.text("file_path") for call in group.calls if _kind(call) == "read"}
    searches = sum(_kind(call) == "search" for call in group.calls)
    lists = sum(_kind(call) == "list" for call in group.calls)
    is_running = _group_state(group) == "running"
    parts: list[str] = []
    if files:
        parts.append(f"{'reading' if is_running else 'read'} {count(len(files), 'file')}")
    if searches:
        parts.append(f"{'searching' if is_running else 'searched'} for {count(searches, 'pattern')}")
    if lists:
        parts.append(
            f"{'listing' if is_running else 'listed'} files {'once' if lists == 1 else f'{lists} times'}"
        )
    text = ", ".join(parts)
    return text[:1].upper() + text[1:]


def _updates_tasks(call: Call) -> bool:
    return traits_of(call.tool).updates_tasks


def _kind(call: Call) -> Kind:
    return traits_of(call.tool).kind


def _group_state(group: CallGroup) -> State:
    return "done" if all(call.state == "done" for call in group.calls) else "running"


def _progress(call: Call, width: int, *, expanded: bool, frame: int) -> list[Line]:
    if call.agent is not None:
        return agents.progress(call, width, expanded=expanded, frame=frame)
    return bash.progress(call, width)


def _failure(call: Call, width: int, *, expanded: bool) -> list[Line]:
    if _kind(call) == "command":
        return bash.failed(call, width, expanded=expanded)
    rows = fold_output(_reason(call) or "failed", width, head=4, expanded=expanded)
    return [tuple(Span(span.text, style("error")) for span in row) for row in rows]


def _reason(call: Call) -> str:
    text = call.said.strip()
    return text or (call.data.removeprefix("Error: ") if isinstance(call.data, str) else "")
