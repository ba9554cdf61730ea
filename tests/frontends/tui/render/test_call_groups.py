from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.frontends.tui.render.call import AgentProgress, AgentStep, Call, State
from bridle.frontends.tui.render.call_groups import CallGroup, group_calls, render_call, render_group
from bridle.frontends.tui.render.tools.agents import agent_tree
from bridle.frontends.tui.render.tools.files import proposed
from bridle.frontends.tui.style.text import text_of
from bridle.tools.files.patches import structured_patch
from tests.frontends.tui.render.strategies import assert_sound, nasty_text, widths

_TOOLS = (
    "Bash", "Read", "Write", "Edit", "NotebookEdit", "Glob", "Grep", "WebFetch", "WebSearch", "TodoWrite",
    "TaskCreate", "TaskUpdate", "TaskList", "TaskOutput", "TaskStop", "AskUserQuestion", "Agent", "Task",
    "Skill", "ExitPlanMode", "EnterPlanMode", "Advisor", "mcp__github__search", "mcp__", "Unheard",
)  # fmt: skip
_STATES: tuple[State, ...] = ("waiting", "running", "done", "failed", "denied", "interrupted")


def _call(tool: str, data: Any = None, state: State = "done", **input: Any) -> Call:
    return Call(tool=tool, input=input, state=state, data=data, cwd="/proj")


def _shown(call: Call, width: int = 60, *, expanded: bool = False) -> list[str]:
    return [text_of(line).rstrip() for line in render_call(call, width, expanded=expanded)]


def test_a_command_that_the_user_typed_is_shown_in_full_without_a_tool():
    call = Call(
        tool="Bash",
        input={"command": "printf a\nprintf b"},
        state="done",
        data={"stdout": "ab"},
        seconds=3,
        typed=True,
    )
    rows = [text_of(line) for line in render_call(call, 40)]
    assert rows == ["! printf a", "  printf b · 3.0 s", "  └ ab"]
    assert text_of(render_call(call, 12)[1]) == "  printf b"


def test_command_shows_its_output_folded_and_all_of_it_expanded():
    output = "\n".join(f"line {n}" for n in range(20))
    call = _call("Bash", {"stdout": output, "stderr": ""}, command="make\n  test")
    assert _shown(call) == [
        "✓ Bash make test", "  └ line 0", "    line 1", "    line 2", "    … 13 more lines", "    line 16",
        "    line 17", "    line 18", "    line 19",
    ]  # fmt: skip
    assert _shown(call, expanded=True)[:3] == ["✓ Bash make test", "  └ make", "      test"]
    assert _shown(call, expanded=True)[3:] == ["  └ line 0", *(f"    line {n}" for n in range(1, 20))]


def test_advice_names_who_gives_it_and_shows_its_beginning():
    advice = "Paint does **not** stop water.\n\n- mend it\n- then paint\n- then look\n- then rest"
    call = _call("Advisor", {"advice": advice, "model": "claude-opus-4-5"}, question="Is paint enough?")
    assert _shown(call) == [
        "✓ Advice from claude-opus-4-5 Is paint enough?", "  └ Paint does not stop water.", "",
        "    • mend it", "    … 3 more lines",
    ]  # fmt: skip
    assert "    • then rest" in _shown(call, expanded=True)
    assert _shown(_call("Advisor", state="running"))[0] == "◐ Advice on the work so far"


def test_command_keeps_its_colors_and_loses_everything_else():
    call = _call("Bash", {"stdout": "\x1b[31mred\x1b[0m \x1b]0;t\x07\x1b[2Jplain", "stderr": ""}, command="x")
    row = render_call(call, 60)[1]
    assert [(s.text, s.style.color) for s in row[1:]] == [("red", "ansi.1"), (" plain", None)]


def test_failed_command_tells_its_exit_code():
    call = Call(tool="Bash", input={"command": "false"}, state="failed", content="Exit code 1\nboom")
    assert _shown(call) == ["✗ Bash false", "  └ exit code 1", "    boom"]
    assert render_call(call, 60)[0][0].style.color == "error"


def test_running_command_shows_its_newest_lines_and_how_long_it_takes():
    progress = "\n".join(f"step {n}" for n in range(30))
    call = Call(tool="Bash", input={"command": "make"}, state="running", progress=progress, seconds=75)
    shown = _shown(call)
    assert shown[0] == "◐ Bash make · 1 min 15 s"
    assert shown[-1].strip() == "step 29"
    assert len(shown) <= 6


def test_background_command_tells_its_id():
    call = _call("Bash", {"stdout": "", "stderr": "", "backgroundTaskId": "b12"}, command="sleep 9")
    assert _shown(call) == ["✓ Bash sleep 9", "  └ runs in the background"]


def test_silent_command_says_so():
    assert _shown(_call("Bash", {"stdout": "", "stderr": ""}, command="true"))[1] == "  └ no output"


def test_read_is_one_row_until_expanded():
    file = {
        "filePath": "/proj/a.py",
        "content": "x = 1\ny = 2",
        "numLines": 2,
        "startLine": 5,
        "totalLines": 9,
    }
    call = _call("Read", {"type": "text", "file": file}, file_path="/proj/a.py")
    assert _shown(call) == ["✓ Read a.py · 2 of 9 lines"]
    assert _shown(call, expanded=True)[1:] == ["  └ 5  x = 1", "    6  y = 2"]


def test_images_are_noted_with_their_size():
    file = {"originalSize": 34_000, "dimensions": {"originalWidth": 640, "originalHeight": 480}}
    call = _call("Read", {"type": "image", "file": file}, file_path="/proj/a.png")
    assert _shown(call) == ["✓ Read a.png · image, 640×480, 34.0 KB"]
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 4_000}}
    shot = Call(tool="mcp__web__shot", input={}, state="done", content=[image])
    assert _shown(shot) == ["✓ web · shot", "  └ [image: png, 3.0 KB]"]


def test_edit_shows_its_diff_and_new_files_their_beginning():
    patch = structured_patch("a\nb\n", "a\nc\n")
    edit = _call("Edit", {"structuredPatch": patch, "originalFile": "a\nb\n"}, file_path="/proj/x.txt")
    assert _shown(edit) == ["✓ Edit x.txt · +1 −1", "  └ 1   a", "    2 - b", "    2 + c"]
    data = {"type": "create", "content": "one\ntwo\n", "structuredPatch": [], "originalFile": None}
    write = _call("Write", data, file_path="/proj/n.txt")
    assert _shown(write) == ["✓ Write n.txt · new file +2", "  └ 1 + one", "    2 + two"]


def test_what_an_edit_would_change_is_shown_before_it_runs():
    call = _call("Edit", None, "waiting", file_path="/proj/x.py", old_string="a = 1", new_string="a = 2")
    assert [text_of(line).rstrip() for line in proposed(call, 40)] == ["1 - a = 1", "1 + a = 2"]


def test_searches_tell_their_counts():
    glob = _call(
        "Glob", {"filenames": ["/proj/a.py", "b.py"], "numFiles": 2, "truncated": False}, pattern="*.py"
    )
    assert _shown(glob) == ["✓ Glob *.py · 2 files", "  └ a.py", "    b.py"]
    data = {"mode": "content", "content": "a.py:3:def f\nb.py:9:f()", "numLines": 2, "numFiles": 2}
    grep = _call("Grep", data, pattern="f", path="/proj/src")
    assert _shown(grep) == ["✓ Grep f in src · 2 lines in 2 files", "  └ a.py:3 def f", "    b.py:9 f()"]


def test_web_calls_tell_what_came_back():
    fetch = _call(
        "WebFetch",
        {"bytes": 5_300, "code": 200, "codeText": "OK", "result": "It says hi."},
        url="https://a.b",
    )
    assert _shown(fetch) == ["✓ WebFetch https://a.b · 200 OK, 5.3 KB", "  └ It says hi."]
    results = [{"tool_use_id": "1", "content": [{"title": "Docs", "url": "https://d.e"}]}, "words"]
    web = _call("WebSearch", {"query": "x", "results": results}, query="x")
    assert _shown(web) == ["✓ WebSearch x · 1 result", "  └ Docs  https://d.e"]


def test_todos_have_marks_and_the_current_one_its_active_form():
    todos = [
        {"content": "Read", "status": "completed", "activeForm": "Reading"},
        {"content": "Write", "status": "in_progress", "activeForm": "Writing"},
        {"content": "Test", "status": "pending", "activeForm": "Testing"},
    ]
    call = _call("TodoWrite", {"oldTodos": [], "newTodos": todos}, todos=todos)
    assert _shown(call) == ["✓ Todos · 1 of 3 done", "  └ ✓ Read", "    ▸ Writing", "    ○ Test"]


def test_answers_stand_behind_their_questions():
    call = _call(
        "AskUserQuestion", {"answers": {"Which one?": "The first"}}, questions=[{"header": "Choice"}]
    )
    assert _shown(call) == ["✓ Question Choice", "  └ Which one? The first"]


def test_tools_of_servers_are_named_by_server_and_tool():
    call = Call(
        tool="mcp__github__list_issues",
        input={"repo": "a/b", "query": "bug"},
        state="done",
        content='{"n":[1,2]}',
    )
    assert _shown(call)[0] == "✓ github · list_issues bug"
    assert _shown(call)[1].strip() == "└ {"
    plugin = Call(tool="mcp__plugin_tools_db__query", input={}, state="done", content="ok")
    assert _shown(plugin)[0] == "✓ tools:db · query"


def test_agents_are_trees():
    inner = AgentProgress(name="Explore", description="find uses", state="done", calls=4)
    agent = AgentProgress(
        name="Plan",
        description="the work",
        steps=(
            AgentStep(tool="Read", subject="a.py"),
            AgentStep(tool="Grep", subject="foo", state="running"),
        ),
        calls=7,
        tokens=8_100,
        seconds=32,
        agents=(inner,),
    )
    assert [text_of(line) for line in agent_tree([agent, inner], 70)] == [
        "├─ ◐ Plan the work · 7 calls · 8.1k tokens · 32 s",
        "│    … 5 earlier calls",
        "│    ✓ Read a.py",
        "│    ◐ Grep foo",
        "│  └─ ✓ Explore find uses · 4 calls",
        "└─ ✓ Explore find uses · 4 calls",
    ]
    call = Call(
        tool="Agent", input={"subagent_type": "Plan", "description": "x"}, state="running", agent=agent
    )
    assert _shown(call)[:2] == ["◐ Plan x", "  └   … 5 earlier calls"]


def test_plans_are_markdown():
    assert _shown(_call("ExitPlanMode", {"plan": "# Do\n- it"})) == ["✓ Plan", "  └ Do", "    • it"]


def test_denied_and_interrupted_calls_say_so():
    denied = Call(tool="Bash", input={"command": "rm x"}, state="denied", content="not today")
    assert _shown(denied) == ["⊘ Bash rm x", "  └ not today"]
    assert _shown(_call("Bash", None, "interrupted", command="rm x")) == ["■ Bash rm x", "  └ interrupted"]


def test_failed_tools_show_the_error():
    call = Call(tool="Read", input={"file_path": "/x"}, state="failed", content="/x does not exist.")
    assert _shown(call) == ["✗ Read /x", "  └ /x does not exist."]


def test_neighboring_reads_and_searches_become_one_row():
    reads = [_call("Read", file_path=f"/proj/{n}.py") for n in range(5)]
    searches = [_call("Grep", pattern="x"), _call("Grep", pattern="y")]
    failed = _call("Read", None, "failed", file_path="/gone")
    edit = _call("Edit", {"structuredPatch": []}, file_path="/proj/0.py")
    grouped = group_calls([*reads, *searches, edit, failed, reads[0]])
    assert [type(each).__name__ for each in grouped] == ["CallGroup", "Call", "Call", "Call"]
    group = grouped[0]
    assert isinstance(group, CallGroup)
    assert [text_of(line) for line in render_group(group, 60)] == ["✓ Read 5 files, searched for 2 patterns"]
    assert len(render_group(group, 60, expanded=True)) == 7


def test_running_group_shows_what_it_is_at():
    group = CallGroup((_call("Read", file_path="/proj/a"), _call("Grep", None, "running", pattern="needle")))
    assert [text_of(line) for line in render_group(group, 60)] == [
        "◐ Reading 1 file, searching for 1 pattern",
        "  └ needle",
    ]


@pytest.mark.parametrize("expanded", [False, True])
def test_huge_output_is_bounded_in_rows(expanded: bool):
    for text in ("x" * 5_000_000, "line\n" * 1_000_000, "\x1b[31m" * 500_000):
        rows = render_call(_call("Bash", {"stdout": text, "stderr": ""}, command=text), 80, expanded=expanded)
        assert len(rows) < 2_200
        rows = render_call(Call(tool="mcp__a__b", input={"x": text}, state="done", content=text), 80)
        assert len(rows) < 20


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | nasty_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
_FIELDS: tuple[str, ...] = (
    "stdout", "stderr", "file", "content", "numLines", "type", "structuredPatch", "filenames", "results",
    "newTodos", "answers", "plan", "task", "tasks", "output", "command", "file_path", "pattern", "questions",
    "mode", "url", "cell_type", "new_source", "originalFile", "numFiles", "backgroundTaskId", "description",
    "statusChange",
)  # fmt: skip
_names: st.SearchStrategy[str] = st.sampled_from(_FIELDS)


@st.composite
def _calls(draw: st.DrawFn) -> Call:
    blocks = st.fixed_dictionaries({"type": st.sampled_from(("text", "image")), "text": nasty_text})
    return Call(
        tool=draw(st.sampled_from(_TOOLS)),
        input=draw(st.dictionaries(_names, _values, max_size=5)),
        state=draw(st.sampled_from(_STATES)),
        data=draw(st.dictionaries(_names, _values, max_size=6) | _values),
        content=draw(st.lists(blocks, max_size=2) | nasty_text),
        progress="p\x1b[2J\r\n" * 3,
        cwd="/proj",
    )


@given(_calls(), widths, st.booleans())
def test_any_call_is_shown_within_the_width(call: Call, width: int, expanded: bool):
    assert_sound(render_call(call, width, expanded=expanded), width)


@given(nasty_text, widths, st.booleans())
def test_any_agent_is_shown_within_the_width(text: str, width: int, expanded: bool):
    step = AgentStep(tool=text, subject=text, state="failed")
    agent = AgentProgress(name=text, description=text, steps=(step,) * 5, calls=9, tokens=10**7, seconds=4000)
    nested = AgentProgress(name=text, agents=(agent, agent))
    assert_sound(agent_tree([nested, agent], width, expanded=expanded), width)
    call = Call(tool="Agent", input={"description": text}, state="running", agent=nested)
    assert_sound(render_call(call, width, expanded=expanded), width)
