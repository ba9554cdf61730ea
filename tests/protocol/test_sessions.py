import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.processes import eventually
from tests.fakes.program import Program

STREAM = ("--output-format", "stream-json", "--verbose")


def _texts(body: Any) -> list[str]:
    """What was said, without reminders."""
    said: list[str] = []
    for message in body["messages"]:
        content = message["content"]
        blocks: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        said += [block["text"] for block in blocks if block["type"] == "text"]
    return [text for text in said if not text.startswith("<system-reminder>")]


async def test_continue_goes_on_with_the_newest_conversation(tmp_path: Path):
    async with MessagesServer([step("one"), step("two")]) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "first")
        done = await program.run("-p", "-c", "second", *STREAM)
        sent = _texts(server.requests[1].body)
    assert sent == ["first", "one", "second"]
    assert len(program.transcripts()) == 1
    assert done.frames[0]["session_id"] == program.transcripts()[0].stem


async def test_continue_without_a_conversation_begins_one(tmp_path: Path):
    async with MessagesServer([step("one")]) as server:
        done = await Program(tmp_path, server.url).run("-p", "-c", "first")
    assert (done.code, done.out) == (0, "one\n")


async def test_resume_by_id_and_fork_leaves_the_old_file_alone(tmp_path: Path):
    session = "11111111-1111-4111-8111-111111111111"
    async with MessagesServer([step("one"), step("two")]) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "first", "--session-id", session)
        (old,) = program.transcripts()
        before = old.read_bytes()
        done = await program.run("-p", "second", "--resume", session, "--fork-session", *STREAM)
        sent = _texts(server.requests[1].body)
    assert sent == ["first", "one", "second"]
    assert old.read_bytes() == before
    assert len(program.transcripts()) == 2
    assert done.frames[0]["session_id"] != session


async def test_unknown_session_is_a_zeroed_result_and_a_line_on_stderr(tmp_path: Path):
    missing = "22222222-2222-4222-8222-222222222222"
    done = await Program(tmp_path, "http://127.0.0.1:9").run("-p", "hi", f"--resume={missing}", *STREAM)
    assert done.code == 1
    assert done.err == f"No conversation found with session ID: {missing}\n"
    assert done.result["subtype"] == "error_during_execution"
    assert (done.result["num_turns"], done.result["errors"]) == (0, [done.err.strip()])


async def test_no_persistence_writes_no_transcript(tmp_path: Path):
    async with MessagesServer([step("one")]) as server:
        program = Program(tmp_path, server.url)
        done = await program.run("-p", "first", "--no-session-persistence")
    assert (done.out, program.transcripts()) == ("one\n", [])


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (("--session-id", "nope"), "UUID"),
        (("--resume",), "--resume needs the id"),
        (("-c", "--resume", "x"), "can't be used together"),
        (("-c", "--session-id", "11111111-1111-4111-8111-111111111111"), "--fork-session"),
        (("--fork-session",), "--continue or --resume"),
    ],
)
async def test_flags_that_cannot_work_are_refused(tmp_path: Path, flags: tuple[str, ...], complaint: str):
    done = await Program(tmp_path, "http://127.0.0.1:9").run("-p", *flags, stdin="hi")
    assert done.code == 1
    assert complaint in done.err and len(done.err.splitlines()) == 1


async def test_torn_last_line_never_hurts(tmp_path: Path):
    async with MessagesServer([step("one"), step("two")]) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "first")
        (transcript,) = program.transcripts()
        with transcript.open("ab") as file:
            file.write(b'{"type":"user","mess')
        done = await program.run("-p", "-c", "second")
        sent = _texts(server.requests[1].body)
    assert (done.code, sent) == (0, ["first", "one", "second"])


async def test_killed_process_loses_no_prompt_and_leaves_no_open_call(tmp_path: Path):
    call = {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "Bash",
        "input": {"command": "echo x > ran; sleep 1000"},
    }
    async with MessagesServer([step(call), step("two")]) as server:
        program = Program(tmp_path, server.url)
        process = await program.start("-p", "remember me", "--allowedTools", "Bash")
        assert process.stdin is not None
        process.stdin.close()
        async with asyncio.timeout(50):
            await eventually((program.project / "ran").exists)
            process.send_signal(signal.SIGKILL)
            await process.wait()
        done = await program.run("-p", "-c", "go on")
        messages = server.requests[1].body["messages"]
    assert (done.code, done.out) == (0, "two\n")
    assert _texts({"messages": messages[:1]}) == ["remember me"]
    results = [block for block in messages[2]["content"] if block["type"] == "tool_result"]
    assert [(block["tool_use_id"], block["is_error"]) for block in results] == [("toolu_1", True)]


async def test_transcript_rows_have_the_fields_that_other_readers_need(tmp_path: Path):
    async with MessagesServer([step("one")]) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "first", "--name", "my work")
    rows = program.rows()
    needed = {
        "parentUuid", "isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "type",
        "message", "uuid", "timestamp",
    }  # fmt: skip
    linked = [row for row in rows if row["type"] in ("user", "attachment", "assistant")]
    assert {row["type"] for row in linked[1:-1]} == {"attachment"}
    assert [needed - row.keys() for row in (linked[0], linked[-1])] == [set(), set()]
    assert [row["parentUuid"] for row in linked] == [None, *(row["uuid"] for row in linked[:-1])]
    assert linked[-1]["message"]["stop_reason"] == "end_turn"
    assert {"type": "custom-title", "customTitle": "my work", "sessionId": linked[0]["sessionId"]} in rows
    (transcript,) = program.transcripts()
    assert transcript.stat().st_mode & 0o777 == 0o600


async def test_full_disk_is_told_once_and_the_answer_still_comes(tmp_path: Path):
    async with MessagesServer([step("one")]) as server:
        program = Program(tmp_path, server.url)
        projects = program.home / ".claude" / "projects"
        projects.parent.mkdir(parents=True)
        projects.write_text("a file where a folder should be")
        done = await program.run("-p", "first")
    assert (done.code, done.out) == (0, "one\n")
    assert len(done.err.splitlines()) == 1


async def test_cost_goes_on_over_a_resume(tmp_path: Path):
    answer = step(
        "one", message={"usage": {"input_tokens": 1000, "output_tokens": 0}, "model": "claude-sonnet-4-5"}
    )
    async with MessagesServer([answer, answer]) as server:
        program = Program(tmp_path, server.url)
        flags = ("--model", "claude-sonnet-4-5", "--output-format", "json")
        first = json.loads((await program.run("-p", "a", *flags)).out)
        second = json.loads((await program.run("-p", "-c", "b", *flags)).out)
    assert second["total_cost_usd"] == pytest.approx(2 * first["total_cost_usd"])


async def test_second_process_cannot_write_into_an_open_session(tmp_path: Path):
    async with MessagesServer([step("one"), step("two", silent_after=1), step("three")]) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "first")
        process = await program.start("-p", "-c", "second")
        assert process.stdin is not None
        process.stdin.close()
        server.arrived.clear()
        async with asyncio.timeout(50):
            await server.arrived.wait()
        done = await program.run("-p", "-c", "third")
        process.kill()
        await process.wait()
    assert done.code == 1 and "--fork-session" in done.err
    os.stat(program.transcripts()[0])


async def test_conversation_that_began_elsewhere_gets_the_instructions_with_the_next_prompt(tmp_path: Path):
    session = "11111111-1111-4111-8111-111111111111"
    common = {
        "isSidechain": False, "userType": "external", "cwd": "/", "sessionId": session, "version": "2.1.300",
        "gitBranch": "", "timestamp": "2026-01-01T00:00:00.000Z",
    }  # fmt: skip
    answer = {"id": "m1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "usage": {}}
    rows = [
        {
            **common, "type": "user", "uuid": "u1", "parentUuid": None,
            "message": {"role": "user", "content": "hi"},
        },
        {
            **common, "type": "assistant", "uuid": "a1", "parentUuid": "u1",
            "message": {**answer, "content": [{"type": "text", "text": "hello"}], "stop_reason": "end_turn"},
        },
        {"type": "future-kind", "anything": 1},
    ]  # fmt: skip
    async with MessagesServer([step("one"), step("two")]) as server:
        program = Program(tmp_path, server.url)
        (program.project / "CLAUDE.md").write_text("Be kind.\n")
        await program.run("-p", "make the folder", "--session-id", "22222222-2222-4222-8222-222222222222")
        transcript = program.transcripts()[0].with_name(f"{session}.jsonl")
        transcript.write_text("".join(json.dumps(row) + "\n" for row in rows))
        await program.run("-p", "--resume", session, "go on")
        messages = server.requests[1].body["messages"]
    assert _texts({"messages": messages}) == ["hi", "hello", "go on"]
    assert "Be kind." in json.dumps(messages[2])


async def test_note_before_the_first_prompt_does_not_cost_the_instructions(tmp_path: Path):
    note = b'{"type":"user","shouldQuery":false,"message":{"role":"user","content":"note"}}\n'
    prompt = b'{"type":"user","message":{"role":"user","content":"go"}}\n'
    async with MessagesServer([step("one")]) as server:
        program = Program(tmp_path, server.url)
        (program.project / "CLAUDE.md").write_text("Be kind.\n")
        await program.run(*STREAM, "--input-format", "stream-json", stdin=note + prompt)
        body = server.requests[0].body
    assert _texts(body) == ["note", "go"] and "Be kind." in json.dumps(body)
