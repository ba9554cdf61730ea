"""The official client for Node drives bridle; it checks every message against the schema."""

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest

from tests.fakes.forked import command
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

_FOLDER = os.environ.get("BRIDLE_NODE_SDK", "")
_SDK = os.path.join(_FOLDER, "node_modules", "@agentclientprotocol", "sdk", "dist", "v1", "stable", "acp.js")


@pytest.mark.skipif(
    not shutil.which("node") or not os.path.exists(_SDK), reason="needs node and the npm client"
)
async def test_the_client_of_npm_opens_a_session_approves_an_edit_and_loads_it_again(tmp_path: Path):
    file = Program(tmp_path).project / "a.txt"
    file.write_text("one\n")
    read = {"type": "tool_use", "id": "r", "name": "Read", "input": {"file_path": str(file)}}
    edit = {"file_path": str(file), "old_string": "one", "new_string": "two"}
    change = {"type": "tool_use", "id": "e", "name": "Edit", "input": edit}
    async with MessagesServer([step(read), step(change), step("Changed.")]) as server:
        program = Program(tmp_path, server.url)
        process = await asyncio.create_subprocess_exec(
            "node", str(Path(__file__).parent / "client.mjs"), _SDK, command(), str(program.project), "acp",
            env=program.env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        async with asyncio.timeout(60):
            out, err = await process.communicate()

    assert process.returncode == 0, err.decode()
    seen = json.loads(out)
    assert [each["type"] for each in seen["hello"]["authMethods"] if "type" in each] == ["terminal"]
    assert seen["answer"]["stopReason"] == "end_turn"
    assert [each["toolCall"]["toolCallId"] for each in seen["asked"]] == ["e"]
    assert seen["written"] == [str(file)] and file.read_text() == "two\n"
    kinds = [each["sessionUpdate"] for each in seen["live"]]
    assert {"tool_call", "tool_call_update", "agent_message_chunk", "usage_update"} <= set(kinds)
    assert [each["sessionUpdate"] for each in seen["updates"]][:2] == ["user_message_chunk", "tool_call"]
    assert len(seen["list"]["sessions"]) == 1
