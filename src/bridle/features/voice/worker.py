"""What runs in the process of an engine: sound from standard input, text to standard output."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from bridle.features.voice.microphone import RATE
from bridle.host.stdio import write_out
from bridle.types.errors import UsageError

_LARGEST = 300 * RATE * 2


def run_engine(engine: str, model: str, language: str) -> int:
    """Turn the sound on standard input into text.

    Raises:
        UsageError: there is no such engine, or it cannot use the model.
    """
    if (transcribe := _ENGINES.get(engine)) is None:
        raise UsageError(f"unknown engine {engine!r}")
    sound = sys.stdin.buffer.read(_LARGEST)
    # What an engine prints of itself must not be taken for text.
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        text = transcribe(sound, model, language)
    except (ImportError, RuntimeError, OSError, ValueError) as error:
        raise UsageError(f"{type(error).__name__}: {error}") from error
    finally:
        os.dup2(kept, 1)
    write_out(text.strip())
    return 0


def record_sound() -> int:
    """Write what the microphone gives to standard output, until this process is ended."""
    sounddevice: Any = import_module("sounddevice")
    try:
        with sounddevice.RawInputStream(samplerate=RATE, channels=1, dtype="int16") as stream:
            while True:
                data, _ = stream.read(RATE // 10)
                os.write(1, bytes(data))
    except (OSError, sounddevice.PortAudioError) as error:
        raise UsageError(f"can't use the microphone: {error}") from error
    except KeyboardInterrupt:
        return 0


def _pocketsphinx(sound: bytes, model: str, language: str) -> str:
    del language
    package: Any = import_module("pocketsphinx")
    folder = (
        {"hmm": os.path.join(model, "acoustic"), "lm": os.path.join(model, "language.bin")} if model else {}
    )
    decoder = package.Decoder(loglevel="FATAL", samprate=RATE, **folder)
    decoder.start_utt()
    decoder.process_raw(sound, full_utt=True)
    decoder.end_utt()
    found = decoder.hyp()
    return "" if found is None else str(found.hypstr)


def _vosk(sound: bytes, model: str, language: str) -> str:
    del language
    package: Any = import_module("vosk")
    package.SetLogLevel(-1)
    recognizer = package.KaldiRecognizer(package.Model(model_path=model), RATE)
    recognizer.AcceptWaveform(sound)
    return str(json.loads(recognizer.FinalResult()).get("text", ""))


def _whisper(sound: bytes, model: str, language: str) -> str:
    numpy: Any = import_module("numpy")
    package: Any = import_module("faster_whisper")
    # Nothing is downloaded: the user installs the model.
    whisper = package.WhisperModel(model, compute_type="int8", local_files_only=True)
    samples = numpy.frombuffer(sound, numpy.int16).astype(numpy.float32) / 32768.0
    pieces, _ = whisper.transcribe(samples, language=language or None)
    return "".join(piece.text for piece in pieces)


_ENGINES: Mapping[str, Callable[[bytes, str, str], str]] = {
    "pocketsphinx": _pocketsphinx,
    "vosk": _vosk,
    "whisper": _whisper,
}
