"""Shows what a workflow would do before it is let run: what it says of itself, or its whole script."""

import os.path
from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.engine.runtime import Runtime
from bridle.features.workflows.feature import SESSION_WORKFLOWS
from bridle.frontends.tui.render.call import short_path
from bridle.frontends.tui.render.code import highlight
from bridle.frontends.tui.render.layout import MUTED, count, one_line, paragraph, style, wrap_all
from bridle.frontends.tui.render.workflow import meta_of
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.sanitize import reveal
from bridle.frontends.tui.style.text import Line, Span, Style
from bridle.types.text import encodable_value

_LONGEST_TEXT = 2_000
_MOST_PHASES = 20
_WARNING = "It runs several agents in the background. Each agent uses tokens."


def script_path(input: Mapping[str, Any], runtime: Runtime) -> str | None:
    """The file of the script that a call only names."""
    workflows = runtime.features.find(SESSION_WORKFLOWS)
    match input:
        case {"scriptPath": str() as path} if path:
            return runtime.workspace.resolve(path)
        case {"name": str() as name} if name and workflows is not None:
            file = workflows.files().get(name.removeprefix("/"))
            return None if file is None else file.path
        case {"resumeFromRunId": str() as run_id} if run_id and workflows is not None:
            folder = workflows.runs().folder(run_id, runtime)
            return None if folder is None else folder.script
        case _:
            return None


def summary_lines(
    input: Mapping[str, Any], script: str | None, width: int, *, file: str, cwd: str
) -> list[Line]:
    """Name, description, phases and arguments, and where the script is."""
    meta = None if script is None else meta_of(script)
    if meta is None:
        named = str(input.get("name") or input.get("scriptPath") or "")
        rows = paragraph(reveal(named[:_LONGEST_TEXT]), width, Style(bold=True)) if named else []
        rows += paragraph("It has no description. Read the script.", width, style("warning"))
    else:
        rows = paragraph(reveal(meta.name), width, Style(bold=True))
        rows += paragraph(reveal(meta.description[:_LONGEST_TEXT]), width)
        for at, phase in enumerate(meta.phases[:_MOST_PHASES], 1):
            more = f" · {one_line(reveal(phase.detail))}" if phase.detail else ""
            model = f" · {one_line(reveal(phase.model))}" if phase.model else ""
            head = (
                Span(f"  {at}. {one_line(reveal(phase.title))}", style("tool")),
                Span(more + model, MUTED),
            )
            rows.append(cells.truncate(head, width))
        if (hidden := len(meta.phases) - _MOST_PHASES) > 0:
            rows += paragraph(f"  … {count(hidden, 'more phase')}", width, MUTED)
    if run := input.get("resumeFromRunId"):
        rows += paragraph(f"resumes {reveal(str(run))}: finished calls are reused", width, MUTED)
    if input.get("args") is not None:
        args = msgspec.json.encode(encodable_value(input["args"])).decode()[:_LONGEST_TEXT]
        rows += paragraph(f"args: {reveal(args)}", width, MUTED)
    return [*rows, *paragraph(_where(script, file, cwd), width, MUTED), *paragraph(_WARNING, width, MUTED)]


def script_lines(script: str, width: int) -> list[Line]:
    """The whole script, its lines numbered, with nothing in it that cannot be seen."""
    lines = highlight(reveal(script).removesuffix("\n"), language="javascript")
    room = len(str(len(lines)))
    return wrap_all(
        ((Span(f"{at:>{room}} ", MUTED), *line) for at, line in enumerate(lines, 1)), max(width, 1)
    )


def read_script(path: str, most: int) -> str | None:
    """The beginning of a script; None when it cannot be read."""
    try:
        if not os.path.isfile(path):
            return None
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(most)
    except OSError:
        return None


def _where(script: str | None, file: str, cwd: str) -> str:
    size = "" if script is None else f", {count(len(script.splitlines()), 'line')}"
    if file:
        return f"script: {reveal(short_path(file, cwd))}{size or ', not readable'}"
    return f"script: part of the call{size}" if script is not None else "script: not found"
