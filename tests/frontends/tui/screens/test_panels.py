from typing import Any

from bridle.frontends.tui.screens.extensions.sandbox import SandboxFacts, SetLeaving, SetSandbox, sandbox_view
from bridle.frontends.tui.screens.session.goal import Goal, SetGoal, goal_view
from bridle.frontends.tui.screens.session.pins import AddPin, RemovePin, pins_view
from bridle.types.ledger import Ledger, Pin
from tests.frontends.tui.screens.showing import Showing, assert_screens

_LEDGER = Ledger((Pin("f1", "never touch the database", "found"), Pin("p1", "use tabs")))
_SANDBOX = SandboxFacts(
    mode="regular",
    problems=("socat is missing: commands have no network",),
    limits=(("may write", ("/proj/app", "/tmp")), ("may reach", ())),
)
_GOAL = Goal(condition="all tests pass", turns=3, seconds=125, last="2 tests fail")


def test_screens():
    assert_screens("pins", pins_view(_LEDGER))
    assert_screens("sandbox", sandbox_view(_SANDBOX))
    assert_screens("goal", goal_view(_GOAL))


def test_pins_are_added_and_removed():
    asked: list[Any] = []
    view = pins_view(_LEDGER, do=asked.append)
    shown = Showing(view)
    assert shown.selected == "● use tabs"
    shown.press("d", "y", "a").type("be brief").press("enter")
    assert asked == [RemovePin("p1"), AddPin("be brief")]
    view.show(Ledger())
    assert "nothing is pinned" in shown.text


def test_the_mode_of_the_sandbox_is_chosen():
    asked: list[Any] = []
    shown = Showing(sandbox_view(_SANDBOX, do=asked.append))
    assert shown.selected.startswith("✓ on, with approvals")
    shown.press("up", "enter")
    assert asked == [SetSandbox("auto")]
    shown.press("tab", "down", "enter")
    assert asked[1:] == [SetLeaving(False)]
    assert "/proj/app" in shown.press("tab").text


def test_a_sandbox_that_cannot_stand_can_only_be_turned_off():
    asked: list[Any] = []
    facts = SandboxFacts(
        mode="regular", available=False, problems=("user namespaces are not allowed for this user",)
    )
    Showing(sandbox_view(facts, do=asked.append)).press("enter", "end", "enter")
    assert asked == [SetSandbox("off")]


def test_a_locked_sandbox_stays():
    asked: list[Any] = []
    shown = Showing(
        sandbox_view(SandboxFacts(mode="auto", locked="Managed by your organization."), do=asked.append)
    )
    shown.press("down", "enter", "tab", "enter")
    assert asked == []


def test_a_goal_is_set_and_the_work_toward_it_begins():
    shown = Showing(goal_view(Goal())).press("enter").type("it works").press("enter")
    assert shown.value == SetGoal("it works")


def test_a_goal_is_looked_at_and_ended():
    asked: list[Any] = []
    view = goal_view(Goal(), do=asked.append)
    shown = Showing(view)
    view.show(_GOAL)
    assert "2 tests fail" in shown.text
    shown.press("down", "enter", "y")
    assert asked == [SetGoal("")]


def test_a_sandbox_that_was_chosen_for_the_next_start_says_so():
    facts = SandboxFacts(mode="auto", now="off")
    assert "This session started with: off." in Showing(sandbox_view(facts)).text
    assert "This session" not in Showing(sandbox_view(SandboxFacts(mode="off", now="off"))).text


def test_a_goal_needs_words():
    assert "type a condition" in Showing(goal_view(Goal())).press("enter", "enter").text
