"""Lines on standard output that hosts rely on."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

_STREAM = ("--output-format", "stream-json", "--verbose")


def _bash(command: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": command}}


async def test_init_has_every_field(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        done = await Program(tmp_path, server.url).run("-p", "hi", *_STREAM)
    init = done.frames[0]
    wanted = {
        "type", "subtype", "cwd", "tools", "mcp_servers", "model", "permissionMode", "slash_commands",
        "terminal_slash_commands", "apiKeySource", "claude_code_version", "output_style", "agents", "skills",
        "plugins", "capabilities", "fast_mode_state", "session_id", "uuid",
    }  # fmt: skip
    assert wanted <= init.keys()
    assert "interrupt_receipt_v1" in init["capabilities"]
    assert [int(part) >= 0 for part in init["claude_code_version"].split(".")] == [True] * 3


async def test_user_question_is_offered_only_where_somebody_answers(tmp_path: Path):
    async with MessagesServer([step("ok"), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        offered: list[bool] = []
        for flags in ((), ("--permission-prompt-tool", "stdio")):
            async with FakeHost(program, *flags) as host:
                host.prompt("hi")
                init = await host.until(lambda frame: frame.get("subtype") == "init")
                offered.append("AskUserQuestion" in init["tools"])
                await host.result()
    assert offered == [False, True]


async def test_thinking_is_counted_while_it_streams(tmp_path: Path):
    thinking = {"type": "thinking", "thinking": "why " * 200, "signature": "s"}
    async with MessagesServer([step(thinking, "because")]) as server:
        done = await Program(tmp_path, server.url).run("-p", "hi", *_STREAM)
    told = [frame for frame in done.frames if frame.get("subtype") == "thinking_tokens"]
    assert told[-1]["estimated_tokens"] == 200
    assert sum(frame["estimated_tokens_delta"] for frame in told) == 200
    kinds = [frame.get("subtype") or frame["type"] for frame in done.frames]
    assert kinds.index("thinking_tokens") < kinds.index("assistant")


async def test_mirror_repeats_the_transcript_before_the_result(tmp_path: Path):
    async with MessagesServer([step(_bash("echo x")), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        done = await program.run("-p", "hi", *_STREAM, "--session-mirror")
    kinds = [frame["type"] for frame in done.frames]
    mirrored = [frame for frame in done.frames if frame["type"] == "transcript_mirror"]
    (transcript,) = program.transcripts()
    assert {frame["filePath"] for frame in mirrored} == {str(transcript)}
    assert [row for frame in mirrored for row in frame["entries"]] == program.rows()
    late = [row for frame in done.frames[kinds.index("result") :] for row in frame.get("entries", ())]
    assert {row["type"] for row in late} <= {"last-prompt", "cost-state"}


async def test_mirror_tells_what_is_kept_beside_the_transcript_of_an_agent(tmp_path: Path):
    start = {"description": "look", "prompt": "Look.", "subagent_type": "general-purpose"}
    call = {
        "type": "tool_use", "id": "toolu_a", "name": "Agent", "input": {**start, "run_in_background": False}
    }  # fmt: skip
    async with MessagesServer([step(call), step("seen"), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        done = await program.run("-p", "hi", *_STREAM, "--session-mirror")
    (file,) = [path for path in program.transcripts() if path.parent.name == "subagents"]
    kept = json.loads(file.with_suffix(".meta.json").read_text())
    mirrored = [frame for frame in done.frames if frame.get("filePath") == str(file)]
    rows = [row for frame in mirrored for row in frame["entries"]]
    assert {**rows[0], "finished": True} == {**kept, "type": "agent_metadata"}
    assert (kept["toolUseId"], kept["spawnDepth"], kept["requestShape"]) == ("toolu_a", 1, "foreground")
    assert rows[1:] == [json.loads(line) for line in file.read_text().splitlines()]


async def test_mirror_of_a_fork_comes_in_pieces_that_readers_can_take(tmp_path: Path):
    long = "x" * 200_000
    async with MessagesServer([step(long), step(long), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "one")
        await program.run("-p", "-c", "two")
        done = await program.run("-p", "-c", "--fork-session", "three", *_STREAM, "--session-mirror")
    lines = [line for line in done.out.splitlines() if '"transcript_mirror"' in line[:40]]
    assert len(lines) > 1 and max(map(len, lines)) < 500_000
    rows = [row for line in lines for row in json.loads(line)["entries"]]
    assert len({row["sessionId"] for row in rows}) == 1


async def test_state_runs_before_hooks_and_rests_after_the_result(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS="1") as host:
            await host.request("initialize", hooks={"UserPromptSubmit": [{"hookCallbackIds": ["h"]}]})
            host.prompt("go")
            host.answer(await host.asked("hook_callback"), {})
            await host.until(lambda frame: frame.get("state") == "idle")
    kinds = [frame.get("state") or frame.get("subtype") or frame["type"] for frame in host.frames]
    wanted = ["running", "control_request", "init", "assistant", "success", "idle"]
    assert [kind for kind in kinds if kind in wanted] == wanted


async def test_origin_of_a_person_is_echoed_on_the_result(tmp_path: Path):
    async with (
        MessagesServer([step("ok"), step("ok")]) as server,
        FakeHost(Program(tmp_path, server.url)) as host,
    ):
        host.prompt("go", origin={"kind": "human"})
        first = await host.result()
        host.prompt("go", origin={"kind": "coordinator"})
        second = await host.result()
    assert first["origin"] == {"kind": "human"} and "origin" not in second


async def test_result_of_a_call_says_who_decided_on_it(tmp_path: Path):
    calls = [step(_bash("touch a")), step(_bash("rm x")), step("ok")]
    async with MessagesServer(calls) as server:
        program = Program(tmp_path, server.url)
        flags = ("--permission-prompt-tool", "stdio", "--disallowedTools", "Bash(rm:*)")
        async with FakeHost(program, *flags) as host:
            host.prompt("go")
            host.answer(await host.asked(), {"behavior": "allow"})
            await host.result()
    told = [frame["tool_result_meta"] for frame in host.frames if "tool_result_meta" in frame]
    decisions = [
        (each["permission_decision"]["decision"], each["permission_decision"]["source"]) for (each,) in told
    ]
    assert decisions == [("accept", "user_temporary"), ("reject", "config")]


@pytest.mark.parametrize(
    "origin",
    [
        {"kind": "human", "source": "remote", "from": "Phone"},
        {"kind": "peer", "from": "ann"},
        {"kind": "task-notification"},
        {"kind": "something of a newer release"},
    ],
)
async def test_words_that_a_host_passes_on_for_others_call_no_command(tmp_path: Path, origin: dict[str, str]):
    """S5: a host may claim less than it is, and that counts."""
    async with MessagesServer([]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program) as host:
            host.prompt("/permissions\tallow Bash user", origin=origin)
            refused = await host.result()
            host.prompt("/permissions allow Edit user", origin={"kind": "human"})
            await host.result()
            await host.close()
    assert refused["is_error"] and "was not run" in refused["result"]
    kept = json.loads((program.home / ".claude" / "settings.json").read_text())
    assert kept["permissions"]["allow"] == ["Edit"]
