"""Is this plan to be carried out, and how?"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bridle.frontends.tui.dialogs.menu import Choice, Menu
from bridle.frontends.tui.dialogs.panel import Panel
from bridle.frontends.tui.keys import Key
from bridle.frontends.tui.render.markdown import render_markdown
from bridle.frontends.tui.view import Closed, Frame
from bridle.types.permission import Mode
from bridle.types.question import PermissionQuestion, Permitted, Refused

START = "Implement the following plan:\n\n{plan}"
_KEEP_PLANNING = "The user wants the plan to be changed before anything is done: {said}"
_STAY = "The user does not agree to the plan yet. Stay in plan mode and wait for what they say next."
_ELSEWHERE = "The user carries the plan out in a new conversation. Stop here."
_MOST_SAID = 10_000


class StartAfresh(Struct, frozen=True):
    """Begin a new conversation that holds nothing but the plan."""

    plan: str
    mode: Mode
    updates: tuple[Mapping[str, Any], ...] = ()


class PlanReply(Struct, frozen=True):
    """What to answer the call with, and what to do beside that."""

    answer: Permitted | Refused
    afresh: StartAfresh | None = None
    edits: bool = False
    """Open the plan in an editor, then ask again."""


class PlanDialog:
    """The plan as it is written, and four ways to go on."""

    is_full = False
    refresh = None

    def __init__(self, question: PermissionQuestion, *, may_bypass: bool, used: float | None = None) -> None:
        """`used` is how full the window is, from 0 to 1."""
        self._question = question
        self.plan = str(question.input.get("plan") or "")
        self._mode: Mode = "bypassPermissions" if may_bypass else "acceptEdits"
        menu = Menu(_choices(may_bypass=may_bypass, used=used) if self.plan else _PLAIN)
        self.panel = Panel("Carry out this plan?", self._body, menu, color="plan")

    @property
    def contexts(self) -> tuple[str, ...]:
        return () if self.panel.menu.is_typing else ("Confirmation",)

    def render(self, width: int, height: int, /) -> Frame:
        hints = ["enter to choose", "esc to keep planning"]
        return self.panel.render(width, height, [*hints, "ctrl+g to edit the plan"] if self.plan else hints)

    def press(self, key: Key, action: str | None, /) -> Closed[PlanReply] | None:
        name, menu = str(key), self.panel.menu
        if self.panel.scroll(key):
            return None
        if name in ("escape", "ctrl+c") or action == "confirm:no":
            return Closed(PlanReply(Refused(message=_STAY, interrupt=True)))
        if name == "ctrl+g" and self.plan:
            return Closed(PlanReply(Refused(message=_STAY), edits=True))
        if action == "confirm:cycleMode" and self.plan:
            return self._reply("afresh", "")
        chosen = menu.press(key, action)
        return None if chosen is None else self._reply(chosen.value, menu.text)

    def paste(self, text: str, /) -> None:
        self.panel.menu.paste(text)

    def _reply(self, value: str, text: str) -> Closed[PlanReply] | None:
        match value:
            case "afresh":
                afresh = StartAfresh(self.plan, self._mode, tuple(self._allowed()))
                return Closed(PlanReply(Refused(message=_ELSEWHERE, interrupt=True), afresh))
            case "edits":
                return Closed(PlanReply(self._permitted(self._mode)))
            case "default":
                return Closed(PlanReply(self._permitted("default")))
            case _:
                said = text.strip()[:_MOST_SAID]
                if not said:
                    return Closed(PlanReply(Refused(message=_STAY, interrupt=True)))
                return Closed(PlanReply(Refused(message=_KEEP_PLANNING.format(said=said))))

    def _permitted(self, mode: Mode) -> Permitted:
        switch = {"type": "setMode", "mode": mode, "destination": "session"}
        given = {**self._question.input, "plan": self.plan} if self.plan else None
        return Permitted(input=given, updates=(switch, *self._allowed()))

    def _allowed(self) -> list[Mapping[str, Any]]:
        """What the model asked to be allowed for carrying out the plan."""
        from bridle.engine.planning import prompt_rules

        wanted = self._question.input.get("allowedPrompts")
        prompts = [
            {"tool": str(each["tool"]), "prompt": str(each["prompt"])}
            for each in (wanted if isinstance(wanted, list) else ())
            if isinstance(each, dict) and "tool" in each and "prompt" in each
        ]
        rules = prompt_rules(prompts)
        return [] if rules is None else [rules]

    def _body(self, width: int) -> list[Any]:
        return render_markdown(self.plan, width) if self.plan else []


def _choices(*, may_bypass: bool, used: float | None) -> list[Choice]:
    full = "" if used is None else f" ({used:.0%} of the context is used)"
    freely = "bypass permissions" if may_bypass else "accept edits"
    return [
        Choice(value="afresh", label=f"Yes, in a new conversation{full}, and {freely}"),
        Choice(value="edits", label=f"Yes, here, and {freely}"),
        Choice(value="default", label="Yes, here, and ask me about every edit"),
        Choice(
            value="no", label="No, keep planning", note="or say what to change", field="say what to change"
        ),
    ]


_PLAIN = (
    Choice(value="default", label="Yes"),
    Choice(value="no", label="No, keep planning", note="or say what to change", field="say what to change"),
)
