"""What a question to the host and a callback to its hook add to a step, over standard streams.

`python -m bench.sdk` prints medians; `measure(rounds)` returns them in milliseconds.
"""

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.server import BenchServer, answer, call, text

_BRIDLE = str(Path(sys.executable).with_name("bridle"))
_STREAM = ("--output-format", "stream-json", "--verbose", "--input-format", "stream-json")
_HOOKS = {"PreToolUse": [{"matcher": "Write", "hookCallbackIds": ["h"]}]}


def measure(rounds: int = 200) -> dict[str, float]:
    """Milliseconds from a call to its result as the host sees them, and what a question and a hook add."""
    plain = asyncio.run(_steps(rounds, flags=("--permission-mode", "acceptEdits")))
    asked = asyncio.run(_steps(rounds, flags=("--permission-prompt-tool", "stdio")))
    hooked = asyncio.run(_steps(rounds, flags=("--permission-mode", "acceptEdits"), hooks=_HOOKS))
    return {
        "call_ms": plain,
        "can_use_tool_round_trip_ms": asked - plain,
        "hook_callback_ms": hooked - plain,
    }


async def _steps(rounds: int, *, flags: tuple[str, ...], hooks: Any = None) -> float:
    """The median time between the line with a call and the line with its result, in milliseconds."""
    called, taken = 0.0, list[float]()
    server = BenchServer()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "out.txt")
        calls = [
            answer(call("Write", number, file_path=f"{path}{number}", content="x"), number=number)
            for number in range(rounds)
        ]
        server.expect([*calls, answer(text("done"))])
        process = await asyncio.create_subprocess_exec(
            _BRIDLE, *_STREAM, *flags,
            cwd=folder, env=_environment(folder, server.url), limit=2**24,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        send = _sender(process.stdin)
        send(
            {
                "type": "control_request",
                "request_id": "i",
                "request": {"subtype": "initialize", "hooks": hooks},
            }
        )
        send({"type": "user", "message": {"role": "user", "content": "go"}, "parent_tool_use_id": None})
        async for line in process.stdout:
            frame = json.loads(line)
            if frame["type"] == "control_request":
                send(_reply(frame))
            elif frame["type"] == "assistant":
                called = time.perf_counter()
            elif frame["type"] == "user":
                taken.append(time.perf_counter() - called)
            elif frame["type"] == "result":
                break
        process.stdin.close()
        await process.wait()
    return statistics.median(taken) * 1000


def _reply(frame: Any) -> Any:
    allowed = {"behavior": "allow", "updatedInput": frame["request"]["input"]}
    response = allowed if frame["request"]["subtype"] == "can_use_tool" else {}
    inner = {"subtype": "success", "request_id": frame["request_id"], "response": response}
    return {"type": "control_response", "response": inner}


def _sender(pipe: asyncio.StreamWriter) -> Callable[[Any], None]:
    return lambda message: pipe.write(json.dumps(message).encode() + b"\n")


def _environment(folder: str, url: str) -> dict[str, str]:
    dropped = ("PYTHONDONTWRITEBYTECODE", "CLAUDE", "ANTHROPIC")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
    return {
        **kept,
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "bench",
        "CLAUDE_CONFIG_DIR": os.path.join(folder, "config"),
        "NO_PROXY": "127.0.0.1",
    }


if __name__ == "__main__":
    began = time.monotonic()
    for name, value in measure().items():
        print(f"{name:32} {value:8.2f}")
    print(f"{'seconds in all':32} {time.monotonic() - began:8.1f}")
