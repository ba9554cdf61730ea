"""The lines around the input: progress of the turn and status of the session."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from bridle.frontends.tui.render.call import duration, tokens
from bridle.frontends.tui.render.layout import MUTED, count, fit, one_line, style
from bridle.frontends.tui.render.messages import money
from bridle.frontends.tui.render.tools.tasks import todo_lines
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span

_FRAMES = "◐◓◑◒"
_MODES = {
    "plan": "plan mode",
    "acceptEdits": "accept edits on",
    "auto": "auto mode",
    "dontAsk": "never asks",
    "bypassPermissions": "permissions bypassed",
}
_LESS_THAN_KEYS = 4
"""Parts from here on are given up before the keys in the others are."""
_BAR = "▁▂▃▄▅▆▇█"
VERBS = ("Thinking", "Working", "Pondering", "Weighing", "Connecting the dots", "Looking closer")


class Status(Struct, frozen=True, kw_only=True):
    """How the session stands."""

    model: str
    mode: str = "default"
    folder: str = ""
    branch: str = ""
    context_used: int = 0
    context_window: int = 0
    cost_usd: float = 0.0
    shared: str = ""
    """That the session is shared."""
    editor: str = ""
    """The editor beside the session, and where the user is in it."""
    tasks: str = ""
    """How many tasks of the list are done, such as `2 of 5`."""
    shells: int = 0
    """How many commands run in the background."""
    agents: int = 0
    """How many agents run in the background."""
    mode_key: str = ""
    """The key that leads to the next mode."""
    note: str = ""
    """Text from outside, such as a status line command."""


def spinner_line(
    width: int,
    *,
    frame: int,
    seconds: float,
    verb: str = "",
    output_tokens: int = 0,
    interrupt_key: str = "esc",
    note: str = "",
) -> Line:
    """What the turn is doing, for how long, and how to stop it."""
    took = duration(seconds) if seconds >= 1 else ""
    count = f"↓ {tokens(output_tokens)}" if output_tokens else ""
    stop = f"{interrupt_key} to interrupt" if interrupt_key else ""
    word = one_line(verb) or verb_for(seconds)
    room = width - cells.width(word) - len("◐ … ()")
    facts = [each for each in (took, count, stop, one_line(note)) if each]
    for least in (one_line(note), count, took):
        if least in facts and cells.width(" · ".join(facts)) > room:
            facts.remove(least)
    line: Line = (
        Span(f"{_FRAMES[frame % len(_FRAMES)]} ", style("spinner")),
        Span(f"{word}…", style("spinner")),
        Span(f" ({' · '.join(facts)})" if facts else "", MUTED),
    )
    return cells.truncate(line, width)


def verb_for(seconds: float) -> str:
    """A word for work that has no better name; it changes now and then, so that one sees it is alive."""
    return VERBS[int(seconds // 20) % len(VERBS)]


def status_line(status: Status, width: int) -> Line:
    """Model, mode, folder, branch, context and cost on one row; what matters least goes first."""
    parts = _parts(status)
    while _size(parts) > width and any(part[0] >= _LESS_THAN_KEYS for part in parts):
        parts.remove(max(parts, key=lambda part: part[0]))
    if _size(parts) > width:
        parts = _parts(status, terse=True)
    while len(parts) > 1 and _size(parts) > width:
        parts.remove(max(parts, key=lambda part: part[0]))
    spans: list[Span] = []
    for _, line in parts:
        spans += [*([Span(" · ", MUTED)] if spans else []), *line]
    return cells.truncate(tuple(spans), width)


def mode_line(mode: str, *, key: str = "") -> Line:
    """The permission mode in its color, with the key to the next; nothing for the usual one."""
    if mode == "default":
        return ()
    name = Span(_MODES.get(mode, mode), style(f"mode.{mode}", bold=True))
    return (name, Span(f" ({key})", MUTED)) if key else (name,)


def work_line(status: Status) -> Line:
    """What runs in the background, and how to get there."""
    parts = [count(status.shells, "shell")] if status.shells else []
    parts += [count(status.agents, "agent")] if status.agents else []
    return (Span(f"{' · '.join(parts)}", style("info")), Span(" (↓ to open)", MUTED)) if parts else ()


def shared_line(status: Status) -> Line:
    """That the session is shared; nothing when it is not."""
    return (Span(one_line(status.shared), style("warning", bold=True)),) if status.shared else ()


def context_share(status: Status) -> float | None:
    """How full the window is, from 0 to 1."""
    return min(1.0, status.context_used / status.context_window) if status.context_window > 0 else None


def todo_panel(todos: Sequence[Any], width: int, *, most: int = 8) -> list[Line]:
    """The list of things to do above the input."""
    return fit(todo_lines(todos, width, most=most), width)


def _parts(status: Status, *, terse: bool = False) -> list[tuple[float, Line]]:
    """Each part with how early it is given up."""
    parts: list[tuple[float, Line]] = [(1, (Span(one_line(status.model), style("accent")),))]
    if mode := mode_line(status.mode, key="" if terse else status.mode_key):
        parts.append((0, mode))
    if work := work_line(status):
        parts.append((1.5, work[:1] if terse else work))
    if status.tasks:
        parts.append((2, (Span(f"{status.tasks} tasks", MUTED),)))
    if status.shared:
        parts.append((0, shared_line(status)))
    if status.folder:
        parts.append((4, (Span(one_line(status.folder), MUTED),)))
    if status.branch:
        parts.append((5, (Span(f"on {one_line(status.branch)}", MUTED),)))
    if (share := context_share(status)) is not None:
        color = "error" if share > 0.9 else "warning" if share > 0.75 else "muted"
        bar = _BAR[min(int(share * len(_BAR)), len(_BAR) - 1)]
        parts.append((2, (Span(f"{bar} {share:.0%} context", style(color)),)))
    if status.cost_usd > 0:
        parts.append((3, (Span(money(status.cost_usd), MUTED),)))
    if status.editor:
        parts.append((3, (Span(one_line(status.editor), style("info")),)))
    if status.note:
        parts.append((6, (Span(one_line(status.note), MUTED),)))
    return parts


def _size(parts: list[tuple[float, Line]]) -> int:
    return sum(cells.line_width(line) for _, line in parts) + 3 * (len(parts) - 1)
