"""Yes-or-no questions before something starts, continues or ends."""

import json
import os.path
from collections.abc import Mapping, Sequence
from typing import Any

from bridle.config.trust import TrustItem
from bridle.frontends.tui.dialogs.confirm import Confirm
from bridle.frontends.tui.dialogs.menu import Choice
from bridle.frontends.tui.render.call import short_path
from bridle.frontends.tui.render.layout import MUTED, one_line, paragraph, style
from bridle.frontends.tui.render.messages import money
from bridle.frontends.tui.style.sanitize import reveal
from bridle.frontends.tui.style.text import Line, Style
from bridle.types.question import NetworkQuestion
from bridle.types.services.tasks import Task

_LONGEST_SHOWN = 300
_BOLD = Style(bold=True)


def trust_folder(root: str, brought: Sequence[TrustItem]) -> Confirm:
    """Whether what a folder brings along may count; all of it is listed."""

    def body(width: int) -> list[Line]:
        rows = [*paragraph(reveal(root), width, _BOLD), ()]
        if not brought:
            said = "bridle will be able to read, edit and run files here."
            return [*rows, *paragraph(said, width)]
        rows += paragraph("bridle will be able to read, edit and run files here.", width)
        rows += paragraph(
            "If you trust it, these files take effect. bridle asks again when they change:", width
        )
        return [*rows, *_listed(brought, root, width)]

    choices = (
        Choice(value="trust", label="Yes, I trust this folder"),
        Choice(value="leave", label="No, exit"),
    )
    return Confirm("Do you trust this folder?", body, choices, cancel="leave", start=1, hint="to exit")


def approve_changes(root: str, changed: Sequence[TrustItem]) -> Confirm:
    """Whether what is new or has changed in a trusted folder may count as well; all of it is listed."""

    def body(width: int) -> list[Line]:
        rows = [*paragraph(reveal(root), width, _BOLD), ()]
        rows += paragraph("New or changed since you trusted this folder:", width)
        return [*rows, *_listed(changed, root, width)]

    choices = (
        Choice(value="approve", label="Yes, approve"),
        Choice(value="leave", label="No, continue without"),
    )
    title = "Do you approve these changes?"
    return Confirm(title, body, choices, cancel="leave", start=1, hint="to continue without")


def _listed(brought: Sequence[TrustItem], root: str, width: int) -> list[Line]:
    rows: list[Line] = []
    for each in brought:
        place = short_path(each.file, root) + ("" if each.line is None else f":{each.line}")
        rows += paragraph(f"• {reveal(each.key)} = {_json(each.value)}", width, style("warning"))
        rows += paragraph(f"  {reveal(place)}", width, MUTED)
    return rows


def bypass_warning() -> Confirm:
    """Whether every call may run without being asked about."""

    def body(width: int) -> list[Line]:
        said = (
            "bridle will run commands and edit files without asking. Use this mode only in a container "
            "or virtual machine without access to anything of value."
        )
        return paragraph(said, width)

    choices = (
        Choice(value="leave", label="No, exit"),
        Choice(value="accept", label="Yes, I accept the risk"),
    )
    return Confirm("Bypass all permissions?", body, choices, cancel="leave", color="error", hint="to exit")


def approve_server(
    name: str, definition: Mapping[str, Any], *, given: Mapping[str, str], changed: bool
) -> Confirm:
    """Whether a server of the project's `.mcp.json` may be started, and given variables of the user's."""

    def body(width: int) -> list[Line]:
        said = "It has changed since you approved it." if changed else "It is part of this project."
        rows = [*paragraph(said, width, style("warning") if changed else MUTED), *_pretty(definition, width)]
        for variable, goal in given.items():
            text = f"It receives the value of your {variable}: {reveal(goal)}"
            rows += paragraph(text, width, style("warning", bold=True))
        return rows

    choices = (
        Choice(value="yes", label="Yes, now and in later sessions"),
        Choice(value="all", label="Yes, and all other servers in this project"),
        Choice(value="no", label="No"),
    )
    return Confirm(f"Start the MCP server {one_line(name)}?", body, choices, cancel="no", start=2)


def approve_schedule(id: str, entry: Mapping[str, Any], *, changed: bool) -> Confirm:
    """Whether a prompt of the project's `.claude/scheduled_tasks.json` may come by the clock."""

    def body(width: int) -> list[Line]:
        said = "It has changed since you approved it." if changed else "It is part of this project."
        return [*paragraph(said, width, style("warning") if changed else MUTED), *_pretty(entry, width)]

    choices = (
        Choice(value="yes", label="Yes, run it"),
        Choice(value="no", label="No, do not run it"),
    )
    return Confirm(f"Run the scheduled prompt {one_line(id)}?", body, choices, cancel="no", start=1)


def reach_host(question: NetworkQuestion) -> Confirm:
    """Whether sandboxed commands may reach a host."""

    def body(width: int) -> list[Line]:
        where = f"{reveal(question.host)}:{question.port}"
        said = "A sandboxed command wants to connect to it."
        return [*paragraph(where, width, style("link", bold=True)), *paragraph(said, width, MUTED)]

    choices = (
        Choice(value="once", label="Yes"),
        Choice(value="session", label="Yes, and don't ask again this session"),
        Choice(value="always", label="Yes, and don't ask again in this project"),
        Choice(value="no", label="No", field="and say why"),
    )
    whose = "" if question.asker is None else f"{one_line(question.asker)}: "
    return Confirm(f"{whose}Connect to {one_line(question.host)}?", body, choices, cancel="no", hint="for no")


def cost_reached(usd: float) -> Confirm:
    """That the session has become expensive."""

    def body(width: int) -> list[Line]:
        said = f"This session has cost {money(usd)} so far. See /cost for details."
        return paragraph(said, width)

    choices = (Choice(value="on", label="Continue"), Choice(value="stop", label="Stop here"))
    return Confirm("Cost", body, choices, cancel="on", color="warning", hint="to continue")


def import_outside(files: Sequence[str], cwd: str) -> Confirm:
    """Whether instruction files outside the project may be read."""

    def body(width: int) -> list[Line]:
        rows = paragraph("This project's instructions import files from outside the project:", width)
        return [*rows, *(row for file in files for row in paragraph(f"• {reveal(file)}", width, _BOLD))]

    choices = (Choice(value="yes", label="Yes, import them"), Choice(value="no", label="No, ignore them"))
    return Confirm(
        f"Allow imports from outside {one_line(os.path.basename(cwd))}?", body, choices, cancel="no", start=1
    )


def leave_running(tasks: Sequence[Task]) -> Confirm:
    """Whether to end the program while background work runs."""

    def body(width: int) -> list[Line]:
        rows = paragraph("Still running, will be stopped:", width)
        named = (one_line(task.description or task.command)[:200] for task in tasks)
        return [*rows, *(row for name in named for row in paragraph(f"• {name}", width, _BOLD))]

    choices = (Choice(value="stay", label="Stay"), Choice(value="leave", label="Exit and stop it"))
    return Confirm("Exit?", body, choices, cancel="stay", color="warning", hint="to stay")


def where_to_remember(note: str, files: Sequence[tuple[str, str]], *, cwd: str = "") -> Confirm:
    """Which instruction file a note goes to; pairs of a label and a path."""

    def body(width: int) -> list[Line]:
        return paragraph(note, width, style("mode.memory"))

    choices = [Choice(value=path, label=label, note=short_path(path, cwd)) for label, path in files]
    return Confirm("Where do you want to save this?", body, choices, cancel="", color="mode.memory")


def _pretty(value: Any, width: int) -> list[Line]:
    # In ASCII alone: a stranger's text must not look like something else.
    return paragraph(json.dumps(value, indent=2)[:20_000], width, style("code"))


def _json(value: Any) -> str:
    text = json.dumps(value)
    if len(text) <= _LONGEST_SHOWN:
        return text
    return f"{text[:_LONGEST_SHOWN]}… ({len(text)} characters; see the file)"
