import asyncio
import json
import os
import signal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.messages_server import MessagesServer, Step, fault, step
from tests.fakes.processes import eventually, is_running, read_number
from tests.fakes.program import Done, Program, lines, user

STREAM = ("--output-format", "stream-json", "--verbose")
BOTH = (*STREAM, "--input-format", "stream-json")


def _read(path: Path | str, id: str = "toolu_1") -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": str(path)}}


def _bash(command: str, id: str = "toolu_1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command, **more}}


def _kinds(done: Done) -> list[str]:
    return [
        f"{frame['type']}/{frame['subtype']}" if "subtype" in frame else frame["type"]
        for frame in done.frames
    ]


async def test_text_output_is_the_answer_and_a_newline(tmp_path: Path):
    async with MessagesServer([step("Four.")]) as server:
        done = await Program(tmp_path, server.url).run("-p", "2+2?")
    assert done == Done(0, "Four.\n", "")


async def test_json_output_is_the_result_object(tmp_path: Path):
    usage = {"input_tokens": 1000, "output_tokens": 100}
    async with MessagesServer(
        [step("Four.", message={"usage": usage, "model": "claude-sonnet-4-5"})]
    ) as server:
        done = await Program(tmp_path, server.url).run(
            "-p", "2+2?", "--output-format", "json", "--model", "claude-sonnet-4-5"
        )
    result = json.loads(done.out)
    assert (done.code, done.err) == (0, "")
    assert (result["type"], result["subtype"], result["is_error"]) == ("result", "success", False)
    assert (result["result"], result["num_turns"], result["stop_reason"]) == ("Four.", 1, "end_turn")
    assert result["usage"]["input_tokens"] == 1000
    assert result["total_cost_usd"] == pytest.approx(0.0045)
    spend = result["modelUsage"]["claude-sonnet-4-5"]
    assert (spend["inputTokens"], spend["outputTokens"], spend["contextWindow"]) == (1000, 100, 200_000)
    assert spend["costUSD"] == pytest.approx(0.0045)
    assert result["permission_denials"] == []


async def test_verbose_json_output_is_an_array_of_all_messages(tmp_path: Path):
    async with MessagesServer([step("Four.")]) as server:
        done = await Program(tmp_path, server.url).run("-p", "2+2?", "--output-format", "json", "--verbose")
    assert [frame["type"] for frame in json.loads(done.out)] == ["system", "assistant", "result"]


async def test_stream_json_has_one_line_for_each_block_and_result(tmp_path: Path):
    program = Program(tmp_path)
    (program.project / "a.txt").write_text("hello\n")
    script = [step("Reading.", _read("a.txt")), step("It says hello.")]
    async with MessagesServer(script) as server:
        done = await program.run("-p", "what is in a.txt?", *STREAM, **_served(server))
    assert (done.code, done.err) == (0, "")
    assert _kinds(done) == ["system/init", "assistant", "assistant", "user", "assistant", "result/success"]
    init, text, call, result, _, end = done.frames
    assert init["cwd"] == str(program.project) and "Read" in init["tools"]
    assert init["permissionMode"] == "default" and init["apiKeySource"] == "ANTHROPIC_API_KEY"
    assert tuple(map(int, init["claude_code_version"].split("."))) >= (2, 1, 248)
    assert text["message"]["id"] == call["message"]["id"]
    assert (text["message"]["stop_reason"], text["parent_tool_use_id"]) == (None, None)
    block = result["message"]["content"][0]
    assert (block["tool_use_id"], "hello" in block["content"]) == ("toolu_1", True)
    assert result["tool_use_result"]["file"]["content"].strip() == "hello"
    assert (end["num_turns"], end["terminal_reason"]) == (2, "completed")
    assert {frame["session_id"] for frame in done.frames} == {init["session_id"]}
    assert len({frame["uuid"] for frame in done.frames}) == len(done.frames)


async def test_uuids_on_stdout_are_those_of_the_transcript(tmp_path: Path):
    program = Program(tmp_path)
    (program.project / "a.txt").write_text("hello\n")
    async with MessagesServer([step("Reading.", _read("a.txt")), step("Done.")]) as server:
        done = await program.run("-p", "go", *STREAM, **_served(server))
    shown = [frame["uuid"] for frame in done.frames if frame["type"] in ("assistant", "user")]
    kept = [row["uuid"] for row in program.rows() if row["type"] in ("assistant", "user")]
    assert [uuid for uuid in kept if uuid in shown] == shown


async def test_partial_messages_are_the_raw_stream_with_blocks_before_their_stop(tmp_path: Path):
    async with MessagesServer([step("Hello there.", piece=5)]) as server:
        done = await Program(tmp_path, server.url).run("-p", "hi", *STREAM, "--include-partial-messages")
    seen = [
        frame["event"]["type"] if frame["type"] == "stream_event" else frame["type"] for frame in done.frames
    ]
    assert seen == [
        "system", "system", "message_start", "content_block_start", "content_block_delta",
        "content_block_delta", "content_block_delta", "assistant", "content_block_stop", "message_delta",
        "message_stop", "result",
    ]  # fmt: skip
    deltas = [
        f["event"]["delta"]["text"] for f in done.frames if f.get("event", {}).get("delta", {}).get("text")
    ]
    assert "".join(deltas) == "Hello there."
    starts = [frame for frame in done.frames if frame.get("event", {}).get("type") == "message_start"]
    assert starts[0]["ttft_ms"] >= 0


async def test_line_separators_never_split_a_line(tmp_path: Path):
    async with MessagesServer([step("one\u2028two\u2029three")]) as server:
        done = await Program(tmp_path, server.url).run("-p", "hi", *STREAM)
    assert "\u2028" not in done.out and "\\u2028" in done.out
    assert done.result["result"] == "one\u2028two\u2029three"


async def test_prompt_and_standard_input_are_joined(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        await Program(tmp_path, server.url).run("-p", "explain", stdin="the text")
        sent = _last_text(server.requests[0].body)
    assert sent == "explain\n\nthe text"


async def test_prompt_may_come_on_standard_input_alone(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        done = await Program(tmp_path, server.url).run("-p", stdin="only this")
        sent = _last_text(server.requests[0].body)
    assert (done.code, sent) == (0, "only this")


async def test_no_prompt_is_an_error(tmp_path: Path):
    done = await Program(tmp_path).run("-p")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: no prompt")


async def test_denied_call_is_reported(tmp_path: Path):
    async with MessagesServer([step(_bash("touch x")), step("I could not.")]) as server:
        program = Program(tmp_path, server.url)
        done = await program.run("-p", "touch x", *STREAM)
    assert not (program.project / "x").exists()
    assert done.result["permission_denials"] == [
        {"tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {"command": "touch x"}}
    ]
    (denied,) = [frame for frame in done.frames if frame.get("subtype") == "permission_denied"]
    assert (denied["tool_name"], denied["tool_use_id"]) == ("Bash", "toolu_1")
    assert done.code == 0


async def test_allowed_tools_let_a_call_run(tmp_path: Path):
    async with MessagesServer([step(_bash("touch x")), step("Done.")]) as server:
        program = Program(tmp_path, server.url)
        done = await program.run("-p", "touch x", "--allowedTools", "Bash(touch:*)")
    assert (program.project / "x").exists()
    assert done.out == "Done.\n"


async def test_removed_tools_are_not_offered(tmp_path: Path):
    async with MessagesServer([step("ok"), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "hi", "--disallowedTools", "Bash,WebFetch")
        await program.run("-p", "hi", "--tools", "Read,Grep")
        names = [[tool["name"] for tool in request.body["tools"]] for request in server.requests]
    assert "Bash" not in names[0] and "WebFetch" not in names[0] and "Read" in names[0]
    assert names[1] == ["Grep", "Read"]


async def test_no_tools_at_all(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        done = await Program(tmp_path, server.url).run("-p", "hi", "--tools", "", *STREAM)
        body = server.requests[0].body
    assert done.frames[0]["tools"] == [] and not body.get("tools")


async def test_api_failure_is_a_success_that_reports_an_error(tmp_path: Path):
    async with MessagesServer([fault(403, "permission_error", "Not for you.")]) as server:
        done = await Program(tmp_path, server.url).run("-p", "hi", *STREAM)
    assert done.code == 1
    assert (done.result["subtype"], done.result["is_error"]) == ("success", True)
    assert (done.result["api_error_status"], done.result["terminal_reason"]) == (403, "api_error")
    (said,) = [frame for frame in done.frames if frame["type"] == "assistant"]
    assert (said["message"]["model"], said["error"]) == ("<synthetic>", "authentication_failed")
    assert said["is_api_error_message"] and said["message"]["content"][0]["text"] == done.result["result"]


async def test_error_text_goes_to_standard_output_in_text_mode(tmp_path: Path):
    async with MessagesServer([fault(404, "not_found_error", "model: nope")]) as server:
        done = await Program(tmp_path, server.url).run("-p", "hi", "--model", "nope")
    assert (done.code, done.err) == (1, "")
    assert "nope" in done.out


async def test_no_credential_says_what_to_do_without_a_request(tmp_path: Path):
    done = await Program(tmp_path).run("-p", "hi", "--output-format", "json")
    result = json.loads(done.out)
    assert (done.code, result["is_error"], result["api_error_status"]) == (1, True, None)
    assert "ANTHROPIC_API_KEY" in result["result"] and "/login" in result["result"]


async def test_retries_are_announced(tmp_path: Path):
    script = [fault(529, "overloaded_error", headers={"retry-after": "0"}), step("ok")]
    async with MessagesServer(script) as server:
        done = await Program(tmp_path, server.url).run("-p", "hi", *STREAM)
    (retry,) = [frame for frame in done.frames if frame.get("subtype") == "api_retry"]
    assert (retry["attempt"], retry["error_status"], retry["error"]) == (1, 529, "server_error")
    assert done.result["result"] == "ok"


async def test_turn_limit_is_an_error_result(tmp_path: Path):
    async with MessagesServer([step(_read("a.txt"))]) as server:
        done = await Program(tmp_path, server.url).run("-p", "hi", *STREAM, "--max-turns", "1")
    assert done.code == 1
    assert done.result["subtype"] == "error_max_turns"
    assert done.result["errors"] == ["Reached maximum number of turns (1)"]
    assert "result" not in done.result


async def test_several_prompts_run_one_after_another(tmp_path: Path):
    async with MessagesServer([step("one"), step("two")]) as server:
        program = Program(tmp_path, server.url)
        done = await program.run(
            *BOTH,
            stdin=lines(user("first"), {"type": "keep_alive"}, user([{"type": "text", "text": "second"}])),
        )
        bodies = [request.body for request in server.requests]
    assert _kinds(done) == ["system/init", "assistant", "result/success"] * 2
    assert [message["role"] for message in bodies[1]["messages"]] == ["user", "assistant", "user"]
    assert _last_text(bodies[1]) == "second"


async def test_prompt_that_asks_for_no_turn_joins_the_next(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        done = await program.run(*BOTH, stdin=lines(user("note this", shouldQuery=False), user("now go")))
        texts = _texts(server.requests[0].body["messages"][0])
    assert _kinds(done) == ["system/init", "assistant", "result/success"]
    assert texts[-2:] == ["note this", "now go"]


async def test_replayed_prompts_keep_their_uuid(tmp_path: Path):
    uuid = "11111111-1111-4111-8111-111111111111"
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        done = await program.run(*BOTH, "--replay-user-messages", stdin=lines(user("hi", uuid=uuid)))
    (replayed,) = [frame for frame in done.frames if frame.get("isReplay")]
    assert (replayed["uuid"], replayed["message"]["content"]) == (uuid, "hi")
    assert done.result["user_message_uuid"] == uuid
    assert uuid in [row.get("uuid") for row in program.rows()]


async def test_unknown_control_request_is_answered_with_an_error(tmp_path: Path):
    asked = {"type": "control_request", "request_id": "r1", "request": {"subtype": "dance"}}
    async with MessagesServer([step("ok")]) as server:
        done = await Program(tmp_path, server.url).run(*BOTH, stdin=lines(asked, user("hi")))
    (answer,) = [frame for frame in done.frames if frame["type"] == "control_response"]
    assert answer["response"] == {
        "subtype": "error",
        "request_id": "r1",
        "error": "Unsupported control request subtype: dance",
        "error_code": "unsupported_request",
    }


@pytest.mark.parametrize(
    "line", ["{broken", '["list"]', '{"type":"user","message":{"role":"assistant","content":"x"}}']
)
async def test_malformed_input_ends_the_run_with_a_sentence(tmp_path: Path, line: str):
    done = await Program(tmp_path, "http://127.0.0.1:9").run(*BOTH, stdin=line + "\n")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: ") and len(done.err.splitlines()) == 1


async def test_no_input_at_all_is_a_quiet_success(tmp_path: Path):
    assert await Program(tmp_path, "http://127.0.0.1:9").run(*BOTH) == Done(0, "", "")


async def test_last_result_decides_the_exit_code(tmp_path: Path):
    async with MessagesServer([fault(403), step("fine")]) as server:
        program = Program(tmp_path, server.url)
        mended = await program.run(*BOTH, stdin=lines(user("one"), user("two")))
    async with MessagesServer([step("fine"), fault(403)]) as server:
        failed = await program.run(*BOTH, stdin=lines(user("one"), user("two")), **_served(server))
    assert (mended.code, failed.code) == (0, 1)


async def test_closed_pipe_ends_the_run_quietly(tmp_path: Path):
    async with MessagesServer([step("word " * 100_000)]) as server:
        program = Program(tmp_path, server.url)
        reading, writing = os.pipe()
        process = await program.start("-p", "hi", *STREAM, "--include-partial-messages", stdout=writing)
        os.close(writing)
        assert process.stderr is not None and process.stdin is not None
        process.stdin.close()
        await asyncio.to_thread(os.read, reading, 10)
        os.close(reading)
        async with asyncio.timeout(50):
            err = await process.stderr.read()
            code = await process.wait()
    assert (code, err) == (141, b"")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
async def test_signal_settles_the_turn_and_kills_its_commands(
    tmp_path: Path, number: signal.Signals, code: int
):
    script = [step(_bash("echo $$ > pid; sleep 1000"))]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        process = await program.start("-p", "hi", *STREAM, "--allowedTools", "Bash")
        assert process.stdout is not None and process.stdin is not None
        process.stdin.close()
        pid_file = program.project / "pid"
        async with asyncio.timeout(50):
            await eventually(lambda: read_number(pid_file))
            process.send_signal(number)
            out = await process.stdout.read()
            assert await process.wait() == code
    frames = [json.loads(line) for line in out.splitlines()]
    assert (frames[-1]["subtype"], frames[-1]["terminal_reason"]) == (
        "error_during_execution",
        "aborted_tools",
    )
    assert not is_running(int(pid_file.read_text()))
    kinds = [
        block["type"] for row in program.rows() if row["type"] == "user" for block in _blocks(row["message"])
    ]
    assert "tool_result" in kinds


async def test_background_job_reports_in_a_turn_of_its_own(tmp_path: Path):
    def started(_: Any) -> Step:
        # Not earlier: a job that ends while the turn has results to come is told in that turn.
        (tmp_path / "project" / "go").touch()
        return step("Started.")

    script = [
        step(_bash("until [ -e go ]; do sleep 0.02; done", run_in_background=True)),
        started,
        step("It is done."),
    ]
    async with MessagesServer(script) as server:
        done = await Program(tmp_path, server.url).run("-p", "hi", *STREAM, "--allowedTools", "Bash")
        note = _last_text(server.requests[2].body)
    results = [frame for frame in done.frames if frame["type"] == "result"]
    assert [result["result"] for result in results] == ["Started.", "It is done."]
    assert results[1]["origin"] == {"kind": "task-notification"}
    assert "<task-notification>" in note and "completed" in note
    kinds = _kinds(done)
    assert kinds.index("system/task_started") < kinds.index("system/task_notification")


async def test_custom_system_prompts(tmp_path: Path):
    async with MessagesServer([step("ok")] * 3) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "hi", "--system-prompt", "Only this.")
        await program.run("-p", "hi", "--system-prompt", "")
        await program.run("-p", "hi", "--append-system-prompt", "And this.")
        systems = [request.body.get("system") or [] for request in server.requests]
    assert [block["text"] for block in systems[0]] == ["Only this."]
    assert systems[1] == []
    assert systems[2][-1]["text"].endswith("And this.") and len(systems[2]) == 2


async def test_first_request_is_small_and_its_prefix_stable(tmp_path: Path):
    program = Program(tmp_path)
    (program.project / "a.txt").write_text("hello\n")
    script = [step(_read("a.txt")), step(_read("a.txt", "toolu_2")), step("ok")]
    async with MessagesServer(script) as server:
        await program.run("-p", "hi", **_served(server))
        bodies = [request.body for request in server.requests]
        raw = server.requests[0].raw
    assert len(raw) < 40_000
    assert bodies[0]["tools"] == sorted(bodies[0]["tools"], key=lambda tool: tool["name"])
    for earlier, later in pairwise(bodies):
        assert (later["system"], later["tools"]) == (earlier["system"], earlier["tools"])
        known = len(earlier["messages"])
        assert _unmarked(later["messages"][:known]) == _unmarked(earlier["messages"])
    marks = json.dumps(bodies[2]).count("cache_control")
    assert 1 <= marks <= 4
    assert "cache_control" in bodies[2]["messages"][-1]["content"][-1]


def _served(server: MessagesServer) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "test-key"}


def _blocks(message: Any) -> list[Any]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _texts(message: Any) -> list[str]:
    return [block["text"] for block in _blocks(message) if block["type"] == "text"]


def _last_text(body: Any) -> str:
    return _texts(body["messages"][-1])[-1]


def _unmarked(messages: Any) -> Any:
    text = json.dumps([{**message, "content": _blocks(message)} for message in messages])
    return text.replace(', "cache_control": {"type": "ephemeral"}', "")
