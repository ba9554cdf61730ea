import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridle.frontends.tui.screen.screen import Screen
from bridle.frontends.tui.style.colors import ColorDepth
from bridle.frontends.tui.style.text import Line, Span, Style, line
from bridle.frontends.tui.style.theme import make_theme
from tests.fakes.counting import steps_of
from tests.fakes.terminal import FakeOutput

_THEME = make_theme("dark", depth=ColorDepth.TRUE, links=True)
_BOX = [line("─" * 40), line("> type here"), line("─" * 40)]


def _screen(columns: int = 40, lines: int = 10, *, synchronized: bool = False) -> tuple[Screen, FakeOutput]:
    output = FakeOutput(columns, lines, synchronized=synchronized)
    return Screen(output, _THEME), output


def _lines(*texts: str) -> list[Line]:
    return [line(text) for text in texts]


def test_finished_lines_stand_above_the_live_region():
    screen, output = _screen()
    screen.show(_BOX, (1, 2))
    screen.write(_lines("one", "two"))
    screen.show(_BOX, (1, 2))
    assert output.emulator.everything == ["one", "two", "─" * 40, "> type here", "─" * 40]
    assert output.emulator.cursor == (3, 2)


def test_finished_lines_scroll_away_and_are_never_written_again():
    screen, output = _screen()
    screen.show(_BOX, (1, 2))
    for number in range(50):
        screen.write(_lines(f"line {number}"))
        screen.show(_BOX, (1, 2))
    assert output.emulator.everything == [
        *(f"line {number}" for number in range(50)),
        "─" * 40,
        "> type here",
        "─" * 40,
    ]
    said = "".join(output.written)
    assert all(len(re.findall(rf"line {number}\b", said)) == 1 for number in range(50))
    assert said.count("> type here") == 1


def test_more_finished_lines_than_the_window_has_arrive_at_once():
    screen, output = _screen()
    screen.show(_BOX, (1, 2))
    screen.write(_lines(*(f"line {number}" for number in range(50))))
    screen.show(_BOX, (1, 2))
    assert output.emulator.everything == [
        *(f"line {number}" for number in range(50)),
        "─" * 40,
        "> type here",
        "─" * 40,
    ]


def test_long_finished_lines_are_broken_by_the_terminal():
    screen, output = _screen(10, 8)
    screen.show(_lines("live"))
    screen.write([line("x" * 25), line("日本語日本語")])
    screen.show(_lines("live"))
    assert output.emulator.everything == ["x" * 10, "x" * 10, "x" * 5, "日本語日本", "語", "live"]
    assert "x" * 25 in "".join(output.written)


def test_only_the_changed_end_of_a_row_is_written():
    screen, output = _screen(80, 24)
    screen.show([*_BOX[:1], line("> hello"), *_BOX[2:]], (1, 7))
    output.written.clear()
    screen.show([*_BOX[:1], line("> hello!"), *_BOX[2:]], (1, 8))
    assert output.written == ["!"]


def test_a_row_that_did_not_change_costs_nothing():
    screen, output = _screen()
    screen.show(_BOX, (1, 2))
    output.written.clear()
    screen.show(list(_BOX), (1, 2))
    assert output.written == []


def test_streaming_costs_little_more_than_the_text():
    screen, output = _screen(80, 24, synchronized=True)
    text = [
        f"row {number} of some streamed prose that is about as long as the window" for number in range(200)
    ]
    for number, row in enumerate(text):
        for size in range(8, len(row) + 8, 8):
            screen.show([line(row[:size]), *_BOX], (2, 2))
        if number < len(text) - 1:
            screen.write([line(row)])
    shown = sum(map(len, text))
    assert output.emulator.everything[:200] == text
    assert screen.bytes_written < 4 * shown


def test_a_region_taller_than_the_window_shows_its_end():
    screen, output = _screen(20, 5)
    rows = _lines(*(f"r{number}" for number in range(12)))
    screen.show(rows, (11, 0))
    assert output.emulator.rows == ["r7", "r8", "r9", "r10", "r11"]
    assert output.emulator.scrollback == []
    screen.write(rows[:9])
    screen.show(rows[9:], (2, 0))
    assert output.emulator.everything == [f"r{number}" for number in range(12)]


def test_a_region_taller_than_the_window_keeps_the_cursor_in_sight():
    screen, output = _screen(20, 3)
    screen.show(_lines(*(f"r{number}" for number in range(9))), (2, 1))
    assert output.emulator.rows == ["r2", "r3", "r4"]
    assert output.emulator.cursor == (0, 1)


def test_text_that_moves_up_inside_a_full_window_is_not_written_again():
    screen, output = _screen(60, 12)
    rows = [line(f"row number {number} with quite some text in it") for number in range(40)]
    screen.show([*rows[:9], *_BOX])
    output.written.clear()
    screen.show([*rows[1:10], *_BOX])
    assert output.emulator.rows == [f"row number {n} with quite some text in it" for n in range(1, 10)] + [
        "─" * 40, "> type here", "─" * 40,
    ]  # fmt: skip
    assert len("".join(output.written)) < 120


def test_shrinking_leaves_nothing_behind():
    screen, output = _screen()
    screen.write(_lines("kept"))
    screen.show([*_lines("a", "b", "c"), *_BOX], (4, 0))
    screen.show(_BOX, (1, 0))
    assert output.emulator.everything == ["kept", "─" * 40, "> type here", "─" * 40]
    screen.show([])
    assert output.emulator.everything == ["kept"]


def test_cursor_is_hidden_without_a_place_and_shown_with_one():
    screen, output = _screen()
    screen.show(_BOX)
    assert not output.emulator.is_cursor_shown
    screen.show(_BOX, (1, 3))
    assert output.emulator.is_cursor_shown and output.emulator.cursor == (1, 3)


def test_frames_of_several_rows_are_held_back_until_complete():
    screen, output = _screen(synchronized=True)
    screen.show(_BOX, (1, 2))
    assert output.written[-1].startswith("\x1b[?2026h") and output.written[-1].endswith("\x1b[?2026l")


def test_nothing_is_ever_cleared_as_a_whole():
    screen, output = _screen()
    for number in range(30):
        screen.write(_lines(f"line {number}"))
        screen.show([*_lines(*("x" * (number % 5))), *_BOX], (0, 0))
    assert "\x1b[2J" not in "".join(output.written)


def test_backgrounds_do_not_leak_into_erased_cells():
    screen, output = _screen()
    red = Style(background="error")
    screen.show([(Span("long red row", red),), line("next")])
    screen.show([(Span("red", red),), line("next")])
    assert output.emulator.color(0, 2).bg != "default"
    assert output.emulator.color(0, 5).bg == "default"


@pytest.mark.parametrize(("columns", "lines"), [(1, 1), (1, 5), (2, 2), (5, 1), (3, 3)])
def test_tiny_windows_are_survived(columns: int, lines: int):
    screen, output = _screen(columns, lines)
    for number in range(5):
        screen.write(_lines(f"finished 日本 {number}"))
        screen.show([line("日本語"), line("> x"), line("────")], (1, 2))
    assert len(output.emulator.rows) == lines
    row, column = output.emulator.cursor
    assert row < lines and column < columns


def test_resizing_redraws_the_region_and_nothing_else():
    screen, output = _screen(40, 12)
    screen.write(_lines("kept one", "kept two"))
    screen.show(_BOX, (1, 2))
    output.emulator.resize(20, 8)
    screen.show([line("─" * 20), line("> type here"), line("─" * 20)], (1, 2))
    assert output.emulator.everything == ["kept one", "kept two", "─" * 20, "> type here", "─" * 20]
    output.emulator.resize(60, 20)
    screen.show([line("─" * 60), line("> type here"), line("─" * 60)], (1, 2))
    assert output.emulator.everything == ["kept one", "kept two", "─" * 60, "> type here", "─" * 60]


def test_full_view_covers_everything_and_gives_it_back():
    screen, output = _screen(20, 5)
    screen.write(_lines("before"))
    screen.show(_lines("live"), (0, 4))
    screen.enter_full()
    screen.show_full(_lines("view", "more"), (1, 1))
    screen.write(_lines("meanwhile"))
    screen.show(_lines("live now"), (0, 4))
    assert output.emulator.text == "view\nmore"
    assert output.emulator.cursor == (1, 1)
    output.written.clear()
    screen.show_full(_lines("view", "less"))
    assert "view" not in "".join(output.written)
    screen.leave_full()
    assert output.emulator.everything == ["before", "meanwhile", "live now"]
    assert output.modes == []


def test_lines_that_finish_while_another_program_has_the_terminal_are_shown_afterwards():
    screen, output = _screen()
    screen.show(_lines("live"))
    output.write(screen.parting())
    output.is_lent = True
    screen.write(_lines("meanwhile"))
    screen.show(_lines("live now"))
    assert output.emulator.everything == []
    output.is_lent = False
    screen.restart()
    assert output.emulator.everything == ["meanwhile", "live now"]


def test_parting_leaves_the_finished_lines_alone():
    screen, output = _screen()
    screen.write(_lines("done"))
    screen.show(_BOX, (1, 2))
    screen.write(_lines("last words"))
    output.write(screen.parting())
    assert output.emulator.everything == ["done", "last words"]
    assert output.emulator.cursor == (2, 0)


def test_rows_of_the_first_frame_are_taken_over():
    screen, output = _screen()
    output.emulator.feed("─" * 40 + "\r\n> type here\r\n" + "─" * 40 + "\x1b[A\r\x1b[2C")
    screen.adopt(_BOX, (1, 2))
    screen.show(_BOX, (1, 2))
    assert output.written == []


def test_other_colors_repaint_the_region():
    screen, output = _screen()
    styled = (Span("x", Style(color="error")),)
    screen.show([styled])
    before = output.emulator.color(0, 0).fg
    screen.repaint(make_theme("light", depth=ColorDepth.TRUE))
    assert output.emulator.everything == ["x"]
    assert output.emulator.color(0, 0).fg != before


_TEXT = st.text(alphabet=st.sampled_from("ab 日é"), max_size=24)
_ROW = st.one_of(st.just(()), st.tuples(st.builds(Span, _TEXT, st.sampled_from([Style(), Style(bold=True)]))))
_STEP = st.one_of(
    st.tuples(st.just("write"), st.lists(_ROW, min_size=1, max_size=9)),
    st.tuples(st.just("show"), st.lists(_ROW, max_size=7)),
)


def _shown(row: Line, columns: int) -> list[str]:
    from bridle.frontends.tui.style.cells import chop
    from bridle.frontends.tui.style.text import text_of

    return [text_of(piece).rstrip() for piece in chop(row, columns)]


@settings(max_examples=150, deadline=None)
@given(st.lists(_STEP, max_size=14), st.integers(6, 20), st.integers(3, 9))
def test_any_sequence_of_changes_leaves_the_screen_as_the_model_has_it(
    steps: list[tuple[str, list[Line]]], columns: int, lines: int
):
    screen, output = _screen(columns, lines)
    finished: list[str] = []
    waiting: list[str] = []
    region: list[Line] = []
    for kind, value in [*steps, ("show", [line("end")])]:
        if kind == "write":
            screen.write(value)
            waiting += [text for row in value for text in _shown(row, columns)]
        else:
            region = value
            screen.show(region, (max(len(region) - 1, 0), 0))
            finished += waiting
            waiting = []
            expected = [*finished, *(_shown(row, columns)[0] for row in region[-lines:])]
            while expected and not expected[-1]:
                expected.pop()
            assert output.emulator.everything == expected
            assert len(output.emulator.scrollback) + output.emulator.cursor[0] == len(finished) + max(
                min(len(region), lines) - 1, 0
            )


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(8, 40), st.integers(6, 20), st.lists(_ROW, min_size=1, max_size=4)), max_size=8
    )
)
def test_windows_of_any_size_one_after_the_other_leave_no_traces(steps: list[tuple[int, int, list[Line]]]):
    screen, output = _screen(30, 12)
    screen.write(_lines("kept"))
    screen.show(_BOX, (1, 0))
    for columns, lines, rows in [*steps, (30, 12, [line("end")])]:
        output.emulator.resize(columns, lines)
        screen.show(rows, (len(rows) - 1, 0))
        expected = ["kept", *(_shown(row, columns)[0] for row in rows)]
        while not expected[-1]:
            expected.pop()
        assert output.emulator.everything == expected


def test_a_changed_row_among_many_is_drawn_with_little_work():
    screen, output = _screen(120, 40)
    output.emulator.feed = lambda text: None
    rows = [(Span(f"row {number} ", Style(bold=True)), Span("x" * 100)) for number in range(40)]
    frames = [[*rows[:20], (Span(f"changed {number}"),), *rows[21:]] for number in range(2)]
    others = [(Span(f"other {number} ", Style(bold=True)), Span("y" * 100)) for number in range(40)]
    screen.show(frames[0], (39, 0))
    one = steps_of(lambda: screen.show(frames[1], (39, 0)))
    all_rows = steps_of(lambda: screen.show(others, (39, 0)))
    assert one * 4 < all_rows


def test_rows_that_are_finished_as_they_stand_are_not_written_again():
    screen, output = _screen()
    screen.show(_lines("first paragraph", "second paragraph", "box"), (2, 0))
    output.written.clear()
    screen.write(_lines("first paragraph", "second paragraph"))
    screen.show(_lines("box"), (0, 0))
    assert output.emulator.everything == ["first paragraph", "second paragraph", "box"]
    assert "paragraph" not in "".join(output.written)


@pytest.mark.parametrize("count", [1, 8, 40])
def test_finished_lines_take_the_place_of_rows_that_go(count: int):
    screen, output = _screen()
    tall = _lines(*(f"open {number}" for number in range(7)))
    screen.write(_lines(*(f"before {number}" for number in range(30))))
    screen.show([*tall, *_BOX], (8, 2))
    screen.write(_lines(*(f"line {number}" for number in range(count))))
    screen.show(_BOX, (1, 2))
    shown = output.emulator.everything
    assert shown[-4:] == [f"line {count - 1}", "─" * 40, "> type here", "─" * 40]
    assert not any("open" in row for row in shown)
    gap = max(7 - count, 0)
    assert len(output.emulator.text.split("\n")) == output.size.lines - gap
