"""Forks share the prefix of the conversation that they come from, and agents can be resumed."""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.engine.turn import Turn
from bridle.features.agents.fork import PLACEHOLDER
from bridle.providers.dialects.messages_request import encode
from bridle.providers.scripted import SeenRequest, calls, says
from bridle.types.agent import AgentDefinition
from bridle.types.errors import ToolError
from bridle.types.history import History
from bridle.types.origin import TYPED
from bridle.types.turn import Prompt
from tests.fakes.agents import Team, echo, team

_HELPER = AgentDefinition(name="helper", description="Helps.", text="You help.", source="user")
_FORKS = {"CLAUDE_CODE_FORK_SUBAGENT": "1"}


def _fork(prompt: str, **more: Any) -> Any:
    return calls("Agent", description="A fork", prompt=prompt, **more)


def _blocks(message: Any) -> list[Any]:
    return list(message["content"])


def _bytes(asked: SeenRequest) -> bytes:
    """The body of a request as it was when it was made."""
    return encode(msgspec.structs.replace(asked.request, history=History.of(*asked.messages)))


def _shared(one: bytes, other: bytes) -> int:
    """How many bytes are the same from the beginning."""
    pairs = zip(one, other, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


async def test_a_fork_continues_the_conversation_with_the_same_prefix_to_the_byte(tmp_path: Path):
    long = "x" * 20_000
    scripts = {
        "main": [says("A thought.", _fork("<left>"), _fork("<right>")), says("ok")],
        "left": [says("left report")],
        "right": [says("right report")],
    }
    async with team(tmp_path, scripts, echo, env=_FORKS) as made:
        await made.prompt(f"{long} <main>")
        await made.over(2)
    parent = _bytes(made.models.requests("main")[0])
    left, right = (_bytes(made.models.requests(key)[0]) for key in ("left", "right"))
    assert _shared(parent, left) / len(parent) >= 0.98
    shared = _shared(left, right)
    assert left[shared:].startswith(b"left>") and right[shared:].startswith(b"right>")
    messages = made.models.requests("left")[0].messages
    assert [block["type"] for block in _blocks(messages[-2])] == ["text", "tool_use", "tool_use"]
    *results, text = _blocks(messages[-1])
    assert [block["content"] for block in results] == [PLACEHOLDER, PLACEHOLDER]
    assert text["text"].startswith("<fork-boilerplate>")
    assert text["text"].endswith("<fork-directive><left>")
    assert made.models.requests("left")[0].tools == made.models.requests("main")[0].tools


async def test_a_fork_waits_for_the_whole_answer_of_its_parent(tmp_path: Path):
    go = asyncio.Event()
    scripts = {
        "main": [says(_fork("<left>"), "Said last.", then=go.wait), says("ok")],
        "left": [says("left report")],
    }
    async with team(tmp_path, scripts, env=_FORKS) as made, asyncio.timeout(50):
        turn = asyncio.create_task(made.prompt())
        await made.channel.seen(lambda event: type(event).__name__ == "ToolStarted")
        assert made.models.requests("left") == []
        go.set()
        await turn
        await made.over()
    answer = made.models.requests("left")[0].messages[-2]
    assert [block["type"] for block in _blocks(answer)] == ["tool_use", "text"]


async def test_a_fork_does_not_fork(tmp_path: Path):
    scripts = {
        "main": [says(_fork("<left>", run_in_background=False)), says("ok")],
        "left": [says(_fork("<again>")), says("I did it myself.")],
    }
    async with team(tmp_path, scripts, env=_FORKS) as made:
        await made.prompt()
    refused = made.models.requests("left")[1].messages[-1]["content"]
    assert "cannot fork again" in json.dumps(refused)


async def test_without_fork_mode_a_call_without_a_type_is_for_the_general_agent(tmp_path: Path):
    scripts = {
        "main": [says(_fork("<left>", run_in_background=False)), says("ok")],
        "left": [says("report")],
    }
    async with team(tmp_path, scripts) as made:
        await made.prompt()
    assert made.result("call-1")["agentType"] == "general-purpose"
    assert len(made.models.requests("left")[0].messages) == 1


async def _resumed(made: Team, agent_id: str, prompt: str) -> str:
    turn = Turn(made.session, Prompt(content="x", origin=TYPED), made.runtime)
    await made.agents.resume(turn, agent_id, prompt, call_id="call-9")
    tasks = await made.over(len(made.ended) + 1)
    assert tasks[-1].result is not None
    return tasks[-1].result


async def test_a_resumed_agent_has_all_that_it_knew(tmp_path: Path):
    scripts = {
        "main": [
            says(
                calls(
                    "Agent",
                    description="A job",
                    prompt="<job>",
                    subagent_type="helper",
                    run_in_background=False,
                    name="bob",
                )
            ),
            says("ok"),
        ],
        "job": [says(calls("Echo", text="seen")), says("first report")],
        "more": [says("second report")],
    }
    async with team(tmp_path, scripts, echo, agents=[_HELPER]) as made:
        await made.prompt()
        assert await _resumed(made, "bob", "<more>") == "second report"
    sent = json.dumps(made.models.requests("more")[0].messages)
    assert "seen" in sent and "first report" in sent
    assert made.models.requests("more")[0].system[0]["text"] == "You help."


async def test_a_resumed_fork_continues_where_it_was(tmp_path: Path):
    scripts = {
        "main": [says("A thought.", _fork("<left>", run_in_background=False)), says("ok")],
        "left": [says("left report")],
        "more": [says("second report")],
    }
    async with team(tmp_path, scripts, env=_FORKS) as made:
        await made.prompt()
        agent_id = made.result("call-1")["agentId"]
        assert await _resumed(made, agent_id, "<more>") == "second report"
    first, second = made.models.requests("left")[0].messages, made.models.requests("more")[0].messages
    assert second[: len(first)] == first


async def test_an_agent_whose_type_is_gone_is_resumed_as_the_general_one(tmp_path: Path):
    agents = [_HELPER]
    scripts = {
        "main": [
            says(
                calls(
                    "Agent", description="d", prompt="<job>", subagent_type="helper", run_in_background=False
                )
            ),
            says("ok"),
        ],
        "job": [says("first report")],
        "more": [says("second report")],
    }
    async with team(tmp_path, scripts, agents=agents) as made:
        await made.prompt()
        agents.clear()
        await _resumed(made, made.result("call-1")["agentId"], "<more>")
    assert made.ended[-1].agent_type == "general-purpose"


async def test_an_unknown_agent_cannot_be_resumed(tmp_path: Path):
    async with team(tmp_path, {"main": []}) as made:
        turn = Turn(made.session, Prompt(content="x", origin=TYPED), made.runtime)
        for unknown in ("a0123456789abcdef", "../../s1"):
            with pytest.raises(ToolError, match="No transcript found"):
                await made.agents.resume(turn, unknown, "go", call_id="c")
