"""Makes one answer out of what several hooks said about one event."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from bridle.types.hooks.outcome import NOTHING_SAID, Elicited, HookOutcome
from bridle.types.permission import Allow, Ask, Decision, Deny

_T = TypeVar("_T")
_STRICTEST_ACTION = ("decline", "cancel", "accept")


def fold(said: Sequence[HookOutcome]) -> HookOutcome:
    """One outcome from those of all hooks, given in the order in which the hooks are listed.

    - Decisions: deny beats defer beats ask beats allow; among equals the first speaks. An approval counts
      only for the input that its hook saw or wrote: when another hook's input is used, it is dropped.
    - What replaces something (input, output, title, first message, shown text): the last counts. A denial
      takes the new input and the changes of rules with it.
    - What adds something (context, messages, paths, changes of rules, variables, problems): all, in order.
    - Refusals (`block`): all reasons, one per line. `stop`: the first.
    - Switches: on when any hook turns them on.
    - Answers to a server: decline beats cancel beats accept; among equals the first.
    """
    if len(said) < 2:
        return said[0] if said else NOTHING_SAID
    writer = _last(each for each in said if each.updated_input is not None)
    decision, deferred = _weigh(said, writer)
    denied = isinstance(decision, Deny)
    return HookOutcome(
        decision=decision,
        deferred=deferred,
        updated_input=None if denied or writer is None else writer.updated_input,
        updated_permissions=_all(each.updated_permissions for each in said if isinstance(decision, Allow)),
        interrupt=any(each.interrupt for each in said if isinstance(each.decision, Deny)),
        updated_output=_last(each.updated_output for each in said),
        context=_all(each.context for each in said),
        classifier_context=_lines(each.classifier_context for each in said),
        block=_lines(each.block for each in said),
        stop=_first(each.stop for each in said),
        retry=any(each.retry for each in said),
        session_title=_last(each.session_title for each in said),
        initial_user_message=_last(each.initial_user_message for each in said),
        suppress_original_prompt=any(each.suppress_original_prompt for each in said),
        watch_paths=tuple(dict.fromkeys(_all(each.watch_paths for each in said))),
        reload_skills=any(each.reload_skills for each in said),
        worktree_path=_first(each.worktree_path for each in said),
        elicited=_strictest(each.elicited for each in said),
        display_content=_last(each.display_content for each in said),
        exported=_lines(each.exported or None for each in said) or "",
        system_messages=_all(each.system_messages for each in said),
        terminal_sequences=_all(each.terminal_sequences for each in said),
        suppress_output=any(each.suppress_output for each in said),
        problems=_all(each.problems for each in said),
        runs=_all(each.runs for each in said),
    )


def _weigh(said: Sequence[HookOutcome], writer: HookOutcome | None) -> tuple[Decision | None, str | None]:
    """The decision that counts, and why the call is put off if it is."""
    if (denial := _first(each.decision for each in said if isinstance(each.decision, Deny))) is not None:
        return denial, None
    deferred = _first(each.deferred for each in said)
    if (question := _first(each.decision for each in said if isinstance(each.decision, Ask))) is not None:
        return question, deferred
    if deferred is not None:
        return None, deferred
    judges = said if writer is None else (writer,)
    return _first(each.decision for each in judges), None


def _first(values: Iterable[_T | None]) -> _T | None:
    return next((value for value in values if value is not None), None)


def _last(values: Iterable[Any]) -> Any:
    return _first(reversed(tuple(values)))


def _all(parts: Iterable[tuple[_T, ...]]) -> tuple[_T, ...]:
    return tuple(item for part in parts for item in part)


def _lines(values: Iterable[str | None]) -> str | None:
    present = [value for value in values if value is not None]
    return "\n".join(present) if present else None


def _strictest(answers: Iterable[Elicited | None]) -> Elicited | None:
    given = [answer for answer in answers if answer is not None]
    return min(given, key=lambda answer: _STRICTEST_ACTION.index(answer.action), default=None)
