"""One program, run with the official SDK over a process and with ours inside its own."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.fakes.forked import command
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

_PROGRAM = """
import asyncio, importlib, json, sys
sdk = importlib.import_module(sys.argv[1])
cli, project, *scenarios = sys.argv[2:]
seen = []
asked = []

def plain(value):
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    names = getattr(value, "__dataclass_fields__", None) or getattr(value, "__struct_fields__", None)
    if names is None:
        return value
    return {"is": type(value).__name__, **{name: plain(getattr(value, name)) for name in names}}

@sdk.tool("add", "Add two numbers", {"a": int, "b": int})
async def add(args):
    return {"content": [{"type": "text", "text": str(args["a"] + args["b"])}]}

async def ask(tool, input, context):
    asked.append([tool, input, [plain(each) for each in context.suggestions], context.decision_reason])
    if input.get("content") == "no":
        return sdk.PermissionResultDeny(message="not that")
    return sdk.PermissionResultAllow()

async def hook(input, tool_use_id, context):
    asked.append([input["hook_event_name"], input.get("tool_name"), tool_use_id])
    return {}

def options(**more):
    return sdk.ClaudeAgentOptions(cwd=project, cli_path=cli, model="claude-sonnet-4-5", **more)

async def one():
    async for message in sdk.query(prompt="Say hi", options=options(include_partial_messages=True)):
        seen.append(message)

async def tools():
    server = sdk.create_sdk_mcp_server("calc", "1.0.0", [add])
    wanted = options(mcp_servers={"calc": server}, allowed_tools=["mcp__calc__add"], tools=["Read"])
    async for message in sdk.query(prompt="Add", options=wanted):
        seen.append(message)

async def talk():
    hooks = {"PreToolUse": [sdk.HookMatcher(matcher="Write", hooks=[hook])]}
    async with sdk.ClaudeSDKClient(options(can_use_tool=ask, hooks=hooks, tools=["Write"])) as client:
        for prompt in ("write", "write no"):
            await client.query(prompt)
            async for message in client.receive_response():
                seen.append(message)
        await client.set_permission_mode("plan")

async def fail():
    try:
        async for message in sdk.query(prompt="Fail", options=options(max_turns=1)):
            seen.append(message)
    except sdk.ProcessError as error:
        asked.append([type(error).__name__, error.subtype, error.exit_code, error.errors])

async def lost():
    try:
        wanted = options(resume="00000000-0000-4000-8000-000000000000")
        async for message in sdk.query(prompt="x", options=wanted):
            seen.append(message)
    except sdk.ProcessError as error:
        asked.append([type(error).__name__, "No conversation found" in str(error)])

for scenario in scenarios:
    asyncio.run(globals()[scenario]())
    print(json.dumps({"seen": plain(seen), "asked": asked}))
    seen.clear()
    asked.clear()
"""
_VARIES = frozenset(
    {"uuid", "session_id", "duration_ms", "duration_api_ms", "ttft_ms", "timestamp", "durationMs"}
)
_SCRIPTS: dict[str, list[Any]] = {
    "one": [step("Hi there.")],
    "tools": [
        step({"type": "tool_use", "id": "t1", "name": "mcp__calc__add", "input": {"a": 2, "b": 3}}),
        step("5"),
    ],
    "talk": [
        step(
            {"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": "a", "content": "yes"}}
        ),
        step("done"),
        step({"type": "tool_use", "id": "t2", "name": "Write", "input": {"file_path": "b", "content": "no"}}),
        step("too bad"),
    ],
    "fail": [step({"type": "tool_use", "id": "t1", "name": "Glob", "input": {"pattern": "*"}})],
    "lost": [],
}


def without_what_varies(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_what_varies(each) for key, each in value.items() if key not in _VARIES}
    return [without_what_varies(each) for each in value] if isinstance(value, list) else value


async def test_the_same_program_sees_the_same(tmp_path: Path):
    official = await _seen_through("claude_agent_sdk", tmp_path)
    ours = await _seen_through("bridle.sdk", tmp_path)
    for scenario, theirs, mine in zip(_SCRIPTS, official, ours, strict=True):
        assert mine == theirs, scenario
        assert theirs["seen"] or theirs["asked"], scenario


async def _seen_through(module: str, folder: Path) -> list[Any]:
    """What the program sees in each scenario with one of the packages; importing them takes the longest."""
    async with MessagesServer([each for script in _SCRIPTS.values() for each in script]) as server:
        program = Program(folder, server.url)
        for name in ("a", "b"):
            (program.project / name).unlink(missing_ok=True)
        script = folder / "program.py"
        script.write_text(_PROGRAM)
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, str(script), module, command(), str(program.project), *_SCRIPTS],
            env=program.env,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return [without_what_varies(json.loads(line)) for line in done.stdout.splitlines()]
