"""MCP servers that an agent brings along are run like those of the session."""

import asyncio
import base64
import io
import json
import sys
from pathlib import Path
from typing import Any

from PIL import Image

from bridle.mcp.auth.browser_login import BrowserLogin
from bridle.mcp.auth.http import AuthHttp
from bridle.mcp.auth.login import Account, log_in
from bridle.mcp.auth.saved_logins import SavedLogins
from bridle.mcp.auth.token_store import FileTokenStore
from bridle.types.services.mcp import HttpServer, Server
from tests.fakes.mcp_session import FAKES
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.oauth_server import FakeBrowser, FakeHouse
from tests.fakes.program import Program


def _call(name: str, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{name}", "name": name, "input": input}


async def _result_in_agent(tmp_path: Path, server: dict[str, Any], call: dict[str, Any]) -> Any:
    """What the tool of an agent's own server `own` gave it."""
    definition = {"helper": {"description": "d", "prompt": "p", "mcpServers": [{"own": server}]}}
    start = _call("Agent", description="d", prompt="<job>", subagent_type="helper", run_in_background=False)
    script = [step(start), step(call), step("reported"), step("Done.")]
    async with MessagesServer(script) as messages, asyncio.timeout(60):
        done = await Program(tmp_path, messages.url).run(
            "-p", "go", "--agents", json.dumps(definition), "--allowedTools", "Agent,mcp__own",
        )  # fmt: skip
        assert done.code == 0, done.err
        (block,) = messages.requests[2].body["messages"][-1]["content"]
    return block


async def test_a_login_that_is_kept_lets_the_agents_server_in(tmp_path: Path):
    async with FakeHouse() as house:
        vault = tmp_path / "home" / ".claude" / ".credentials.json"
        vault.parent.mkdir(parents=True)
        own = Server(name="own", config=HttpServer(url=house.url), scope="dynamic")
        account = Account.of(
            own, SavedLogins(FileTokenStore(str(vault))), {"CLAUDE_CONFIG_DIR": str(vault.parent)}
        )
        wire = AuthHttp({})
        try:
            await log_in(account, BrowserLogin(open_page=FakeBrowser(), patience=5), wire=wire)
        finally:
            await wire.close()
        result = await _result_in_agent(
            tmp_path, {"type": "http", "url": house.url}, _call("mcp__own__knock")
        )
    assert result["content"] == [{"type": "text", "text": "come in"}]


async def test_a_large_image_of_the_agents_server_is_made_to_fit(tmp_path: Path):
    data = io.BytesIO()
    Image.new("RGB", (5000, 40), "red").save(data, "png")
    picture = {"type": "image", "data": base64.b64encode(data.getvalue()).decode(), "mimeType": "image/png"}
    server = {"command": sys.executable, "args": ["-I", str(FAKES / "mcp_plain.py"), "shape"]}
    result = await _result_in_agent(tmp_path, server, _call("mcp__own__shape", result={"content": [picture]}))
    (block,) = result["content"]
    shown = Image.open(io.BytesIO(base64.b64decode(block["source"]["data"])))
    assert shown.width <= 2000 and shown.height < 40
