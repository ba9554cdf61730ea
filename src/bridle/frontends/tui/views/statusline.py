"""The command whose output stands below the prompt."""

from msgspec import Struct

from bridle.frontends.tui.render.folding import output_lines
from bridle.frontends.tui.render.layout import MUTED, fit, paragraph, style
from bridle.frontends.tui.text import Line
from bridle.frontends.tui.views.list_pane import Command, ListPane
from bridle.frontends.tui.views.page import heading, pair
from bridle.frontends.tui.views.pane import Do, nothing
from bridle.frontends.tui.views.picker import Item
from bridle.frontends.tui.views.sheet import Sheet


class StatusLine(Struct, frozen=True, kw_only=True):
    command: str = ""
    output: str = ""
    """What it printed last."""
    problem: str = ""
    file: str = ""
    """The settings file that names it."""


class SetStatusLine(Struct, frozen=True):
    """Use this command; an empty one goes back to the built-in line."""

    command: str


class DescribeStatusLine(Struct, frozen=True):
    """Let the model write a command that shows this."""

    wish: str


def statusline_view(data: StatusLine, *, do: Do = nothing) -> Sheet[StatusLine]:
    """What the line shows now, and the ways to change it."""
    shown = data
    pane: ListPane[str] = ListPane(
        _ITEMS,
        intro=lambda width: [*_intro(shown, width), ()],
        do=do,
        accept=(
            Command(
                key="enter",
                words="describe it",
                when=lambda what: what == "describe",
                ask="What should it show?",
                check=lambda _, text: "" if text else "say what it should show",
                closes=True,
                act=lambda _, given: DescribeStatusLine(given.text),
            ),
            Command(
                key="enter",
                words="type it",
                when=lambda what: what == "command",
                ask="Command",
                initial=lambda _: shown.command,
                check=lambda _, text: "" if text else "type a command",
                act=lambda _, given: SetStatusLine(given.text),
            ),
            Command(
                key="enter",
                words="use it",
                confirm="Go back to the built-in line?",
                act=lambda _, __: SetStatusLine(""),
            ),
        ),
    )

    def update(now: StatusLine) -> None:
        nonlocal shown
        shown = now

    return Sheet("Status line", [("", pane)], full=False, update=update)


_ITEMS = (
    Item(value="describe", label="say what it should show", detail="the model writes the command"),
    Item(value="command", label="type a command", detail="it gets the state of the session as JSON"),
    Item(value="builtin", label="the built-in line", detail="model, folder, branch, context, cost"),
)


def _intro(data: StatusLine, width: int) -> list[Line]:
    if not data.command:
        return paragraph("The built-in line is shown.", width, MUTED)
    rows = pair("command", data.command, width, column=10)
    rows += pair("file", data.file, width, column=10) if data.file else []
    if data.problem:
        return [*rows, *paragraph(data.problem, width, style("error"))]
    return [*rows, heading("it says"), *fit(output_lines(data.output)[:4], width)]
