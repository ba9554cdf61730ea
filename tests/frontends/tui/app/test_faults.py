"""What the screen says when the model service cannot be reached or refuses."""

import asyncio
import socket
from pathlib import Path

from tests.fakes.http_server import listening
from tests.fakes.messages_server import fault, step
from tests.frontends.tui.app.session import bridle


async def test_a_host_without_an_address_is_named_at_the_first_attempt(tmp_path: Path):
    async with bridle(tmp_path, ANTHROPIC_BASE_URL="http://no-such-host.invalid") as terminal:
        await terminal.ready()
        await terminal.say("hello")
        await terminal.until_written(b"can't reach no-such-host.invalid (DNS), retrying")
        await terminal.until_written(b"(1/10)")
        assert "unknown" not in terminal.emulator.text


async def test_a_refused_connection_is_named_at_the_first_attempt_and_at_the_end(tmp_path: Path):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        base = f"http://localhost:{closed.getsockname()[1]}"
        async with bridle(tmp_path, ANTHROPIC_BASE_URL=base, CLAUDE_CODE_MAX_RETRIES="1") as terminal:
            await terminal.ready()
            await terminal.say("hello")
            await terminal.until_written(b"can't reach localhost (connection refused), retrying")
            await terminal.until_text("✗ Cannot connect to")
            await terminal.until_text("(connection refused)")
            await terminal.ready()
            assert "unknown" not in "\n".join(terminal.emulator.everything)


async def test_a_server_without_tls_is_named_at_once(tmp_path: Path):
    async def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with listening(refuse) as port:
        base = f"https://127.0.0.1:{port}"
        async with bridle(tmp_path, ANTHROPIC_BASE_URL=base) as terminal:
            await terminal.ready()
            await terminal.say("hello")
            await terminal.until_text(f"✗ Can't set up a TLS connection to {base}")
            await terminal.ready()


async def test_an_overloaded_service_is_called_that(tmp_path: Path):
    script = [fault(529, "overloaded_error", "Overloaded"), step("Here I am.")]
    async with bridle(tmp_path, script) as terminal:
        await terminal.ready()
        await terminal.say("hello")
        await terminal.until_written(b"overloaded (529), retrying")
        await terminal.until_text("Here I am.")


async def test_a_connection_that_closes_without_an_answer_is_called_that(tmp_path: Path):
    async with bridle(tmp_path, [step("x", close_after=-1), step("Here I am.")]) as terminal:
        await terminal.ready()
        await terminal.say("hello")
        await terminal.until_written(b"no answer from 127.0.0.1 (connection closed), retrying")
        await terminal.until_text("Here I am.")
