"""Notices are shown one after the other, the most urgent first."""

from bridle.frontends.tui.chat.notices import Notice, NoticeQueue, Priority


class _Row:
    def __init__(self) -> None:
        self.now = 0.0
        self.queue = NoticeQueue(lambda: self.now)

    def add(self, key: str, priority: Priority = "medium", *, replaces: tuple[str, ...] = ()) -> None:
        self.queue.add(Notice(key=key, text=key, priority=priority, replaces=replaces))

    @property
    def shown(self) -> str:
        return "" if self.queue.current is None else self.queue.current.text


def test_each_is_shown_for_eight_seconds_and_of_those_that_wait_the_urgent_ones_first():
    row = _Row()
    told: list[tuple[str, Priority]] = [
        ("first", "low"),
        ("later", "low"),
        ("soon", "high"),
        ("between", "medium"),
    ]
    for key, priority in told:
        row.add(key, priority)
    seen: list[str] = []
    while row.shown:
        seen.append(row.shown)
        assert row.queue.remaining == 8.0
        row.now += 7.9
        assert row.shown == seen[-1]
        row.now += 0.1
    assert seen == ["first", "soon", "between", "later"]
    assert row.queue.remaining is None


def test_what_is_shown_stays_until_it_is_over_unless_the_new_one_is_immediate():
    row = _Row()
    row.add("first", "low")
    assert row.shown == "first"
    row.add("high", "high")
    assert row.shown == "first"
    row.add("now", "immediate")
    assert row.shown == "now"
    row.now += 8
    assert row.shown == "high"
    row.now += 8
    assert row.shown == "first"


def test_the_same_is_not_told_twice_and_an_immediate_one_is_told_anew():
    row = _Row()
    row.add("a")
    assert row.shown == "a"
    row.add("a")
    row.add("b")
    row.add("b")
    row.now += 8
    assert row.shown == "b"
    row.now += 8
    assert row.shown == ""
    row.queue.add(Notice(key="t", text="on", priority="immediate"))
    row.queue.add(Notice(key="t", text="off", priority="immediate"))
    assert row.shown == "off"
    row.now += 8
    assert row.shown == ""


def test_a_notice_takes_away_those_that_it_makes_wrong():
    row = _Row()
    row.add("offline")
    row.add("slow")
    assert row.shown == "offline"
    row.add("online", replaces=("offline", "slow"))
    assert row.shown == "online"
    row.now += 8
    assert row.shown == ""
