"""bridle with its output on real terminals, and a corpus of what text may never do to one."""

import asyncio
import os
import pty
import termios
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.fakes.forked import start

SPITE: Mapping[str, str] = {
    "clear": "\x1b[2J\x1b[H",
    "color": "\x1b[31;8mhidden\x1b[0m",
    "title": "\x1b]0;pwned\x07",
    "title by ST": "\x1b]2;pwned\x1b\\",
    "clipboard": "\x1b]52;c;cHduZWQ=\x07",
    "link": "\x1b]8;;http://evil.test/\x1b\\click\x1b]8;;\x1b\\",
    "notification": "\x1b]777;notify;a;b\x07\x1b]9;x\x07",
    "device string": "\x1bP+q544e\x1b\\",
    "DECRQSS": "\x1bP$qm\x1b\\",
    "application": "\x1b_Gi=1;AAAA\x1b\\",
    "privacy": "\x1b^private\x1b\\",
    "start of string": "\x1bXstring\x1b\\",
    "answer": "\x1b[6n\x1b[c\x1b[>q\x05",
    "reset": "\x1bc\x1b(0\x1b#8",
    "unfinished": "\x1b]0;never ends \x1b[38;5",
    "C1 CSI": "\x9b2J\x9b31m",
    "C1 strings": "\x9d0;pwned\x9c\x90x\x9c\x9fx\x9c\x9ex\x9c\x98x\x9c",
    "C1 others": "\x84\x85\x88\x8d\x8e\x8f",
    "C0": "\x01\x07\x08\x08\x08\x0b\x0c\x0e\x0f\x18\x1a\x7f",
    "carriage return": "honest\rfooled",
    "bidi": "\u202egnp.exe\u202c\u2066x\u2069\u200f\u061c",
    "invisible": "a\u200bb\u2060c\ufeffd\xade\u180e",
    "tags": "\U000e0041\U000e0042\U000e007f",
    "separators": "a\u2028b\u2029c",
    "annotation": "\ufff9a\ufffab\ufffb",
    "blank letters": "a\u3164b\uffa0c\u115f\u1160d\u034fe",
    "music": "\U0001d173x\U0001d17a",
}
ALL = "begins" + "".join(SPITE.values()) + "ends"
"""All of it in one text; fits into a variable, an argument or a JSON string."""
NAME = "".join(("n", *(SPITE[kind] for kind in ("C1 CSI", "title", "color", "bidi", "tags")), "m"))
"""Some of each kind in a name for files and folders, short enough for one."""
RAW = b"raw\x9b31m\x9d0;pwned\x9c\xff\xfe\xc2ends"
"""A name that is not UTF-8."""
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
_HARMLESS = "\n\t\u200c\u200d"


class Shown(NamedTuple):
    """What terminals and pipes got."""

    code: int
    out: bytes
    err: bytes


def harm(data: bytes) -> list[str]:
    """What in some output could steer a terminal or stay unseen on it."""
    text = data.decode("utf-8", "surrogateescape")
    bad = [
        c
        for c in text
        if c in _BLANK or (unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c not in _HARMLESS)
    ]
    return sorted({f"U+{ord(c):04X}" for c in bad})


async def show(
    argv: tuple[str, ...] | tuple[bytes, ...],
    *,
    env: Mapping[str, str],
    cwd: Path | str | bytes,
    stdin: bytes = b"",
    out: bool = True,
    err: bool = True,
) -> Shown:
    """Run bridle with terminals for standard output and standard error, or pipes where told."""
    ways = [open_terminal() if is_terminal else os.pipe() for is_terminal in (out, err)]
    (out_reads, out_writes), (err_reads, err_writes) = ways
    reading = [asyncio.create_task(asyncio.to_thread(everything, fd)) for fd in (out_reads, err_reads)]
    process = await start(argv, env=env, cwd=cwd, stdout=out_writes, stderr=err_writes)
    os.close(out_writes)
    os.close(err_writes)
    try:
        async with asyncio.timeout(60):
            await process.communicate(stdin)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return Shown(process.returncode, *await asyncio.gather(*reading))


def open_terminal() -> tuple[int, int]:
    """Both ends of a terminal that passes on every byte as it is."""
    reads, writes = pty.openpty()
    modes = termios.tcgetattr(writes)
    modes[1] &= ~termios.OPOST
    termios.tcsetattr(writes, termios.TCSANOW, modes)
    return reads, writes


def everything(descriptor: int) -> bytes:
    pieces: list[bytes] = []
    try:
        while data := os.read(descriptor, 65_536):
            pieces.append(data)
    except OSError:
        pass  # All who could write to the terminal are gone.
    finally:
        os.close(descriptor)
    return b"".join(pieces)
