"""In every dialect, a tool that is told by name alone is loaded and called, and the cached prefix stays."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bridle.tools.catalog import CATALOG
from bridle.tools.deferred_toolbox import DeferredToolbox
from bridle.tools.toolbox import BuiltinToolbox, Deferral
from bridle.types.history import History
from bridle.types.model import ToolDefinition
from tests.fakes.dialects import CASES, Bench
from tests.fakes.model_server import ModelServer, Received, Script, answer, call
from tests.fakes.openai_server import ChatApi
from tests.fakes.program import Program
from tests.fakes.replays import Replay, replay

_MARKS = re.compile(rb',\{"cachePoint":\{"type":"default"\}\}|,"cache_control":\{"type":"ephemeral"\}')


def _toolbox() -> DeferredToolbox:
    return DeferredToolbox(
        BuiltinToolbox(CATALOG), tuple, deferral=Deferral(when="always"), window=lambda: 200_000
    )


def _notebook(folder: Path) -> Path:
    path = folder / "a.ipynb"
    cell = {"cell_type": "code", "id": "c1", "source": "x = 1", "metadata": {}, "outputs": [],
            "execution_count": None}  # fmt: skip
    path.write_text(
        json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}), encoding="utf-8"
    )
    return path


def _edit(path: Path, source: str, **more: Any) -> dict[str, Any]:
    return {"notebook_path": str(path), "cell_id": "c1", "new_source": source, **more}


def _is_kept(done: Replay) -> bool:
    return _starts_alike(done.bodies)


def _starts_alike(requests: list[bytes]) -> bool:
    """Whether each request begins with all of the one before, but for where it ends and what is marked."""
    bodies = [_MARKS.sub(b"", body).removesuffix(b"}").removesuffix(b"]") for body in requests]
    return all(later.startswith(earlier) for earlier, later in pairwise(bodies))


@pytest.mark.parametrize("name", CASES)
async def test_a_tool_is_loaded_and_called_and_every_request_begins_like_the_last(tmp_path: Path, name: str):
    path = _notebook(tmp_path)
    wrapped = {"name": "NotebookEdit", "input": _edit(path, "x = 2")}
    script = [
        answer(
            call("Read", "a1", file_path=str(path)), call("ToolSearch", "a2", query="select:NotebookEdit")
        ),
        answer(call("CallTool", "a3", **wrapped)),
        answer(call("NotebookEdit", "a4", **_edit(path, "x = 3"))),
        answer("Done."),
    ]
    done = await replay(name, tmp_path, script, allow=["NotebookEdit"], toolbox=_toolbox())
    assert (done.outcome.text, done.failed(), done.warnings) == ("Done.", [], [])
    assert _is_kept(done)
    said = done.session.history.messages
    assert "CallTool" not in json.dumps([each["content"] for each in said if each["role"] == "assistant"])
    assert "x = 3" in path.read_text(encoding="utf-8")
    last = done.bodies[-1].decode()
    # The search, the call as it was made, and the direct one as the service knows it.
    assert last.count("new_source") >= 3 and "tool_reference" not in last and "defer_loading" not in last
    named = len(re.findall('"name":"CallTool"', last))
    # Gemini is told with each result what was called.
    assert named == (5 if "gemini" in name else 3)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "NotebookEdit"}, "required parameters `notebook_path`, `new_source` are missing"),
        ({"name": "NoSuchTool", "input": {}}, "No such tool available: NoSuchTool"),
        ({"input": {"a": 1}}, "Parameters of CallTool: name (required), input (required)"),
        ({"name": "NotebookEdit", "input": "half {"}, "Parameters of CallTool"),
        ({"name": "NotebookEdit", "input": {"path": "/x", "odd": 1}}, "Parameters of NotebookEdit"),
    ],
)
async def test_a_call_that_is_wrong_says_what_is_missing(
    tmp_path: Path, name: str, given: dict[str, Any], said: str
):
    script = [answer(call("CallTool", "a1", **given)), answer("I see.")]
    done = await replay(name, tmp_path, script, toolbox=_toolbox())
    assert done.outcome.text == "I see." and done.failed() == ["a1"] and done.warnings == []
    assert said in str(done.results["a1"]) and _is_kept(done)


@pytest.mark.parametrize(
    "given",
    [
        {"name": "Glob", "input": {"pattern": "*.txt"}},
        {"tool_name": "Glob", "arguments": {"pattern": "*.txt"}},
        {"name": "Glob", "input": '{"pattern": "*.txt"}'},
        {"name": "Glob", "pattern": "*.txt"},
        {"name": "CallTool", "input": {"name": "Glob", "input": {"pattern": "*.txt"}}},
    ],
)
async def test_other_ways_to_name_a_tool_and_its_input_are_understood(tmp_path: Path, given: dict[str, Any]):
    (tmp_path / "a.txt").write_text("a", encoding="utf-8")
    done = await replay(
        "chat", tmp_path, [answer(call("CallTool", "a1", **given)), answer("ok")], toolbox=_toolbox()
    )
    assert done.failed() == [] and "a.txt" in str(done.results["a1"]) and _is_kept(done)


@pytest.mark.parametrize("name", CASES)
async def test_a_conversation_with_references_goes_on_at_any_service(name: str):
    """What one service was sent as a reference is text for another."""
    tools: tuple[ToolDefinition, ...] = (
        {"name": "ToolSearch", "description": "Find.", "input_schema": {"type": "object", "properties": {}}},
        {"name": "CallTool", "description": "Call.", "input_schema": {"type": "object", "properties": {}}},
        {"name": "Late", "input_schema": {"type": "object", "properties": {}}, "defer_loading": True},
    )
    reference: Any = {"type": "tool_reference", "tool_name": "Late"}
    shown: Any = {"type": "text", "text": "# Late takes x"}
    result: Any = {"type": "tool_result", "tool_use_id": "c1", "content": [shown, reference]}
    found: Any = {"type": "tool_use", "id": "c1", "name": "ToolSearch", "input": {"query": "select:Late"}}
    late: Any = {"type": "tool_use", "id": "c2", "name": "Late", "input": {"x": 1}}
    history = History.of(
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [found]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [late]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c2", "content": "ok"}]},
    )
    async with ModelServer(CASES[name].api()) as server:
        bench = Bench(name, server)
        request = bench.request(*history.messages, tools=tools)
        await bench.ask(answer("fine"), request)
        (sent,) = server.requests
        await bench.made.close()
    text = sent.raw.decode()
    assert "tool_reference" not in text and "defer_loading" not in text and "# Late takes x" in text
    assert '"name":"CallTool"' in text


class _SchemaApi(ChatApi):
    """Takes a schema for answers, which the vendor whose rules are checked has no use for."""

    def problem(self, request: Received) -> Script | None:
        assert "response_format" in request.body and "tools" not in request.body
        return None


async def test_a_server_without_calls_is_told_and_answers_in_the_same_form(tmp_path: Path):
    """Where every answer is held to a schema, a loaded tool is called by way of the one that is in it."""
    async with ModelServer(_SchemaApi()) as server:
        own = {"dialect": "chat", "baseUrl": f"{server.url}/v1", "keyEnv": "K", "contextWindow": 200_000,
               "quirks": {"toolMode": "schema"}}  # fmt: skip
        program = Program(tmp_path, K="test-key")
        path = _notebook(program.project)
        wanted = {"tool": "CallTool", "input": {"name": "NotebookEdit", "input": _edit(path, "x = 2")}}
        read = {"tool": "Read", "input": {"file_path": str(path)}}
        server.script(*(answer(json.dumps(each)) for each in (read, wanted, {"answer": "Done."})))
        done = await program.run(
            "-p", "go", "--model", "own", "--settings", json.dumps({"bridleModels": {"own": own}}),
            "--allowedTools", "NotebookEdit",
        )  # fmt: skip
        bodies = [request.raw for request in server.requests]
    assert (done.code, done.out) == (0, "Done.\n") and "x = 2" in path.read_text(encoding="utf-8")
    assert _starts_alike(bodies) and bodies[-1].count(rb"\"tool\":\"CallTool\"") == 1
