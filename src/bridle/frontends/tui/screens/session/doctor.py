"""Whether everything that bridle needs is there and well."""

from collections.abc import Sequence

from msgspec import Struct

from bridle.commands.queries.doctor import Check, Health
from bridle.frontends.tui.render.layout import count, homely, paragraph, style
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.list_pane import Command, ListPane
from bridle.frontends.tui.widgets.page import heading
from bridle.frontends.tui.widgets.pane import Do, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView

_SIGNS: dict[Health, tuple[str, str]] = {
    "ok": ("✓", "success"),
    "warning": ("!", "warning"),
    "fault": ("✗", "error"),
}


class CheckAgain(Struct, frozen=True):
    """Look at everything again; hand the rows to `show`."""


def doctor_view(checks: Sequence[Check], *, do: Do = nothing) -> TabbedView[Sequence[Check]]:
    """Every check with what was found; problems come with a way out."""
    pane = ListPane(
        _items(checks),
        details=_details,
        do=do,
        contexts=("Settings",),
        commands=(
            Command(
                key="settings:retry",
                words="check again",
                act=lambda _, __: CheckAgain(),
                alone=True,
            ),
        ),
    )
    sheet: TabbedView[Sequence[Check]] = TabbedView("Doctor", [("", pane)], aside=_aside(checks))

    def update(now: Sequence[Check]) -> None:
        sheet.aside = _aside(now)
        pane.replace(_items(now))

    sheet.on_update(update)
    return sheet


def _aside(checks: Sequence[Check]) -> str:
    wrong = sum(check.health != "ok" for check in checks)
    return count(wrong, "problem") if wrong else "no problems found"


def _items(checks: Sequence[Check]) -> list[Item[Check]]:
    return [
        Item(
            value=check,
            label=homely(check.text),
            detail=homely(check.remedy),
            group=check.group,
            sign=Span(_SIGNS[check.health][0], style(_SIGNS[check.health][1])),
        )
        for check in checks
    ]


def _details(check: Check, width: int) -> list[Line]:
    rows = [*paragraph(homely(check.text), width, style("heading", bold=True)), ()]
    remedy = homely(check.remedy)
    return [*rows, *([(), heading("how to fix it"), *paragraph(remedy, width)] if remedy else [])]
