from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bridle.commands.queries.context_window import Category
from bridle.frontends.tui.completion.completion import Completion
from bridle.frontends.tui.render import messages
from bridle.frontends.tui.render.charts import Bar, bars, context_picture
from bridle.frontends.tui.render.completion_menu import completion_menu
from bridle.frontends.tui.render.status import Status, spinner_line, status_line, todo_panel
from bridle.frontends.tui.screens.session.usage_plots import curve, legend, sparkline, stacked_days
from bridle.frontends.tui.style.text import Line, text_of
from bridle.types.services.tasks import Task
from bridle.types.turn import Outcome, TurnReason
from bridle.types.usage import Usage
from tests.frontends.tui.render.strategies import assert_sound, nasty_text, widths


def _texts(lines: list[Line]) -> list[str]:
    return [text_of(line).rstrip() for line in lines]


def _outcome(*, reason: TurnReason = "completed") -> Outcome:
    return Outcome(
        subtype="success",
        reason=reason,
        is_error=False,
        num_turns=1,
        duration_ms=65_000,
        duration_api_ms=1,
        usage=Usage(input=1200, output=300),
        total_cost_usd=0.0123,
        spend={},
    )


def test_prompts_are_echoed_with_notes_for_images_and_long_pastes():
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 400}}
    content = [{"type": "text", "text": "look\nhere"}, image]
    assert _texts(messages.user_prompt(content, 40)) == ["❯ look", "  here", "  [image: png, 300 B]"]
    long = _texts(messages.user_prompt("x\n" * 500, 40))
    assert len(long) == 34
    assert any("more lines" in row for row in long)


def test_thinking_is_one_row_until_expanded():
    assert _texts(messages.thinking("deep\nthought", 40, seconds=12)) == ["∴ Thought for 12 s"]
    assert _texts(messages.thinking("deep\nthought", 40, expanded=True)) == [
        "∴ Thought",
        "  deep",
        "  thought",
    ]
    assert _texts(messages.live_thinking("\n".join("abcdef"), 40)) == ["d", "e", "f"]


def test_notices_hang_behind_their_marks():
    assert _texts(messages.notice("one two three", 10, level="warning")) == ["! one two", "  three"]
    assert _texts(messages.hook_line("Stop", "go on", 40, blocked=True)) == ["↳ Stop hook blocked: go on"]
    assert _texts(messages.interrupted(60)) == ["■ interrupted; say what to do instead"]


def test_boundary_of_a_summary_fills_the_row():
    (row,) = _texts(messages.compact_boundary(60, before=150_000, after=9_000))
    assert len(row) == 60
    assert "150.0k tokens → 9.0k tokens" in row


def test_errors_count_down_to_the_next_attempt():
    rows = _texts(messages.retry_countdown("overloaded", 70, remaining=4.4, attempt=2, most=10, status=529))
    assert rows == ["↻ overloaded (529), retrying in 4 s (2/10)"]
    assert _texts(messages.api_error("rate_limit", "Slow down (429).", 70, status=429)) == [
        "✗ Slow down (429)."
    ]
    assert _texts(messages.api_error("rate_limit", "", 70, status=429)) == ["✗ rate limited (429)"]


def test_turns_end_with_what_they_took():
    assert _texts(messages.turn_summary(_outcome(), 70, seconds=65)) == [
        "· 1 min 5 s · 1.5k tokens · $0.0123 so far"
    ]
    assert (
        _texts(messages.turn_summary(_outcome(reason="max_turns"), 70, seconds=65))[0]
        == "! stopped at the turn limit"
    )


def test_background_jobs_take_one_row():
    task = Task(
        id="b1", kind="local_bash", description="dev server", call_id="c", output_file="/o", started=100.0
    )
    assert _texts(messages.task_lines(task, 60, now=112.0)) == ["◐ dev server · running · 12 s"]
    ended = replace(task, status="failed", exit_code=3, ended=105.0)
    shown = _texts(messages.task_lines(ended, 60, now=999.0))
    assert shown == ["✗ dev server · failed, exit code 3 · 5.0 s"]


def test_an_agent_is_named_and_says_first_what_it_found():
    task = Task(
        id="a7b3b84561749904f",
        kind="local_agent",
        description="find the docs",
        agent_type="explore",
        call_id="c",
        output_file="/o",
        started=100.0,
        ended=105.0,
        status="completed",
        result="\n## **Three** pages\n\nMore.",
    )
    shown = _texts(messages.task_lines(task, 60, now=999.0))
    assert shown == ["✓ explore find the docs · completed · 5.0 s", "  └ Three pages"]


def test_spinner_tells_how_long_and_how_to_stop():
    line = text_of(spinner_line(70, frame=3, seconds=42, verb="Testing", output_tokens=1_234))
    assert line == "◒ Testing… (42 s · ↓ 1.2k tokens · esc to interrupt)"


def test_the_key_that_stops_is_the_last_fact_that_a_narrow_spinner_gives_up():
    def shown(width: int) -> str:
        return text_of(
            spinner_line(width, frame=3, seconds=42, verb="Testing", output_tokens=1_234, note="hook")
        )

    assert shown(52) == "◒ Testing… (42 s · ↓ 1.2k tokens · esc to interrupt)"
    assert shown(40) == "◒ Testing… (42 s · esc to interrupt)"
    assert shown(32) == "◒ Testing… (esc to interrupt)"


def test_status_line_gives_up_what_matters_least():
    status = Status(
        model="opus",
        mode="plan",
        folder="~/proj",
        branch="main",
        context_used=80,
        context_window=100,
        cost_usd=1.5,
    )
    assert text_of(status_line(status, 80)) == "opus · plan mode · ~/proj · on main · ▇ 80% context · $1.50"
    assert text_of(status_line(status, 40)) == "opus · plan mode · ▇ 80% context · $1.50"
    assert text_of(status_line(status, 18)) == "opus · plan mode"


def test_panel_of_todos_hides_finished_ones_first():
    todos = [{"content": f"t{n}", "status": "completed" if n < 5 else "pending"} for n in range(8)]
    assert _texts(todo_panel(todos, 30, most=4)) == ["✓ t4", "○ t5", "○ t6", "○ t7", "… 4 more"]


def test_context_is_a_grid_with_a_legend():
    parts = [
        Category(id="messages", name="messages", tokens=50_000),
        Category(id="tools", name="tools", tokens=10),
    ]
    wide = _texts(context_picture(parts, 200_000, 80, rows=4))
    assert wide[0].count("■") + wide[0].count("□") == 21
    assert "messages 50.0k tokens (25.0%)" in wide[0]
    assert sum(row[:40].count("■") for row in wide) == 21
    narrow = _texts(context_picture(parts, 200_000, 30, rows=2))
    assert narrow[-1].startswith("□ free")


def test_bars_and_days_are_drawn_to_scale():
    assert _texts(bars([Bar(name="a", value=4), Bar(name="b", value=2, label="two")], 14)) == [
        "a ████████ 4",
        "b ████ two",
    ]
    plot = _texts(stacked_days([("Mon", [1]), ("Tue", [2]), ("Wed", [4])], 20, height=2, label="$ a day"))
    assert plot == ["$ a day", "    █", "▄ █ █", "Mon Wed"]


def test_menu_marks_the_matched_letters_and_keeps_the_selected_row_in_sight():
    items = [Completion(text=f"/c{n}", label=f"/c{n}", positions=(1,), kind="command") for n in range(20)]
    rows = completion_menu(items, 19, 30, rows=5)
    assert _texts(rows) == ["  /c15", "  /c16", "  /c17", "  /c18", "› /c19"]
    assert next(span.text for span in rows[0][1:] if span.style.color == "accent") == "c"


@given(nasty_text, widths, st.booleans(), st.integers(0, 10**9), st.floats(0, 10**6))
def test_any_message_is_shown_within_the_width(
    text: str, width: int, flag: bool, number: int, seconds: float
):
    block = {"type": "text", "text": text}
    todos = [
        {"content": text, "status": "pending"},
        {"content": text, "status": "in_progress", "activeForm": text},
    ]
    item = Completion(text=text, label=text, detail=text if flag else "", positions=(0, 2), kind="file")
    status = Status(
        model=text,
        mode="plan",
        folder=text,
        branch=text,
        context_used=number,
        context_window=200_000,
        cost_usd=1,
    )
    for lines in (
        messages.user_prompt([block], width, expanded=flag),
        messages.memory_prompt(text, width),
        messages.assistant_text(text, width),
        messages.thinking(text, width, expanded=flag, seconds=seconds),
        messages.live_thinking(text, width),
        messages.notice(text, width),
        messages.hook_line(text, text, width, blocked=flag),
        messages.compact_boundary(width, before=number, after=number, automatic=flag),
        messages.interrupted(width, in_tools=flag),
        messages.api_error(text, text, width, status=500),
        messages.retry_countdown(text, width, remaining=seconds, attempt=1, most=2),
        messages.queued_prompts([text] * 5, width),
        messages.turn_summary(_outcome(), width, seconds=number / 1000),
        [spinner_line(width, frame=number, seconds=seconds, verb=text, note=text, output_tokens=number)],
        [status_line(status, width)],
        todo_panel(todos, width),
        context_picture([Category(id="x", name=text, tokens=number)], 200_000, width),
        bars([Bar(name=text, value=seconds), Bar(name="b", value=0, label=text)], width),
        stacked_days([(text, (seconds, 2.0)), ("b", (3.0, 0.0))], width, label=text),
        legend((text, "b"), width),
        curve((seconds, 0.0, 5.0), width, top=seconds, labels=("9", "0")),
        [(sparkline((seconds, 0.0) * 40, width),)],
        completion_menu([item] * 3, 1, width, rows=2),
    ):
        assert_sound(lines, width)
