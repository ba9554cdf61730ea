from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.hooks.fold import fold
from bridle.types.hooks.outcome import NOTHING_SAID, Elicited, HookOutcome, HookRun
from bridle.types.permission import Allow, Ask, Deny
from tests.tables import table

_ALLOW = HookOutcome(decision=Allow("a", "hook"))
_ASK = HookOutcome(decision=Ask("k", "hook"))
_DEFER = HookOutcome(deferred="later")
_DENY = HookOutcome(decision=Deny("d", "hook"))


def test_nothing_said_is_nothing():
    assert fold([]) is NOTHING_SAID
    assert fold([NOTHING_SAID, NOTHING_SAID]) == NOTHING_SAID


def test_one_outcome_is_itself():
    assert fold([_DENY]) is _DENY


@table("order", list(permutations([_ALLOW, _ASK, _DEFER, _DENY])))
def test_deny_beats_everything_in_any_order(order: tuple[HookOutcome, ...]):
    folded = fold(order)
    assert (folded.decision, folded.deferred) == (Deny("d", "hook"), None)


@pytest.mark.parametrize("order", list(permutations([_ALLOW, _ASK])))
def test_ask_beats_allow(order: tuple[HookOutcome, ...]):
    assert fold(order).decision == Ask("k", "hook")


@pytest.mark.parametrize("order", list(permutations([_ALLOW, _DEFER])))
def test_deferring_beats_allow(order: tuple[HookOutcome, ...]):
    assert (fold(order).decision, fold(order).deferred) == (None, "later")


def test_deferring_beats_ask_which_counts_where_nothing_can_be_deferred():
    assert (fold([_ASK, _DEFER]).decision, fold([_ASK, _DEFER]).deferred) == (Ask("k", "hook"), "later")


def test_among_equal_decisions_the_first_speaks():
    assert fold([_DENY, HookOutcome(decision=Deny("second", "hook"))]).decision == Deny("d", "hook")


def test_last_new_input_counts():
    folded = fold([HookOutcome(updated_input={"a": 1}), HookOutcome(updated_input={"a": 2}), NOTHING_SAID])
    assert folded.updated_input == {"a": 2}


def test_approval_does_not_count_for_the_input_of_another_hook():
    assert fold([_ALLOW, HookOutcome(updated_input={"command": "rm"})]).decision is None


def test_approval_counts_for_the_input_of_the_same_hook():
    both = HookOutcome(decision=Allow("a", "hook"), updated_input={"command": "ls"})
    folded = fold([both, NOTHING_SAID])
    assert (folded.decision, folded.updated_input) == (Allow("a", "hook"), {"command": "ls"})


def test_denial_takes_new_input_and_rules_with_it():
    rules = HookOutcome(
        decision=Allow("a", "hook"),
        updated_input={"a": 1},
        updated_permissions=({"type": "setMode", "destination": "session", "mode": "plan"},),
    )
    folded = fold([rules, _DENY])
    assert (folded.updated_input, folded.updated_permissions) == (None, ())
    assert fold([rules, NOTHING_SAID]).updated_permissions == rules.updated_permissions


def test_denial_that_interrupts_still_does():
    assert fold([HookOutcome(decision=Deny("d", "hook"), interrupt=True), _ALLOW]).interrupt
    assert not fold([HookOutcome(decision=Allow("a", "hook"), interrupt=True), NOTHING_SAID]).interrupt


def test_additions_are_all_kept_in_order():
    run = HookRun(id="1", name="Stop", event="Stop", outcome="success")
    one = HookOutcome(
        context=("a",), system_messages=("m",), problems=("p",), watch_paths=("/x", "/y"), exported="A=1",
        terminal_sequences=("\a",), runs=(run,), classifier_context="c", block="first",
    )  # fmt: skip
    two = HookOutcome(
        context=("b",), system_messages=("n",), problems=("q",), watch_paths=("/y", "/z"), exported="B=2",
        terminal_sequences=("\a",), runs=(run,), classifier_context="d", block="second",
    )  # fmt: skip
    assert fold([one, two]) == HookOutcome(
        context=("a", "b"), system_messages=("m", "n"), problems=("p", "q"), watch_paths=("/x", "/y", "/z"),
        exported="A=1\nB=2", terminal_sequences=("\a", "\a"), runs=(run, run), classifier_context="c\nd",
        block="first\nsecond",
    )  # fmt: skip


def test_of_replacements_the_last_counts_and_of_stops_the_first():
    one = HookOutcome(
        updated_output="1", session_title="1", initial_user_message="1", display_content="1", stop="1",
        worktree_path="/1",
    )  # fmt: skip
    two = HookOutcome(
        updated_output="2", session_title="2", initial_user_message="2", display_content="2", stop="2",
        worktree_path="/2",
    )  # fmt: skip
    assert fold([one, two, NOTHING_SAID]) == HookOutcome(
        updated_output="2", session_title="2", initial_user_message="2", display_content="2", stop="1",
        worktree_path="/1",
    )  # fmt: skip


@pytest.mark.parametrize(
    "on",
    [
        HookOutcome(retry=True),
        HookOutcome(suppress_original_prompt=True),
        HookOutcome(reload_skills=True),
        HookOutcome(suppress_output=True),
    ],
)
def test_switch_is_on_when_anybody_turns_it_on(on: HookOutcome):
    assert fold([NOTHING_SAID, on]) == fold([on, NOTHING_SAID]) == on


def test_decline_beats_cancel_beats_accept():
    answers = [HookOutcome(elicited=Elicited(action)) for action in ("accept", "cancel", "decline")]
    assert fold(answers).elicited == Elicited("decline")
    assert fold(answers[:2]).elicited == Elicited("cancel")


_OUTCOMES = st.builds(
    HookOutcome,
    decision=st.sampled_from([None, Allow("a", "hook"), Ask("k", "hook"), Deny("d", "hook")]),
    deferred=st.sampled_from([None, "later"]),
    updated_input=st.sampled_from([None, {"a": 1}]),
    block=st.sampled_from([None, "no"]),
    stop=st.sampled_from([None, "stop"]),
)


@given(st.lists(_OUTCOMES, min_size=2, max_size=6))
def test_no_company_makes_an_outcome_more_lenient(said: list[HookOutcome]):
    folded = fold(said)
    if any(isinstance(each.decision, Deny) for each in said):
        assert isinstance(folded.decision, Deny)
    elif any(isinstance(each.decision, Ask) for each in said):
        assert isinstance(folded.decision, Ask)
    if isinstance(folded.decision, Allow):
        assert folded.deferred is None
    assert (folded.block is None) == all(each.block is None for each in said)
    assert (folded.stop is None) == all(each.stop is None for each in said)
