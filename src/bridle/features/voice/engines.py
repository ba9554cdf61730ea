"""Engines that turn sound into text on this machine; each runs in a process of its own and then ends."""

import asyncio
import sys
from collections.abc import Mapping
from importlib.util import find_spec

from bridle.config.schema import VoiceEngine
from bridle.types.errors import UsageError

_SECONDS = 120.0
_PACKAGES: Mapping[str, str] = {"whisper": "faster_whisper", "vosk": "vosk", "pocketsphinx": "pocketsphinx"}
_BY_NAME = {"whisper": "faster-whisper", "vosk": "vosk", "pocketsphinx": "pocketsphinx"}
NO_ENGINE = (
    "No speech engine is set up: install one (pip install 'bridle[voice]'), or set bridleVoice.endpoint. "
    "See bridle docs voice."
)


def choose_engine(wanted: VoiceEngine | None, *, model: str | None, endpoint: str | None) -> str:
    """The engine to use: the one that is named, else an endpoint, else one that is installed.

    Raises:
        UsageError: there is none, or the one that is named lacks something.
    """
    if wanted in (None, "auto"):
        if endpoint:
            return "endpoint"
        installed = (name for name in _PACKAGES if is_installed(name) and (model or name == "pocketsphinx"))
        if (found := next(installed, None)) is None:
            raise UsageError(NO_ENGINE)
        return found
    if wanted == "endpoint":
        if not endpoint:
            raise UsageError("The endpoint engine needs bridleVoice.endpoint.")
    elif not is_installed(wanted):
        raise UsageError(f"The engine {wanted} is not installed: pip install {_BY_NAME[wanted]}.")
    elif not model and wanted != "pocketsphinx":
        raise UsageError(f"The engine {wanted} needs the folder of its model: set bridleVoice.model.")
    return wanted


def is_installed(engine: str) -> bool:
    """Whether the package of an engine is there; it is not imported."""
    return find_spec(_PACKAGES[engine]) is not None


async def transcribe(engine: str, sound: bytes, *, model: str, language: str, env: Mapping[str, str]) -> str:
    """What is said in some sound.

    Raises:
        UsageError: the engine fails or takes too long.
    """
    words = ("--transcribe", engine, f"--model={model}", f"--language={language}")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "bridle", *words,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        cwd="/", env=dict(env),
    )  # fmt: skip
    try:
        async with asyncio.timeout(_SECONDS):
            text, complaints = await process.communicate(sound)
    except TimeoutError as error:
        raise UsageError(f"The engine {engine} took longer than {_SECONDS:g} s.") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        said = complaints.decode(errors="replace").strip().splitlines()
        raise UsageError(f"The engine {engine} failed: {said[-1][:300] if said else process.returncode}")
    return text.decode(errors="replace")
