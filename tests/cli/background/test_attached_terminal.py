"""A terminal that comes and goes while the session stays."""

import json
import os
import re
import termios
from pathlib import Path
from typing import Any

from tests.fakes.jobs import Background, background
from tests.fakes.messages_server import step
from tests.fakes.processes import eventually, is_running


def _bash(command: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": command}}


async def _idle(bridle: Background, prompt: str = "say it") -> tuple[str, dict[str, Any]]:
    job = await bridle.start(prompt)
    return job, await bridle.until_state(job, "done")


async def test_ctrl_z_exit_and_ctrl_d_let_go_of_a_session_that_goes_on(tmp_path: Path):
    async with background(tmp_path, [step("Said.")]) as bridle:
        job, facts = await _idle(bridle)
        for leave in ("\x1a", "/exit\r", "\x04\x04", "quit\r", "\x1d", "\x1b[122;5u"):
            async with bridle.terminal("attach", job) as terminal:
                await terminal.until_text("Said.")
                await terminal.ready()
                terminal.type(leave)
                assert await terminal.ended() == 0
                assert f"{job} is still running" in terminal.emulator.text
                now: list[Any] = terminal.settings()
                assert now[:4] == terminal.before[:4]
        assert is_running(facts["pid"])
        assert bridle.home.facts(job)["state"] == "done"


async def test_a_terminal_is_left_as_it_was_found(tmp_path: Path):
    async with background(tmp_path, [step("Said.")]) as bridle:
        job, _ = await _idle(bridle)
        async with bridle.terminal("attach", job) as terminal:
            await terminal.ready()
            terminal.type("\x1a")
            await terminal.ended()
            after = terminal.output.rpartition(b"\x1b[?2004h")[2]
        for mode in (b"\x1b[?2004l", b"\x1b[?1004l", b"\x1b[?25h", b"\x1b[<u"):
            assert mode in after


async def test_stop_ends_the_session_that_is_attached_to(tmp_path: Path):
    async with background(tmp_path, [step("Said.")]) as bridle:
        job, facts = await _idle(bridle)
        async with bridle.terminal("attach", job) as terminal:
            await terminal.ready()
            await terminal.say("/stop")
            assert await terminal.ended() == 0
            assert f"{job} has ended: stopped." in terminal.emulator.text
        assert bridle.home.facts(job)["state"] == "stopped"
        assert not is_running(facts["pid"])
        gone = await bridle.run("logs", job)
        assert "Said." in gone.out


async def test_whoever_attaches_sees_everything_at_the_size_of_their_window(tmp_path: Path):
    long = " ".join(f"word{number}" for number in range(40))
    async with background(tmp_path, [step(long), step("Answered.")]) as bridle:
        job, _ = await _idle(bridle)
        async with bridle.terminal("attach", job, size=(40, 30)) as narrow:
            await narrow.until_text("word39")
            await narrow.until(lambda screen: re.search("^─{40}$", screen.text, re.MULTILINE))
            assert max(map(len, narrow.emulator.rows)) <= 40
            async with bridle.terminal("attach", job, size=(100, 30)) as wide:
                await wide.until_text("word39")
                await wide.ready()
                assert any(len(row) > 60 for row in wide.emulator.rows)
                wide.resize(70, 20)
                await wide.until(lambda screen: any(re.fullmatch("─{70}", row) for row in screen.rows))
                await wide.say("and now")
                await wide.until_text("Answered.")
                await narrow.until_written(b"Answered.")


async def test_a_question_blocks_and_is_answered_by_whoever_attaches(tmp_path: Path):
    script = [step(_bash("touch made")), step("Done with it.")]
    async with background(tmp_path, script) as bridle:
        job = await bridle.start("touch it")
        await bridle.until_state(job, "blocked")
        (entry,) = await bridle.agents()
        assert (entry["status"], entry["waitingFor"]) == ("waiting", "permission to use Bash")
        async with bridle.terminal("attach", job, size=(100, 30)) as terminal:
            await terminal.until_text("touch made")
            await terminal.until_text("enter to choose")
            terminal.type("1")
            await terminal.until_text("Done with it.")
        facts = await bridle.until_state(job, "done")
        assert "waitingFor" not in facts
        assert (bridle.program.project / "made").exists()


async def test_a_folder_that_nobody_trusts_blocks_until_somebody_does(tmp_path: Path):
    async with background(tmp_path, [step("Said.")]) as bridle:
        del bridle.program.env["BRIDLE_TRUST_FOLDER"]
        job = await bridle.start("say it")
        facts = await bridle.until_state(job, "blocked")
        assert facts["waitingFor"] == "an answer before it can start"
        async with bridle.terminal("attach", job) as terminal:
            await terminal.until_text("enter to choose")
            terminal.type("1")
            await terminal.until_text("Said.")
        await bridle.until_state(job, "done")


async def test_a_turn_that_failed_is_listed_as_failed(tmp_path: Path):
    async with background(tmp_path, ANTHROPIC_API_KEY="") as bridle:
        bridle.program.env.pop("ANTHROPIC_API_KEY", None)
        job = await bridle.start("say it")
        await bridle.until_state(job, "failed")
        (entry,) = await bridle.agents()
        assert entry["status"] == "idle"


async def test_a_window_that_is_closed_only_detaches(tmp_path: Path):
    async with background(tmp_path, [step("Said.")]) as bridle:
        job, facts = await _idle(bridle)
        async with bridle.terminal("attach", job) as terminal:
            await terminal.ready()
            terminal.hang_up()
            await terminal.ended()
        assert is_running(facts["pid"])
        assert [each["id"] for each in await bridle.agents()] == [job]


async def test_a_shell_is_attached_to_with_all_its_keys(tmp_path: Path):
    async with background(tmp_path) as bridle:
        job = await bridle.start("--exec", "PS1='shell> ' sh -i")
        async with bridle.terminal("attach", job) as terminal:
            await terminal.until_text("shell>")
            terminal.type("cat\r")
            terminal.type("typed\r")
            await terminal.until(lambda screen: screen.text.count("typed") == 2)
            terminal.type("\x03")
            await terminal.until(lambda screen: screen.text.count("shell>") == 2)
            terminal.type("echo back $((1 + 1))\r")
            await terminal.until_text("back 2")
            terminal.type("\x1d")
            assert await terminal.ended() == 0
        async with bridle.terminal("attach", job) as terminal:
            await terminal.until_text("back 2")
            terminal.type("exit\r")
            assert await terminal.ended() == 0
            assert f"{job} has ended: done." in terminal.emulator.text


async def test_programs_that_a_session_starts_do_not_take_themselves_for_it(tmp_path: Path):
    script = [step(_bash('echo "job:$BRIDLE_JOB:"')), step("Looked.")]
    settings = {"permissions": {"allow": ["Bash"]}}
    async with background(tmp_path, script, settings=settings) as bridle:
        _, facts = await _idle(bridle, "look")
        assert "job::" in bridle.transcript(facts["sessionId"])


async def test_sessions_at_terminals_are_listed_as_long_as_they_live(tmp_path: Path):
    async with background(tmp_path, [step("Said.")]) as bridle:
        async with bridle.terminal() as terminal:
            await terminal.ready()
            await terminal.say("say it")
            await terminal.until_text("Said.")
            live = bridle.program.home / ".claude" / "bridle" / "live"
            await eventually(lambda: "idle" in json.loads(next(live.iterdir()).read_text())["status"])
            (entry,) = await bridle.agents()
            assert (entry["kind"], entry["status"]) == ("interactive", "idle")
            assert set(entry) == {"cwd", "kind", "startedAt", "pid", "status", "sessionId"}
        assert await bridle.agents() == []
        assert os.listdir(live) == []


async def test_the_list_at_a_terminal_starts_attaches_and_stops(tmp_path: Path):
    async with background(tmp_path, [step("Said.")]) as bridle:
        async with bridle.terminal("agents", size=(100, 24)) as terminal:
            await terminal.until_text("press n to start one")
            terminal.type("n")
            await terminal.until_text("What should it do?")
            terminal.type("say it\r")
            await terminal.until_text("Started ")
            await terminal.until(lambda screen: re.search("✓ say it", screen.text))
            terminal.type("\r")
            await terminal.until_text("Said.")
            await terminal.ready()
            terminal.type("\x1a")
            await terminal.until_text("Sessions")
            await terminal.until_text("✓ say it")
            terminal.type("s")
            await terminal.until_text("Stop it?")
            terminal.type("y")
            await terminal.until_text("is stopped.")
            terminal.type("\x1b")
            assert await terminal.ended() == 0
            assert terminal.settings()[3] & termios.ECHO
        (entry,) = await bridle.agents("--all")
        assert entry["state"] == "stopped"
