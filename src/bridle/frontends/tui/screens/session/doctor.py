"""Whether everything that bridle needs is there and well."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from bridle.frontends.tui.render.layout import count, paragraph, style
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.list_pane import Command, ListPane
from bridle.frontends.tui.widgets.page import heading
from bridle.frontends.tui.widgets.pane import Do, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView

State = Literal["good", "doubtful", "bad", "waiting"]

_SIGNS: dict[State, tuple[str, str]] = {
    "good": ("✓", "success"),
    "doubtful": ("!", "warning"),
    "bad": ("✗", "error"),
    "waiting": ("○", "muted"),
}


class CheckRow(Struct, frozen=True, kw_only=True):
    """One thing that was looked at."""

    name: str
    state: State
    said: str = ""
    """What was found, when the name does not say it."""
    group: str = ""
    fix: str = ""
    """What to do about it."""
    can_fix: bool = False
    """Whether bridle can fix it automatically."""


class FixCheck(Struct, frozen=True):
    name: str


class CheckAgain(Struct, frozen=True):
    """Look at everything anew; hand the rows to `show`."""


def doctor_view(checks: Sequence[CheckRow], *, do: Do = nothing) -> TabbedView[Sequence[CheckRow]]:
    """Every check with what was found; problems come with a way out."""
    pane = ListPane(
        _items(checks),
        details=_details,
        do=do,
        contexts=("Settings",),
        commands=(
            Command(
                key="f",
                words="fix",
                when=lambda row: row.can_fix and row.state != "good",
                act=lambda row, _: FixCheck(row.name) if row else None,
            ),
            Command(
                key="settings:retry",
                words="check again",
                act=lambda _, __: CheckAgain(),
                alone=True,
            ),
        ),
    )
    sheet: TabbedView[Sequence[CheckRow]] = TabbedView("Doctor", [("", pane)], aside=_aside(checks))

    def update(now: Sequence[CheckRow]) -> None:
        sheet.aside = _aside(now)
        pane.replace(_items(now))

    sheet.on_update(update)
    return sheet


def _aside(checks: Sequence[CheckRow]) -> str:
    if any(row.state == "waiting" for row in checks):
        return "looking …"
    wrong = sum(row.state in ("bad", "doubtful") for row in checks)
    return count(wrong, "problem") if wrong else "all is well"


def _items(checks: Sequence[CheckRow]) -> list[Item[CheckRow]]:
    return [
        Item(
            value=row,
            label=row.name,
            detail=row.said or row.fix,
            group=row.group,
            sign=Span(_SIGNS[row.state][0], style(_SIGNS[row.state][1])),
        )
        for row in checks
    ]


def _details(row: CheckRow, width: int) -> list[Line]:
    rows = [*paragraph(row.name, width, style("heading", bold=True)), *paragraph(row.said, width)]
    return [*rows, *([(), heading("what to do"), *paragraph(row.fix, width)] if row.fix else [])]
