"""Images for the prompt: from the clipboard, or from a file that was dragged into the window."""

import asyncio
import os
from collections.abc import Mapping

from bridle.host.programs import PROGRAMS, require_program
from bridle.types.errors import BridleError

_SECONDS = 5.0
_LARGEST = 20 << 20
_SOURCES = (
    ("wl-paste", "--no-newline", "--type", "image/png"),
    ("xclip", "-selection", "clipboard", "-target", "image/png", "-out"),
    ("pngpaste", "-"),
)
_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)


async def from_clipboard(env: Mapping[str, str]) -> tuple[str, bytes]:
    """The image on the clipboard, with its media type.

    Raises:
        BridleError: there is none, or nothing here can read the clipboard.
    """
    is_readable = False
    for command in _SOURCES:
        try:
            data = await _read(command, env)
        except FileNotFoundError:
            continue
        is_readable = True
        if (kind := media_type(data)) is not None:
            return kind, data
    if not is_readable:
        raise BridleError("Can't read images from the clipboard; install wl-clipboard or xclip.")
    raise BridleError("No image on the clipboard.")


def dropped_image(text: str, cwd: str) -> tuple[str, bytes] | None:
    """The image in a file whose path was pasted, as terminals do for files that are dragged into them."""
    path = _path(text.strip())
    if path is None:
        return None
    try:
        full = os.path.join(cwd, os.path.expanduser(path))
        if os.path.getsize(full) > _LARGEST:
            return None
        with open(full, "rb") as file:
            data = file.read(_LARGEST)
    except (OSError, ValueError):
        return None
    kind = media_type(data)
    return None if kind is None else (kind, data)


def media_type(data: bytes) -> str | None:
    """What kind of image this is, by its first bytes."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _KINDS if data.startswith(start)), None)


def _path(text: str) -> str | None:
    if not text or "\n" in text or len(text) > 4_000:
        return None
    if text.startswith("file://"):
        from urllib.parse import unquote

        text = unquote(text.removeprefix("file://"))
    elif text[0] in "'\"" or "\\ " in text:
        try:
            import shlex

            (text,) = shlex.split(text)
        except ValueError:
            return None
    return text if text.lower().endswith(_ENDINGS) else None


async def _read(command: tuple[str, ...], env: Mapping[str, str]) -> bytes:
    process = await asyncio.create_subprocess_exec(
        require_program(command[0], env),
        *command[1:],
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=PROGRAMS.environment(env),
    )
    try:
        async with asyncio.timeout(_SECONDS):
            data, _ = await process.communicate()
    except TimeoutError:
        return b""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return data[:_LARGEST]
