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
        rows += paragraph("If you trust it, this counts from now on; changes are asked about again:", width)
        return [*rows, *_listed(brought, root, width)]

    choices = (
        Choice(value="trust", label="Yes, I trust this folder"),
        Choice(value="leave", label="No, leave"),
    )
    return Confirm("Do you trust this folder?", body, choices, cancel="leave", start=1, hint="to leave")


def approve_changes(root: str, changed: Sequence[TrustItem]) -> Confirm:
    """Whether what is new or has changed in a trusted folder may count as well; all of it is listed."""

    def body(width: int) -> list[Line]:
        rows = [*paragraph(reveal(root), width, _BOLD), ()]
        rows += paragraph("This is new or has changed since you trusted the folder:", width)
        return [*rows, *_listed(changed, root, width)]

    choices = (
        Choice(value="approve", label="Yes, let it count"),
        Choice(value="leave", label="No, continue without it"),
    )
    title = "Do you approve these changes?"
    return Confirm(title, body, choices, cancel="leave", start=1, hint="to continue without it")


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
            "In this mode nothing is asked: commands run and files change at once. Use it only in a "
            "container or virtual machine without access to anything you would miss."
        )
        return paragraph(said, width)

    choices = (Choice(value="leave", label="No, leave"), Choice(value="accept", label="Yes, I answer for it"))
    return Confirm("Bypass all permissions?", body, choices, cancel="leave", color="error", hint="to leave")


def approve_server(
    name: str, definition: Mapping[str, Any], *, given: Mapping[str, str], changed: bool
) -> Confirm:
    """Whether a server of the project's `.mcp.json` may be started, and given variables of the user's."""

    def body(width: int) -> list[Line]:
        said = "It has changed since you approved it." if changed else "It comes with this project."
        rows = [*paragraph(said, width, style("warning") if changed else MUTED), *_pretty(definition, width)]
        for variable, goal in given.items():
            text = f"It is given the value of your {variable}: {reveal(goal)}"
            rows += paragraph(text, width, style("warning", bold=True))
        return rows

    choices = (
        Choice(value="yes", label="Start it, now and from now on"),
        Choice(value="all", label="Start it and every other server of this project"),
        Choice(value="no", label="Do not start it"),
    )
    return Confirm(f"Start the MCP server {one_line(name)}?", body, choices, cancel="no", start=2)


def approve_schedule(id: str, entry: Mapping[str, Any], *, changed: bool) -> Confirm:
    """Whether a prompt of the project's `.claude/scheduled_tasks.json` may come by the clock."""

    def body(width: int) -> list[Line]:
        said = "It has changed since you approved it." if changed else "It comes with this project."
        return [*paragraph(said, width, style("warning") if changed else MUTED), *_pretty(entry, width)]

    choices = (
        Choice(value="yes", label="Let it come, as it is"),
        Choice(value="no", label="Do not let it come"),
    )
    return Confirm(f"Run the scheduled prompt {one_line(id)}?", body, choices, cancel="no", start=1)


def reach_host(question: NetworkQuestion) -> Confirm:
    """Whether sandboxed commands may reach a host."""

    def body(width: int) -> list[Line]:
        where = f"{reveal(question.host)}:{question.port}"
        said = "A command in the sandbox wants to connect to it."
        return [*paragraph(where, width, style("link", bold=True)), *paragraph(said, width, MUTED)]

    choices = (
        Choice(value="once", label="Yes, this command"),
        Choice(value="session", label="Yes, in this session"),
        Choice(value="always", label="Yes, always in this project"),
        Choice(value="no", label="No", field="and say why"),
    )
    whose = "" if question.asker is None else f"{one_line(question.asker)}: "
    return Confirm(f"{whose}Reach {one_line(question.host)}?", body, choices, cancel="no", hint="for no")


def cost_reached(usd: float) -> Confirm:
    """That the session has become expensive."""

    def body(width: int) -> list[Line]:
        said = f"This session has cost {money(usd)} so far. /cost shows where it went."
        return paragraph(said, width)

    choices = (Choice(value="on", label="Continue"), Choice(value="stop", label="Stop here"))
    return Confirm("A note on cost", body, choices, cancel="on", color="warning", hint="to continue")


def import_outside(files: Sequence[str], cwd: str) -> Confirm:
    """Whether instruction files outside the project may be read."""

    def body(width: int) -> list[Line]:
        rows = paragraph("The instructions of this project import files from outside of it:", width)
        return [*rows, *(row for file in files for row in paragraph(f"• {reveal(file)}", width, _BOLD))]

    choices = (Choice(value="yes", label="Yes, read them"), Choice(value="no", label="No, leave them out"))
    return Confirm(
        f"Imports from outside {one_line(os.path.basename(cwd))}", body, choices, cancel="no", start=1
    )


def leave_running(tasks: Sequence[Task]) -> Confirm:
    """Whether to end the program while background work runs."""

    def body(width: int) -> list[Line]:
        rows = paragraph("This still runs and would be stopped:", width)
        named = (one_line(task.description or task.command)[:200] for task in tasks)
        return [*rows, *(row for name in named for row in paragraph(f"• {name}", width, _BOLD))]

    choices = (Choice(value="stay", label="Stay"), Choice(value="leave", label="Stop it and leave"))
    return Confirm("Leave?", body, choices, cancel="stay", color="warning", hint="to stay")


def where_to_remember(note: str, files: Sequence[tuple[str, str]]) -> Confirm:
    """Which instruction file a note goes to; pairs of a label and a path."""

    def body(width: int) -> list[Line]:
        return paragraph(note, width, style("mode.memory"))

    choices = [Choice(value=path, label=label, note=path) for label, path in files]
    return Confirm("Remember this where?", body, choices, cancel="", color="mode.memory")


def _pretty(value: Any, width: int) -> list[Line]:
    # In ASCII alone: a stranger's text must not look like something else.
    return paragraph(json.dumps(value, indent=2)[:20_000], width, style("code"))


def _json(value: Any) -> str:
    text = json.dumps(value)
    if len(text) <= _LONGEST_SHOWN:
        return text
    return f"{text[:_LONGEST_SHOWN]}… ({len(text)} characters, look into the file)"
