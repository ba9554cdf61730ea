"""What a host brings when it introduces itself, and what it hears beside answers."""

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from bridle.protocol.heartbeat import Heartbeats
from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.processes import eventually
from tests.fakes.program import Program

_ASKS = ("--permission-prompt-tool", "stdio")


def _use(tool: str, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "t1", "name": tool, "input": input}


def _plugin(folder: Path, name: str) -> Path:
    (folder / ".claude-plugin").mkdir(parents=True)
    (folder / ".claude-plugin" / "plugin.json").write_text(json.dumps({"name": name, "version": "1.0.0"}))
    (folder / "commands").mkdir()
    (folder / "commands" / "greet.md").write_text("---\ndescription: Greets.\n---\nSay hello.")
    server = {"command": sys.executable, "args": ["-c", ""]}
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"talk": server}}))
    return folder


async def test_a_name_that_stands_for_another_tool_reaches_it(tmp_path: Path):
    script = [step(_use("Shell", command="echo hi > made")), step(_use("Look", file_path="made")), step("ok")]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, "--allowedTools", "Bash") as host:
            await host.request(
                "initialize", toolAliases={"Shell": "Bash", "Look": "Glance", "Glance": "Read"}
            )
            host.prompt("go")
            await host.result()
        sent = server.requests[-1].body["messages"][-1]["content"][0]
    assert (program.project / "made").read_text() == "hi\n"
    assert sent["is_error"] and "Look" in str(sent["content"]), "a name is followed once"


@pytest.mark.parametrize(
    ("flags", "end"),
    [(_ASKS, "ExitPlanMode"), ((), "Your answer is the plan")],
)
async def test_the_host_says_how_plans_are_made_and_the_rules_stay(
    tmp_path: Path, flags: tuple[str, ...], end: str
):
    async with MessagesServer([step("ok")]) as server:
        async with FakeHost(Program(tmp_path, server.url), "--permission-mode", "plan", *flags) as host:
            await host.request("initialize", planModeInstructions="Interview the gardener.")
            host.prompt("go")
            await host.result()
        told = json.dumps(server.requests[0].body["messages"])
    assert "Interview the gardener." in told and "Understand: read the code" not in told
    assert "Make no changes now" in told and end in told


async def test_plugins_of_the_introduction_are_there_when_it_was_waited_for(tmp_path: Path):
    plugin, other = _plugin(tmp_path / "plugin", "garden"), _plugin(tmp_path / "other", "orchard")
    listed = [{"type": "local", "path": str(plugin)}]
    muted = [{"type": "local", "path": str(other), "skipMcpDiscovery": True}]
    async with MessagesServer([step("ok")]) as server:
        async with FakeHost(Program(tmp_path, server.url), "--await-initialize") as host:
            answer = (await host.request("initialize", plugins=[*listed, *muted]))["response"]
            again = (await host.request("initialize", plugins=listed))["response"]
            more = (await host.request("initialize", plugins=[{"type": "local", "path": "x"}]))["response"]
            status = (await host.request("mcp_status"))["response"]["mcpServers"]
            host.prompt("go")
            await host.result()
        (init,) = [frame for frame in host.frames if frame.get("subtype") == "init"]
    assert [each["plugins_applied"] for each in (answer, again, more)] == [True, True, False]
    assert {each["name"] for each in init["plugins"]} == {"garden", "orchard"}
    assert "garden:greet" in [command["name"] for command in answer["commands"]]
    assert [each["name"] for each in status] == ["plugin:garden:talk"]


async def test_plugins_come_too_late_when_nobody_waits_for_them(tmp_path: Path):
    plugin = _plugin(tmp_path / "plugin", "garden")
    async with MessagesServer() as server, FakeHost(Program(tmp_path, server.url)) as host:
        listed = [{"type": "local", "path": str(plugin)}]
        answer = (await host.request("initialize", plugins=listed))["response"]
    assert answer["plugins_applied"] is False


async def test_a_plugin_of_another_kind_ends_the_start(tmp_path: Path):
    async with (
        MessagesServer() as server,
        FakeHost(Program(tmp_path, server.url), "--await-initialize") as host,
    ):
        host.send(
            type="control_request",
            request_id="r",
            request={"subtype": "initialize", "plugins": [{"type": "remote", "url": "x"}]},
        )
        code, err = await host.close()
    assert code == 1 and "plugin" in err and host.frames == []


async def test_what_was_asked_and_not_answered_is_told_again(tmp_path: Path):
    script = [step(_use("Bash", command="touch a")), step("ok")]
    async with MessagesServer(script) as server, FakeHost(Program(tmp_path, server.url), *_ASKS) as host:
        host.prompt("go")
        asked = await host.asked()
        during = await host.request("initialize")
        host.answer(asked, {"behavior": "deny", "message": "no"})
        await host.result()
        after = await host.request("initialize")
    assert during["pending_permission_requests"] == [asked]
    assert during["pending_user_dialog_requests"] == during["pending_elicitation_requests"] == []
    assert after["pending_permission_requests"] == []


_INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "calc", "version": "1"},
}


async def test_servers_of_the_host_are_known_by_their_manifest_and_their_tools_by_its_word(tmp_path: Path):
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("add", "drop", "free")]
    manifests = {"calc": {"initializeResult": _INITIALIZED, "toolsListResult": {"tools": tools}}, "odd": {}}
    policies = [
        {"name": "add", "permission_policy": "always_ask"},
        {"name": "drop", "permission_policy": "always_deny"},
        {"name": "free", "permission_policy": "always_allow"},
        {"permission_policy": "always_deny"},
    ]
    async with MessagesServer([step(_use("mcp__calc__add")), step("ok")]) as server:
        flags = (*_ASKS, "--allowedTools", "mcp__calc")
        async with FakeHost(Program(tmp_path, server.url), *flags) as host:
            answer = (
                await host.request(
                    "initialize",
                    sdkMcpServers=["calc"],
                    sdkMcpServerConfigs={"calc": {"tools": policies}},
                    sdkMcpServerManifests=manifests,
                )
            )["response"]
            rules = (await host.request("list_permission_rules"))["response"]["rules"]
            host.prompt("go")
            asked = await host.asked()
            host.answer(asked, {"behavior": "deny", "message": "no"})
            await host.result()
            names = ["calc", "odd"]
            again = await host.request("initialize", sdkMcpServers=names, sdkMcpServerManifests=manifests)
    messages = [
        frame["request"]["message"]["method"]
        for frame in host.frames
        if frame["type"] == "control_request" and frame["request"].get("server_name") == "calc"
    ]
    assert answer["sdk_mcp_manifests_parked"] == {"calc": "parked"}
    assert again["response"]["sdk_mcp_manifests_parked"] == {"calc": "already_connected", "odd": "malformed"}
    assert [(each["rule"], each["behavior"]) for each in rules[-2:]] == [
        ("mcp__calc__add", "ask"),
        ("mcp__calc__drop", "deny"),
    ]
    assert asked["request"]["mcp_server"] == {"name": "calc", "source": "sdk"}
    assert not {"initialize", "tools/list"} & set(messages)


async def test_usage_counts_lines_and_time_of_all_turns(tmp_path: Path):
    script = [
        step(_use("Write", file_path="a.txt", content="one\ntwo\nthree\n")),
        step("ok"),
        step(_use("Edit", file_path="a.txt", old_string="two\n", new_string="")),
        step("ok"),
    ]
    flags = ("--permission-mode", "acceptEdits")
    async with MessagesServer(script) as server, FakeHost(Program(tmp_path, server.url), *flags) as host:
        results: list[Any] = []
        for prompt in ("one", "two"):
            host.prompt(prompt)
            results.append(await host.result())
        used = (await host.request("get_usage"))["response"]["session"]
        host.prompt("/clear")
        await host.result()
        cleared = (await host.request("get_usage"))["response"]["session"]
    assert (used["total_lines_added"], used["total_lines_removed"]) == (3, 1)
    assert used["total_duration_ms"] == sum(each["duration_ms"] for each in results)
    assert used["total_api_duration_ms"] == sum(each["duration_api_ms"] for each in results)
    assert cleared["total_lines_added"] == 0


async def test_a_compaction_is_told_before_the_turn_that_it_is(tmp_path: Path):
    script = [step("one"), step("two"), step("<summary>All of it.</summary>"), step("three")]
    async with MessagesServer(script) as server, FakeHost(Program(tmp_path, server.url)) as host:
        for prompt in ("a", "b"):
            host.prompt(prompt)
            await host.result()
        before = len(host.frames)
        host.prompt("/compact keep the names")
        result = await host.result()
        told = [frame.get("subtype", frame["type"]) for frame in host.frames[before:]]
        host.prompt("/compacted")
        listed = await host.result()
    assert told == ["status", "status", "init", "compact_boundary", "user", "user", "success"]
    assert (result["num_turns"], result["result"]) == (0, "")
    assert listed["result"]


async def test_a_host_that_waits_for_an_answer_hears_that_we_are_there(tmp_path: Path):
    config = json.dumps({"mcpServers": {"slow": {"command": "sleep", "args": ["1000"]}}})
    async with MessagesServer() as server:
        program = Program(tmp_path, server.url)
        flags = ("--mcp-config", config)
        async with FakeHost(program, *flags, BRIDLE_KEEP_ALIVE_SECONDS="0.1", MCP_TIMEOUT="20000") as host:
            await host.request("initialize")
            host.send(
                type="control_request",
                request_id="slow",
                request={"subtype": "mcp_reconnect", "serverName": "slow"},
            )
            beat = await host.until(lambda frame: frame["type"] == "keep_alive")
    assert beat == {"type": "keep_alive"}


def test_a_call_that_says_nothing_is_heard_of_now_and_then():
    beats = Heartbeats(seconds=30)
    beats.begin("t1", "Bash")
    assert list(beats.due(100.0, session_id="s")) == []
    assert list(beats.due(120.0, session_id="s")) == []
    (told,) = beats.due(130.0, session_id="s")
    assert (told["type"], told["tool_use_id"], told["heartbeat"]) == ("tool_progress", "t1", True)
    assert told["elapsed_time_seconds"] == 30.0
    assert list(beats.due(140.0, session_id="s")) == []
    beats.end("t1")
    assert list(beats.due(200.0, session_id="s")) == []


async def test_whoever_waits_for_the_introduction_can_be_told_to_go(tmp_path: Path):
    async with FakeHost(Program(tmp_path, "http://127.0.0.1:9"), "--await-initialize") as host:
        pid = host.process.pid
        await eventually(lambda: _catches(pid, signal.SIGTERM))
        host.process.terminate()
        code, err = await host.close()
    assert (code, err) == (143, "")


def _catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal."""
    status = Path(f"/proc/{pid}/status").read_text()
    (caught,) = [line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:")]
    return bool(int(caught, 16) & 1 << (number - 1))


async def _system(program: Program, server: MessagesServer, *flags: str, **introduction: Any) -> str:
    """The system prompt of the next request."""
    async with FakeHost(program, *flags) as host:
        await host.request("initialize", **introduction)
        host.prompt("go")
        await host.result()
    return json.dumps(server.requests[-1].body["system"])


async def test_a_system_prompt_that_is_kept_outlives_resumes_until_somebody_says_otherwise(tmp_path: Path):
    async with MessagesServer([step("ok") for _ in range(6)]) as server:
        program = Program(tmp_path, server.url)
        first = await _system(program, server, appendSystemPrompt="Like roses.", systemPromptSnapshot=True)
        assert "Like roses." in first
        changed = {"appendSystemPrompt": "Like tulips."}
        again = [
            await _system(program, server, "--continue", **changed),
            await _system(program, server, "--continue", **changed, systemPromptSnapshot=True),
            await _system(program, server, "--continue", "--fork-session", **changed),
        ]
        assert again == [first, first, first]
        free = await _system(program, server, "--continue", **changed, systemPromptSnapshot=False)
        assert "Like tulips." in free
        assert "roses" not in await _system(program, server, "--continue", appendSystemPrompt="Like oaks.")


async def test_a_new_conversation_keeps_no_system_prompt_unasked(tmp_path: Path):
    async with MessagesServer([step("ok"), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        await _system(program, server, appendSystemPrompt="Like roses.")
        assert "tulips" in await _system(program, server, "--continue", appendSystemPrompt="Like tulips.")


async def test_a_kept_system_prompt_is_let_go_by_a_compaction(tmp_path: Path):
    async with MessagesServer([step("ok"), step("A summary."), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        await _system(program, server, appendSystemPrompt="Like roses.", systemPromptSnapshot=True)
        async with FakeHost(program, "--continue") as host:
            await host.request("initialize", appendSystemPrompt="Like tulips.")
            host.prompt("/compact")
            await host.result()
            host.prompt("go")
            await host.result()
        sent = json.dumps(server.requests[-1].body["system"])
    assert "tulips" in sent and "roses" not in sent
