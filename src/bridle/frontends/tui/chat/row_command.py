"""Runs a command of the user that writes rows of the screen from facts on its input."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.types.errors import BridleError
from bridle.types.text import encodable_value

_SECONDS = 5.0
_MOST_BYTES = 16_000


class RowCommandError(BridleError):
    """The command has nothing to say; the text tells why."""


async def ask_for_rows(command: str, facts: Mapping[str, Any], *, env: Mapping[str, str], cwd: str) -> str:
    """What the command prints.

    Raises:
        RowFault: it cannot be started, or takes too long.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
        )
    except OSError as error:
        raise RowCommandError(str(error.strerror)) from error
    except ValueError as error:
        raise RowCommandError("the command contains a null byte") from error
    said = bytearray()
    try:
        async with asyncio.timeout(_SECONDS):
            await _exchange(process, msgspec.json.encode(encodable_value(facts)), said)
    except TimeoutError as error:
        # What it left behind in the background may hold its output open; it has spoken all the same.
        if process.returncode is None:
            raise RowCommandError(f"no answer within {_SECONDS:g} s") from error
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await _ended(process)
    return said[:_MOST_BYTES].decode("utf-8", "replace").rstrip("\n")


async def _exchange(process: asyncio.subprocess.Process, facts: bytes, said: bytearray) -> None:
    """Hand over the facts, and take what is printed up to a bound: some commands never stop."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(facts)
    process.stdin.close()
    while len(said) < _MOST_BYTES and (chunk := await process.stdout.read(_MOST_BYTES)):
        said += chunk


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Wait for the end; the rest of a flood is read, because the end of the output comes behind it."""
    assert process.stdout is not None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_SECONDS):
            while await process.stdout.read(_MOST_BYTES):
                pass
            await process.wait()
