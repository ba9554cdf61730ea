import asyncio
import io
import os
import random
import re
import wave as wav
from pathlib import Path
from typing import Any

import pytest

from bridle.config.schema import BridleVoice
from bridle.features.voice import endpoint
from bridle.features.voice.engines import choose_engine, transcribe
from bridle.features.voice.microphone import RECORDERS, Microphone
from bridle.features.voice.session import plain_text, record
from bridle.types.errors import UsageError
from bridle.types.visible import HIDDEN
from tests.fakes.processes import eventually, is_running
from tests.fakes.program import Program
from tests.fakes.speech import ENGINE, needs_engine, noise, spoken
from tests.fakes.web_server import FakeWeb, Reply
from tests.tables import table

_ENV = dict(os.environ)


async def _record(*recorder: str, seconds: float = 0.0) -> Microphone:
    microphone = await Microphone.open(recorder, _ENV, lambda: None)
    await eventually(lambda: microphone.seconds >= seconds)
    return microphone


async def test_recording_keeps_what_the_program_gives_until_it_is_stopped(tmp_path: Path):
    sound = noise(0.5) + b"x"
    (tmp_path / "sound").write_bytes(sound)
    microphone = await _record("cat", str(tmp_path / "sound"), seconds=0.5)
    assert await microphone.stop() == sound[:-1]
    endless = await _record("cat", "/dev/zero", seconds=2)
    assert len(await endless.stop()) >= 64_000
    longest = await _record("cat", "/dev/zero", seconds=300)
    assert len(await longest.stop()) < 301 * 32_000
    asked: list[int] = []
    noted = await Microphone.open(("sh", "-c", "echo $$; exec sleep 1000"), _ENV, lambda: asked.append(1))
    await eventually(lambda: asked)
    await noted.discard()
    assert noted.seconds == 0


@table(
    "recorder, words",
    [
        (("false",), "No sound from the microphone"),
        (("sh", "-c", "echo 'no card\x1b[31m' >&2; exit 1"), "no card"),
        (("/no/such/program",), "can't start"),
        (("no-such-recorder",), "was not found"),
    ],
)
def test_microphone_that_is_not_there_is_a_sentence(recorder: tuple[str, ...], words: str):
    async def run() -> None:
        ended: list[bool] = []
        microphone = await Microphone.open(recorder, _ENV, lambda: ended.append(True))
        await eventually(lambda: ended)
        await microphone.stop()

    with pytest.raises(UsageError, match=words):
        asyncio.run(run())


def test_recorders_all_give_the_same_form_of_sound():
    for words in RECORDERS.values():
        assert "16000" in " ".join(words) and "1" in " ".join(words)


@table(
    "engine, model, address, chosen",
    [
        (None, None, "https://a.example", "endpoint"),
        ("auto", None, "https://a.example", "endpoint"),
        ("endpoint", "tiny", "https://a.example", "endpoint"),
        ("endpoint", None, None, None),
        ("vosk", None, None, None),
        ("whisper", None, None, None),
    ],
)
def test_engine_is_the_one_that_is_named_or_set_up(engine: Any, model: Any, address: Any, chosen: str | None):
    try:
        found = choose_engine(engine, model=model, endpoint=address)
    except UsageError:
        found = None
    assert found == chosen


async def test_endpoint_gets_a_wave_file_and_its_text_is_one_plain_line():
    sound = noise(0.2)
    said = b'{"text": "  go\\u001b[31m\\n forward\\u202e "}'
    async with FakeWeb({"/v1/audio/transcriptions": Reply(said, "application/json")}) as web:
        found = await endpoint.transcribe_at(
            web.url(""), sound, model="m1", language="en", env={**_ENV, endpoint.KEY: "planted-key"}
        )
        assert plain_text(found) == "go[31m forward"
        (request,) = web.asked
        assert request.headers["authorization"] == "Bearer planted-key"
        raw = request.raw
        assert b'name="model"\r\n\r\nm1' in raw and b'name="language"\r\n\r\nen' in raw
        file = raw[raw.index(b"RIFF") :]
        with wav.open(io.BytesIO(file)) as opened:
            assert (opened.getframerate(), opened.getnchannels(), opened.getsampwidth()) == (16_000, 1, 2)
            assert opened.readframes(opened.getnframes()) == sound


@table(
    "answer",
    [b"", b"{}", b"[]", b'{"text": 5}', b"\xff", b'{"a":' * 60_000, b'{"text": "' + b"x" * 2_000_000],
)
def test_endpoint_that_answers_with_something_else_is_a_sentence(answer: bytes):
    async def run() -> None:
        async with FakeWeb({"/v1/audio/transcriptions": Reply(answer)}) as web:
            await endpoint.transcribe_at(web.url("/v1"), noise(0.1), model="", language="", env=_ENV)

    with pytest.raises(UsageError) as caught:
        asyncio.run(run())
    assert "speech endpoint" in str(caught.value) and len(str(caught.value)) < 300


@table(
    "address", ["http://example.com", "ftp://a", "", "http://[", "file:///x", "http://127.0.0.1.evil.example"]
)
def test_speech_is_sent_nowhere_in_the_clear(address: str):
    with pytest.raises(UsageError, match="https"):
        asyncio.run(endpoint.transcribe_at(address, b"", model="", language="", env=_ENV))


async def test_refusal_of_the_endpoint_shows_no_key():
    async with FakeWeb({}) as web:
        with pytest.raises(UsageError) as caught:
            await endpoint.transcribe_at(
                web.url(""), b"12", model="", language="", env={**_ENV, endpoint.KEY: "planted-key"}
            )
    assert "404" in str(caught.value) and "planted" not in str(caught.value)


def test_text_of_an_engine_steers_nothing():
    chance = random.Random(5)
    for _ in range(500):
        text = plain_text(chance.randbytes(60).decode("utf-8", "replace") + "\x1b]0;x\x07\n\u202e")
        assert re.search(f"[{HIDDEN}\n]", text) is None


@needs_engine
async def test_real_engine_recognizes_speech():
    sound = spoken("go forward ten meters")
    text = await transcribe("pocketsphinx", sound, model="", language="", env={**_ENV, **ENGINE})
    assert "go forward" in plain_text(text)


async def test_recording_becomes_text_when_it_is_finished(tmp_path: Path):
    (tmp_path / "sound").write_bytes(noise(0.3))
    async with FakeWeb({"/v1/audio/transcriptions": Reply(b'{"text": "go"}')}) as web:
        settings = BridleVoice(endpoint=web.url(""), recorder=("cat", str(tmp_path / "sound")))
        recording = await record(settings, _ENV, lambda: None)
        await eventually(lambda: recording.seconds >= 0.3)
        assert await recording.finish() == "go"
        again = await record(settings, _ENV, lambda: None)
        await again.discard()
        assert len(web.asked) == 1


async def test_engine_that_fails_is_a_sentence(tmp_path: Path):
    done = await Program(tmp_path).run("--transcribe", "none")
    assert done.code == 1 and "unknown engine" in done.err
    with pytest.raises(UsageError, match="failed"):
        await transcribe("vosk", noise(0.1), model="/no/such/model", language="", env=_ENV)


async def test_recorder_does_not_outlive_its_recording(tmp_path: Path):
    number = tmp_path / "pid"
    line = f"trap '' INT; echo $$ > {number}; while :; do echo sound; sleep 0.01; done"
    microphone = await _record("sh", "-c", line, seconds=0.0001)
    await microphone.stop()
    assert not is_running(int(number.read_text()))
