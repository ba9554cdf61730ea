"""Text on the clipboard by the programs of this machine, for terminals that do not take it themselves."""

import asyncio
from collections.abc import Mapping

from bridle.host.programs import PROGRAMS, find_program

_TARGETS = (
    ("pbcopy",),
    ("wl-copy",),
    ("xclip", "-selection", "clipboard", "-in"),
    ("xsel", "--clipboard", "--input"),
    ("clip.exe",),
)
_NEEDS = {"wl-copy": "WAYLAND_DISPLAY", "xclip": "DISPLAY", "xsel": "DISPLAY"}
_SECONDS = 5.0
_REMOTE = ("SSH_CONNECTION", "SSH_TTY")


async def copy_here(text: str, env: Mapping[str, str]) -> bool:
    """Give text to the clipboard of this machine; over SSH it would be that of the wrong one."""
    if any(env.get(name) for name in _REMOTE):
        return False
    for name, *words in _TARGETS:
        if (needed := _NEEDS.get(name)) is not None and not env.get(needed):
            continue
        program = find_program(name, env)
        if program is not None and await _feed([program, *words], text, env):
            return True
    return False


async def _feed(argv: list[str], text: str, env: Mapping[str, str]) -> bool:
    """Run a program that reads the text; it may stay in the background to hold it."""
    started = None
    try:
        started = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env=PROGRAMS.environment(env),
            start_new_session=True,
        )
        async with asyncio.timeout(_SECONDS):
            await started.communicate(text.encode("utf-8", "replace"))
        return started.returncode == 0
    except (OSError, TimeoutError):
        return False
    finally:
        if started is not None and started.returncode is None:
            started.kill()
            await started.wait()
