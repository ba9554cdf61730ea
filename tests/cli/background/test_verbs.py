"""`bridle --bg` and what looks after it, from the command line."""

import asyncio
import json
import os
import signal
from pathlib import Path

from tests.fakes.jobs import background, processes
from tests.fakes.messages_server import step
from tests.fakes.processes import eventually, is_running

_FIELDS = {"cwd", "kind", "startedAt", "id", "state", "pid", "status", "waitingFor", "sessionId", "name"}


async def test_a_prompt_is_worked_on_in_the_background_and_told_to_programs(tmp_path: Path):
    async with background(tmp_path, [step("The sum is four.")]) as bridle:
        done = await bridle.run("--bg", "--name", "adding up", "what is two and two")
        assert done.code == 0
        job = done.out.split()[1]
        assert f"bridle attach {job}" in done.out
        facts = await bridle.until_state(job, "done")
        (entry,) = await bridle.agents()
        assert entry == {
            "cwd": str(bridle.program.project),
            "kind": "background",
            "startedAt": facts["startedAt"],
            "id": job,
            "state": "done",
            "pid": facts["pid"],
            "status": "idle",
            "sessionId": facts["sessionId"],
            "name": "adding up",
        }
        assert set(entry) <= _FIELDS
        assert "The sum is four." in bridle.transcript(entry["sessionId"])
        logs = await bridle.run("logs", "adding")
        assert "❯ what is two and two" in logs.out and "The sum is four." in logs.out
        assert "\x1b" not in logs.out
        assert await bridle.agents("--cwd", str(tmp_path)) == []
        assert [each["id"] for each in await bridle.agents("--cwd", str(bridle.program.project))] == [job]


async def test_twenty_at_once_give_twenty_jobs_and_one_supervisor(tmp_path: Path):
    async with background(tmp_path) as bridle:
        jobs = await asyncio.gather(*(bridle.start("--exec", f"echo {n}; read line") for n in range(20)))
        assert len(set(jobs)) == 20
        await eventually(lambda: set(bridle.home.roster().get("jobs", ())) == set(jobs), seconds=20)
        await eventually(lambda: len(bridle.home.supervisors()) == 1)
        done = await bridle.run("daemon", "status")
        assert done.code == 0 and all(job in done.out for job in jobs)
        done = await bridle.run("daemon", "stop", "--any")
        assert done.code == 0
        await eventually(lambda: not processes(bridle.home.path))
        assert {bridle.home.facts(job)["state"] for job in jobs} == {"stopped"}


async def test_a_command_runs_on_a_terminal_and_its_end_is_listed(tmp_path: Path):
    async with background(tmp_path) as bridle:
        job = await bridle.start("--exec", "tty >/dev/null && pwd; printf '10%%\\r99%%\\n'; exit 4")
        await bridle.home.ended(job)
        assert await bridle.agents() == []
        (entry,) = await bridle.agents("--all")
        assert (entry["state"], entry["id"], "pid" in entry) == ("failed", job, False)
        logs = await bridle.run("logs", job, "-f")
        assert logs.out.splitlines() == [str(bridle.program.project), "99%"]


async def test_logs_are_followed_until_the_end(tmp_path: Path):
    async with background(tmp_path) as bridle:
        job = await bridle.start("--exec", "echo one; while [ ! -e go ]; do sleep 0.05; done; echo two")
        process = await bridle.program.start("logs", "-f", job)
        assert process.stdout is not None
        async with asyncio.timeout(50):
            assert await process.stdout.readline() == b"one\n"
            (bridle.program.project / "go").touch()
            assert await process.stdout.read() == b"two\n"
            assert await process.wait() == 0


async def test_a_session_is_followed_line_by_line_while_somebody_else_talks_to_it(tmp_path: Path):
    async with background(tmp_path, [step("First answer."), step("Second answer.")]) as bridle:
        job = await bridle.start("first prompt")
        await bridle.until_state(job, "done")
        follower = await bridle.program.start("logs", "-f", job)
        assert follower.stdout is not None
        said = b""
        async with asyncio.timeout(50):
            while b"First answer." not in said:
                said += await follower.stdout.readline()
            async with bridle.terminal("attach", job) as terminal:
                await terminal.ready()
                await terminal.say("second prompt")
                await terminal.until_text("Second answer.")
                terminal.type("\x1a")
                await terminal.ended()
            while b"Second answer." not in said:
                said += await follower.stdout.readline()
            await bridle.run("stop", job)
            said += await follower.stdout.read()
        for words in (b"first prompt", b"First answer.", b"second prompt", b"Second answer."):
            assert said.count(words) == 1, said.decode()
        assert b"\x1b" not in said


async def test_a_stopped_session_goes_on_from_its_transcript(tmp_path: Path):
    script = [step("First answer."), step("Second answer.")]
    async with background(tmp_path, script) as bridle:
        job = await bridle.start("first prompt")
        facts = await bridle.until_state(job, "done")
        refused = await bridle.run("respawn", job)
        assert refused.code == 1 and "is still running" in refused.err
        assert (await bridle.run("stop", job)).out == f"{job} is stopped.\n"
        assert bridle.home.facts(job)["state"] == "stopped"
        assert not is_running(facts["pid"])
        assert (await bridle.run("respawn", "--all")).code == 0
        again = await bridle.until_state(job, "done")
        assert again["sessionId"] == facts["sessionId"] and again["pid"] != facts["pid"]
        async with bridle.terminal("attach", job) as terminal:
            await terminal.until_text("First answer.")
            await terminal.ready()
            await terminal.say("second prompt")
            await terminal.until_text("Second answer.")
        written = bridle.transcript(facts["sessionId"])
        assert written.count('"content":"first prompt"') == written.count('"content":"second prompt"') == 1


async def test_one_that_runs_is_not_forgotten_and_one_that_ended_leaves_its_conversation(tmp_path: Path):
    async with background(tmp_path, [step("Said.")]) as bridle:
        job = await bridle.start("say it")
        facts = await bridle.until_state(job, "done")
        refused = await bridle.run("rm", job)
        assert refused.code == 1 and f"bridle stop {job}" in refused.err
        assert (await bridle.run("kill", job)).code == 0
        forgotten = await bridle.run("rm", job)
        assert "worktrees are kept" in forgotten.out
        assert not os.path.exists(bridle.home.folder(job))
        assert await bridle.agents("--all") == []
        assert "Said." in bridle.transcript(facts["sessionId"])


async def test_the_supervisor_can_go_while_what_it_watched_stays(tmp_path: Path):
    async with background(tmp_path) as bridle:
        assert (await bridle.run("daemon", "status")).code == 1
        job = await bridle.start("--exec", "read line")
        assert (await bridle.run("daemon", "status")).code == 0
        refused = await bridle.run("daemon", "stop")
        assert refused.code == 1 and "--any" in refused.err
        assert (await bridle.run("daemon", "stop", "--any", "--keep-workers")).code == 0
        assert (await bridle.run("daemon", "status")).code == 1
        assert is_running(bridle.home.facts(job)["pid"])
        assert [each["id"] for each in await bridle.agents()] == [job]


async def test_a_supervisor_that_does_not_listen_is_ended_all_the_same(tmp_path: Path):
    async with background(tmp_path) as bridle:
        await bridle.start("--exec", "read line")
        pid = int((await bridle.run("daemon", "status")).out.split("process ")[1].split()[0])
        os.kill(pid, signal.SIGSTOP)
        done = await bridle.run("daemon", "stop", "--any")
        assert (done.code, is_running(pid)) == (0, False)
        assert "Stopped the supervisor." in done.out


async def test_a_killed_session_is_listed_as_failed_and_starts_again(tmp_path: Path):
    async with background(tmp_path, [step("Said.")]) as bridle:
        job = await bridle.start("say it")
        facts = await bridle.until_state(job, "done")
        os.kill(facts["pid"], signal.SIGKILL)
        assert (await bridle.home.ended(job))["state"] == "failed"
        await bridle.run("respawn", job)
        assert (await bridle.until_state(job, "done"))["sessionId"] == facts["sessionId"]


async def test_a_killed_holder_ends_its_session_and_the_conversation_is_free(tmp_path: Path):
    async with background(tmp_path, [step("Said."), step("Again.")]) as bridle:
        job = await bridle.start("say it")
        facts = await bridle.until_state(job, "done")
        os.kill(facts["holder"], signal.SIGKILL)
        assert (await bridle.home.ended(job))["state"] == "failed"
        await eventually(lambda: not is_running(facts["pid"]))
        done = await bridle.run("-p", "--resume", facts["sessionId"], "once more")
        assert done.out == "Again.\n"


async def test_words_that_fit_several_or_none_are_refused(tmp_path: Path):
    async with background(tmp_path) as bridle:
        for name in ("blue house", "red house"):
            await bridle.start("--name", name, "--exec", "read line")
        several = await bridle.run("logs", "house")
        assert several.code == 1 and "2 background sessions match" in several.err
        none = await bridle.run("stop", "tree")
        assert none.code == 1 and "bridle agents" in none.err
        assert (await bridle.run("stop", "red")).code == 0


async def test_print_mode_and_the_background_exclude_each_other(tmp_path: Path):
    async with background(tmp_path) as bridle:
        for argv in (
            ("--bg", "-p", "x"),
            ("--bg", "--output-format", "json", "x"),
            ("--exec", "ls"),
            ("--bg", "-r"),
        ):
            done = await bridle.run(*argv)
            assert (done.code, done.out) == (1, "")
            assert done.err.startswith("error: ") and done.err.count("\n") == 1
        assert await bridle.agents("--all") == []


async def test_everything_is_off_where_it_is_turned_off(tmp_path: Path):
    async with background(tmp_path) as bridle:
        wanted = (("--bg", "x"), ("agents", "--json"), ("attach", "x"), ("logs", "x"), ("daemon", "status"))
        said = {(await bridle.run(*argv, CLAUDE_CODE_DISABLE_AGENT_VIEW="1")).err for argv in wanted}
        (bridle.program.home / ".claude" / "settings.json").write_text('{"disableAgentView": true}')
        said |= {(await bridle.run(*argv)).err for argv in wanted}
        assert len(said) == 1 and "turned off" in said.pop()


async def test_every_program_of_ours_is_started_through_the_wrapper(tmp_path: Path):
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/started\nexec "$@"\n')
    wrapper.chmod(0o700)
    async with background(tmp_path, [step("Said.")], settings={"processWrapper": f"{wrapper} --"}) as bridle:
        wrapper.write_text(f'#!/bin/sh\nshift\necho "$@" >>{tmp_path}/started\nexec "$@"\n')
        job = await bridle.start("say it")
        await bridle.until_state(job, "done")
        started = (tmp_path / "started").read_text()
        for program in ("jobs.holder", "jobs.supervisor", "-m bridle"):
            assert started.count(program) == 1


async def test_a_project_cannot_name_a_wrapper(tmp_path: Path):
    async with background(tmp_path) as bridle:
        folder = bridle.program.project / ".claude"
        folder.mkdir()
        values = {"processWrapper": "/nowhere", "env": {"CLAUDE_CODE_PROCESS_WRAPPER": "/nowhere"}}
        (folder / "settings.json").write_text(json.dumps(values))
        await bridle.home.ended(await bridle.start("--exec", "true"))


async def test_continuing_passes_over_conversations_in_the_background(tmp_path: Path):
    script = [
        step("From the terminal."),
        step("From the background."),
        step("Terminal again."),
        step("Printed."),
    ]
    async with background(tmp_path, script) as bridle:
        async with bridle.terminal("ask at the terminal") as terminal:
            await terminal.until_text("From the terminal.")
            await terminal.ready()
            await terminal.say("/exit")
            await terminal.ended()
        job = await bridle.start("ask in the background")
        facts = await bridle.until_state(job, "done")
        async with bridle.terminal("--continue", "go on") as terminal:
            await terminal.until_text("Terminal again.")
            assert "ask at the terminal" in "\n".join(terminal.emulator.everything)
        os.utime(next(each for each in bridle.program.transcripts() if each.stem == facts["sessionId"]))
        await bridle.run("stop", job)
        assert (await bridle.run("-p", "--continue", "and on")).out == "Printed.\n"
        assert "and on" in bridle.transcript(facts["sessionId"])


async def test_a_conversation_is_taken_up_in_the_background_by_its_id(tmp_path: Path):
    async with background(tmp_path, [step("One."), step("Two.")]) as bridle:
        await bridle.run("-p", "--session-id", "0d3b1f6a-52c4-4c6e-9d6f-5a3c9c1e7b11", "first")
        job = await bridle.start("--resume", "0d3b1f6a-52c4-4c6e-9d6f-5a3c9c1e7b11", "second")
        facts = await bridle.until_state(job, "done")
        assert "Two." in bridle.transcript(facts["sessionId"])
        unknown = await bridle.run("--bg", "--resume", "3f0e8a52-7d43-4a5c-8f67-0a4f5c1d2b33", "x")
        assert unknown.code == 1 and "No conversation found" in unknown.err
