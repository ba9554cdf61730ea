"""What a person can answer to a plan, the same for every front end."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from bridle.engine.permissions.grants import grant
from bridle.engine.runtime import Runtime
from bridle.engine.turn import Turn
from bridle.features.plan_mode.planning import mode_update, prompt_rules
from bridle.transcripts.session import Session
from bridle.types.origin import PROGRAM
from bridle.types.permission import Mode, PermissionUpdate
from bridle.types.question import Answer, PermissionQuestion, Permitted, Refused
from bridle.types.turn import Prompt

PlanChoice = Literal["accept_edits", "ask_each", "clear_and_start", "keep_planning"]
"""What a person can say to a plan; front ends put it into their own words."""

_LONGEST_FEEDBACK = 10_000


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
            mode = mode_update(loosest if choice == "accept_edits" else "default")
            return PlanAnswer(answer=Permitted(input=question.input, updates=(mode,)))
        case "clear_and_start":
            plan = str(question.input.get("plan") or "")
            rules = prompt_rules(_prompts(question.input.get("allowedPrompts")))
            return PlanAnswer(
                answer=Refused(message="The user starts the plan in a new conversation.", interrupt=True),
                next_prompt=implementation_prompt(plan, str(question.input.get("planFilePath") or "")),
                next_updates=(mode_update(loosest), *(() if rules is None else (rules,))),
            )
        case "keep_planning":
            words = feedback.strip()[:_LONGEST_FEEDBACK]
            if words:
                return PlanAnswer(answer=Refused(message=f"The user wants the plan changed: {words}"))
            # A refusal without a reason ends the turn: the user says next what to change.
            return PlanAnswer(answer=Refused(message="The user wants to keep planning.", interrupt=True))


async def start_afresh(session: Session, runtime: Runtime, chosen: PlanAnswer) -> None:
    """Let hold what a person agreed to with a plan that is carried out in the next conversation."""
    await grant(Turn(session, Prompt(content="", origin=PROGRAM, meta=True), runtime), chosen.next_updates)


def implementation_prompt(plan: str, path: str = "") -> str:
    """The first prompt of a conversation that carries a plan out."""
    where = f"\n\nThe plan is in {path}." if path else ""
    return f"Implement the following plan:\n\n{plan}{where}"


def _prompts(given: Any) -> list[Mapping[str, str]]:
    """What a plan says it will have to run, as far as it can be read."""
    return [
        {"tool": str(each["tool"]), "prompt": str(each["prompt"])}
        for each in (given if isinstance(given, list) else ())
        if isinstance(each, dict) and "tool" in each and "prompt" in each
    ]
