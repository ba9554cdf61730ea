import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from bridle.mcp.catalog import ServerTool
from bridle.mcp.timeouts import Timeouts
from bridle.types.errors import McpError, ToolError
from bridle.types.sandbox import Confined, Denials
from bridle.types.services.mcp import Server, StdioServer
from tests.fakes.mcp_session import connected, everything, plain
from tests.fakes.processes import eventually
from tests.fakes.tool_context import FakeProgress, make_context


async def test_official_server_is_spoken_to_without_handshake():
    async with asyncio.timeout(50), connected(everything()) as servers:
        (state,) = servers.status()
        assert (state.status, state.protocol, state.error) == ("connected", "2026-07-28", None)
        assert state.info is not None and (state.info.name, state.info.version) == ("everything", "1.2.3")
        assert servers.instructions() == {"s": "Ask for one thing at a time."}
        answer = await servers.call("s", "echo", {"text": "hi"})
        assert answer["content"] == [{"type": "text", "text": "hi"}]
        assert answer["structuredContent"] == {"result": "hi"}
        await eventually(servers.resources)
        assert {each.uri for each in servers.resources()} == {
            "memo://hello", "memo://pixel", "memo://{name}/card",
        }  # fmt: skip
        await eventually(servers.prompts)
        (prompt,) = servers.prompts()
        assert (prompt.command, [each.name for each in prompt.arguments]) == (
            "mcp__s__greet",
            ["who", "tone"],
        )
        filled = await servers.prompt("s", "greet", {"who": "Bob"})
        assert filled["messages"][0]["content"]["text"] == "Greet Bob in a warm tone."


async def test_official_server_is_spoken_to_with_a_handshake_where_that_is_asked_for():
    timing = Timeouts(probes=False, connect=20.0, first_turn=20.0)
    async with asyncio.timeout(50), connected(everything(), timing=timing) as servers:
        assert servers.status()[0].protocol == "2025-11-25"
        answer = await servers.call("s", "whereabouts", {})
        assert answer["content"][0]["text"] == "file:///proj%20folder"
        with pytest.raises(McpError, match="no tool"):
            await servers.call("s", "nonsense", {})


async def test_older_server_is_greeted_with_a_handshake():
    async with asyncio.timeout(50), connected(plain()) as servers:
        assert (servers.status()[0].status, servers.status()[0].protocol) == ("connected", "2025-06-18")


async def test_server_that_ends_at_the_first_question_is_started_again_and_greeted():
    async with asyncio.timeout(50), connected(plain("exit-on-probe")) as servers:
        assert servers.status()[0].status == "connected"


async def test_noise_between_messages_is_kept_and_harms_nothing():
    async with asyncio.timeout(50), connected(plain("noisy")) as servers:
        assert (await servers.call("s", "echo", {"text": "hi"}))["content"][0]["text"] == "hi"
        log = servers.status()[0].log
        assert "careful" in log and len(log) <= 16 * 1024


@pytest.mark.parametrize(
    ("odd", "why"),
    [
        ("broken", "no module named nothing"),
        ("lying", "did not answer like an MCP server"),
        ("old", "1999-01-01"),
        ("crash-on-list", "exited with code 9"),
    ],
)
async def test_server_that_cannot_be_used_is_failed_with_a_reason(odd: str, why: str):
    async with asyncio.timeout(50), connected(plain(odd)) as servers:
        (state,) = servers.status()
        assert state.status == "failed" and state.error is not None
        assert "s " in state.error and why in state.error
        assert list(servers.tools()) == []
        with pytest.raises(McpError):
            await servers.call("s", "echo", {})


async def test_missing_program_is_named():
    async with connected(StdioServer(command="no-such-program-here")) as servers:
        assert servers.status()[0].error == ("Could not start s: 'no-such-program-here' is not on the PATH.")


async def test_mute_server_is_given_up_after_the_time_that_users_set():
    timing = Timeouts(connect=0.3, first_turn=5.0)
    async with asyncio.timeout(50), connected(plain("mute"), timing=timing) as servers:
        (state,) = servers.status()
        assert state.status == "failed" and state.error is not None and "after 0.3 s" in state.error


async def test_list_that_never_ends_is_cut():
    async with asyncio.timeout(50), connected(plain("endless")) as servers:
        assert servers.status()[0].status == "connected"
        assert "too many pages" in servers.status()[0].log


async def test_odd_tools_are_put_right_or_left_out():
    async with asyncio.timeout(50), connected(plain("odd-tools")) as servers:
        tools = {
            tool.name: tool.own_definition() for tool in servers.tools() if tool.name.startswith("mcp__")
        }
        assert sorted(tools) == [
            "mcp__s__either", "mcp__s__fine", "mcp__s__no-schema", "mcp__s__no_good_name",
            "mcp__s__no_good_name_2", "mcp__s__wordy",
        ]  # fmt: skip
        either, wordy = tools["mcp__s__either"], tools["mcp__s__wordy"]
        assert either is not None and either.get("input_schema") == {
            "type": "object",
            "properties": {"a": {}},
        }
        assert wordy is not None and len(wordy.get("description", "")) < 2100
        assert "skipped the tool array" in servers.status()[0].log


async def test_call_carries_its_id_and_a_progress_token():
    async with asyncio.timeout(50), connected(plain()) as servers:
        tool = ServerTool(full_name="x", name="meta", description="", schema_json=b"{}")
        answer = await servers._find("s").call(tool, {}, call_id="toolu_1")
        meta = json.loads(answer["content"][0]["text"])
        assert meta["claudecode/toolUseId"] == "toolu_1" and isinstance(meta["progressToken"], int)


async def test_progress_is_shown_while_a_call_runs(tmp_path: Path):
    progress = FakeProgress()
    async with asyncio.timeout(50), connected(everything()) as servers:
        tool = next(tool for tool in servers.tools() if tool.name == "mcp__s__slow")
        output = await tool.run({}, make_context(tmp_path, progress=progress))
    assert progress.lines == ["step 1", "step 2", "step 3"]
    assert output.content == [{"type": "text", "text": "done"}]


async def test_interrupt_reaches_the_server(tmp_path: Path):
    async with asyncio.timeout(50), connected(everything()) as servers:
        tool = next(tool for tool in servers.tools() if tool.name == "mcp__s__hang")
        calling = asyncio.ensure_future(tool.run({}, make_context(tmp_path)))
        await eventually(lambda: "called!" in servers.status()[0].log)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await eventually(lambda: "cancelled!" in servers.status()[0].log)
        assert (await servers.call("s", "echo", {"text": "still here"}))["content"][0]["text"] == "still here"


async def test_call_that_takes_too_long_is_given_up(tmp_path: Path):
    server = Server(
        name="s",
        scope="user",
        config=StdioServer(command=everything().command, args=everything().args, timeout=300),
    )
    async with asyncio.timeout(50), connected(server) as servers:
        tool = next(tool for tool in servers.tools() if tool.name == "mcp__s__hang")
        with pytest.raises(ToolError, match=r"did not answer tools/call within 0\.3 s"):
            await tool.run({}, make_context(tmp_path))


async def test_error_of_a_server_is_told_to_the_model(tmp_path: Path):
    async with asyncio.timeout(50), connected(plain()) as servers:
        with pytest.raises(McpError, match="no such luck") as caught:
            await servers._find("s").request("tools/call", {"name": "error"})
        assert caught.value.code == -32000


async def test_huge_message_ends_the_connection_and_not_the_session():
    async with asyncio.timeout(60), connected(plain(), plain()) as servers:
        with pytest.raises(McpError, match="64 MiB"):
            await servers._find("s").request("tools/call", {"name": "huge"})
        assert (await servers.call("s2", "echo", {"text": "hi"}))["content"][0]["text"] == "hi"


async def test_server_that_died_in_a_call_is_started_again():
    async with asyncio.timeout(50), connected(plain()) as servers:
        with pytest.raises(McpError, match="exited with code 4"):
            await servers._find("s").request("tools/call", {"name": "die"})
        assert [tool.name for tool in servers.tools() if "echo" in tool.name] == ["mcp__s__echo"]
        assert (await servers.call("s", "echo", {"text": "back"}))["content"][0]["text"] == "back"
        assert servers.status()[0].status == "connected"


async def test_server_that_does_not_come_back_is_failed_after_some_attempts(tmp_path: Path):
    server = plain("once", ONCE_FILE=str(tmp_path / "once"))
    async with asyncio.timeout(50), connected(server) as servers:
        assert servers.status()[0].status == "connected"
        with pytest.raises(McpError):
            await servers._find("s").request("tools/call", {"name": "die"})
        await eventually(lambda: servers.status()[0].status == "failed")
        assert "5 retries" in (servers.status()[0].error or "")
        assert list(servers.tools()) == []


async def test_flooding_server_does_not_hold_up_the_others():
    timing = Timeouts(connect=20.0, first_turn=1.0)
    async with asyncio.timeout(50), connected(plain("flood"), plain(), timing=timing) as servers:
        assert [state.status for state in servers.status()] == ["pending", "connected"]
        for _ in range(20):
            assert (await servers.call("s2", "echo", {"text": "hi"}))["content"][0]["text"] == "hi"


async def test_environment_is_inherited_and_added_to():
    server = StdioServer(command=sys.executable, args=plain().args, env={"OWN": "1"})
    async with asyncio.timeout(50), connected(server, env={"INHERITED": "2", "OTEL_X": "3"}) as servers:
        answer = await servers._find("s").request("tools/call", {"name": "env"})
        seen = json.loads(answer["content"][0]["text"])
        assert (seen["OWN"], seen["INHERITED"], seen.get("OTEL_X")) == ("1", "2", None)


async def test_credentials_of_model_services_and_clouds_are_given_only_by_name():
    secrets: tuple[str, ...] = (
        "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "CLAUDE_CODE_OAUTH_TOKEN",
        "OPENAI_API_KEY", "GEMINI_API_KEY", "GROQ_API_KEY", "BRIDLE_CREDENTIALS", "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "AZURE_CLIENT_SECRET",
        "GOOGLE_APPLICATION_CREDENTIALS", "CLOUDFLARE_API_TOKEN", "aws_secret_access_key",
    )  # fmt: skip
    others: tuple[str, ...] = (
        "AWS_PROFILE",
        "AWS_REGION",
        "GOOGLE_CLOUD_PROJECT",
        "GITHUB_TOKEN",
        "SLACK_BOT_TOKEN",
    )
    named = {"AWS_SESSION_TOKEN": "given"}
    server = StdioServer(command=sys.executable, args=plain().args, env=named)
    env: dict[str, str] = dict.fromkeys((*secrets, *others), "from the user")
    async with asyncio.timeout(50), connected(server, env=env) as servers:
        answer = await servers._find("s").request("tools/call", {"name": "env"})
        seen = json.loads(answer["content"][0]["text"])
        assert {name: seen[name] for name in env if name in seen} == {
            **dict.fromkeys(others, "from the user"), **named,
        }  # fmt: skip


async def test_only_the_bare_environment_is_given_where_that_is_asked_for():
    env = {"CLAUDE_CODE_MCP_ALLOWLIST_ENV": "1", "SECRET": "2"}
    server = StdioServer(command=sys.executable, args=plain().args, env={"OWN": "1"})
    async with asyncio.timeout(50), connected(server, env=env) as servers:
        answer = await servers._find("s").request("tools/call", {"name": "env"})
        seen = json.loads(answer["content"][0]["text"])
        assert (seen["OWN"], seen.get("SECRET")) == ("1", None) and "PATH" in seen


async def test_stubborn_server_and_its_children_are_gone_after_closing(tmp_path: Path):
    pids = tmp_path / "pids"
    server = plain("stubborn", "parent", "pid", PID_FILE=str(pids))
    async with asyncio.timeout(50), connected(server):
        (group,) = [int(line) for line in pids.read_text().split()]
    assert not _living_members(group)


async def test_no_server_survives_a_killed_session(tmp_path: Path):
    pids = tmp_path / "pids"
    code = f"""
import asyncio, sys
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from tests.fakes.mcp_session import connected, plain
async def main():
    async with connected(plain("stubborn", "parent", "pid", PID_FILE={str(pids)!r})):
        print("ready", flush=True)
        await asyncio.sleep(600)
asyncio.run(main())
"""
    session = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE, start_new_session=True
    )
    async with asyncio.timeout(50):
        assert session.stdout is not None and await session.stdout.readline() == b"ready\n"
        (group,) = [int(line) for line in pids.read_text().split()]
        assert _living_members(group)
        os.kill(session.pid, signal.SIGKILL)
        await session.wait()
        await eventually(lambda: not _living_members(group))


class FakeSandbox:
    """Marks what runs inside by a variable, or cannot be set up."""

    may_be_left = False

    def __init__(self, *, usable: bool = True) -> None:
        self._usable = usable

    def covers(self, command: str) -> bool:
        return True

    def under(self, denials: Denials) -> "FakeSandbox":
        return self

    def confine(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], pass_fds: tuple[int, ...] = ()
    ) -> Confined:
        if not self._usable:
            raise ToolError("there are no walls")
        return Confined(argv=("/usr/bin/env", "INSIDE=1", *argv), env=env, pass_fds=pass_fds)

    def annotate(self, output: str, *, failed: bool, command: str = "") -> str:
        return ""

    async def close(self) -> None: ...


async def test_server_runs_inside_the_boundary_or_not_at_all():
    async with asyncio.timeout(50), connected(plain(), sandbox=FakeSandbox()) as servers:
        answer = await servers._find("s").request("tools/call", {"name": "env"})
        assert json.loads(answer["content"][0]["text"])["INSIDE"] == "1"
    async with asyncio.timeout(50), connected(plain(), sandbox=FakeSandbox(usable=False)) as servers:
        assert "there are no walls" in (servers.status()[0].error or "")


async def test_shell_prefix_wraps_the_command(tmp_path: Path):
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(f'#!/bin/sh\necho wrapped >> {tmp_path}/used\nexec sh -c "exec $1"\n')
    wrapper.chmod(0o755)
    async with (
        asyncio.timeout(50),
        connected(plain(), env={"CLAUDE_CODE_SHELL_PREFIX": str(wrapper)}) as servers,
    ):
        assert servers.status()[0].status == "connected"
    assert (tmp_path / "used").read_text() == "wrapped\n"


def _living_members(group: int) -> list[str]:
    found: list[str] = []
    for entry in os.listdir("/proc"):
        if not entry.isdecimal():
            continue
        try:
            stat = Path(f"/proc/{entry}/stat").read_text()
        except OSError:
            continue
        state, _, its_group = stat.rpartition(")")[2].split()[:3]
        if int(its_group) == group and state not in "ZX":
            found.append(entry)
    return found
