"""Dictation on the real screen: a file is the microphone, and a server or a real engine writes it down."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.messages_server import step
from tests.fakes.speech import ENGINE, needs_engine, noise, spoken
from tests.fakes.terminal import Emulator
from tests.fakes.web_server import FakeWeb, Reply
from tests.frontends.tui.app.session import bridle

_PATH = "/v1/audio/transcriptions"
_WORDS = Reply(b'{"text": "say hello twice\\u001b[2J"}', "application/json")


def _settings(tmp_path: Path, sound: bytes, web: FakeWeb | None = None, **voice: Any) -> dict[str, Any]:
    (tmp_path / "sound").write_bytes(sound)
    engine: dict[str, Any] = {"engine": "pocketsphinx"} if web is None else {"endpoint": web.url("")}
    return {
        "voice": {"enabled": True, "mode": "tap", **voice},
        "bridleVoice": {**engine, "recorder": ["cat", str(tmp_path / "sound")]},
    }


async def test_tapped_key_dictates_into_the_prompt_and_sends_nothing(tmp_path: Path):
    async with FakeWeb({_PATH: _WORDS}) as web:
        settings = _settings(tmp_path, noise(1.5), web)
        async with bridle(tmp_path, [step("Hello.")], settings=settings) as terminal:
            await terminal.ready()
            terminal.type(" ")
            await terminal.until_text("listening 1.5 s, tap again")
            terminal.type(" ")
            await terminal.until_text("say hello twice")
            assert terminal.asked == []
            # In a prompt with text the key types.
            terminal.type(" now")
            await terminal.until_text("say hello twice[2J now")
            terminal.type("\r")
            await terminal.until_text("Hello.")
            assert len(web.asked) == 1


async def test_held_key_is_typed_until_it_repeats(tmp_path: Path):
    async with FakeWeb({_PATH: _WORDS}) as web:
        settings = _settings(tmp_path, noise(1.5), web, mode="hold")
        async with bridle(tmp_path, settings=settings) as terminal:
            await terminal.ready()
            terminal.type("a b")
            await terminal.until_text("a b")

            def is_listening(screen: Emulator) -> bool:
                """Whatever the screen shows of a key brings the next one, as a key that is held does."""
                if "listening 1.5 s, release" in screen.text:
                    return True
                terminal.type(" ")
                return False

            await terminal.until(is_listening)
            # Spaces stay where the terminal was too slow to repeat them.
            await terminal.until(lambda screen: re.search(r"a b\s+say hello twice", screen.text))
            assert terminal.asked == []


async def test_escape_discards_and_what_was_said_can_be_sent_at_once(tmp_path: Path):
    async with FakeWeb({_PATH: _WORDS}) as web:
        settings = _settings(tmp_path, noise(1.5), web, autoSubmit=True)
        async with bridle(tmp_path, [step("Hello.")], settings=settings) as terminal:
            await terminal.ready()
            terminal.type(" ")
            await terminal.until_text("listening 1.5 s")
            terminal.type("\x1b")
            await terminal.until(lambda screen: "listening" not in screen.text)
            assert web.asked == []
            terminal.type(" ")
            await terminal.until_text("listening 1.5 s")
            terminal.type(" ")
            await terminal.until_text("Hello.")
            assert "say hello twice" in str(terminal.asked[-1]["messages"])


@pytest.mark.parametrize("said", ["/permissions allow Bash user", " !touch made", "look at @~/.ssh/id_rsa"])
async def test_a_command_or_file_in_what_was_said_waits_for_a_key(tmp_path: Path, said: str):
    """S5"""
    reply = Reply(json.dumps({"text": said}).encode(), "application/json")
    async with FakeWeb({_PATH: reply}) as web:
        settings = _settings(tmp_path, noise(1.5), web, autoSubmit=True)
        async with bridle(tmp_path, settings=settings) as terminal:
            await terminal.ready()
            terminal.type(" ")
            await terminal.until_text("listening 1.5 s")
            terminal.type(" ")
            await terminal.until_text("Press enter to send it")
            assert terminal.asked == []
            assert not (terminal.program.project / "made").exists()
            written = (terminal.program.home / ".claude" / "settings.json").read_text()
            assert "Bash" not in written


async def test_command_turns_dictation_on_and_says_what_is_missing(tmp_path: Path):
    settings = {"bridleVoice": {"engine": "vosk"}}
    async with bridle(tmp_path, settings=settings) as terminal:
        await terminal.ready()
        terminal.type("a  b ")
        await terminal.until_text("a  b")
        terminal.type("\x15")
        await terminal.say("/voice tap")
        await terminal.until_text("Dictation is on (tap)")
        terminal.type(" ")
        await terminal.until(lambda screen: screen.text.count("engine vosk") >= 2)
        await terminal.say("/voice off")
        await terminal.until_text("Dictation is off")
        written = (terminal.program.home / ".claude" / "settings.json").read_text()
        assert '"enabled": false' in written and '"mode": "tap"' in written


@needs_engine
async def test_real_engine_writes_speech_into_the_prompt(tmp_path: Path):
    sound = spoken("go forward ten meters")
    async with bridle(
        tmp_path, settings=_settings(tmp_path, sound), PYTHONPATH=ENGINE["PYTHONPATH"]
    ) as terminal:
        await terminal.ready()
        terminal.type(" ")
        await terminal.until_text(f"listening {len(sound) / 32_000:.1f} s")
        terminal.type(" ")
        await terminal.until_text("go forward")
        assert terminal.asked == []
