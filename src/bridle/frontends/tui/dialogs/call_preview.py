"""Shows exactly what a call would do: the command, the change, the content, the address."""

import os.path
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from bridle.frontends.tui.dialogs.workflow import read_script, summary_lines
from bridle.frontends.tui.render.call import short_path
from bridle.frontends.tui.render.code import highlight
from bridle.frontends.tui.render.diff import FileChange, change_between, render_hunks, summary
from bridle.frontends.tui.render.layout import MUTED, one_line, paragraph, style, wrap_all
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.sanitize import reveal
from bridle.frontends.tui.style.text import PLAIN, Line, Span, Style
from bridle.tools.catalog import traits_of
from bridle.types.permission import PartDecision
from bridle.types.question import PermissionQuestion
from bridle.types.text import encodable_value
from bridle.types.tool import Kind

_LARGEST = 1_000_000
_TITLES: Mapping[Kind, str] = {
    "command": "Run a command",
    "edit": "Edit a file",
    "write": "Write a file",
    "notebook": "Edit a notebook",
    "read": "Read a file",
    "fetch": "Fetch a page",
    "web_search": "Search the web",
    "skill": "Use a skill",
    "plan_start": "Enter plan mode",
    "workflow": "Run a workflow",
}
_PLAN_START = "The model explores and writes a plan first. Nothing changes until you approve it."
_DOUBTS: Mapping[str, Style] = {
    "ask": Style(color="warning", bold=True),
    "deny": Style(color="error", bold=True, underline=True),
}


class CallPreview(Struct, frozen=True):
    """A call that waits for approval, with the files it would change as they are now."""

    question: PermissionQuestion
    cwd: str
    before: str | None = None
    """What the file holds; None when it is not there or cannot be read."""
    file: str = ""
    """The file of a script that the call only names."""

    @property
    def title(self) -> str:
        tool, asker = self.question.tool, self.question.asker
        whose = "" if asker is None else f"{one_line(asker)}: "
        if tool.startswith("mcp__"):
            _, server, name = (*tool.split("__", 2), "", "")[:3]
            return f"{whose}Use {name} from {server}"
        return whose + _TITLES.get(self._kind, f"Use {tool}")

    def lines(self, width: int) -> list[Line]:
        """All that would happen, laid out for a width; nothing is left out."""
        given = self.question.input
        match self._kind:
            case "command":
                return _command(given, self.question.parts, width)
            case "edit" | "write":
                return self._change(width)
            case "notebook":
                deed = paragraph(_cell_deed(given), width, style("warning"))
                return [*self._path(width), *deed, (), *_code(str(given.get("new_source", "")), width)]
            case "workflow":
                return summary_lines(given, self.script, width, file=self.file, cwd=self.cwd)
            case "plan_start":
                return paragraph(_PLAN_START, width)
            case "fetch":
                return [
                    *paragraph(reveal(str(given.get("url", ""))), width, style("link", underline=True)),
                    *paragraph(reveal(str(given.get("prompt", ""))), width, MUTED),
                ]
            case _:
                return _json(given, width)

    @property
    def _kind(self) -> Kind:
        return traits_of(self.question.tool).kind

    @property
    def script(self) -> str | None:
        """The script of a workflow; None where there is none that can be read."""
        given = self.question.input.get("script")
        return given if isinstance(given, str) and given else self.before

    def _path(self, width: int) -> list[Line]:
        path = str(self.question.input.get("file_path") or self.question.input.get("notebook_path") or "")
        return paragraph(reveal(short_path(path, self.cwd)), width, Style(bold=True))

    def _change(self, width: int) -> list[Line]:
        given = self.question.input
        path = short_path(str(given.get("file_path", "")), self.cwd)
        if self._kind == "write":
            content = str(given.get("content", ""))
            if self.before is None:
                head: Line = (Span(reveal(path), Style(bold=True)), Span(" · new file", MUTED))
                return [cells.truncate(head, width), *_code(content, width, path=path)]
            change = change_between(path, self.before, content)
        else:
            change = _edited(path, given, self.before)
        head = (Span(reveal(path), Style(bold=True)), *summary(change))
        return [cells.truncate(head, width), *render_hunks(change, width)]


def read_subject(question: PermissionQuestion, cwd: str, *, script: str | None = None) -> CallPreview:
    """Look at the file that a call would change, or at that of a `script` that it would run."""
    if script is not None:
        return CallPreview(question, cwd, read_script(script, _LARGEST), script)
    path = question.input.get("file_path")
    if traits_of(question.tool).kind not in ("edit", "write") or not isinstance(path, str):
        return CallPreview(question, cwd)
    try:
        with open(os.path.join(cwd, os.path.expanduser(path)), encoding="utf-8", newline="") as file:
            return CallPreview(question, cwd, file.read(_LARGEST))
    except (OSError, UnicodeDecodeError, ValueError):
        return CallPreview(question, cwd)


def _edited(path: str, given: Mapping[str, Any], before: str | None) -> FileChange:
    """The change in its place, or the two texts where the place cannot be found."""
    edits: Sequence[Any] = given.get("edits") or [given]
    text = after = before or ""
    for edit in edits:
        old, new = str(edit.get("old_string", "")), str(edit.get("new_string", ""))
        if not old or old not in after:
            return change_between(path, old, new)
        after = after.replace(old, new) if edit.get("replace_all") else after.replace(old, new, 1)
    return change_between(path, text, after)


def _command(given: Mapping[str, Any], parts: Sequence[PartDecision], width: int) -> list[Line]:
    command = str(given.get("command", ""))
    lines = wrap_all(_marked(command, parts), width)
    if description := one_line(str(given.get("description") or "")[:500]):
        lines += paragraph(description, width, MUTED)
    if given.get("run_in_background") is True:
        lines += paragraph("runs in the background", width, style("info"))
    if given.get("dangerouslyDisableSandbox") is True:
        lines += paragraph("runs outside the sandbox", width, style("error", bold=True))
    return lines


def _marked(command: str, parts: Sequence[PartDecision]) -> list[Line]:
    """The command with the parts that gave rise to a doubt in a color that says so."""
    spans: list[Span] = []
    at = 0
    for part in parts:
        found = command.find(part.command, at) if part.command else -1
        if part.decision not in _DOUBTS or found < 0:
            continue
        end = found + len(part.command)
        spans += [Span(reveal(command[at:found])), Span(reveal(command[found:end]), _DOUBTS[part.decision])]
        at = end
    spans.append(Span(reveal(command[at:])))
    return _split(spans)


def _split(spans: Sequence[Span]) -> list[Line]:
    lines: list[list[Span]] = [[]]
    for span in spans:
        for index, text in enumerate(span.text.split("\n")):
            if index:
                lines.append([])
            if text:
                lines[-1].append(Span(text, span.style))
    return [tuple(line) for line in lines]


def _cell_deed(given: Mapping[str, Any]) -> str:
    """What happens to which cell of a notebook."""
    cell = reveal(one_line(str(given.get("cell_id") or "")))
    kind = reveal(one_line(str(given.get("cell_type") or "")))
    match given.get("edit_mode"):
        case "delete":
            return f"deletes the cell {cell}"
        case "insert":
            return f"adds a {kind or 'code'} cell {f'after {cell}' if cell else 'at the start'}"
        case _:
            return f"replaces the cell {cell}" + (f", which becomes {kind}" if kind else "")


def _code(text: str, width: int, *, path: str = "") -> list[Line]:
    shown = reveal(text[:_LARGEST]).removesuffix("\n")
    return wrap_all(highlight(shown, path=path), width)


def _json(given: Mapping[str, Any], width: int) -> list[Line]:
    rows: list[Line] = []
    for name, value in given.items():
        text = value if isinstance(value, str) else msgspec.json.encode(encodable_value(value)).decode()
        shown = reveal(text).split("\n")
        head: Line = (Span(f"{one_line(name)}: ", style("tool")), Span(shown[0], PLAIN))
        rows += [head, *((Span(f"  {each}"),) for each in shown[1:])]
    return wrap_all(rows, width) if rows else [(Span("(no input)", MUTED),)]
