import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

WRITER = """
import json, sys
def put(path):
    try:
        open(path, "w").write("x")
        return "written"
    except OSError as error:
        return f"refused: {error}"
for line in sys.stdin:
    message = json.loads(line)
    match message["method"]:
        case "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                      "serverInfo": {"name": "w", "version": "1"}}
        case "tools/list":
            result = {"tools": [{"name": "put", "inputSchema": {"type": "object"}}]}
        case "tools/call":
            text = put(message["params"]["arguments"]["path"])
            result = {"content": [{"type": "text", "text": text}]}
        case _:
            if "id" in message:
                fault = {"code": -32601, "message": "unknown"}
                print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": fault}), flush=True)
            continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def _put(id: str, path: Path) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "mcp__w__put", "input": {"path": str(path)}}


@pytest.mark.parametrize(("scope", "escapes"), [("shell", True), ("all", False)])
async def test_programs_run_behind_the_sandbox_when_it_is_for_all(tmp_path: Path, scope: str, escapes: bool):
    outside, inside = tmp_path / "outside.txt", tmp_path / "project" / "inside.txt"
    config = json.dumps({"mcpServers": {"w": {"command": sys.executable, "args": ["-I", "-c", WRITER]}}})
    settings = json.dumps({"sandbox": {"enabled": True, "scope": scope}})
    script = [step(_put("toolu_1", outside)), step(_put("toolu_2", inside)), step("ok")]
    async with MessagesServer(script) as server, asyncio.timeout(60):
        done = await Program(tmp_path, server.url).run(
            "-p", "go", "--mcp-config", config, "--settings", settings, "--allowedTools", "mcp__w__put"
        )
    assert (done.code, done.out) == (0, "ok\n"), done.err
    assert inside.read_text() == "x"
    assert outside.exists() is escapes
