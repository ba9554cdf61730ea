"""What the Agent Client Protocol adds to each message, compared with lines of JSON over the same engine.

`python -m bench.editors` prints medians; `measure(rounds)` returns them in milliseconds.
"""

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.server import BenchServer, answer, text

_BRIDLE = str(Path(sys.executable).with_name("bridle"))
_STREAM = ("--output-format", "stream-json", "--verbose", "--input-format", "stream-json")


def measure(rounds: int = 100) -> dict[str, float]:
    """Milliseconds of a short prompt over both protocols, and of a request that does nothing."""
    plain, acp, empty = asyncio.run(_measure(rounds))
    return {
        "stream_json_prompt_ms": plain,
        "acp_prompt_ms": acp,
        "added_ms": acp - plain,
        "request_ms": empty,
    }


async def _measure(rounds: int) -> tuple[float, float, float]:
    server = BenchServer()
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "HOME": folder, "CLAUDE_CONFIG_DIR": os.path.join(folder, ".claude")}
        env |= {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "key", "BRIDLE_BACKGROUND_WORK": "0"}
        answers = [answer(text("ok"), number=number) for number in range(rounds)]
        server.expect(list(answers))
        plain = await _Talk(folder, env, *_STREAM).plain(rounds)
        server.expect(list(answers))
        acp, empty = await _Talk(folder, env, "acp").acp(folder, rounds)
    return plain, acp, empty


class _Talk:
    """A process of bridle and its lines."""

    def __init__(self, folder: str, env: dict[str, str], *argv: str) -> None:
        self._start = asyncio.create_subprocess_exec(
            _BRIDLE, *argv, cwd=folder, env=env, limit=2**24,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip

    async def plain(self, rounds: int) -> float:
        process = await self._start
        prompt = {"type": "user", "message": {"role": "user", "content": "Hi"}}
        taken = [await _timed(process, prompt, _is_result) for _ in range(rounds)]
        await _end(process)
        return _median(taken)

    async def acp(self, cwd: str, rounds: int) -> tuple[float, float]:
        process = await self._start
        number = 0

        async def ask(method: str, **params: Any) -> tuple[float, Any]:
            nonlocal number
            number += 1
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            found: list[Any] = []

            def is_answer(line: Any) -> bool:
                found[:] = [line]
                return line.get("id") == number

            return await _timed(process, message, is_answer), found[0]

        await ask("initialize", protocolVersion=1)
        _, opened = await ask("session/new", cwd=cwd, mcpServers=[])
        session = opened["result"]["sessionId"]
        prompt = [{"type": "text", "text": "Hi"}]
        taken = [(await ask("session/prompt", sessionId=session, prompt=prompt))[0] for _ in range(rounds)]
        empty = [
            (await ask("session/set_mode", sessionId=session, modeId="default"))[0] for _ in range(rounds)
        ]
        await _end(process)
        return _median(taken), _median(empty)


async def _timed(process: asyncio.subprocess.Process, message: Any, is_last: Any) -> float:
    assert process.stdin is not None and process.stdout is not None
    began = time.perf_counter()
    process.stdin.write(json.dumps(message).encode() + b"\n")
    while not is_last(json.loads(await process.stdout.readline())):
        pass
    return (time.perf_counter() - began) * 1000


def _is_result(line: Any) -> bool:
    return line["type"] == "result"


async def _end(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    await process.wait()


def _median(taken: list[float]) -> float:
    return round(statistics.median(taken[5:]), 3)


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
