"""How long a turn takes."""

from bridle.frontends.tui.chat.progress import TurnProgress


class _Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_time_at_questions_is_not_the_turns():
    clock = _Clock()
    work = TurnProgress(clock)
    work.begin()
    clock.now += 5
    work.hold()
    clock.now += 60
    assert (work.seconds, work.waited) == (5, 60)
    work.resume()
    clock.now += 2
    assert (work.seconds, work.waited) == (7, 60)


def test_questions_that_are_open_together_count_once():
    clock = _Clock()
    work = TurnProgress(clock)
    work.begin()
    work.hold()
    clock.now += 10
    work.hold()
    clock.now += 10
    work.resume()
    clock.now += 10
    work.resume()
    assert (work.seconds, work.waited) == (0, 30)


def test_a_question_from_before_the_turn_counts_from_its_start():
    clock = _Clock()
    work = TurnProgress(clock)
    work.hold()
    clock.now += 10
    work.begin()
    clock.now += 3
    assert (work.seconds, work.waited) == (0, 3)
    work.resume()
    clock.now += 1
    assert work.seconds == 1
