"""What hosts ask for with variables: an end for lack of work, compressed requests, no word of thinking."""

import asyncio
from pathlib import Path

from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program


async def test_program_ends_after_its_work_although_its_input_stays_open(tmp_path: Path):
    on = {"CLAUDE_CODE_EXIT_AFTER_STOP_DELAY": "300"}
    async with (
        MessagesServer([step("One."), step("Two.")]) as server,
        FakeHost(Program(tmp_path, server.url), **on) as host,
    ):
        host.prompt("one")
        await host.until(lambda frame: frame["type"] == "result")
        host.prompt("two")
        result = await host.until(lambda frame: frame["type"] == "result")
        assert result["result"] == "Two."
        async with asyncio.timeout(60):
            assert await host.process.wait() == 0


async def test_requests_are_compressed_on_request(tmp_path: Path):
    async with MessagesServer([step("Yes.")]) as server:
        done = await Program(tmp_path, server.url).run("-p", "hi", CLAUDE_CODE_GZIP_REQUEST_BODIES="1")
        assert (done.code, done.out) == (0, "Yes.\n")
        (request,) = server.requests
        assert request.headers["content-encoding"] == "gzip" and request.raw[:2] == b"\x1f\x8b"
        assert request.body["messages"]


async def test_requests_say_nothing_of_thinking_on_request(tmp_path: Path):
    async with MessagesServer([step("Yes."), step("Yes.")]) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "hi", CLAUDE_CODE_DISABLE_THINKING="1")
        await program.run("-p", "hi", MAX_THINKING_TOKENS="0")
        first, second = server.requests
        assert "thinking" not in first.body and second.body["thinking"] == {"type": "disabled"}
