"""What the lines of a turn say of its own course."""

from pathlib import Path

from bridle.protocol.turn_report import AgentReport, TurnTimes
from bridle.types.services.tasks import Task, TaskStatus
from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program
from tests.fakes.sse import tool_use


def test_first_time_of_each_kind_counts():
    now = iter((0.0, 1.0, 1.5, 2.0, 3.0, 3.25))
    times = TurnTimes(lambda: next(now))
    times.begin()
    times.note("ttft_stream_ms")
    times.note("ttft_stream_ms")
    assert times.fields() == {"ttft_stream_ms": 500}
    times.begin()
    times.note("time_to_request_ms")
    assert times.fields() == {"time_to_request_ms": 250}


def _task(id: str, *, status: TaskStatus = "running", backgrounded: bool = False, depth: int = 1) -> Task:
    return Task(
        id=id, kind="local_agent", agent_type="Explore", status=status, description="d", call_id="c",
        output_file="o", started=1.0, backgrounded=backgrounded, depth=depth,
    )  # fmt: skip


def test_agents_are_counted_once_each():
    counts = AgentReport()
    for task in (
        _task("a"), _task("a"), _task("a", status="completed"), _task("a", status="completed"),
        _task("b", backgrounded=True, depth=2), _task("b", status="killed"), _task("c", status="failed"),
    ):  # fmt: skip
        counts.note(task)
    stats = counts.stats()
    assert (stats["spawned"], stats["completed"], stats["killed"]["user"], stats["failed"]) == (2, 1, 1, 0)
    assert (stats["max_depth"], stats["spawned_by_subagents"], stats["started_in_background"]) == (2, 1, 1)
    assert stats["by_type"] == {"Explore": 2}


async def test_results_calls_and_the_first_line_say_what_hosts_look_for(tmp_path: Path):
    call = tool_use("Bash", id="t1", command="echo hi", description="Say hi")
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    async with MessagesServer([step(thought, call), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, "--allowedTools", "Bash(echo:*)") as host:
            host.prompt("go")
            result = await host.result()
    (init,) = (frame for frame in host.frames if frame.get("subtype") == "init")
    (answered,) = (frame for frame in host.frames if frame["type"] == "user")
    (thinking,) = (frame for frame in host.frames if "thinking_duration_ms" in frame)
    (row,) = (row for row in program.rows() if "permissionDecision" in row)
    assert init["original_cwd"] == init["cwd"] and init["additional_directories"] == []
    assert thinking["message"]["content"][0]["type"] == "thinking"
    assert answered["tool_result_meta"] == [
        {"id": "t1", "permission_decision": {"decision": "accept", "source": "config", "reason_type": "rule"}}
    ]
    assert row["permissionDecision"]["ruleSource"] == "cliArg"
    assert result["subagent_stats"]["spawned"] == 0 and result["safety_stops"] == 0
    assert 0 <= result["time_to_request_ms"] <= result["first_content_frame_ms"]
    assert result["usage"]["output_tokens_details"] == {"thinking_tokens": 0}
