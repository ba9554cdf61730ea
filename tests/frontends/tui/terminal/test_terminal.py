import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from bridle.frontends.tui.terminal.terminal import Terminal
from tests.fakes.terminal import ANSWERS, PtyProgram

_ECHO = "tests.frontends.tui.programs:echo"
_OFF = (b"\x1b[?2004l", b"\x1b[?1004l", b"\x1b[?25h")


async def _started(program: PtyProgram) -> None:
    await program.until_text("answer attributes")


def _is_restored(program: PtyProgram) -> bool:
    tail = program.output[-400:]
    return program.settings()[:4] == program.before[:4] and all(off in tail for off in _OFF)


async def test_keys_reach_the_program_and_the_screen():
    async with PtyProgram.of_function(_ECHO) as program:
        await _started(program)
        program.type("héllo")
        await program.until_text("> héllo")
        program.type("\r")
        await program.until_text("said héllo")
        program.type("\x1b[A\x1b[200~" + "x" * 100_000 + "\x1b[201~")
        await program.until_text("pasted 100000")
        assert "key up" in program.emulator.text


async def test_a_lone_escape_is_told_after_a_moment():
    async with PtyProgram.of_function(_ECHO) as program:
        await _started(program)
        program.type("\x1b")
        await program.until_text("key escape")


async def test_a_normal_end_leaves_the_terminal_as_it_was():
    async with PtyProgram.of_function(_ECHO) as program:
        await _started(program)
        assert program.settings()[3] != program.before[3]
        program.type("abc\x04")
        assert await program.ended() == 0
        await program.until_text("ended 0")
        assert _is_restored(program)
        assert "> abc" not in program.emulator.text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
async def test_deadly_signals_restore_the_terminal_and_let_the_program_end(
    number: signal.Signals, tmp_path: Path
):
    note = tmp_path / "ended"
    async with PtyProgram.of_function(_ECHO, env={"ENDED": str(note)}) as program:
        await _started(program)
        program.type("\x06")
        await program.until(lambda screen: screen.is_alternate)
        program.process.send_signal(number)
        await program.ended()
        await program.until_text("ended")
        assert _is_restored(program) and not program.emulator.is_alternate
        assert "---" not in program.emulator.text
        assert note.read_text() == str(int(number))


@pytest.mark.parametrize("function", ["crash", "leave_abruptly"])
async def test_a_crash_restores_the_terminal(function: str):
    async with PtyProgram.of_function(f"tests.frontends.tui.programs:{function}") as program:
        assert await program.ended() in (1, 3)
        await program.until(lambda _: _is_restored(program))


async def test_an_error_inside_the_loop_restores_the_terminal():
    async with PtyProgram.of_function(_ECHO) as program:
        await _started(program)
        program.type("\x18")
        await program.until_written(b"as asked")
        program.type("\x04")
        await program.ended()
        assert _is_restored(program)


async def test_even_a_kill_leaves_the_terminal_usable():
    async with PtyProgram.of_function(_ECHO) as program:
        await _started(program)
        program.type("\x06")
        await program.until(lambda screen: screen.is_alternate)
        program.process.kill()
        await program.ended()
        await program.until_written(b"\x1b[?1049l")
        await program.until_written(b"\x1b[?2004l")
        local, wanted = program.settings()[3], program.before[3]
        assert local & wanted == wanted
        assert not program.emulator.is_alternate


async def test_a_terminal_that_goes_away_ends_the_program(tmp_path: Path):
    note = tmp_path / "ended"
    async with PtyProgram.of_function(_ECHO, env={"ENDED": str(note)}) as program:
        await _started(program)
        program.hang_up()
        await program.ended()
        assert note.read_text() in ("None", str(int(signal.SIGHUP)))


async def test_suspending_gives_the_terminal_back_until_the_program_goes_on():
    command = f"{sys.executable} -c 'from tests.frontends.tui.programs import echo; echo()'"
    shell = ["bash", "-c", f"set -m; {command}; echo stopped; read line; fg"]
    async with PtyProgram(shell) as program:
        await _started(program)
        program.type("draft\x1a")
        await program.until_text("stopped")
        assert _is_restored(program)
        assert "> draft" not in program.emulator.text
        program.type("\r")
        await program.until_text("> draft")
        program.type("!\r")
        await program.until_text("said draft!")


async def test_resizing_draws_the_box_at_the_new_width():
    async with PtyProgram.of_function(_ECHO, env={"TERM": "vt220"}, answers={}) as program:
        await program.until_text(">")
        program.resize(40, 10)
        await program.until(lambda screen: "-" * 40 in screen.rows and "-" * 80 not in screen.rows)
        assert [row for row in program.emulator.everything if "-" in row] == ["-" * 40, "-" * 40]


async def test_a_terminal_that_answers_gets_the_better_keyboard():
    async with PtyProgram.of_function(_ECHO) as program:
        await _started(program)
        await program.until_written(b"\x1b[>1u")
        program.type("\x1b[13;2u\x04")
        await program.until_text("key shift+enter")
        await program.ended()
        assert b"\x1b[<u" in program.output


async def test_a_terminal_without_it_gets_the_older_extension():
    answers = {question: answer for question, answer in ANSWERS.items() if question != "\x1b[?u"}
    async with PtyProgram.of_function(_ECHO, answers=answers) as program:
        await program.until_written(b"\x1b[>4;1m")
        program.type("\x04")
        await program.ended()
        assert b"\x1b[>4m" in program.output


async def test_a_silent_terminal_keeps_nobody_waiting():
    async with PtyProgram.of_function(_ECHO, answers={}) as program:
        await program.until_text(">")
        program.type("hi")
        await program.until_text("> hi")


async def test_late_answers_are_not_typed_into_the_shell():
    async with PtyProgram.of_function("tests.frontends.tui.programs:leave_abruptly") as program:
        await program.ended()
        os.set_blocking(program.slave, False)
        with pytest.raises(BlockingIOError):
            os.read(program.slave, 100)


async def test_the_shell_gets_its_input_back_in_blocking_mode():
    async with PtyProgram.of_function(_ECHO) as program:
        await _started(program)
        program.type("\x04")
        await program.ended()
        assert os.get_blocking(program.slave)


async def test_output_that_the_terminal_does_not_take_is_kept_and_blocks_nobody():
    master, slave = os.openpty()
    terminal = Terminal(fd_in=slave, fd_out=slave, env={"TERM": "vt100"}, guarded=False)
    terminal.open(ask=False)
    try:
        terminal.listen(_Nobody())
        terminal.write("x" * 500_000)
        assert terminal.is_clogged
        received = 0
        os.set_blocking(master, False)
        loop = asyncio.get_running_loop()

        def read() -> None:
            nonlocal received
            received += len(os.read(master, 1 << 16))

        loop.add_reader(master, read)
        async with asyncio.timeout(50):
            await terminal.drained()
        assert not terminal.is_clogged
        loop.remove_reader(master)
        assert received > 400_000
    finally:
        terminal.close()
        os.close(master)
        os.close(slave)


def test_what_is_no_terminal_is_refused(tmp_path: Path):
    with open(tmp_path / "file", "w+b") as file, pytest.raises(OSError):
        Terminal(fd_in=file.fileno(), fd_out=file.fileno(), env={}).open()


class _Nobody:
    def on_input(self, given: object, /) -> None: ...
    def on_resize(self) -> None: ...
    def on_resume(self) -> None: ...
    def on_end(self, signal_number: int | None, /) -> None: ...


async def test_interrupting_another_program_does_not_end_ours(tmp_path: Path):
    code = "from tests.frontends.tui.programs import lend; lend()"
    async with PtyProgram([sys.executable, "-c", code], answers={}) as program:
        await program.until_text("the other program")
        program.type("\x03")
        await program.until_text("back")
        assert await program.ended() == 0
