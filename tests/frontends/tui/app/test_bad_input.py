import asyncio
import json
import signal
from pathlib import Path

import pytest

from tests.fakes.messages_server import step
from tests.frontends.tui.app.session import Terminal, bridle

_FOOT = "sonnet-5-5 ·"
_POINTS = 20


async def test_ctrl_c_at_any_moment_of_a_turn_gives_the_prompt_back(tmp_path: Path):
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "echo out; sleep 0.2"}}
    script = [step("Some **words** first. " * 9, call, piece=12, write=150, pause=0.004, repeat=True)]
    settings = {"permissions": {"allow": ["Bash"]}}
    async with bridle(tmp_path, script, settings=settings) as terminal:
        await terminal.ready()
        for point in range(_POINTS):
            await terminal.say(f"go {point}")
            wanted = len(terminal.output) + 30 + point * 90
            await terminal.until(lambda screen, wanted=wanted: len(terminal.output) >= wanted)
            terminal.type("\x03")
            await _clear(terminal)
            assert terminal.process.poll() is None
        assert await _leave(terminal) == 0
        assert terminal.settings() == terminal.before


async def test_five_megabytes_are_pasted_as_one_piece(tmp_path: Path):
    async with bridle(tmp_path, [step("Long.")]) as terminal:
        await terminal.ready()
        terminal.type(b"\x1b[200~" + b"line of text\n" * 400_000 + b"\x1b[201~")
        await terminal.until(lambda screen: "+400000 lines]" in screen.text)
        terminal.type("!")
        await terminal.until_text("+400000 lines]!")
        assert await _leave(terminal, clears=True) == 0


@pytest.mark.parametrize("size", [(10, 3), (1, 1), (3, 40), (200, 2)])
async def test_a_window_of_any_size_can_be_typed_into_and_left(tmp_path: Path, size: tuple[int, int]):
    async with bridle(tmp_path, [step("ok")], size=size) as terminal:
        await terminal.until_written(b"\x1b[?2004h")
        terminal.type("hi\r")
        async with asyncio.timeout(50):
            await terminal.server.arrived.wait()
        terminal.resize(80, 24)
        await terminal.until(lambda screen: "ok" in screen.text and _FOOT in screen.text)
        assert await _leave(terminal) == 0
        assert terminal.settings() == terminal.before


async def test_a_question_in_a_tiny_window_can_be_seen_and_refused(tmp_path: Path):
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "touch made"}}
    async with bridle(tmp_path, [step(call)], size=(20, 6)) as terminal:
        await terminal.until(lambda screen: "❯" in screen.text)
        terminal.type("make it\r")
        await terminal.until(lambda screen: "❯ 1. Yes" in screen.text)
        terminal.type("\x1b")
        await terminal.until(lambda screen: any("interrupted" in row for row in screen.everything))
        assert not (terminal.program.project / "made").exists()


async def test_bytes_that_are_no_text_reach_the_model_as_marks(tmp_path: Path):
    async with bridle(tmp_path, [step("Odd.")]) as terminal:
        await terminal.ready()
        terminal.type(b"a\xff\xfe\xc3(\xe2\x82b")
        await terminal.until_text("❯ a�")
        terminal.type("\r")
        await terminal.until_text("Odd.")
        assert "\\ufffd" in json.dumps(terminal.asked[-1]["messages"][-1])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_ends_the_program_also_while_a_view_covers_the_window(tmp_path: Path, number: int):
    async with bridle(tmp_path) as terminal:
        await terminal.ready()
        await terminal.say("/help")
        await terminal.until(lambda screen: screen.is_alternate)
        terminal.process.send_signal(number)
        assert await terminal.ended() == 128 + number
        assert terminal.settings() == terminal.before and not terminal.emulator.is_alternate


async def test_the_program_is_small_after_its_start(tmp_path: Path):
    async with bridle(tmp_path) as terminal:
        await terminal.ready()
        status = Path(f"/proc/{terminal.process.pid}/status").read_text()
        kilobytes = next(int(row.split()[1]) for row in status.splitlines() if row.startswith("VmRSS:"))
        assert kilobytes < 90 * 1024


async def _clear(terminal: Terminal) -> None:
    """Come to rest with an empty input: what was just sent may have been put back into it.

    Words are typed behind each Ctrl-C. Once they are shown it has had its effect, and the next one finds an
    input that is not empty, which it clears instead of leaving.
    """
    terminal.type(words := "draft 0.")
    await terminal.until_text(words)
    for count in range(1, 10):
        # Until the turn has come to its end, another Ctrl-C would interrupt it once more and clear nothing.
        await terminal.until(lambda screen: "to interrupt" not in screen.text)
        if f"❯ {words}" in terminal.emulator.rows:
            break
        terminal.type("\x03" + (words := f"draft {count}."))
        await terminal.until_text(words)
    terminal.type("\x7f" * len(words))
    await terminal.until_text("? for keys")


async def _leave(terminal: Terminal, *, clears: bool = False) -> int:
    await terminal.idle()
    terminal.type("\x03")
    if clears:
        await terminal.ready()
        terminal.type("\x03")
    await terminal.until_text("again to exit")
    terminal.type("\x03")
    return await terminal.ended()
