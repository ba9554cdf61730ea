"""Requests of newer hosts: logins to servers, modes of single servers, and what only the vendor has."""

import json
import sys
from pathlib import Path
from typing import Any

from bridle.host.http.client import HttpClient, Request
from tests.fakes import mcp_plain
from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.oauth_server import FakeBrowser, FakeHouse
from tests.fakes.processes import eventually
from tests.fakes.program import Program

_NOWHERE = "http://127.0.0.1:9"
_ASKS = ("--permission-prompt-tool", "stdio")


def _servers(**configs: Any) -> tuple[str, str]:
    return ("--mcp-config", json.dumps({"mcpServers": configs}))


_PLAIN = {"command": sys.executable, "args": [str(mcp_plain.__file__)]}


async def _status(host: FakeHost) -> str:
    (server,) = (await host.request("mcp_status"))["response"]["mcpServers"]
    return server["status"]


async def test_host_leads_its_user_through_a_login_and_out_again(tmp_path: Path):
    async with FakeHouse() as house:
        program = Program(tmp_path, _NOWHERE)
        async with FakeHost(program, *_servers(oa={"type": "http", "url": house.url})) as host:
            await eventually(lambda: _is(host, "needs-auth"))
            begun = (await host.request("mcp_authenticate", serverName="oa"))["response"]
            await FakeBrowser()(begun["authUrl"])
            await eventually(lambda: _is(host, "connected"))
            left = await host.request("mcp_clear_auth", serverName="oa")
            await eventually(lambda: _is(host, "needs-auth"))
    assert begun["state"] in begun["authUrl"] and str(begun["callbackPort"]) in begun["authUrl"]
    assert (begun["requiresUserAction"], begun["callbackExpected"]) == (True, True)
    assert (begun["redirectScheme"], left["response"]) == ("localhost", {})


async def test_host_may_wait_for_the_browser_itself(tmp_path: Path):
    async with FakeHouse() as house:
        program = Program(tmp_path, _NOWHERE)
        async with FakeHost(program, *_servers(oa={"type": "http", "url": house.url})) as host:
            await eventually(lambda: _is(host, "needs-auth"))
            early = await host.request(
                "mcp_oauth_callback_url", serverName="oa", callbackUrl="http://x/?code=1"
            )
            begun = await host.request(
                "mcp_authenticate",
                serverName="oa",
                redirectUri="http://localhost:9/back",
                redirectUriOnly=True,
            )
            ended = await _end_of(begun["response"]["authUrl"])
            done = await host.request("mcp_oauth_callback_url", serverName="oa", callbackUrl=ended)
            status = await _status(host)
    assert early["error"] == "No active OAuth flow for server: oa"
    assert begun["response"]["redirectScheme"] == "custom" and "callbackPort" not in begun["response"]
    assert ended.startswith("http://localhost:9/back?")
    assert (done["response"], status) == ({}, "connected")


async def test_servers_without_a_login_say_so(tmp_path: Path):
    async with FakeHost(Program(tmp_path, _NOWHERE), *_servers(plain=_PLAIN)) as host:
        found = [
            (await host.request("mcp_authenticate", serverName="plain"))["error"],
            (await host.request("mcp_clear_auth", serverName="plain"))["error"],
            (await host.request("mcp_authenticate", serverName="nobody"))["error"],
        ]
    assert found == [
        'Server type "stdio" does not support OAuth authentication',
        'Cannot clear auth for server type "stdio"',
        "Server not found: nobody",
    ]


async def test_calls_of_one_server_are_judged_in_a_mode_of_their_own(tmp_path: Path):
    call = {"type": "tool_use", "id": "t1", "name": "mcp__plain__echo", "input": {"text": "hi"}}
    async with MessagesServer([step(call), step("ok"), step({**call, "id": "t2"}), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, *_ASKS, *_servers(plain=_PLAIN)) as host:
            set_to = await host.request(
                "set_mcp_permission_mode_override", serverName="plain", mode="dontAsk"
            )
            host.prompt("go")
            denied = await host.result()
            unset = await host.request("set_mcp_permission_mode_override", serverName="plain", mode=None)
            host.prompt("go")
            asked = await host.asked()
            host.answer(asked, {"behavior": "allow", "updatedInput": asked["request"]["input"]})
            allowed = await host.result()
            wrong = await host.request("set_mcp_permission_mode_override", serverName="plain", mode="loud")
            unknown = await host.request("set_mcp_permission_mode_override", serverName="x", mode="plan")
    assert "response" not in set_to and "response" not in unset
    assert [each["tool_use_id"] for each in denied["permission_denials"]] == ["t1"]
    assert allowed["permission_denials"] == []
    assert wrong["error"].startswith("Cannot set permission mode: must be one of acceptEdits")
    assert "is not yet known" in unknown["response"]["warning"]


async def test_side_questions_know_those_before_them(tmp_path: Path):
    async with MessagesServer([step("It said hi.", repeat=True)]) as server:
        async with FakeHost(Program(tmp_path, server.url)) as host:
            history = [{"question": "first?", "response": "one"}]
            answer = await host.request("side_question", question="second?", history=history)
            wrong = await host.request("side_question", question="second?", history=[{"question": 1}])
        sent = server.requests[-1].body["messages"]
    said = [block["text"] for message in sent for block in message["content"] if block["type"] == "text"]
    assert [text.partition("\n")[0] for text in said[-3:]] == ["first?", "one", "second?"]
    assert answer["response"] == {"response": "It said hi.", "synthetic": False}
    assert wrong["error"] == "history must be a list of {question, response}."
    started = [each for each in host.frames if each.get("subtype") == "control_request_progress"]
    assert started[0]["status"] == "started"


async def test_what_only_the_vendor_has_is_refused_with_a_reason(tmp_path: Path):
    async with FakeHost(Program(tmp_path, _NOWHERE)) as host:
        login = await host.request("claude_authenticate", loginWithClaudeAi=True)
        waits = await host.request("claude_oauth_wait_for_completion")
        claim = await host.request("claim_session")
        review = await host.request("ultrareview_launch", args="")
        survey = await host.request("submit_survey_feedback", response="good")
        channel = await host.request("channel_enable", serverName="x")
        hints = await host.request("set_chrome_browser_hints")
        off = await host.request("remote_control", enabled=False)
    assert "only in its own programs" in login["error"]
    assert waits["error"] == "No active claude_authenticate flow"
    assert claim["error"].startswith("not_a_spare")
    assert review["response"]["status"] == "error" and "/code-review" in review["response"]["message"]
    assert survey["response"]["feedback_id"] is None
    assert channel["error"] == "server x is not connected"
    assert hints["subtype"] == "error"
    assert off["subtype"] == "success" and "response" not in off


async def test_dialogs_of_sandbox_memory_and_context(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, *_servers(plain=_PLAIN)) as host:
            host.prompt("Look at everything that is here, please.")
            await host.result()
            sandbox = (await host.request("get_sandbox_dialog"))["response"]
            memory = (await host.request("get_memory_dialog"))["response"]
            context = (await host.request("get_context_usage"))["response"]
    assert (sandbox["supported"], sandbox["enabled"], sandbox["mode"]) == (True, False, "disabled")
    assert sandbox["restrictions"]["fs_deny_read"] == []
    assert memory["auto_memory"]["status"] == ("on" if memory["folders"] else "off")
    assert [tool["name"] for tool in context["mcpTools"]] == ["mcp__plain__echo", "mcp__plain__reader"]
    assert context["messageBreakdown"]["userMessageTokens"] > 0
    assert 0 < context["autoCompactThreshold"] < context["maxTokens"]


async def _is(host: FakeHost, status: str) -> bool:
    return await _status(host) == status


async def _end_of(page: str) -> str:
    """Where the page sends the browser of a user who is logged in already."""
    client = HttpClient({})
    try:
        async with client.send(Request("GET", page)) as response:
            await response.read()
            return response.headers["location"]
    finally:
        await client.close()


async def test_files_of_a_conversation_go_along_to_another_folder(tmp_path: Path):
    other = tmp_path / "other"
    other.mkdir()
    async with MessagesServer([step("one"), step("two"), step("three")]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program) as host:
            host.prompt("first")
            session = (await host.result())["session_id"]
            (old,) = program.transcripts()
            (old.parent / session).mkdir(exist_ok=True)
            (old.parent / session / "kept").write_text("x")
            moved = await host.request("set_cwd", path=str(other), trust_accepted=True)
            again = await host.request("set_cwd", path=str(other))
            host.prompt("second")
            await host.result()
        new = next(old.parent.parent.glob(f"*other/{session}.jsonl"))
        rows = [json.loads(line) for line in new.read_text().splitlines()]
        done = await program.run("-p", "third", "--resume", session, "--output-format", "json")
    assert moved["response"] == {
        "status": "ok", "cwd": str(other), "changed": True, "transcript_relocated": True,
    }  # fmt: skip
    assert again["response"]["transcript_relocated"] is True and again["response"]["changed"] is False
    assert not old.exists() and (old.parent / session / "kept").read_text() == "x"
    assert (new.parent / session / "kept").read_text() == "x"
    assert [row["relocatedCwd"] for row in rows if row["type"] == "relocated"] == [str(other)]
    assert [row["cwd"] for row in rows if row["type"] == "assistant"] == [str(program.project), str(other)]
    assert json.loads(done.out)["session_id"] == session
    assert "first" in json.dumps(server.requests[-1].body["messages"])
