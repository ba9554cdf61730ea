"""What a session costs is one number: in results, transcripts, `/cost` and `bridle usage`."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from bridle.engine.loop import run_turn
from bridle.providers import catalog
from bridle.providers.dialects.messages_stream import Decoder
from bridle.transcripts.session import Session
from bridle.transcripts.transcript import Transcript
from bridle.transcripts.usage.model_calls import recorded_in
from bridle.types.model import ModelEvent, ModelRequest
from bridle.types.origin import TYPED
from bridle.types.turn import Prompt
from bridle.types.usage import Usage
from tests.fakes import sse
from tests.fakes.engine import make_runtime
from tests.fakes.messages_server import MessagesServer, Step, step
from tests.fakes.program import Program
from tests.fakes.sse import tool_use

_MODEL = "claude-sonnet-4-5"
_JSON = ("-p", "--output-format", "json", "--model", _MODEL)


def _used(*content: Any, input: int = 1_000, output: int = 100, **options: Any) -> Step:
    usage = {"input_tokens": input, "output_tokens": output, "cache_read_input_tokens": 3_000}
    # Real services never use an id twice; the fake one does for requests that come at once.
    return step(*content, message={"usage": usage, "id": f"msg_{uuid4().hex}"}, **options)


def _files(program: Program) -> list[list[dict[str, Any]]]:
    return [[json.loads(line) for line in path.read_text().splitlines()] for path in program.transcripts()]


def _other_programs_total(rows: Iterable[dict[str, Any]], *, first: bool) -> float:
    """What programs find that add up transcripts: one line for each message id and request id."""
    found: dict[tuple[str, str], float] = {}
    for row in rows:
        message = row.get("message")
        if not isinstance(message, dict) or "usage" not in message or "timestamp" not in row:
            continue
        key = (message["id"], row["requestId"])
        if not (first and key in found):
            found[key] = catalog.cost(catalog.find(message["model"]), Usage.from_api(message["usage"]))
    return sum(found.values())


async def _usage_rows(program: Program, by: str) -> dict[str, Any]:
    rows = json.loads((await program.run("usage", "--by", by, "--json")).out)
    return {row["key"]: row for row in rows}


async def _check_all_agree(program: Program, total: float) -> None:
    """By other programs, by `bridle usage` in every form, and by /cost."""
    rows = [row for file in _files(program) for row in file]
    for first in (True, False):
        assert _other_programs_total(rows, first=first) == pytest.approx(total)
    for by in ("day", "model", "agent", "tool", "project"):
        found = await _usage_rows(program, by)
        assert sum(row["usd"] for row in found.values()) == pytest.approx(total), by
    shown = await program.run("-p", "/cost 1", "--continue")
    (session,) = re.findall(r"This session: \$([\d.]+)", shown.out)
    (days,) = re.findall(r"Last 1 day, all sessions: \$([\d.]+)", shown.out)
    assert float(session) == pytest.approx(total, abs=0.00005)
    assert float(days) == pytest.approx(total, abs=0.005)


async def test_answers_with_calls_count_what_the_service_reported_in_the_end(tmp_path: Path):
    """One answer in one write, one in many: its call starts before its usage is known."""
    script = [
        _used("Looking.", tool_use("Glob", "c1", pattern="*.a"), output=50),
        _used(
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            tool_use("Glob", "c2", pattern="*.b"),
            tool_use("Bash", "c3", command="echo done"),
            "and then",
            output=70,
            write=400,
        ),
        _used("Finished.", output=20),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        done = await program.run(*_JSON, "--allowedTools", "Bash", "--", "go")
    result = json.loads(done.out)
    rows = [row for row in program.rows() if row["type"] == "assistant"]
    assert len(rows) == 7
    assert [row["message"]["usage"]["output_tokens"] for row in rows] == [50, 50, 70, 70, 70, 70, 20]
    assert [row["message"]["stop_reason"] for row in rows] == ["tool_use"] * 6 + ["end_turn"]
    assert result["usage"]["output_tokens"] == 140
    await _check_all_agree(program, result["total_cost_usd"])


async def test_calls_on_the_side_are_in_every_sum(tmp_path: Path):
    """Agents, an advisor and the model of a hook."""
    agent = {"description": "look", "prompt": "Look around.", "subagent_type": "general-purpose"}
    script = [
        _used(tool_use("Agent", "c1", **agent), tool_use("Advisor", "c2"), when='"go"'),
        _used('{"ok": true}', output=11, when="Is that fine", repeat=True),
        _used("Good advice.", output=44, when="You advise another model"),
        _used("Finished.", when='"tool_use_id":"c1"'),
        _used("Seen.", when='"tool_use_id":"c1"'),
        _used("Looked.", output=33, when="Look around."),
    ]
    hook = {"type": "prompt", "prompt": "Is that fine? $ARGUMENTS", "model": "claude-haiku-4-5"}
    settings = json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}})
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        flags = ("--advisor", "claude-opus-4-5", "--settings", settings)
        done = await program.run(*_JSON, *flags, "go")
        result = json.loads(done.out)
        assert result["result"] in ("Finished.", "Seen."), done.err
        requests = len(server.requests)
        models = await _usage_rows(program, "model")
        tools = await _usage_rows(program, "tool")
        assert sum(row["calls"] for row in models.values()) == requests
    assert {name: row["outputTokens"] for name, row in result["modelUsage"].items()} == {
        name: row["output"] for name, row in models.items()
    }
    assert tools["hook"]["output"] == 11 * tools["hook"]["calls"] > 0 and tools["Advisor"]["output"] == 44
    agents = await _usage_rows(program, "agent")
    assert agents["general-purpose"]["output"] == 33 and agents["Advisor"]["output"] == 44
    await _check_all_agree(program, result["total_cost_usd"])


async def test_a_compaction_and_what_follows_the_last_answer_are_counted_after_a_resume(tmp_path: Path):
    script = [
        _used("One.", output=30),
        _used("<summary>\n1. Primary Request: hi\n</summary>", output=40),
        _used("Two.", output=50),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        await program.run(*_JSON, "hi")
        await program.run(*_JSON, "--continue", "/compact")
        done = await program.run(*_JSON, "--continue", "again")
        assert len(server.requests) == 3
    tools = await _usage_rows(program, "tool")
    assert (tools["compaction"]["output"], tools["prompt"]["output"]) == (40, 80)
    await _check_all_agree(program, json.loads(done.out)["total_cost_usd"])


async def test_a_hook_that_is_an_agent_is_counted_and_leaves_no_transcript(tmp_path: Path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.txt").write_text("x\n")
    script = [
        _used("Finished.", when='"go"'),
        _used(tool_use("Read", "r1", file_path=str(tmp_path / "project" / "a.txt")), output=21),
        _used(tool_use("StructuredOutput", "v1", ok=True), output=22),
    ]
    hook = {"type": "agent", "prompt": "Check it."}
    settings = json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}})
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        done = await program.run(*_JSON, "--settings", settings, "go")
        assert len(server.requests) == 3
    tools = await _usage_rows(program, "tool")
    assert (tools["hook"]["calls"], tools["hook"]["output"]) == (2, 43)
    await _check_all_agree(program, json.loads(done.out)["total_cost_usd"])


async def test_an_answer_that_is_cut_counts_what_was_reported_until_then(tmp_path: Path):
    script = [
        _used("One two three four.", output=90, close_after=600),
        _used(tool_use("Glob", "c1", pattern="*"), output=60),
        _used("Finished.", output=20),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        done = await program.run(*_JSON, "go")
        assert len(server.requests) == 3
    await _check_all_agree(program, json.loads(done.out)["total_cost_usd"])


class _Waiting:
    """Says how its answer ends and what it used, but never that it is over."""

    def __init__(self) -> None:
        self.waits = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        whole = sse.message("One two.", model=request.model, usage={"input_tokens": 10, "output_tokens": 90})
        decoder = Decoder("req_1")
        for event in sse.events_of(whole):
            if event["type"] == "message_stop":
                self.waits.set()
                await asyncio.Event().wait()
            if (told := decoder.feed(json.dumps(event).encode())) is not None:
                yield told

    async def close(self) -> None:
        pass


async def test_an_interrupted_answer_keeps_what_the_service_had_reported(tmp_path: Path):
    path = str(tmp_path / "s.jsonl")
    session = Session("s1", writer=Transcript(path, warn=lambda _: None))
    session.swap(model="model-a", mode="bypassPermissions")
    provider = _Waiting()
    runtime = make_runtime(tmp_path, provider)
    turn = asyncio.create_task(run_turn(session, Prompt(content="go", origin=TYPED), runtime))
    async with asyncio.timeout(60):
        await provider.waits.wait()
        turn.cancel()
        await asyncio.wait([turn])
    session.close()
    (call,) = recorded_in(path).calls
    assert (call.usage.output, call.is_whole) == (90, True)
    assert session.spend["model-a"].usage.output == 90
    assert session.total_cost_usd == pytest.approx(call.usd)


async def test_transcripts_with_nonsense_in_them_cost_only_the_nonsense(tmp_path: Path):
    program = Program(tmp_path)
    folder = program.home / ".claude" / "projects" / "-p"
    folder.mkdir(parents=True)
    odd = {"input_tokens": "x", "output_tokens": True, "cache_creation": 7, "server_tool_use": [1]}
    good = {"id": "m2", "model": _MODEL, "usage": {"output_tokens": 1_000_000}}
    rows: list[Any] = [
        {
            "type": "assistant",
            "uuid": "1",
            "costUSD": "NaN",
            "message": {"id": "m1", "model": _MODEL, "usage": odd},
        },
        {"type": "assistant", "uuid": "2", "timestamp": "not a time", "message": {**good, "id": "m0"}},
        {"type": "user", "message": {"content": [5, {"tool_use_id": ["x"]}]}},
        {"type": "bridle-pending", "rows": "nonsense"},
        {"type": "bridle-pending", "rows": [5, {"type": "assistant", "uuid": "3", "message": good}]},
    ]
    stamped: list[Any] = [{"timestamp": "2026-01-02T03:04:05Z", **row} for row in rows]
    stamped[-1]["rows"][1]["timestamp"] = "2026-01-02T03:04:05Z"
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, stamped)) + '\n{"usage"')
    days = await _usage_rows(program, "day")
    assert {day: row["usd"] for day, row in days.items()} == {"2026-01-02": pytest.approx(15.0)}
    page = program.home / "usage.html"
    assert (await program.run("usage", "--html", str(page))).code == 0
    assert "$ per day and model" in page.read_text()
    missing = await program.run("usage", "--html", str(page / "usage.html"))
    assert missing.code == 1 and "cannot be written" in missing.err
