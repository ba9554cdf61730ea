"""Plan mode: entering and leaving it, what the model is told, and what a person can answer to a plan."""

import os.path
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from bridle.context import plans
from bridle.context.reminders import reminder
from bridle.engine.call import Call
from bridle.engine.grants import grant
from bridle.engine.runtime import Runtime
from bridle.engine.turn import Turn
from bridle.host.paths import config_home
from bridle.transcripts.session import Session
from bridle.types.block import text_of
from bridle.types.event import ModeChanged
from bridle.types.origin import PROGRAM
from bridle.types.permission import Mode, PermissionUpdate
from bridle.types.question import Answer, PermissionQuestion, Permitted, Refused
from bridle.types.turn import Prompt

EXIT = "ExitPlanMode"
ENTER = "EnterPlanMode"

PlanChoice = Literal["accept_edits", "ask_each", "clear_and_start", "keep_planning"]
"""What a person can say to a plan; front ends put it into their own words."""

_MOST_PROMPTS = 20
_LONGEST_PROMPT = 200
_LONGEST_FEEDBACK = 10_000


def plan_file(session: Session, runtime: Runtime) -> str:
    """Where the plan of this session is kept."""
    folder = runtime.plans or os.path.join(config_home(runtime.env), "plans")
    return plans.plan_path(session.id, folder)


class SessionPlanning:
    """What the two tools may do to the session; see `types.tool.Planning`."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self.path = plan_file(turn.session, turn.runtime)

    @property
    def active(self) -> bool:
        return self._turn.session.state.mode == "plan"

    def enter(self) -> str:
        """Begin to plan; what the model must know."""
        set_mode(self._turn.session, self._turn.runtime, "plan")
        return _rules(self._turn)

    def read(self) -> str | None:
        return plans.read_plan(self.path)

    def write(self, text: str) -> None:
        plans.write_plan(self.path, text)

    async def leave(self, prompts: Sequence[Mapping[str, str]]) -> str:
        """Go on in the mode that was chosen, or the one before the plan; its name."""
        session, runtime = self._turn.session, self._turn.runtime
        if session.state.mode == "plan":
            before = session.state.pre_plan_mode or "default"
            usable = before in (*runtime.modes, "default")
            set_mode(session, runtime, before if usable and before != "plan" else "default")
        if rules := prompt_rules(prompts):
            await grant(self._turn, [rules])
        return session.state.mode


def set_mode(session: Session, runtime: Runtime, mode: Mode) -> None:
    """Change the mode and tell the other side."""
    if mode != session.state.mode:
        session.swap(mode=mode)
        runtime.channel.emit(ModeChanged(mode))


def remind_of_plan(turn: Turn) -> None:
    """At the start of a turn: say that plan mode holds, in full the first time, or that it has ended."""
    session = turn.session
    told = _last_told(session)
    path = plan_file(session, turn.runtime)
    if session.state.mode != "plan":
        if told == "plan":
            session.say_user([reminder(plans.left_reminder(path, exists=os.path.exists(path)))], meta=True)
        return
    if told == "plan" and session.agent_id is None:
        text = plans.sparse_reminder(path, approval=_can_hand_in(turn))
    else:
        text = _rules(turn)
    session.say_user([reminder(text)], meta=True)


def plan_rules(turn: Turn) -> str | None:
    """What holds in plan mode, for a conversation that has lost its beginning."""
    return _rules(turn) if turn.session.state.mode == "plan" else None


def with_plan(call: Call, turn: Turn) -> Mapping[str, Any]:
    """The input of a call as whoever decides on it should see it: a plan is shown with its text."""
    if call.name != EXIT:
        return call.input
    path = plan_file(turn.session, turn.runtime)
    plan = plans.read_plan(path)
    return call.input if plan is None else {**call.input, "plan": plan, "planFilePath": path}


def plan_suggestions(modes: Sequence[Mode]) -> tuple[PermissionUpdate, ...]:
    """The modes in which the work can go on after a plan, the least asking first."""
    wanted: tuple[Mode, ...] = (
        "bypassPermissions" if "bypassPermissions" in modes else "acceptEdits",
        "default",
    )
    return tuple(_mode_update(mode) for mode in wanted)


def prompt_rules(prompts: Sequence[Mapping[str, str]]) -> PermissionUpdate | None:
    """Rules for the session from what a plan says it will have to do; they are judged by their meaning."""
    values = [
        {"toolName": each["tool"], "ruleContent": f"prompt: {each['prompt'][:_LONGEST_PROMPT]}"}
        for each in prompts[:_MOST_PROMPTS]
        if each.get("tool") == "Bash" and each.get("prompt", "").strip()
    ]
    if not values:
        return None
    rules: Any = values
    return {"type": "addRules", "rules": rules, "behavior": "allow", "destination": "session"}


class PlanAnswer(Struct, frozen=True, kw_only=True):
    """An answer to a plan, and what must follow it."""

    answer: Answer
    next_prompt: str | None = None
    """Begin a new conversation with this."""
    next_updates: tuple[PermissionUpdate, ...] = ()
    """What holds in that conversation: its mode, and rules for what the plan has to run."""


def answer_plan(
    question: PermissionQuestion, choice: PlanChoice, *, feedback: str = "", modes: Sequence[Mode] = ()
) -> PlanAnswer:
    """What a front end answers when a person has chosen."""
    loosest: Mode = "bypassPermissions" if "bypassPermissions" in modes else "acceptEdits"
    match choice:
        case "accept_edits" | "ask_each":
            mode = _mode_update(loosest if choice == "accept_edits" else "default")
            return PlanAnswer(answer=Permitted(input=question.input, updates=(mode,)))
        case "clear_and_start":
            plan = str(question.input.get("plan") or "")
            rules = prompt_rules(_prompts(question.input.get("allowedPrompts")))
            return PlanAnswer(
                answer=Refused(message="The user starts on the plan in a new conversation.", interrupt=True),
                next_prompt=implementation_prompt(plan, str(question.input.get("planFilePath") or "")),
                next_updates=(_mode_update(loosest), *(() if rules is None else (rules,))),
            )
        case "keep_planning":
            words = feedback.strip()[:_LONGEST_FEEDBACK]
            if words:
                return PlanAnswer(answer=Refused(message=f"The user wants the plan changed: {words}"))
            # Who gives no reason will say what they want next: the model has nothing to go on with.
            return PlanAnswer(answer=Refused(message="The user wants to go on planning.", interrupt=True))


async def start_afresh(session: Session, runtime: Runtime, chosen: PlanAnswer) -> None:
    """Let hold what a person agreed to with a plan that is carried out in the next conversation."""
    await grant(Turn(session, Prompt(content="", origin=PROGRAM, meta=True), runtime), chosen.next_updates)


def implementation_prompt(plan: str, path: str = "") -> str:
    """The first prompt of a conversation that carries a plan out."""
    where = f"\n\nThe plan is kept in {path}." if path else ""
    return f"Implement the following plan:\n\n{plan}{where}"


def _prompts(given: Any) -> list[Mapping[str, str]]:
    """What a plan says it will have to run, as far as it can be read."""
    return [
        {"tool": str(each["tool"]), "prompt": str(each["prompt"])}
        for each in (given if isinstance(given, list) else ())
        if isinstance(each, dict) and "tool" in each and "prompt" in each
    ]


def _rules(turn: Turn) -> str:
    if turn.session.agent_id is not None and not _can_hand_in(turn):
        return plans.agent_reminder()
    path = plan_file(turn.session, turn.runtime)
    words = plans.full_reminder if _can_hand_in(turn) else plans.answered_reminder
    return words(path, exists=os.path.exists(path), workflow=turn.runtime.offer.plan_mode_instructions)


def _can_hand_in(turn: Turn) -> bool:
    """Whether anyone is there who can approve a plan."""
    return turn.runtime.toolbox.find(EXIT) is not None


def _last_told(session: Session) -> Literal["plan", "left"] | None:
    """What the model heard last about plan mode, as far as the conversation still says it."""
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


def _mode_update(mode: Mode) -> PermissionUpdate:
    return {"type": "setMode", "mode": mode, "destination": "session"}
