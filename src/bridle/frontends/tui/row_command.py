"""Runs a command of the user that writes rows of the screen from facts on its input."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.types.errors import BridleError

_SECONDS = 5.0
_MOST_BYTES = 16_000


class RowFault(BridleError):
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
        raise RowFault(str(error.strerror)) from error
    try:
        async with asyncio.timeout(_SECONDS):
            said, _ = await process.communicate(msgspec.json.encode(facts))
    except TimeoutError as error:
        raise RowFault(f"no answer within {_SECONDS:g} s") from error
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return said[:_MOST_BYTES].decode("utf-8", "replace").rstrip("\n")
