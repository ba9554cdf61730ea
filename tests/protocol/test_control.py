import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

_ASKS = ("--permission-prompt-tool", "stdio")


def _bash(command: str, id: str = "t1") -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}


def _states(host: FakeHost) -> list[str]:
    return [frame["state"] for frame in host.frames if frame.get("subtype") == "session_state_changed"]


async def test_initialize_is_answered_without_a_model_call(tmp_path: Path):
    async with MessagesServer() as server, FakeHost(Program(tmp_path, server.url)) as host:
        answer = await host.request("initialize", hooks=None)
        again = await host.request("initialize")
        closed = await host.close()
        assert server.requests == []
    assert answer["subtype"] == again["subtype"] == "success"
    assert answer["pending_permission_requests"] == []
    told = answer["response"]
    assert told["hook_on_failure_supported"] is True and told["session_state"] == "idle"
    assert "sonnet" in [model["value"] for model in told["models"]]
    assert told["account"]["apiKeySource"] == "ANTHROPIC_API_KEY"
    assert closed == (0, "")


async def test_host_may_allow_a_call_and_change_its_input(tmp_path: Path):
    async with MessagesServer([step(_bash("touch a")), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, *_ASKS, CLAUDE_CODE_SDK_READS_SESSION_STATE="1") as host:
            host.prompt("go")
            asked = await host.asked()
            host.answer(asked, {"behavior": "allow", "updatedInput": {"command": "touch b"}})
            result = await host.result()
            await host.close()
    assert asked["request"]["tool_name"] == "Bash" and asked["request"]["input"] == {"command": "touch a"}
    assert asked["request"]["tool_use_id"] == "t1" and asked["request"]["decision_reason"]
    assert (program.project / "b").exists() and not (program.project / "a").exists()
    assert result["permission_denials"] == []
    assert _states(host) == ["running", "requires_action", "running", "idle"]


async def test_host_may_deny_and_the_turn_goes_on(tmp_path: Path):
    async with MessagesServer([step(_bash("touch a")), step("I see.")]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, *_ASKS) as host:
            host.prompt("go")
            host.answer(await host.asked(), {"behavior": "deny", "message": "not today"})
            result = await host.result()
        sent = server.requests[1].body["messages"][-1]["content"][0]
    assert not (program.project / "a").exists()
    assert (sent["content"], sent["is_error"]) == ("not today", True)
    assert (result["result"], len(result["permission_denials"])) == ("I see.", 1)


async def test_denial_that_interrupts_ends_the_turn_and_the_next_prompt_works(tmp_path: Path):
    async with MessagesServer([step(_bash("touch a")), step("fine")]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, *_ASKS) as host:
            host.prompt("go")
            host.answer(await host.asked(), {"behavior": "deny", "message": "stop", "interrupt": True})
            first = await host.result()
            host.prompt("again")
            second = await host.result()
    assert (first["subtype"], first["terminal_reason"]) == ("error_during_execution", "aborted_tools")
    assert second["result"] == "fine"


@pytest.mark.parametrize(
    "answer", [{"behavior": "perhaps"}, {}, {"behavior": "allow", "updatedInput": {"nonsense": 1}}]
)
async def test_answer_that_makes_no_sense_never_runs_the_call(tmp_path: Path, answer: Any):
    async with MessagesServer([step(_bash("touch a")), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, *_ASKS) as host:
            host.prompt("go")
            host.answer(await host.asked(), answer)
            await host.result()
    assert not (program.project / "a").exists()


async def test_error_answer_is_a_denial(tmp_path: Path):
    async with MessagesServer([step(_bash("touch a")), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, *_ASKS) as host:
            host.prompt("go")
            asked = await host.asked()
            broken = {"subtype": "error", "request_id": asked["request_id"], "error": "callback failed"}
            host.send(type="control_response", response=broken)
            result = await host.result()
    assert not (program.project / "a").exists() and len(result["permission_denials"]) == 1


async def test_answers_may_come_late_twice_and_for_nobody(tmp_path: Path):
    calls = step(_bash("touch a", "t1"))
    async with MessagesServer([calls, step("one"), step("two")]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, *_ASKS) as host:
            host.answer({"request_id": "nobody"}, {"behavior": "allow"})
            host.prompt("go")
            asked = await host.asked()
            host.answer(asked, {"behavior": "allow"})
            host.answer(asked, {"behavior": "deny", "message": "too late"})
            await host.result()
            host.answer(asked, {"behavior": "deny", "message": "far too late"})
            host.prompt("more")
            assert (await host.result())["result"] == "two"
            assert await host.close() == (0, "")
    assert (program.project / "a").exists()


async def test_interrupt_withdraws_a_pending_question(tmp_path: Path):
    async with MessagesServer([step(_bash("touch a")), step("fine")]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, *_ASKS) as host:
            host.prompt("go")
            asked = await host.asked()
            answer = await host.request("interrupt")
            result = await host.result()
            host.prompt("again")
            second = await host.result()
    withdrawn = [frame["request_id"] for frame in host.frames if frame["type"] == "control_cancel_request"]
    assert answer["response"] == {"still_queued": []}
    assert withdrawn == [asked["request_id"]]
    assert result["terminal_reason"] == "aborted_tools" and second["result"] == "fine"


async def test_input_that_ends_while_a_question_is_open_is_a_denial(tmp_path: Path):
    async with MessagesServer([step(_bash("touch a")), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, *_ASKS) as host:
            host.prompt("go")
            await host.asked()
            code, err = await host.close()
    assert (code, err) == (0, "") and not (program.project / "a").exists()
    assert len([frame for frame in host.frames if frame["type"] == "result"]) == 1


async def test_interrupt_at_rest_is_harmless(tmp_path: Path):
    async with FakeHost(Program(tmp_path, "http://127.0.0.1:9")) as host:
        assert (await host.request("interrupt"))["subtype"] == "success"
        assert await host.close() == (0, "")


async def test_mode_and_model_may_change_between_turns(tmp_path: Path):
    async with MessagesServer([step("one"), step("two")]) as server:
        async with FakeHost(Program(tmp_path, server.url)) as host:
            mode = await host.request("set_permission_mode", mode="plan")
            status = await host.until(lambda frame: frame.get("subtype") == "status")
            model = await host.request("set_model", model="haiku")
            host.prompt("go")
            await host.result()
            back = await host.request("set_model", model=None)
            host.prompt("again")
            await host.result()
        asked = [request.body["model"] for request in server.requests]
    init = next(frame for frame in host.frames if frame.get("subtype") == "init")
    assert (
        mode["response"] == {"mode": "plan"} and status["permissionMode"] == init["permissionMode"] == "plan"
    )
    assert asked == [model["response"]["model"], back["response"]["model"]] and "haiku" in asked[0]


@pytest.mark.parametrize(
    ("subtype", "fields", "complaint"),
    [
        ("set_permission_mode", {"mode": "turbo"}, "turbo"),
        ("set_permission_mode", {"mode": "bypassPermissions"}, "bypassPermissions"),
        ("mcp_reconnect", {"serverName": "x"}, "Server not found: x"),
        ("rewind_files", {"user_message_id": "x"}, "File rewinding is not enabled."),
        ("read_file", {"path": "/etc/hostname"}, "outside"),
        ("rename_session", {"title": " "}, "name"),
        ("dance", {}, "Unsupported control request subtype: dance"),
    ],
)
async def test_request_that_cannot_be_fulfilled_gets_a_sentence(
    tmp_path: Path, subtype: str, fields: dict[str, Any], complaint: str
):
    async with FakeHost(Program(tmp_path, "http://127.0.0.1:9")) as host:
        answer = await host.request(subtype, **fields)
    assert answer["subtype"] == "error" and complaint in answer["error"]


async def test_host_can_look_around(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        (program.project / "a.txt").write_text("hello")
        async with FakeHost(program, "--allowedTools", "Bash(ls:*)") as host:
            file = (await host.request("read_file", path="a.txt"))["response"]
            rules = (await host.request("list_permission_rules"))["response"]["rules"]
            settings = (await host.request("get_settings"))["response"]
            cost = (await host.request("get_session_cost"))["response"]
            host.prompt("go")
            await host.result()
            named = await host.request("rename_session", title="my work")
            ended = await host.request("end_session")
            async with asyncio.timeout(50):
                await host.process.wait()
    assert file["contents"] == "hello" and "truncated" not in file
    assert rules == [{"rule": "Bash(ls:*)", "behavior": "allow", "source": "cliArg"}]
    assert settings["applied"]["permissionMode"] == "default" and cost["total_cost_usd"] == 0
    assert named["subtype"] == ended["subtype"] == "success"
    assert host.process.returncode == 0
    assert "my work" in [row.get("customTitle") for row in program.rows()]


async def test_relative_paths_are_shown_to_the_host_in_full(tmp_path: Path):
    write = {
        "type": "tool_use",
        "id": "t1",
        "name": "Write",
        "input": {"file_path": "new.txt", "content": "x"},
    }
    async with MessagesServer([step(write), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, *_ASKS) as host:
            host.prompt("go")
            asked = await host.asked()
            host.answer(asked, {"behavior": "allow", "updatedInput": asked["request"]["input"]})
            await host.result()
    assert asked["request"]["input"]["file_path"] == str(program.project / "new.txt")
    assert (program.project / "new.txt").read_text() == "x"


async def test_variables_that_the_host_sets_reach_later_commands(tmp_path: Path):
    async with MessagesServer([step(_bash("echo $GREETING > said")), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, "--allowedTools", "Bash") as host:
            host.send(type="update_environment_variables", variables={"GREETING": "hello"})
            host.prompt("go")
            await host.result()
    assert (program.project / "said").read_text() == "hello\n"
