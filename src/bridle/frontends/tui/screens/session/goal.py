"""The condition that the session works toward."""

from msgspec import Struct

from bridle.frontends.tui.render.call import duration
from bridle.frontends.tui.render.layout import MUTED, count, paragraph, style
from bridle.frontends.tui.style.text import Line
from bridle.frontends.tui.widgets.list_pane import Command, ListPane
from bridle.frontends.tui.widgets.page import heading, pair
from bridle.frontends.tui.widgets.pane import Do, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView


class Goal(Struct, frozen=True, kw_only=True):
    condition: str = ""
    """Empty when there is none."""
    is_met: bool = False
    turns: int = 0
    seconds: float = 0.0
    last: str = ""
    """What the last look at it found."""


class SetGoal(Struct, frozen=True):
    """Work until this holds; an empty condition ends it."""

    condition: str


def goal_view(goal: Goal, *, do: Do = nothing) -> TabbedView[Goal]:
    """The condition, how far it is, and the ways to change or end it."""
    shown = goal
    pane: ListPane[str] = ListPane(
        _items(goal),
        do=do,
        intro=lambda width: [*_intro(shown, width), ()],
        accept=(
            Command(
                key="enter",
                words="edit",
                when=lambda what: what == "set",
                ask="Work until…",
                initial=lambda _: shown.condition,
                check=lambda _, text: "" if text else "type a condition",
                closes=True,
                act=lambda _, given: SetGoal(given.text),
            ),
            Command(
                key="enter", words="end the goal", confirm="End this goal?", act=lambda _, __: SetGoal("")
            ),
        ),
    )

    def update(now: Goal) -> None:
        nonlocal shown
        shown = now
        pane.replace(_items(now))

    return TabbedView("Goal", [("", pane)], full=False, update=update, refresh=1.0)


def _items(goal: Goal) -> list[Item[str]]:
    items = [Item(value="set", label="change the condition" if goal.condition else "set a condition")]
    return [*items, Item(value="clear", label="end the goal")] if goal.condition else items


def _intro(goal: Goal, width: int) -> list[Line]:
    if not goal.condition:
        return paragraph(
            "With a goal, bridle continues automatically until the condition holds.", width, MUTED
        )
    state = "reached" if goal.is_met else "not reached yet"
    rows = [heading("work until"), *paragraph(goal.condition, width, style("accent"))]
    rows += pair("state", f"{state}, {count(goal.turns, 'turn')}, {duration(goal.seconds)}", width, column=10)
    return [*rows, *(pair("last check", goal.last, width, column=10) if goal.last else [])]
