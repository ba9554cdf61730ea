"""Hooks that misbehave, in a real run: the session is not held up, not harmed, and says what went wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.processes import eventually, is_running, read_number
from tests.fakes.program import Done, Program

TOUCH: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "touch x"}}

FAULTS = {
    "hangs": ({"command": "sleep 600", "timeout": 0.5}, "timed out after 0.5 seconds"),
    "ignores the end": (
        {"command": "trap '' TERM; while :; do sleep 1; done", "timeout": 0.5},
        "timed out after 0.5 seconds",
    ),
    "floods": ({"command": "head -c 1000000000 /dev/zero"}, "more than 4 MiB"),
    "floods stderr": ({"command": "head -c 1000000000 /dev/zero >&2"}, "more than 4 MiB"),
    "closes its input": ({"command": "exec 0<&-; exit 3"}, "exit code 3"),
    "prints half of an answer": ({"command": 'printf \'{"decision": "bl\''}, "printed invalid JSON"),
    "lies about its event": (
        {"command": 'echo \'{"hookSpecificOutput": {"hookEventName": "Stop"}}\''},
        "answered for the event 'Stop'",
    ),
    "dies": ({"command": "kill -9 $$"}, "was killed by signal 9"),
    "does not exist": ({"command": "./no-such-program"}, "exit code 127"),
    "could not start": ({"command": "x", "shell": "powershell"}, "could not start"),
    "says nothing useful": ({"command": "head -c 3000 /dev/urandom"}, None),
}


async def _run(tmp_path: Path, event: str, *hooks: dict[str, Any]) -> tuple[Done, Program]:
    settings = json.dumps({"hooks": {event: [{"hooks": [{"type": "command", **hook} for hook in hooks]}]}})
    async with MessagesServer([step(TOUCH), step("done")]) as server:
        program = Program(tmp_path, server.url)
        done = await program.run(
            "-p", "go", "--settings", settings, "--allowedTools", "Bash",
            "--output-format", "stream-json", "--verbose",
        )  # fmt: skip
        return done, program


@pytest.mark.parametrize("event", ["PreToolUse", "UserPromptSubmit"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_fault_of_a_hook_lets_the_call_through_and_is_told(tmp_path: Path, fault: str, event: str):
    hook, told = FAULTS[fault]
    done, program = await _run(tmp_path, event, hook)
    assert (done.code, done.result["result"], done.result["is_error"]) == (0, "done", False)
    assert (program.project / "x").exists()
    said = [frame["content"] for frame in done.frames if frame.get("subtype") == "informational"]
    assert told is None or any(told in text for text in said), said


async def test_daemon_of_a_hook_holds_nobody_up_and_ends_with_the_session(tmp_path: Path):
    daemon = "(trap '' HUP; sleep 600) & echo $! > daemon"
    done, program = await _run(tmp_path, "PreToolUse", {"command": daemon})
    assert done.result["result"] == "done"
    pid = read_number(program.project / "daemon")
    assert pid is not None
    await eventually(lambda: not is_running(pid))


async def test_one_hook_that_blocks_is_heard_among_ten_that_fail(tmp_path: Path):
    broken = [{"command": f"echo '{{' # {number}"} for number in range(10)]
    done, program = await _run(tmp_path, "PreToolUse", *broken, {"command": "echo never >&2; exit 2"})
    assert not (program.project / "x").exists()
    assert len(done.result["permission_denials"]) == 1


async def test_hook_that_must_not_fail_stops_the_call_when_it_does(tmp_path: Path):
    hook = {"command": "exit 1", "onFailure": "block"}
    done, program = await _run(tmp_path, "PreToolUse", hook)
    assert done.result["result"] == "done" and not (program.project / "x").exists()
