"""Speech that a machine says, as a microphone would give it; BRIDLE_SPEECH names a folder with an engine."""

import array
import io
import os
import shutil
import subprocess
import wave

import pytest

_FOLDER = os.environ.get("BRIDLE_SPEECH", "")
_RATE = 16_000

needs_engine = pytest.mark.skipif(
    not os.path.isdir(os.path.join(_FOLDER, "pocketsphinx")),
    reason="BRIDLE_SPEECH names no folder with pocketsphinx",
)
ENGINE = {"PYTHONPATH": _FOLDER}
"""Lets a process find the engine."""


def spoken(text: str) -> bytes:
    """A text, said aloud: 16 kHz, one channel, 16 bits; the test is skipped where nothing can speak."""
    if (program := shutil.which("espeak-ng")) is None:
        pytest.skip("no espeak-ng on this machine")
    done = subprocess.run(
        [program, "-s", "130", "--stdout", text], capture_output=True, check=True, timeout=100
    )
    # The program does not know its length when it begins to write.
    with wave.open(io.BytesIO(done.stdout)) as file:
        rate, data = file.getframerate(), file.readframes(len(done.stdout))
    samples = array.array("h", data[: len(data) // 2 * 2])
    count = len(samples) * _RATE // rate
    return array.array("h", (samples[at * rate // _RATE] for at in range(count))).tobytes()


def noise(seconds: float) -> bytes:
    """Something that no one said."""
    return array.array("h", ((at * 7919) % 200 - 100 for at in range(int(seconds * _RATE)))).tobytes()
