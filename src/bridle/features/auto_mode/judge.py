"""Auto mode: a model reviews what the gate would ask a person about."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from bridle.config.schema import AutoMode
from bridle.engine.side_calls import consult
from bridle.engine.texts import CLASSIFIER_CONTEXT
from bridle.engine.turn import Turn
from bridle.permissions.auto.prompt import (
    LARGEST_ACTION,
    LARGEST_RULES,
    action_text,
    condense,
    inert_line,
    question_text,
    system_text,
)
from bridle.permissions.auto.review import Verdict, needs_person, planning_doubt, read_verdict, without_review
from bridle.permissions.auto.rules import AutoRules, merged
from bridle.types.block import text_of
from bridle.types.errors import ToolError
from bridle.types.permission import Allow, Ask, Case, Decision, Deny
from bridle.types.tool import Consultation

Judge = Callable[[Turn, Case, Ask], Awaitable[Decision]]

_PATIENCE = 60.0
_ANSWER_TOKENS = 2_000
_MOST_NOTES = 10
_ADVICE = (
    "Continue with work that does not depend on this call. You may reach the goal in another ordinary "
    "way, but do not disguise, split or reroute what was denied. If there is no other way, stop and "
    "tell the user what you need and why. They can approve it, or allow it with a permission rule"
)


def make_judge(settings: AutoMode | None, *, patience: float = _PATIENCE, during_plan: bool = True) -> Judge:
    """A judge by the built-in rules and the user's, who lets a review take at most `patience` seconds.

    `during_plan` is whether commands are reviewed that plan mode would refuse, where auto mode can be had.
    """
    rules = merged(settings)
    system = system_text(rules)

    async def judge(turn: Turn, case: Case, doubt: Ask) -> Decision:
        """Settle a doubt of the gate; whatever the reviewer leaves open stays a question for a person."""
        if needs_person(case, doubt):
            return doubt
        if case.mode == "plan":
            if not during_plan or "auto" not in turn.runtime.gate.modes:
                return doubt
            planned = system_text(rules, planning=True)
            answer = await _review(turn, case, doubt, rules=rules, system=planned, patience=patience)
            return _settled_plan(turn, case, doubt, answer)
        if (allowed := without_review(case, turn.runtime.gate.decide, rules)) is not None:
            return _allowed(turn, allowed)
        answer = await _review(turn, case, doubt, rules=rules, system=system, patience=patience)
        if isinstance(answer, str):
            return _still_open(doubt, f"auto mode could not review the call: {answer}")
        return _settled(turn, case, doubt, answer)

    return judge


async def _review(
    turn: Turn, case: Case, doubt: Ask, *, rules: AutoRules, system: str, patience: float
) -> Verdict | str:
    """What the reviewer says, or why there is no answer that can be used."""
    action = action_text(case)
    # A part that is not shown cannot be judged, and a rule that is not shown cannot be followed.
    if len(action) > LARGEST_ACTION:
        return f"its input has more than {LARGEST_ACTION} characters"
    if rules.size > LARGEST_RULES:
        return f"the rules in autoMode have more than {LARGEST_RULES} characters; shorten them"
    above = () if turn.session.root is turn.session else turn.session.root.entries
    transcript = condense(turn.session.entries, above=above) + _notes(turn)
    asked = Consultation(
        purpose="auto mode",
        system=system,
        prompt=question_text(case, transcript=transcript, action=action, doubt=doubt.reason),
        # No weaker than the model whose calls it reviews, or the weaker one would be the way in.
        role="main",
        max_tokens=_ANSWER_TOKENS,
    )
    try:
        async with asyncio.timeout(patience):
            message = await consult(turn, asked)
    except TimeoutError:
        return f"the reviewer did not answer within {patience:g} seconds"
    except ToolError as error:
        return str(error).rstrip(".")
    return read_verdict(text_of(message["content"])) or "the reviewer's answer is invalid"


def _notes(turn: Turn) -> str:
    """What hooks want the reviewer to know of earlier results; the newest notes weigh most."""
    said = [
        entry.get("content", "")
        for entry in turn.session.entries
        if entry["type"] == "system" and entry["subtype"] == CLASSIFIER_CONTEXT
    ]
    # One line of JSON each, like the rest: a note must not be able to end the transcript it stands in.
    return "".join(f"\n{inert_line({'hook_note': text})}" for text in said[-_MOST_NOTES:])


def _settled(turn: Turn, case: Case, doubt: Ask, answer: Verdict) -> Decision:
    match answer.verdict:
        case "allow":
            objection = _new_objection(turn, case)
            return objection or _allowed(turn, Allow(f"auto mode: {answer.reason}", "classifier"))
        case "ask":
            return _still_open(doubt, f"auto mode: {answer.reason}")
        case "deny":
            denials = turn.session.state.denials.plus_one()
            turn.session.swap(denials=denials)
            if denials.exhausted and answer.rule != "hard_deny":
                return _still_open(
                    doubt, (f"auto mode denied this repeatedly, so it is your decision: {answer.reason}")
                )
            return Deny(f"auto mode: {answer.reason}. {_ADVICE}", "classifier")


def _settled_plan(turn: Turn, case: Case, doubt: Ask, answer: Verdict | str) -> Decision:
    """While planning, all but a clear yes leaves the refusal of the mode as it is."""
    if isinstance(answer, str) or answer.verdict != "allow" or turn.session.state.mode != "plan":
        return doubt
    now = turn.runtime.gate.decide(msgspec.structs.replace(case, rules=turn.rules))
    if planning_doubt(case, now) is None and not isinstance(now, Allow):
        return now
    return Allow(f"auto mode: {answer.reason}", "classifier")


def _new_objection(turn: Turn, case: Case) -> Ask | Deny | None:
    """What the gate says against the call by now: rules and mode may have changed during the review."""
    state = turn.session.state
    now = turn.runtime.gate.decide(msgspec.structs.replace(case, rules=turn.rules, mode=state.mode))
    match now:
        case Allow():
            return None
        case Ask() if state.mode == "auto" and not needs_person(case, now):
            return None
        case _:
            return now


def _allowed(turn: Turn, decision: Allow) -> Allow:
    turn.session.swap(denials=turn.session.state.denials.after_success())
    return decision


def _still_open(doubt: Ask, reason: str) -> Ask:
    # Who else may answer depends on the kind of doubt, so a safety check stays one.
    kind = doubt.reason_type if doubt.reason_type == "safetyCheck" else "classifier"
    return msgspec.structs.replace(doubt, reason=reason, reason_type=kind)
