"""What a host may ask of a session besides prompts."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

_NOWHERE = "http://127.0.0.1:9"


def _call(name: str, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "t1", "name": name, "input": input}


async def _asked(tmp_path: Path, subtype: str, *flags: str, **fields: Any) -> Any:
    async with FakeHost(Program(tmp_path, _NOWHERE), *flags) as host:
        return await host.request(subtype, **fields)


async def test_second_introduction_replaces_the_first(tmp_path: Path):
    agents = {"a": {"description": "one", "prompt": "p"}}
    async with FakeHost(Program(tmp_path, _NOWHERE)) as host:
        first = await host.request("initialize", agents=agents, skills=["x"], plugins=[{"path": "/p"}])
        second = await host.request("initialize", hooks={"Stop": [{"hookCallbackIds": ["h"]}]})
    assert first["response"]["agents"][-1] == {"name": "a", "description": "one"}
    assert first["response"]["plugins_applied"] is False and "hooks_applied" not in first["response"]
    assert "a" not in {each["name"] for each in second["response"]["agents"]}
    assert second["response"]["hooks_applied"] is True


async def test_introduction_may_name_the_session(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program) as host:
            await host.request("initialize", title="my work")
            host.prompt("go")
            await host.result()
            await host.close()
    titles = [frame["title"] for frame in host.frames if frame.get("subtype") == "session_title_changed"]
    assert titles == ["my work"]
    assert "my work" in [row.get("customTitle") for row in program.rows()]


async def test_introduction_with_a_bad_schema_is_refused_and_the_session_goes_on(tmp_path: Path):
    async with FakeHost(Program(tmp_path, _NOWHERE)) as host:
        bad = await host.request("initialize", jsonSchema={"type": "array"})
        worse = await host.request("initialize", hooks=[1])
        good = await host.request("initialize")
    assert (bad["subtype"], worse["subtype"], good["subtype"]) == ("error", "error", "success")
    assert "JSON Schema" in bad["error"]


async def test_unknown_request_has_an_error_code(tmp_path: Path):
    answer = await _asked(tmp_path, "dance")
    assert answer["error_code"] == "unsupported_request"


async def test_thinking_may_be_changed(tmp_path: Path):
    async with MessagesServer([step("ok", repeat=True)]) as server:
        async with FakeHost(Program(tmp_path, server.url), "--model", "claude-haiku-4-5") as host:
            for wanted in (3000, 0, None):
                await host.request("set_max_thinking_tokens", max_thinking_tokens=wanted)
                host.prompt("go")
                await host.result()
            bad = await host.request("set_max_thinking_tokens", max_thinking_tokens="much")
        thinking = [request.body["thinking"] for request in server.requests]
    assert thinking[:2] == [{"type": "enabled", "budget_tokens": 3000}, {"type": "disabled"}]
    assert thinking[2]["type"] == "enabled" and thinking[2]["budget_tokens"] != 3000
    assert bad["subtype"] == "error"


async def test_settings_may_be_laid_over_the_session(tmp_path: Path):
    calls = [step(_call("Bash", command="touch $NAME")), step("ok"), step("ok")]
    async with MessagesServer(calls) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program) as host:
            settings = {
                "permissions": {"allow": ["Bash"]},
                "env": {"NAME": "made"},
                "model": "haiku",
            }
            assert (await host.request("apply_flag_settings", settings=settings))["subtype"] == "success"
            host.prompt("go")
            await host.result()
            told = (await host.request("get_settings"))["response"]
            await host.request("apply_flag_settings", settings={"permissions": None})
            rules = (await host.request("list_permission_rules"))["response"]["rules"]
            bad = await host.request("apply_flag_settings", settings={"permissions": {"allow": 3}})
        assert "haiku" in server.requests[0].body["model"]
    assert (program.project / "made").exists() and rules == []
    assert told["effective"]["env"] == {"NAME": "made"} and "haiku" in told["applied"]["model"]
    assert [source["source"] for source in told["sources"]] == ["flagSettings"]
    assert bad["subtype"] == "error"


async def test_host_may_write_two_settings_and_no_other(tmp_path: Path):
    program = Program(tmp_path, _NOWHERE)
    async with FakeHost(program) as host:
        good = await host.request(
            "update_settings", source="localSettings", settings={"outputStyle": "plain"}
        )
        bad = await host.request("update_settings", source="localSettings", settings={"env": {"A": "b"}})
        worse = await host.request("update_settings", source="policySettings", settings={})
    assert [each["subtype"] for each in (good, bad, worse)] == ["success", "error", "error"]
    assert json.loads((program.project / ".claude/settings.local.json").read_text()) == {
        "outputStyle": "plain"
    }


async def test_hooks_of_the_settings_are_listed(tmp_path: Path):
    hook = {"type": "command", "command": "true", "timeout": 5}
    settings = json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}})
    listing = (await _asked(tmp_path, "get_hooks_listing", "--settings", settings))["response"]
    (row,) = listing["hooks"]
    assert (row["event"], row["matcher"], row["commandText"]) == ("PreToolUse", "Bash", "true")
    assert row["source"] == "flagSettings" and row["timeout"] == 5 and "disabled" not in row
    assert listing["events"][0]["hookCount"] == 1 and len(listing["eventCatalog"]) > 30


async def test_file_can_be_read_in_both_encodings(tmp_path: Path):
    program = Program(tmp_path, _NOWHERE)
    (program.project / "a.bin").write_bytes(b"\xff\x00ab")
    async with FakeHost(program) as host:
        text = (await host.request("read_file", path="a.bin"))["response"]
        raw = (await host.request("read_file", path="a.bin", encoding="base64", max_bytes=2))["response"]
    assert text["lossy"] is True and (raw["contents"], raw["truncated"]) == ("/wA=", True)


async def test_files_are_suggested_by_their_letters(tmp_path: Path):
    program = Program(tmp_path, _NOWHERE)
    (program.project / "src").mkdir()
    (program.project / "src" / "main.py").touch()
    (program.project / "notes.md").touch()
    async with FakeHost(program) as host:
        found = (await host.request("file_suggestions", query="mainpy"))["response"]["suggestions"]
    assert found == [{"path": "src/main.py", "isDirectory": False}]


async def test_file_that_the_host_has_read_may_be_edited(tmp_path: Path):
    edit = _call("Edit", file_path="a.txt", old_string="one", new_string="two")
    async with MessagesServer([step(edit), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        path = program.project / "a.txt"
        path.write_text("one\n")
        mtime = os.stat(path).st_mtime_ns // 1_000_000
        async with FakeHost(program, "--permission-mode", "acceptEdits") as host:
            await host.request("seed_read_state", path=str(path), mtime=mtime)
            host.prompt("go")
            await host.result()
            gone = await host.request("seed_read_state", path="gone.txt", mtime=1)
    assert path.read_text() == "two\n" and gone["subtype"] == "error"


async def test_folder_inside_the_project_can_be_registered(tmp_path: Path):
    program = Program(tmp_path, _NOWHERE)
    (program.project / "inner").mkdir()
    async with FakeHost(program) as host:
        good = await host.request("register_repo_root", directory="inner")
        bad = await host.request("register_repo_root", directory="/")
        state = (await host.request("list_permission_rules"))["response"]["state"]
    assert (good["subtype"], bad["subtype"]) == ("success", "error")
    assert [each["path"] for each in state["workspaceDirectories"]] == [str(program.project / "inner")]


@pytest.mark.parametrize(
    ("subtype", "fields", "keys"),
    [
        ("reload_skills", {}, {"skills"}),
        ("reload_plugins", {}, {"commands", "agents", "plugins", "mcpServers", "error_count"}),
        ("reload_output_styles", {}, {"available_output_styles"}),
        ("get_usage", {}, {"session", "rate_limits_available"}),
        ("get_session_cost", {}, {"text", "total_cost_usd"}),
        ("list_models", {}, {"models"}),
        ("get_binary_version", {}, {"version"}),
        (
            "get_context_usage",
            {},
            {"categories", "totalTokens", "gridRows", "mcpTools", "agents", "apiUsage"},
        ),
        ("mcp_set_servers", {"servers": {"x": {"command": "x"}}}, {"added", "removed", "errors"}),
        ("set_color", {"color": "red"}, set[str]()),
        ("set_has_subscribers", {"has_subscribers": False}, set[str]()),
        ("background_tasks", {}, set[str]()),
        ("stop_task", {"task_id": "none"}, set[str]()),
        ("interrupt", {}, {"still_queued"}),
    ],
)
async def test_request_is_answered(tmp_path: Path, subtype: str, fields: dict[str, Any], keys: set[str]):
    answer = await _asked(tmp_path, subtype, **fields)
    assert answer["subtype"] == "success" and keys <= answer["response"].keys()


@pytest.mark.parametrize(
    ("subtype", "fields"),
    [
        ("mcp_toggle", {"serverName": "x", "enabled": False}),
        ("mcp_message", {"server_name": "x", "message": {}}),
        ("mcp_call", {"tool": "mcp__x__y"}),
        ("mcp_read_resource", {"serverName": "x", "uri": "ui://a"}),
        ("get_task_output", {"task_id": "none"}),
        ("set_color", {}),
        ("apply_flag_settings", {}),
        ("rename_session", {"title": "a", "session_id": "another"}),
    ],
)
async def test_request_that_makes_no_sense_gets_a_sentence(
    tmp_path: Path, subtype: str, fields: dict[str, Any]
):
    answer = await _asked(tmp_path, subtype, **fields)
    assert answer["subtype"] == "error" and len(answer["error"]) > 10


async def test_end_of_the_session_drops_what_waits(tmp_path: Path):
    async with MessagesServer([step("one")]) as server, FakeHost(Program(tmp_path, server.url)) as host:
        host.prompt("first")
        await host.result()
        await host.request("end_session")
        assert await host.process.wait() == 0


async def test_nobody_is_asked_where_prompts_are_turned_off(tmp_path: Path):
    flags = ("--permission-prompt-tool", "stdio", "--permission-prompts", "none")
    async with MessagesServer([step(_call("Bash", command="touch made")), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, *flags) as host:
            host.prompt("go")
            init = await host.until(lambda frame: frame.get("subtype") == "init")
            result = await host.result()
    assert not (program.project / "made").exists() and len(result["permission_denials"]) == 1
    assert "AskUserQuestion" not in init["tools"]
    assert "control_request" not in {frame["type"] for frame in host.frames}


async def test_permission_prompt_tool_must_be_a_tool_of_a_server(tmp_path: Path):
    done = await Program(tmp_path, _NOWHERE).run("-p", "hi", "--permission-prompt-tool", "nonsense")
    assert done.code == 1 and "mcp__server__tool" in done.err


async def test_permission_prompt_tool_without_its_server_denies(tmp_path: Path):
    async with MessagesServer([step(_call("Bash", command="touch made")), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        done = await program.run("-p", "go", "--permission-prompt-tool", "mcp__gate__ask")
        told = server.requests[1].body["messages"][-1]["content"][0]
    assert done.code == 0 and not (program.project / "made").exists()
    assert told["is_error"] and "gate" in told["content"]
