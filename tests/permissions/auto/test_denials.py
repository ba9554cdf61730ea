import msgspec

from bridle.transcripts.session import Session
from bridle.transcripts.state import SessionState
from bridle.types.permission import DenialCount


def test_three_denials_in_a_row_are_enough():
    assert not DenialCount(2, 2).exhausted
    assert DenialCount(2, 2).plus_one().exhausted


def test_twenty_denials_in_all_are_enough():
    assert not DenialCount(0, 18).plus_one().exhausted
    assert DenialCount(0, 19).plus_one().exhausted


def test_success_breaks_the_row_and_keeps_the_total():
    assert DenialCount(2, 7).after_success() == DenialCount(0, 7)


def test_success_without_a_row_is_the_same_value():
    calm = DenialCount(0, 7)
    assert calm.after_success() is calm


def test_counting_leaves_the_old_value_alone():
    before = DenialCount(1, 4)
    assert (before.plus_one(), before) == (DenialCount(2, 5), DenialCount(1, 4))


def test_session_keeps_its_count_when_other_settings_change_and_a_child_takes_it_over():
    session = Session("s1")
    session.swap(denials=DenialCount(2, 5))
    session.swap(mode="auto")
    child: SessionState = msgspec.structs.replace(session.state, model="small")
    assert (session.state.denials, child.denials) == (DenialCount(2, 5), DenialCount(2, 5))
