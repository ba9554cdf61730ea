"""Is this plan to be carried out, and how?"""

from collections.abc import Mapping
from typing import Any, get_args

from msgspec import Struct

from bridle.features.plan_mode.answers import PlanChoice
from bridle.frontends.tui.dialogs.menu import Choice, Menu
from bridle.frontends.tui.dialogs.panel import Panel
from bridle.frontends.tui.keymap.keymap import USUAL, Keymap
from bridle.frontends.tui.keymap.labels import EDIT, REFUSE, Hint, sentences
from bridle.frontends.tui.render.layout import one_line
from bridle.frontends.tui.render.markdown import render_markdown
from bridle.frontends.tui.screen.view import Closed, Frame
from bridle.frontends.tui.terminal.keys import Key
from bridle.types.question import PermissionQuestion

_CHOICES: Mapping[str, PlanChoice] = {choice: choice for choice in get_args(PlanChoice)}


class PlanReply(Struct, frozen=True):
    """What the person chose, and in what words."""

    choice: PlanChoice
    said: str = ""
    edits: bool = False
    """Open the plan in an editor, then ask again."""


class PlanDialog:
    """The plan as it is written, and the ways to continue."""

    is_full = False
    refresh = None

    def __init__(
        self,
        question: PermissionQuestion,
        *,
        may_bypass: bool,
        used: float | None = None,
        offers_new: bool = False,
    ) -> None:
        """`used` is how full the window is, from 0 to 1; `offers_new` offers a new conversation."""
        self.plan = str(question.input.get("plan") or "")
        # A new conversation takes the place of the user's own, never of an agent's.
        self._begins_anew = offers_new and bool(self.plan) and question.agent_id is None
        choices = _choices(may_bypass=may_bypass, used=used) if self.plan else _PLAIN
        menu = Menu([each for each in choices if self._begins_anew or each.value != "clear_and_start"])
        whose = "" if question.asker is None else f"{one_line(question.asker)}: "
        title = "Approve this plan?" if self.plan else "Leave plan mode without a plan?"
        self.panel = Panel(f"{whose}{title}", self._body, menu, color="plan")

    @property
    def contexts(self) -> tuple[str, ...]:
        return () if self.panel.menu.is_typing else ("Confirmation",)

    def render(self, width: int, height: int, keys: Keymap = USUAL, /) -> Frame:
        hints: list[Hint] = [("enter", "to choose"), (REFUSE, "to keep planning")]
        hints += [(EDIT, "to edit the plan")] if self.plan else []
        return self.panel.render(width, height, sentences(hints, keys, self.contexts))

    def press(self, key: Key, action: str | None, /) -> Closed[PlanReply] | None:
        name, menu = str(key), self.panel.menu
        if self.panel.scroll(key):
            return None
        if name in ("escape", "ctrl+c") or action == "confirm:no":
            return Closed(PlanReply("keep_planning"))
        if self.plan and (action in EDIT.actions or (menu.is_typing and name == "ctrl+g")):
            return Closed(PlanReply("keep_planning", edits=True))
        if action == "confirm:cycleMode" and self._begins_anew:
            return Closed(PlanReply("clear_and_start"))
        chosen = menu.press(key, action)
        return None if chosen is None else Closed(PlanReply(_CHOICES[chosen.value], menu.text))

    def paste(self, text: str, /) -> None:
        self.panel.menu.paste(text)

    def _body(self, width: int) -> list[Any]:
        return render_markdown(self.plan, width) if self.plan else []


def _choices(*, may_bypass: bool, used: float | None) -> list[Choice]:
    full = "" if used is None else f" ({used:.0%} of the context is used)"
    freely = "bypass permissions" if may_bypass else "accept edits"
    return [
        Choice(value="accept_edits", label=f"Yes, and {freely}"),
        Choice(value="ask_each", label="Yes, and approve each edit"),
        Choice(value="clear_and_start", label=f"Yes, in a new conversation{full}, and {freely}"),
        Choice(
            value="keep_planning",
            label="No, keep planning",
            note="or say what to change",
            field="say what to change",
        ),
    ]


_PLAIN = (
    Choice(value="ask_each", label="Yes"),
    Choice(
        value="keep_planning",
        label="No, keep planning",
        note="or say what to change",
        field="say what to change",
    ),
)
