"""Plan mode: entering and leaving it, and its reminders."""

import os.path
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from bridle.context.reminders import reminder
from bridle.engine.permissions.grants import grant, set_mode
from bridle.engine.turn import Turn
from bridle.features.plan_mode import plans
from bridle.permissions.tool_names import PLAN_END, SHELL
from bridle.transcripts.session import Session
from bridle.types.block import text_of
from bridle.types.permission import Mode, PermissionUpdate

_MOST_PROMPTS = 20
_LONGEST_PROMPT = 200


class SessionPlanning:
    """What the two tools may do to the session; see `types.tool.Planning`."""

    def __init__(self, turn: Turn, path: str) -> None:
        self._turn = turn
        self.path = path

    @property
    def active(self) -> bool:
        return self._turn.session.state.mode == "plan"

    def enter(self) -> str:
        """Begin to plan; what the model must know."""
        set_mode(self._turn.session, self._turn.runtime, "plan")
        return _rules(self._turn, self.path)

    def read(self) -> str | None:
        return plans.read_plan(self.path)

    def write(self, text: str) -> None:
        plans.write_plan(self.path, text)

    async def leave(self, prompts: Sequence[Mapping[str, str]]) -> str:
        """Switch to the mode that was chosen, or to the one before the plan. Returns its name."""
        session, runtime = self._turn.session, self._turn.runtime
        if session.state.mode == "plan":
            before = session.state.pre_plan_mode or "default"
            usable = before in (*runtime.gate.modes, "default")
            set_mode(session, runtime, before if usable and before != "plan" else "default")
        if rules := prompt_rules(prompts):
            await grant(self._turn, [rules])
        return session.state.mode


def remind_of_plan(turn: Turn, path: str) -> None:
    """At the start of a turn: say that plan mode holds, in full the first time, or that it has ended."""
    session = turn.session
    last = _last_reminder(session)
    if session.state.mode != "plan":
        if last == "plan":
            exists = os.path.exists(path)
            left = reminder(plans.left_reminder(path, exists=exists))
            session.attach("plan_mode_exit", [left], planFilePath=path, planExists=exists)
        return
    if last == "plan" and session.agent_id is None:
        kind, text = "sparse", plans.sparse_reminder(path, approval=_can_hand_in(turn))
    else:
        kind, text = "full", _rules(turn, path)
    session.attach(
        "plan_mode",
        [reminder(text)],
        reminderType=kind,
        isSubAgent=session.agent_id is not None,
        planFilePath=path,
        planExists=os.path.exists(path),
    )


def plan_rules(turn: Turn, path: str) -> str | None:
    """What holds in plan mode, for a conversation that has lost its beginning."""
    return _rules(turn, path) if turn.session.state.mode == "plan" else None


def with_plan(input: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """The input of a call that hands a plan in, as a person should see it: with the text of the plan."""
    plan = plans.read_plan(path)
    return input if plan is None else {**input, "plan": plan, "planFilePath": path}


def plan_suggestions(modes: Sequence[Mode]) -> tuple[PermissionUpdate, ...]:
    """The modes in which the work can continue after a plan, the one with the fewest questions first."""
    wanted: tuple[Mode, ...] = (
        "bypassPermissions" if "bypassPermissions" in modes else "acceptEdits",
        "default",
    )
    return tuple(mode_update(mode) for mode in wanted)


def prompt_rules(prompts: Sequence[Mapping[str, str]]) -> PermissionUpdate | None:
    """Rules for the session from what a plan says it will have to do; they are judged by their meaning."""
    values = [
        {"toolName": each["tool"], "ruleContent": f"prompt: {each['prompt'][:_LONGEST_PROMPT]}"}
        for each in prompts[:_MOST_PROMPTS]
        if each.get("tool") == SHELL and each.get("prompt", "").strip()
    ]
    if not values:
        return None
    rules: Any = values
    return {"type": "addRules", "rules": rules, "behavior": "allow", "destination": "session"}


def _rules(turn: Turn, path: str) -> str:
    if turn.session.agent_id is not None and not _can_hand_in(turn):
        return plans.agent_reminder()
    words = plans.full_reminder if _can_hand_in(turn) else plans.answered_reminder
    return words(path, exists=os.path.exists(path), workflow=turn.runtime.host.offer.plan_mode_instructions)


def _can_hand_in(turn: Turn) -> bool:
    """Whether anyone is there who can approve a plan."""
    return turn.runtime.toolbox.find(PLAN_END) is not None


def _last_reminder(session: Session) -> Literal["plan", "left"] | None:
    """Which reminder about plan mode is the last one in the conversation."""
    for entry in reversed(session.entries):
        if entry["type"] != "user":
            continue
        text = text_of(entry["message"]["content"]) if entry.get("isMeta") else _result_text(entry)
        if plans.LEFT in text:
            return "left"
        if plans.MARK in text:
            return "plan"
    return None


def _result_text(entry: Any) -> str:
    match entry.get("toolUseResult"):
        case {"planMode": str() as words}:
            return words
        case _:
            return ""


def mode_update(mode: Mode) -> PermissionUpdate:
    return {"type": "setMode", "mode": mode, "destination": "session"}
