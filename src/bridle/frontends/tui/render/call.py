"""A tool call as it is shown: what is known of it, and the parts that every tool's picture is made of."""

import os.path
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from bridle.frontends.tui.render.layout import MUTED, count, fit, one_line, paragraph, prefixed, style, wrap
from bridle.frontends.tui.render.model_texts import for_people
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span, Style
from bridle.types.text import duration

State = Literal["waiting", "running", "done", "failed", "denied", "interrupted"]

_SPINNER = "◐◓◑◒"
_MARKS: Mapping[State, tuple[str, str]] = {
    "waiting": ("○", "muted"),
    "done": ("✓", "success"),
    "failed": ("✗", "error"),
    "denied": ("⊘", "warning"),
    "interrupted": ("■", "warning"),
}
BRANCH: Line = (Span("  └ ", style("muted")),)
BELOW: Line = (Span("    "),)
_INDENT = 4
_LONGEST_COMMAND = 100_000


class AgentStep(Struct, frozen=True, kw_only=True):
    """A call that an agent made."""

    tool: str
    subject: str
    state: State = "done"


class AgentProgress(Struct, frozen=True, kw_only=True):
    """How far an agent is; agents of its own hang below it."""

    id: str = ""
    name: str
    description: str = ""
    state: State = "running"
    steps: tuple[AgentStep, ...] = ()
    """The newest calls, the last one being the current."""
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0
    color: str | None = None
    agents: "tuple[AgentProgress, ...]" = ()


class Call(Struct, frozen=True, kw_only=True):
    """All that a picture of a call may need."""

    tool: str
    input: Mapping[str, Any]
    state: State
    data: Any = None
    """The structured output of `ToolFinished`."""
    content: str | Sequence[Any] = ""
    """What the model reads."""
    progress: str = ""
    """The newest output of a running call."""
    seconds: float = 0.0
    cwd: str = ""
    agent: AgentProgress | None = None
    typed: bool = False
    """The user typed it, as a command behind `!`."""

    def text(self, name: str) -> str:
        """A text of the input, empty when there is none."""
        value = self.input.get(name)
        return value if isinstance(value, str) else ""

    def fact(self, *names: str) -> Any:
        """A value inside the structured output, by the names on the way to it."""
        value: Any = self.data
        for name in names:
            if not isinstance(value, Mapping):
                return None
            value = value.get(name)
        return value

    def fact_text(self, *names: str) -> str:
        value = self.fact(*names)
        return value if isinstance(value, str) else ""

    def fact_number(self, *names: str) -> int:
        value = self.fact(*names)
        return int(value) if isinstance(value, int | float) else 0

    def fact_list(self, *names: str) -> Sequence[Any]:
        value = self.fact(*names)
        return value if isinstance(value, list | tuple) else ()

    @property
    def said(self) -> str:
        """The text that the model reads, or what it comes to for people."""
        if isinstance(self.content, str):
            return for_people(self.content)
        texts = (block.get("text") for block in self.content if isinstance(block, Mapping))
        return for_people("\n".join(text for text in texts if isinstance(text, str)))


class ResultLook(Protocol):
    """Lays out the result of a call that went well."""

    def __call__(self, call: Call, width: int, *, expanded: bool) -> list[Line]: ...


class Look(Struct, frozen=True, kw_only=True):
    """How one tool is shown."""

    title: Callable[[Call], str]
    subject: Callable[[Call], str]
    result: ResultLook
    note: Callable[[Call], str] = lambda _: ""
    """A few words at the end of the header."""
    input: Callable[[Call, int], list[Line]] = lambda _, __: []
    """More of the input for the expanded view."""


def mark(state: State, frame: int = 0) -> Span:
    """The sign before a call; that of a running one turns."""
    if state == "running":
        return Span(f"{_SPINNER[frame % len(_SPINNER)]} ", style("accent"))
    sign, color = _MARKS[state]
    return Span(f"{sign} ", style(color))


def header(call: Call, look: Look, width: int, *, frame: int = 0, expanded: bool = False) -> list[Line]:
    """The mark, the tool and what it is called for; one row unless expanded."""
    if call.typed:
        return _typed_header(call, look, width)
    lead: Line = (mark(call.state, frame), Span(one_line(look.title(call)), style("tool", bold=True)))
    subject = one_line(look.subject(call)[:4_000])
    tail = _tail(call, look)
    if expanded:
        text: Line = (*lead, Span(f" {subject}"), *tail) if subject else (*lead, *tail)
        return fit(wrap(text, max(1, width), indent=(Span("  "),)), width)
    room = width - cells.line_width(lead) - cells.line_width(tail) - 1
    if room < 8:
        tail, room = (), width - cells.line_width(lead) - 1
    shown = cells.truncate_text(subject, room) if room > 0 else ""
    return fit([(*lead, *((Span(f" {shown}"),) if shown else ()), *tail)], width)


def _typed_header(call: Call, look: Look, width: int) -> list[Line]:
    """All of what the user typed behind `!`."""
    text = paragraph(look.subject(call)[:_LONGEST_COMMAND].strip(), max(1, width - 2), style("mode.bash"))
    rows = fit(prefixed(text, (Span("! ", style("mode.bash", bold=True)),), (Span("  "),)), width)
    last: Line = (*(rows[-1] if rows else ()), *_tail(call, look))
    return [*rows[:-1], last] if cells.line_width(last) <= width else rows


def below(rows: Sequence[Line], width: int) -> list[Line]:
    """Rows hung below a header; they were laid out for `inner(width)`."""
    return fit(rows, width) if width <= 2 * _INDENT else prefixed(rows, BRANCH, BELOW)


def inner(width: int) -> int:
    """How wide the rows below a header may be."""
    return max(1, width if width <= 2 * _INDENT else width - _INDENT)


def sentence(text: str, width: int, look: Style = MUTED) -> list[Line]:
    """A short remark, wrapped."""
    shown = one_line(text[:4_000])
    return wrap((Span(shown, look),), max(1, width)) if shown else []


def short_path(path: str, cwd: str) -> str:
    """A path as people say it: relative below the working directory, with `~` below home."""
    if cwd and path.startswith(cwd.rstrip("/") + "/"):
        return path[len(cwd.rstrip("/")) + 1 :]
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if home != "/" and path.startswith(home + "/") else path


def size(number: float) -> str:
    """`812 B`, `4.2 KB`, `1.1 MB`."""
    for unit in ("B", "KB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" or number >= 100 else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"


def tokens(number: int) -> str:
    """`950 tokens`, `8.1k tokens`."""
    if number < 1000:
        return count(number, "token")
    return f"{number / 1000:.1f}k tokens" if number < 1_000_000 else f"{number / 1_000_000:.1f}M tokens"


def _tail(call: Call, look: Look) -> Line:
    note = look.note(call) if call.state == "done" else ""
    parts = [one_line(note)] if note else []
    if call.seconds >= (2 if call.state == "running" else 1):
        parts.append(duration(call.seconds))
    return (Span(f" · {' · '.join(parts)}", MUTED),) if parts else ()
