from collections.abc import Sequence
from typing import Any

from bridle.frontends.tui.chat.turn import TurnView, with_hint
from bridle.frontends.tui.style.text import Line, line, text_of


class _Page:
    """A live part with the lines that have left it."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.now = 0.0
        self.live = TurnView(self._write, width=lambda: 60, clock=lambda: self.now, more_key=lambda: "ctrl+o")

    def _write(self, lines: Sequence[Line]) -> None:
        self.written += (text_of(each) for each in lines)

    @property
    def open(self) -> list[str]:
        return [text_of(row) for row in self.live.rows(60, frame=0)]


def _finish(live: TurnView, call_id: str, data: Any = None, content: str = "") -> None:
    live.finish_call(call_id, "done", content=content, data=data, seconds=0.1)


def test_finished_blocks_of_an_answer_leave_at_once_and_open_ones_stay():
    page = _Page()
    page.live.feed("First paragraph.\n\nSecond par")
    assert page.written == ["● First paragraph."]
    assert page.open == ["", "Second par"]
    page.live.feed("agraph.")
    page.live.end_text("First paragraph.\n\nSecond paragraph.")
    assert page.written == ["● First paragraph.", "", "Second paragraph."]
    assert page.open == []


def test_a_block_that_did_not_stream_is_shown_when_it_is_whole():
    page = _Page()
    page.live.end_text("All at once.")
    assert page.written == ["● All at once."]


def test_what_began_later_waits_for_what_began_before():
    page = _Page()
    page.live.start_call("a", "Bash", {"command": "sleep 9"})
    page.live.feed("Meanwhile.\n\n")
    page.live.end_text("Meanwhile.")
    assert page.written == []
    assert any("Meanwhile." in row for row in page.open)
    _finish(page.live, "a", {"stdout": "x", "stderr": ""})
    assert page.written[0].startswith("✓ Bash sleep 9")
    assert page.written[-1] == "● Meanwhile."


def test_an_empty_row_stands_around_a_call_with_something_below_it():
    page = _Page()
    for name, output in (("a", "x"), ("b", "y")):
        page.live.start_call(name, "Bash", {"command": name})
        _finish(page.live, name, {"stdout": output, "stderr": ""})
    for name in ("c", "d"):
        page.live.start_call(name, "Skill", {"skill": name})
        _finish(page.live, name)
    assert page.written == [
        "✓ Bash a", "  └ x", "", "✓ Bash b", "  └ y", "", "✓ Skill c", "✓ Skill d",
    ]  # fmt: skip


def test_calls_that_only_look_are_put_together_when_the_next_thing_begins():
    page = _Page()
    for name in ("a", "b"):
        page.live.start_call(name, "Read", {"file_path": f"/w/{name}.py"})
        _finish(page.live, name)
    assert page.written == []
    page.live.feed("Now.")
    assert page.written == ["✓ Read 2 files"]


def test_a_call_without_an_end_is_interrupted_with_the_turn():
    page = _Page()
    page.live.start_call("a", "Bash", {"command": "sleep 9"})
    page.live.end()
    assert page.written == ["■ Bash sleep 9", "  └ interrupted"]


def test_the_time_of_a_running_call_is_shown():
    page = _Page()
    page.live.start_call("a", "Bash", {"command": "sleep 9"})
    page.now = 5.0
    assert "5.0 s" in page.open[0]


def test_hidden_lines_say_which_key_shows_them():
    rows = with_hint([line("    … 12 more lines"), line("other")], "ctrl+o", 60)
    assert [text_of(row) for row in rows] == ["    … 12 more lines (ctrl+o to see all)", "other"]


def test_nothing_unfinished_is_shown_to_those_who_are_read_to():
    live = TurnView(lambda _: None, width=lambda: 60, clock=lambda: 0.0, quiet=True)
    live.feed("Something that is not fin")
    assert live.rows(60, frame=0) == []


def test_the_time_of_a_person_is_not_counted_as_the_time_of_a_call():
    page = _Page()
    page.live.start_call("a", "Bash", {"command": "make"})
    page.now = 2.0
    page.live.hold("a")
    page.now = 60.0
    assert page.open == ["○ Bash make"]
    page.live.resume("a")
    page.now = 63.0
    assert page.open[0] == "◐ Bash make · 5.0 s"
    page.live.finish_call("a", "done", content="", data={"stdout": "x", "stderr": ""}, seconds=64.0)
    assert page.written[0] == "✓ Bash make · 6.0 s"


def test_calls_that_keep_tasks_are_one_row_apart_from_calls_that_look():
    page = _Page()
    items = [
        {"subject": "Read", "status": "completed"},
        {"subject": "Fix", "status": "in_progress", "activeForm": "Fixing"},
    ]
    page.live.start_call("a", "Read", {"file_path": "/w/a.py"})
    _finish(page.live, "a")
    for name in ("b", "c"):
        page.live.start_call(name, "TaskUpdate", {"taskId": "1"})
        _finish(page.live, name, {"list": items})
    page.live.feed("Now.")
    assert page.written == ["✓ Read /w/a.py", "✓ Tasks · 1 of 2 done · Fixing"]
