"""The npm SDK under Node drives bridle; the behaviors are in node/behaviors.mjs."""

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.forked import command
from tests.fakes.messages_server import MessagesServer, Step, fault, step
from tests.fakes.program import Program
from tests.sdk.behaviors import node_behaviors

_FOLDER = os.environ.get("BRIDLE_NODE_SDK", "")
_SDK = os.path.join(_FOLDER, "node_modules", "@anthropic-ai", "claude-agent-sdk", "sdk.mjs")
_BEHAVIORS = Path(__file__).parent / "node" / "behaviors.mjs"


def _bash(id: str, command: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}


def _use(id: str, tool: str, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": tool, "input": input}


def _agent(id: str, prompt: str) -> dict[str, Any]:
    return _use(id, "Agent", description="x", prompt=prompt, subagent_type="critic", run_in_background=False)


def _script() -> list[Step]:
    haiku = step("Haiku speaks.", when='"model":"claude-haiku-4-5"')
    return [
        step("Alpha it is.", when="alpha"),
        step("Parrot.", when="Be a parrot."),
        step("Verse.", when="Speak in verse."),
        step(_bash("d1", "touch node-made"), when="delta"),
        step("ok", when="delta"),
        step(_bash("e1", "touch node-made"), when="echo-deny"),
        step("ok", when="echo-deny"),
        step(_bash("f1", "touch node-hooked"), when="foxtrot"),
        step("ok", when="hook says no"),
        step({"type": "tool_use", "id": "g1", "name": "StructuredOutput", "input": {"n": 7}}, when="golf"),
        step("Room service.", when="hotel"),
        step(_bash("i1", "echo x"), when="india"),
        step("Forked.", when="juliett fork"),
        step("Again.", when="juliett again"),
        step("First time.", when="juliett"),
        {**haiku, "when": "kilo two"},
        step("First.", when="kilo one"),
        step(_bash("l1", "sleep 1000"), when="lima"),
        step("ok", when="mike"),
        step("ok", when="november"),
        fault(400, "invalid_request_error", "No such luck.", when="oscar"),
        step("one", "two", when="papa", silent_after=900),
        step(_bash("q1", "echo seen"), when="quebec"),
        step("ok", when="quebec"),
        step(_use("r1", "Shell", command="touch node-aliased"), when="romeo"),
        step("ok", when="romeo"),
        step("ok", when="sierra"),
        step("Interviewed.", when="Interview the gardener."),
        step("One.", when="uniform one"),
        step("Two.", when='"text":"uniform two"'),
        step("water the plants", when="User: uniform two"),
        step(_use("v1", "mcp__calc__add"), when="victor"),
        step("ok", when="victor"),
        step(_agent("w1", "weigh it"), when="whiskey"),
        step("Too heavy.", when='"text":"weigh it"'),
        step("Noted.", when="Too heavy."),
        step(_use("x1", "Read", file_path="node-file"), when="xray"),
        step(_use("x2", "Write", file_path="node-file", content="after"), when="xray"),
        step("ok", when="xray"),
        step("ok", when="yankee"),
        step(_bash("z1", "touch node-begun; exec sleep 1000"), when="zulu"),
        step("It goes on.", when="zulu"),
    ]


@pytest.mark.skipif(
    shutil.which("node") is None or not os.path.isfile(_SDK),
    reason="there is no node, or BRIDLE_NODE_SDK does not name a folder with the npm SDK installed in it",
)
@pytest.mark.long
async def test_npm_sdk_shows_every_behavior(tmp_path: Path):
    async with MessagesServer(_script()) as server:
        program = Program(tmp_path, server.url)
        process = await asyncio.create_subprocess_exec(
            "node", str(_BEHAVIORS), _SDK, str(program.project), command(),
            cwd=program.project, env=program.env,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        async with asyncio.timeout(100):
            out, err = await process.communicate()
    seen = [json.loads(line) for line in out.decode().splitlines()]
    assert [each for each in seen if "error" in each] == []
    assert [each["name"].replace("_", " ") for each in seen] == node_behaviors(), err.decode()[-2000:]
