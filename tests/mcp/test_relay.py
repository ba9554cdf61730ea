import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.engine.permissions.relay import RelayedChannel, short_name
from bridle.types.event import Event
from bridle.types.question import Answer, PermissionQuestion, Permitted, Question, Refused
from tests.fakes.host import FakeHost
from tests.fakes.mcp_session import FAKES
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.plugins import write_plugin
from tests.fakes.program import Program

QUESTION = PermissionQuestion(
    call_id="toolu_1", tool="Bash", input={"command": "x" * 500}, reason="it writes"
)


class FakePatience:
    """A channel whose person thinks until `decided` has an answer."""

    def __init__(self) -> None:
        self.decided: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.left = False

    def emit(self, event: Event) -> None:
        del event

    async def ask(self, question: Question) -> Answer:
        del question
        try:
            return await asyncio.shield(self.decided)
        except asyncio.CancelledError:
            self.left = True
            raise


@given(st.text())
def test_names_of_questions_are_five_letters_that_cannot_be_mistaken(call_id: str):
    name = short_name(call_id)
    assert len(name) == 5 and name.isascii() and name.islower() and "l" not in name
    assert name == short_name(call_id)


@pytest.mark.parametrize(("behavior", "kind"), [("allow", Permitted), ("deny", Refused)])
async def test_channel_that_answers_first_decides_and_the_question_here_goes_away(behavior: str, kind: Any):
    here = FakePatience()
    relay = RelayedChannel(here)
    sent: list[Any] = []

    def send(question: Any) -> bool:
        sent.append(question)
        asyncio.get_running_loop().call_soon(
            lambda: (
                relay.settle("c", "other", behavior),
                relay.settle("c", question["request_id"], behavior),
            )
        )
        return True

    relay.relay_by(send)
    async with asyncio.timeout(50):
        answer = await relay.ask(QUESTION)
    assert isinstance(answer, kind) and here.left
    assert sent[0]["tool_name"] == "Bash" and len(sent[0]["input_preview"]) == 201
    assert not relay.settle("c", sent[0]["request_id"], "allow")


async def test_person_here_who_answers_first_decides():
    here = FakePatience()
    relay = RelayedChannel(here)
    relay.relay_by(lambda _: True)
    here.decided.set_result(Refused(message="no"))
    async with asyncio.timeout(50):
        assert await relay.ask(QUESTION) == Refused(message="no")


async def test_answer_that_is_neither_yes_nor_no_settles_nothing():
    here = FakePatience()
    relay = RelayedChannel(here)
    relay.relay_by(lambda question: relay.settle("c", question["request_id"], "yes") or True)
    here.decided.set_result(Permitted())
    async with asyncio.timeout(50):
        assert await relay.ask(QUESTION) == Permitted()


def _config(*words: str) -> str:
    server = {"command": sys.executable, "args": ["-I", str(FAKES / "mcp_relay.py"), *words]}
    return json.dumps({"mcpServers": {"phone": server}})


def _script() -> list[Any]:
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "touch made"}}
    return [step(call), step("Done.")]


@pytest.mark.parametrize("behavior", ["allow", "deny"])
async def test_call_is_decided_over_a_channel_while_the_host_still_thinks(tmp_path: Path, behavior: str):
    async with MessagesServer(_script()) as server:
        program = Program(tmp_path, server.url, MCP_PROTOCOL_NEGOTIATION="legacy")
        flags = ("--permission-prompt-tool", "stdio", "--mcp-config", _config("relay", behavior))
        async with FakeHost(program, *flags, "--channels", "server:phone") as host:
            host.prompt("go")
            await host.result()
            await host.close()
    told = json.loads((program.project / "relayed.json").read_text())
    assert told["tool_name"] == "Bash" and json.loads(told["input_preview"]) == {"command": "touch made"}
    assert (program.project / "made").exists() is (behavior == "allow")
    assert any(frame["type"] == "control_cancel_request" for frame in host.frames)


@pytest.mark.parametrize(
    ("manifest", "decides"),
    [({}, True), ({"channels": [{"server": "phone"}]}, True), ({"channels": [{"server": "other"}]}, False)],
)
async def test_manifest_of_a_plugin_says_which_of_its_servers_are_channels(
    tmp_path: Path, manifest: dict[str, Any], decides: bool
):
    config = {".mcp.json": _config("relay", "allow")}
    plugin = write_plugin(tmp_path / "plug", {"name": "plug", **manifest}, **config)
    async with MessagesServer(_script()) as server:
        program = Program(tmp_path, server.url, MCP_PROTOCOL_NEGOTIATION="legacy")
        flags = ("--permission-prompt-tool", "stdio", "--plugin-dir", str(plugin))
        async with FakeHost(program, *flags, "--channels", "plugin:plug@inline") as host:
            host.prompt("go")
            if not decides:
                host.answer(await host.asked(), {"behavior": "deny", "message": "no"})
            await host.result()
            await host.close()
    assert (program.project / "relayed.json").exists() is decides
    assert (program.project / "made").exists() is decides


async def test_channel_that_nobody_allowed_decides_nothing(tmp_path: Path):
    async with MessagesServer(_script()) as server:
        program = Program(tmp_path, server.url, MCP_PROTOCOL_NEGOTIATION="legacy")
        flags = ("--permission-prompt-tool", "stdio", "--mcp-config", _config("relay", "allow"))
        async with FakeHost(program, *flags) as host:
            host.prompt("go")
            host.answer(await host.asked(), {"behavior": "deny", "message": "no"})
            await host.result()
            await host.close()
    assert not (program.project / "relayed.json").exists() and not (program.project / "made").exists()


@pytest.mark.parametrize("allowed", [True, False])
async def test_server_asks_a_model_once_the_user_agrees(tmp_path: Path, allowed: bool):
    call = {"type": "tool_use", "id": "toolu_1", "name": "mcp__phone__ask", "input": {}}
    script = [step(call), *([step("Swordfish.")] if allowed else []), step("Done.")]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url, MCP_PROTOCOL_NEGOTIATION="legacy")
        flags = ("--permission-prompt-tool", "stdio", "--mcp-config", _config("sampler"))
        async with FakeHost(program, *flags, "--allowedTools", "mcp__phone__ask") as host:
            host.prompt("go")
            asked = await host.asked()
            yes = {"behavior": "allow", "updatedInput": asked["request"]["input"]}
            host.answer(asked, yes if allowed else {"behavior": "deny", "message": "no"})
            await host.result()
            await host.close()
        bodies = [request.body for request in server.requests]
    assert asked["request"]["tool_name"] == "mcp__phone__sampling"
    result = json.dumps(bodies[-1]["messages"][-1])
    if allowed:
        assert "Swordfish." in result and "endTurn" in result
        assert bodies[1]["max_tokens"] == 50 and "What is the word?" in json.dumps(bodies[1]["messages"])
    else:
        assert "The user denied this server the use of a model" in result and len(bodies) == 2
