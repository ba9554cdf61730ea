"""A conversation that leaves its terminal and goes on in the background, and one that is copied there."""

import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from bridle.host.jobs import records
from tests.fakes.jobs import Background, background
from tests.fakes.messages_server import step
from tests.fakes.processes import eventually, is_running, read_number

_ALLOWED = {"permissions": {"allow": ["Bash"]}}
_WAITS = "until [ -e go ]; do sleep 0.05; done; echo waited"


def _bash(command: str, **more: object) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": f"toolu_{len(command)}",
        "name": "Bash",
        "input": {"command": command, **more},
    }


def _job(text: str) -> str:
    found = re.search(r"(?:Moved to the background as|Copied to background session) (\w+)", text)
    assert found is not None
    return found[1]


def _last_prompt(bridle: Background) -> str:
    body = [each.body for each in bridle.server.requests if each.path.startswith("/v1/messages")][-1]
    return str(body["messages"][-1]["content"])


async def test_a_turn_in_flight_goes_on_in_the_background(tmp_path: Path):
    script = [step(_bash(_WAITS)), step("Went on.")]
    async with background(tmp_path, script, settings=_ALLOWED) as bridle:
        async with bridle.terminal(size=(100, 24)) as terminal:
            await terminal.ready()
            await terminal.say("wait for it")
            await terminal.until_text("until [ -e go ]")
            await terminal.say("/background")
            assert await terminal.ended() == 0
            job = _job(terminal.emulator.text)
            assert f"bridle attach {job}" in terminal.emulator.text
        facts = await bridle.until_state(job, "done")
        assert "Continue where you stopped" in _last_prompt(bridle)
        assert "Went on." in bridle.transcript(facts["sessionId"])
        (entry,) = await bridle.agents()
        assert (entry["id"], entry["sessionId"]) == (job, facts["sessionId"])
        assert "wait for it" in (await bridle.run("logs", "wait for it")).out


async def test_the_prompt_that_is_given_is_what_it_goes_on_with(tmp_path: Path):
    async with background(tmp_path, [step("One."), step("Two.")]) as bridle:
        async with bridle.terminal(size=(100, 24)) as terminal:
            await terminal.ready()
            await terminal.say("first")
            await terminal.until_text("One.")
            await terminal.ready()
            await terminal.say("/bg then do the second")
            assert await terminal.ended() == 0
            job = _job(terminal.emulator.text)
        facts = await bridle.until_state(job, "done")
        written = bridle.transcript(facts["sessionId"])
        assert '"then do the second"' in written and "Two." in written


async def test_exactly_one_process_owns_a_conversation_that_was_moved(tmp_path: Path):
    async with background(tmp_path, [step("One."), step("Printed.")]) as bridle:
        async with bridle.terminal(size=(100, 24)) as terminal:
            await terminal.ready()
            await terminal.say("first")
            await terminal.until_text("One.")
            await terminal.ready()
            await terminal.say("/bg")
            assert await terminal.ended() == 0
            job = _job(terminal.emulator.text)
        facts = await bridle.until_state(job, "done")
        refused = await bridle.run("-p", "--resume", facts["sessionId"], "mine")
        assert refused.code == 1
        await bridle.run("stop", job)
        assert (await bridle.run("-p", "--resume", facts["sessionId"], "mine")).out == "Printed.\n"


async def test_prompts_that_waited_and_work_that_was_stopped_are_told_over_there(tmp_path: Path):
    script = [
        step(_bash("sleep 1000", run_in_background=True)),
        step("It runs."),
        step(_bash(_WAITS)),
        step("Went on."),
    ]
    without = {"CLAUDE_CODE_DISABLE_BG_EXIT_HANDOFF": "1"}
    async with background(tmp_path, script, settings=_ALLOWED, **without) as bridle:
        async with bridle.terminal(size=(100, 30)) as terminal:
            await terminal.ready()
            await terminal.say("start the sleeper")
            await terminal.until_text("It runs.")
            await terminal.ready()
            await terminal.say("wait for it")
            await terminal.until_text("until [ -e go ]")
            await terminal.say("a prompt that waits")
            await terminal.say("/bg")
            assert await terminal.ended() == 0
            assert "stopped: sleep 1000" in terminal.emulator.text
            job = _job(terminal.emulator.text)
        await bridle.until_state(job, "done")
        told = _last_prompt(bridle)
        assert "Continue where you stopped" in told
        assert "a prompt that waits" in told
        assert "command sleep 1000" in told


async def test_a_command_that_runs_is_taken_over_and_its_end_is_told_over_there(tmp_path: Path):
    command = f"echo $$ > pid; {_WAITS}"
    script = [
        step(_bash(command, run_in_background=True), when="start it"),
        step("It runs.", when="start it"),
        step("It has ended.", when="task-notification"),
    ]
    async with background(tmp_path, script, settings=_ALLOWED) as bridle:
        async with bridle.terminal(size=(100, 30)) as terminal:
            await terminal.ready()
            await terminal.say("start it")
            await terminal.until_text("It runs.")
            await terminal.ready()
            await terminal.say("/bg")
            assert await terminal.ended() == 0
            assert "stopped:" not in terminal.emulator.text
            job = _job(terminal.emulator.text)
        pid = read_number(bridle.program.project / "pid")
        assert pid is not None and is_running(pid)
        facts = await bridle.until_state(job, "done")
        assert "shells" not in facts
        (bridle.program.project / "go").touch()
        await eventually(lambda: "It has ended." in bridle.transcript(facts["sessionId"]))
        assert "waited" in "".join(path.read_text() for path in bridle.outputs(facts["sessionId"]))


async def test_a_command_that_was_taken_over_ends_with_its_session(tmp_path: Path):
    script = [step(_bash("echo $$ > pid; exec sleep 1000", run_in_background=True)), step("It runs.")]
    async with background(tmp_path, script, settings=_ALLOWED) as bridle:
        async with bridle.terminal(size=(100, 30)) as terminal:
            await terminal.ready()
            await terminal.say("start it")
            await terminal.until_text("It runs.")
            await terminal.ready()
            await terminal.say("/bg")
            assert await terminal.ended() == 0
            job = _job(terminal.emulator.text)
        pid = read_number(bridle.program.project / "pid")
        assert pid is not None and is_running(pid)
        facts = await bridle.until_state(job, "done")
        os.kill(facts["pid"], signal.SIGKILL)
        await eventually(lambda: not is_running(pid))


async def test_an_agent_that_was_at_work_goes_on_over_there_from_its_transcript(tmp_path: Path):
    task = {"description": "dig", "prompt": "Dig the well.", "subagent_type": "general-purpose"}
    hands_over = {
        "type": "tool_use",
        "id": "toolu_agent",
        "name": "Agent",
        "input": {**task, "run_in_background": True},
    }
    script = [
        step(hands_over, when="hand it over"),
        # The session asks again with the agent's call in its request, perhaps before the agent does.
        step("It digs.", when="toolu_agent"),
        step(_bash(_WAITS), when="Dig the well."),
        step("Moved.", when="The move stopped this background work"),
    ]
    async with background(tmp_path, script, settings=_ALLOWED) as bridle:
        async with bridle.terminal(size=(100, 30)) as terminal:
            await terminal.ready()
            await terminal.say("hand it over")
            await terminal.until_text("It digs.")
            await terminal.until_text("Bash until")
            await terminal.say("/bg")
            assert await terminal.ended() == 0
            job = _job("\n".join(terminal.emulator.everything))
        await bridle.until_state(job, "done")
        agent = re.search(r"agent (\w+) \(dig\): SendMessage", _last_prompt(bridle))
        assert agent is not None
        wakes = {"to": agent[1], "message": "Go on digging."}
        bridle.server.script(
            [
                step(
                    {"type": "tool_use", "id": "toolu_wake", "name": "SendMessage", "input": wakes},
                    when="wake it",
                ),
                step("The well is dug.", when="Dig the well."),
                step("Woken.", when="wake it", repeat=True),
            ]
        )
        async with bridle.terminal("attach", job, size=(100, 30)) as terminal:
            await terminal.ready()
            await terminal.say("wake it")
            await terminal.until_text("Woken.")
            await eventually(
                lambda: any("Go on digging." in str(each.body) for each in bridle.server.requests)
            )


async def test_what_a_person_has_agreed_to_is_not_asked_again_over_there(tmp_path: Path):
    script = [step("One."), step(_bash("touch made")), step("Two.")]
    async with background(tmp_path, script, IS_SANDBOX="1") as bridle:
        async with bridle.terminal("--permission-mode", "bypassPermissions", size=(100, 30)) as terminal:
            await terminal.until_text("enter to choose")
            terminal.type("2")
            await terminal.ready()
            await terminal.say("first")
            await terminal.until_text("One.")
            await terminal.ready()
            await terminal.say("/bg then touch it")
            assert await terminal.ended() == 0
            job = _job(terminal.emulator.text)
        await bridle.until_state(job, "done")
        assert (bridle.program.project / "made").exists()


async def test_what_was_allowed_for_the_session_is_allowed_over_there(tmp_path: Path):
    again = {**_bash("npm test"), "id": "toolu_again"}
    script = [step(_bash("npm test")), step("One."), step(again), step("Two.")]
    async with background(tmp_path, script) as bridle:
        async with bridle.terminal(size=(100, 30)) as terminal:
            await terminal.ready()
            await terminal.say("first")
            await terminal.until_text("2. Yes, and allow Bash(npm test:*) this session")
            await terminal.until_text("enter to choose")
            terminal.type("2")
            await terminal.until_text("One.")
            await terminal.ready()
            await terminal.say("/bg and again")
            assert await terminal.ended() == 0
            job = _job(terminal.emulator.text)
        facts = await bridle.until_state(job, "done")
        assert "Two." in bridle.transcript(facts["sessionId"])


async def test_without_adoption_nothing_that_ran_goes_on(tmp_path: Path):
    script = [step(_bash(_WAITS)), step("Went on.")]
    async with background(tmp_path, script, settings=_ALLOWED, CLAUDE_DISABLE_ADOPT="1") as bridle:
        async with bridle.terminal(size=(100, 24)) as terminal:
            await terminal.ready()
            await terminal.say("wait for it")
            await terminal.until_text("until [ -e go ]")
            await terminal.say("/bg")
            assert await terminal.ended() == 0
            job = _job(terminal.emulator.text)
        await bridle.until_state(job, "done")
        assert bridle.server.left == 1


@pytest.mark.parametrize("flags", [(), ("--no-session-persistence",)], ids=["nothing said", "not kept"])
async def test_what_cannot_go_on_stays(tmp_path: Path, flags: tuple[str, ...]):
    async with background(tmp_path, [step("One.")]) as bridle:
        async with bridle.terminal(*flags, size=(100, 24)) as terminal:
            await terminal.ready()
            await terminal.say("/bg")
            await terminal.until(
                lambda screen: "conversation is empty" in screen.text or "not saved on disk" in screen.text
            )
            assert is_running(terminal.process.pid)
        assert await bridle.agents("--all") == []


async def test_a_terminal_killed_while_it_moves_leaves_the_conversation_to_one_or_none(tmp_path: Path):
    async with background(tmp_path, [step("One."), step("Printed."), step("Printed.")]) as bridle:
        async with bridle.terminal(size=(100, 24)) as terminal:
            await terminal.ready()
            await terminal.say("first")
            await terminal.until_text("One.")
            await terminal.ready()
            terminal.type("/bg\r")
            await terminal.until(lambda _: b"\x1b[?2004l" in terminal.output)
            os.kill(terminal.process.pid, signal.SIGKILL)
            await terminal.ended()
        jobs = await bridle.agents("--all")
        for entry in jobs:
            await _until_settled(bridle, entry["id"])
            await bridle.run("stop", entry["id"])
        (path,) = bridle.program.transcripts()
        done = await bridle.run("-p", "--resume", path.stem, "once more")
        assert done.out == "Printed.\n"


async def _until_settled(bridle: Background, job: str) -> None:
    """Wait until a job is done, or is known to have been given up before anything held it."""
    folder = bridle.home.folder(job)
    await eventually(lambda: (records.settle(folder) or {}).get("state") in ("done", "failed"))


async def test_a_copy_goes_on_in_the_background_while_the_original_stays(tmp_path: Path):
    script = [step("One."), step("In the copy.", when="do the other thing"), step("Here.", when="stay here")]
    async with background(tmp_path, script) as bridle:
        async with bridle.terminal(size=(100, 24)) as terminal:
            await terminal.ready()
            await terminal.say("first")
            await terminal.until_text("One.")
            await terminal.ready()
            await terminal.say("/fork do the other thing")
            await terminal.until_text("Copied to background session")
            job = _job(terminal.emulator.text)
            facts = await bridle.until_state(job, "done")
            await terminal.say("stay here")
            await terminal.until_text("Here.")
        copy = bridle.transcript(facts["sessionId"])
        assert "In the copy." in copy and "One." in copy and "stay here" not in copy
        original = next(each for each in bridle.program.transcripts() if each.stem != facts["sessionId"])
        assert '"content":"do the other thing"' not in original.read_text()


async def test_a_session_in_the_background_only_lets_go_when_it_is_sent_there_again(tmp_path: Path):
    async with background(tmp_path, [step("One."), step("Two.")]) as bridle:
        job = await bridle.start("first")
        facts = await bridle.until_state(job, "done")
        async with bridle.terminal("attach", job, size=(100, 24)) as terminal:
            await terminal.ready()
            await terminal.say("/bg and then this")
            assert await terminal.ended() == 0
        await eventually(lambda: "Two." in bridle.transcript(facts["sessionId"]))
        assert [each["id"] for each in await bridle.agents()] == [job]
