"""A host program for tests: writes lines to bridle and waits for frames."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, Self

from tests.fakes.program import Program, user

_STREAM = ("--output-format", "stream-json", "--verbose", "--input-format", "stream-json")


class FakeHost:
    """`async with FakeHost(program, *flags) as host`: everything that came so far is in `frames`."""

    def __init__(self, program: Program, *flags: str, **env: str) -> None:
        self._program = program
        self._flags = flags
        self._env = env
        self._requests = 0
        self.frames: list[Any] = []

    async def __aenter__(self) -> Self:
        self.process = await self._program.start(*_STREAM, *self._flags, env=self._env)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()

    def send(self, **message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    def prompt(self, content: Any, **fields: Any) -> None:
        self.send(**user(content, **fields))

    def answer(self, request: Any, response: Any) -> None:
        inner = {"subtype": "success", "request_id": request["request_id"], "response": response}
        self.send(type="control_response", response=inner)

    async def request(self, subtype: str, **fields: Any) -> Any:
        """Ask bridle something and return the inside of its answer."""
        self._requests += 1
        request_id = f"r{self._requests}"
        self.send(type="control_request", request_id=request_id, request={"subtype": subtype, **fields})
        frame = await self.until(
            lambda each: each["type"] == "control_response" and each["response"]["request_id"] == request_id
        )
        return frame["response"]

    async def until(self, wanted: Callable[[Any], bool], *, seconds: float = 20) -> Any:
        """The next frame that is wanted."""
        assert self.process.stdout is not None
        async with asyncio.timeout(seconds):
            while True:
                line = await self.process.stdout.readline()
                assert line, f"bridle ended; it had sent {self.frames}"
                self.frames.append(json.loads(line))
                if wanted(self.frames[-1]):
                    return self.frames[-1]

    async def result(self, *, seconds: float = 20) -> Any:
        return await self.until(lambda frame: frame["type"] == "result", seconds=seconds)

    async def asked(self, subtype: str = "can_use_tool") -> Any:
        return await self.until(
            lambda frame: frame["type"] == "control_request" and frame["request"]["subtype"] == subtype
        )

    async def close(self) -> tuple[int, str]:
        """End the input; the exit code and what stood on standard error."""
        assert self.process.stdin is not None and self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.stdin.close()
        async with asyncio.timeout(50):
            self.frames += [json.loads(line) for line in (await self.process.stdout.read()).splitlines()]
            err = await self.process.stderr.read()
            return await self.process.wait(), err.decode()
