"""Whatever a model sends, it gets a result that it can act on, and a loop comes to an end."""

import json
from pathlib import Path
from typing import Any

import pytest

from bridle.engine.calls.call import Call
from bridle.engine.calls.parsing import parse_input
from bridle.tools.catalog import CATALOG
from bridle.tools.toolbox import BuiltinToolbox
from bridle.types.errors import ToolError
from tests.fakes import sse
from tests.fakes.dialects import CASES
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.model_server import answer, call
from tests.fakes.program import Program
from tests.fakes.replays import Replay, replay
from tests.tables import table

_TOOLS = BuiltinToolbox(CATALOG)
_LOOPING = ("anthropic", "chat", "gemini")


def _said(done: Replay, call_id: str) -> str:
    return str(done.results[call_id]["content"])


@pytest.mark.parametrize("dialect", CASES)
async def test_wrong_calls_are_answered_with_what_is_wrong_and_the_turn_goes_on(tmp_path: Path, dialect: str):
    (tmp_path / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    path = str(tmp_path / "a.txt")
    script = [
        answer(
            call("ReadFile", "c1", file_path=path),
            call("Edit", "c2", path=path, foo=1, bar=2),
            call("Read", "c3", file=path, limit="1"),
            call("Read", "c4", file_path=path, limit="many"),
            *(call("Read", f"same{n}", file_path=path) for n in range(10)),
        ),
        answer(""),
        answer("I see."),
    ]
    done = await replay(dialect, tmp_path, script)
    assert done.outcome.text == "I see." and done.requests == 3
    assert "did you mean Read?" in _said(done, "c1")
    for word in ("`foo`, `bar`", "`old_string`, `new_string` are missing", "file_path (required)"):
        assert word in _said(done, "c2")
    assert "one" in _said(done, "c3") and "two" not in _said(done, "c3")
    assert "limit: Expected" in _said(done, "c4")
    assert done.failed() == ["c1", "c2", "c4"]


@pytest.mark.parametrize("text", ['{"file_path": "/a', "[1, 2]", "nonsense", '{"file_path": }'])
async def test_half_an_input_is_answered_with_the_parameters_that_there_are(tmp_path: Path, text: str):
    events = list(sse.events_of(sse.message(sse.tool_use("Read")), piece=1000))
    for event in events:
        if event.get("delta", {}).get("partial_json"):
            event["delta"]["partial_json"] = text
    body = sse.wire(events).decode()
    broken = step(body=body, headers={"content-type": "text/event-stream"})
    async with MessagesServer([broken, step("I see.")]) as server:
        done = await Program(tmp_path, server.url).run("-p", "go")
    (result,) = server.requests[1].body["messages"][-1]["content"]
    assert done.out == "I see.\n" and result["is_error"]
    assert "is not a JSON object" in result["content"] and "file_path (required)" in result["content"]


@pytest.mark.parametrize("dialect", _LOOPING)
@pytest.mark.parametrize(
    "looping",
    [
        call("Read", file_path="/no/such/file"),
        call("NoSuchTool", x=1),
        call("Edit", path="/x"),
        call("Bash", command="rm -rf /tmp/whatever"),
    ],
    ids=["fails", "unknown", "wrong", "denied"],
)
async def test_the_same_failing_call_is_named_at_the_third_time_and_ends_the_turn_at_the_tenth(
    tmp_path: Path, dialect: str, looping: dict[str, Any]
):
    (tmp_path / "a.txt").write_text("x", encoding="utf-8")
    look = call("Read", "look", file_path=str(tmp_path / "a.txt"))
    rounds = [answer({**looping, "id": f"c{n}"}, {**look, "id": f"look{n}"}) for n in range(1, 13)]
    done = await replay(dialect, tmp_path, rounds)
    assert (done.outcome.subtype, done.outcome.reason) == ("error_repeated_calls", "repeated_calls")
    assert done.requests == 10 and done.outcome.is_error
    assert looping["name"] in done.outcome.errors[0] and "10 times" in done.outcome.errors[0]
    named = [n for n in range(1, 11) if "This same call has failed for the" in _said(done, f"c{n}")]
    assert named == list(range(3, 11)) and "the third time" in _said(done, "c3")


async def test_a_call_that_fails_between_changes_is_no_loop(tmp_path: Path):
    rounds = [
        answer(call("Bash", f"c{n}", command="cat missing"), call("Bash", f"d{n}", command=f"touch f{n}"))
        for n in range(12)
    ]
    done = await replay("anthropic", tmp_path, [*rounds, answer("Done.")], allow=["Bash(touch *)"])
    assert done.outcome.text == "Done."
    assert not any("same call" in _said(done, call_id) for call_id in done.results)


async def test_many_failing_calls_of_one_answer_end_nothing_before_the_model_was_told(tmp_path: Path):
    many = answer(*(call("Read", f"c{n}", file_path="/no/such") for n in range(30)))
    done = await replay("anthropic", tmp_path, [many, answer("I see.")])
    assert done.outcome.text == "I see." and len(done.failed()) == 30
    done = await replay("anthropic", tmp_path, [many, answer(call("Read", "d", file_path="/no/such"))])
    assert done.outcome.subtype == "error_repeated_calls"


async def test_the_program_says_why_it_stopped(tmp_path: Path):
    use = {"type": "tool_use", "name": "Read", "input": {"file_path": "/no/such/file"}}
    rounds = [step({**use, "id": f"c{n}"}) for n in range(10)]
    async with MessagesServer([*rounds, step("Better.")]) as server:
        program = Program(tmp_path, server.url)
        done = await program.run("-p", "go", "--output-format", "json")
        again = await program.run("-p", "-c", "and now?")
    result = json.loads(done.out)
    assert done.code == 1 and result["subtype"] == "error_repeated_calls" and result["is_error"]
    assert "Read call 10 times" in result["errors"][0]
    assert again.out == "Better.\n"


@table(
    ("name", "given", "meant"),
    [
        ("Edit", {"path": "a", "old_str": "x", "new_str": "y"},
         {"file_path": "a", "old_string": "x", "new_string": "y"}),
        ("Read", {"file": "a"}, {"file_path": "a"}),
        ("Read", {"filePath": "a"}, {"file_path": "a"}),
        ("Write", {"path": "a", "text": "b"}, {"file_path": "a", "content": "b"}),
        ("Write", {"filename": "a", "file_text": "b"}, {"file_path": "a", "content": "b"}),
        ("Bash", {"cmd": "ls", "background": "true"}, {"command": "ls", "run_in_background": True}),
        ("Grep", {"query": "x", "directory": "d"}, {"pattern": "x", "path": "d"}),
        ("Grep", {"regex": "x", "file_path": "f"}, {"pattern": "x", "path": "f"}),
        ("Glob", {"query": "*.py"}, {"pattern": "*.py"}),
        ("WebSearch", {"q": "bash"}, {"query": "bash"}),
        ("Edit", {"file_path": "a", "path": "a", "old_string": "x", "new_string": "y"},
         {"file_path": "a", "old_string": "x", "new_string": "y"}),
        ("TodoWrite", {"todos": '[{"content": "a", "status": "pending", "activeForm": "b"}]'},
         {"todos": [{"content": "a", "status": "pending", "activeForm": "b"}]}),
        ("Write", {"file_path": "a", "content": "[1]"}, {"file_path": "a", "content": "[1]"}),
    ],
)  # fmt: skip
def test_names_of_other_harnesses_are_read_as_the_tools_own(
    name: str, given: dict[str, Any], meant: dict[str, Any]
):
    tool = _TOOLS.find(name)
    assert tool is not None
    read, input = parse_input(tool, Call(id="c", name=name, input=given))
    assert read.input == meant
    assert parse_input(tool, read) == (read, input)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("Edit", {"path": "a", "file_path": "b", "old_string": "x", "new_string": "y"}, "differ"),
        ("Write", {"path": "a", "file": "b", "content": "x"}, "differ"),
        ("Bash", {"command": "ls", "dangerouslydisablesandbox": True}, "unknown parameter"),
        ("Bash", {"command": "ls", "disable_sandbox": True}, "unknown parameter"),
        ("Glob", {"path": "x"}, "`pattern` is missing"),
    ],
)
def test_what_can_be_read_in_two_ways_or_must_be_spelled_exactly_is_refused(
    name: str, given: dict[str, Any], said: str
):
    """S4, S51: one reading, and nobody leaves the sandbox under another name."""
    tool = _TOOLS.find(name)
    assert tool is not None
    with pytest.raises(ToolError, match=said):
        parse_input(tool, Call(id="c", name=name, input=given))


async def test_rules_and_the_tool_go_by_the_same_names(tmp_path: Path):
    """S4: a parameter under another name passes the gate under the tool's own."""
    target = tmp_path / "made.txt"
    script = [
        answer(
            call("Bash", "c1", cmd="touch made.txt"),
            call("Write", "c2", path=str(target), text="x"),
            call("Bash", "c3", cmd="echo fine"),
        ),
        answer("I see."),
    ]
    done = await replay("anthropic", tmp_path, script)
    assert done.failed() == ["c1", "c2"] and not target.exists() and "fine" in _said(done, "c3")
    done = await replay("anthropic", tmp_path, script, allow=["Bash(touch made.txt)"])
    assert done.failed() == ["c2"] and target.read_text(encoding="utf-8") == ""
