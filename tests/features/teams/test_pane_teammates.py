"""Teammates in processes of their own: the work itself, from the first prompt to the end of the team."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from bridle.features.agents.mailbox import Mailbox
from bridle.transcripts.reader import load as read_transcript
from bridle.types.services.messages import AgentMessage
from tests.fakes.messages_server import step
from tests.fakes.processes import eventually, is_running
from tests.fakes.teammates import Leader, by_helper, hire, leader, said_to, use
from tests.fakes.terminal import PtyProgram
from tests.fakes.tmux import needs_tmux

pytestmark = needs_tmux


def _rows(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_a_teammate_works_in_a_pane_and_its_report_and_cost_come_to_the_leader(tmp_path: Path):
    script = [by_helper("all is well"), step(hire()), step("ok", repeat=True)]
    async with leader(tmp_path, script) as made:
        made.prompt("go")
        ended = await made.task()
        await made.result()
        pid = (await made.pids())["ann"]
        argv = Path(f"/proc/{pid}/cmdline").read_bytes()
        code, _ = await made.close()
        result = [frame for frame in made.frames if frame["type"] == "result"][-1]
        (asked,) = made.bodies(helpers=True)
    assert (code, ended["summary"]) == (0, "d")
    assert b"test-key" not in argv and b"THE-JOB" not in argv
    assert "You are `ann` in the team `blue`" in json.dumps(asked["system"])
    assert "all is well" in json.dumps(made.bodies(helpers=False)[-1]["messages"])
    lead, own = made.transcripts() if _is_leader(made.transcripts()[0]) else made.transcripts()[::-1]
    assert {(row["teamName"], row["agentName"]) for row in _rows(own) if "uuid" in row} == {("blue", "ann")}
    # A teammate that was ended has no line for its cost; readers add up its answers then.
    spent, whole = (read_transcript(str(path)).cost.usd for path in (own, lead))
    # All calls cost the same: those of the leader, and the one of the teammate.
    assert spent > 0 and whole == pytest.approx(spent * (1 + len(made.bodies(helpers=False))))
    assert result["total_cost_usd"] == pytest.approx(whole)
    assert not is_running(pid)


def _is_leader(path: Path) -> bool:
    return not any("teamName" in row for row in _rows(path))


async def test_a_message_wakes_the_same_process_with_all_it_knew(tmp_path: Path):
    script = [
        by_helper("first"),
        by_helper("second", when="AND-MORE"),
        step(use("SendMessage", 2, to="ann", message="AND-MORE"), when="NEXT-ROUND"),
        step(hire()),
        step("ok", repeat=True),
    ]
    async with leader(tmp_path, script[:2] + script[3:]) as made:
        made.prompt("go")
        await made.task()
        before = await made.pids()
        made.server.script([script[2], script[1], script[4]])
        made.prompt("NEXT-ROUND")
        await made.task()
        assert await made.pids() == before
        last = json.dumps(made.bodies(helpers=True)[-1]["messages"])
        await made.close()
    assert "THE-JOB" in last and "first" in last and "AND-MORE" in last


async def test_messages_go_between_teammates_and_to_the_leader(tmp_path: Path):
    script = [
        said_to("ann", use("SendMessage", 5, to="bob", message="HELLO-BOB")),
        said_to("ann", "done", repeat=True),
        said_to("bob", "done"),
        said_to("bob", use("SendMessage", 6, to="main", message="HELLO-MAIN")),
        said_to("bob", "done", repeat=True),
        step(hire("ann", 2), when="now ann"),
        step(hire("bob", 1)),
        step("ok", repeat=True),
    ]
    async with leader(tmp_path, script) as made:
        made.prompt("go")
        await made.task()
        made.prompt("now ann")
        await eventually(lambda: "HELLO-MAIN" in json.dumps(_leaders_words(made)))
        await made.close()
    letter = next(each for each in _leaders_words(made) if "HELLO-MAIN" in json.dumps(each))
    assert 'from=\\"bob\\"' in json.dumps(letter)


def _leaders_words(made: Leader) -> list[Any]:
    return [message for body in made.bodies(helpers=False) for message in body["messages"]]


async def test_a_message_to_an_unknown_name_is_an_error_for_the_teammate(tmp_path: Path):
    script = [
        by_helper(use("SendMessage", 5, to="carl", message="HELLO")),
        by_helper("done", repeat=True),
        step(hire()),
        step("ok", repeat=True),
    ]
    async with leader(tmp_path, script) as made:
        made.prompt("go")
        await made.task()
        await made.close()
        last = json.dumps(made.bodies(helpers=True)[-1]["messages"])
    assert "Unknown agent 'carl'. Agents: ann." in last


async def test_stopping_a_teammate_ends_its_process_and_closes_its_pane(tmp_path: Path):
    script = [by_helper("never", delay=60), step(hire()), step("ok", repeat=True)]
    async with leader(tmp_path, script) as made:
        made.prompt("go")
        await made.result()
        pid = await made.begun()
        task = next(frame["task_id"] for frame in made.frames if frame.get("subtype") == "task_started")
        await made.request("stop_task", task_id=task)
        await eventually(lambda: not is_running(pid))
        assert await made.pids() == {}
        await made.close()
    ended = [frame for frame in made.frames if frame.get("subtype") == "task_notification"]
    assert [frame["status"] for frame in ended] == ["stopped"]


async def test_an_idle_teammate_can_be_stopped_too(tmp_path: Path):
    script = [by_helper("done"), step(hire()), step("ok", repeat=True)]
    async with leader(tmp_path, script) as made:
        made.prompt("go")
        ended = await made.task()
        pid = (await made.pids())["ann"]
        made.server.script([step(use("TaskStop", 7, task_id=ended["task_id"]), when="stop"), script[2]])
        made.prompt("stop")
        await eventually(lambda: not is_running(pid))
        await made.close()
    assert "Stopped task" in json.dumps(made.bodies(helpers=False)[-1]["messages"])


async def test_a_killed_teammate_is_reported_once_and_a_message_starts_it_again(tmp_path: Path):
    script = [by_helper("never", delay=60), step(hire()), step("ok", repeat=True)]
    async with leader(tmp_path, script) as made:
        made.prompt("go")
        await made.result()
        pid = await made.begun()
        os.kill(pid, signal.SIGKILL)
        failed = await made.task("failed")
        await made.result()
        made.server.script([
            step(use("SendMessage", 2, to="ann", message="AGAIN"), when="wake up"),
            by_helper("back again"),
            step("ok", repeat=True),
        ])  # fmt: skip
        made.prompt("wake up")
        await made.task()
        again = (await made.pids())["ann"]
        await made.close()
    notes = [frame for frame in made.frames if frame.get("subtype") == "task_notification"]
    assert [frame["status"] for frame in notes] == ["failed", "completed"]
    assert failed["task_id"] == notes[1]["task_id"]
    assert again != pid
    last = json.dumps(made.bodies(helpers=True)[-1]["messages"])
    assert "THE-JOB" in last and "AGAIN" in last
    assert "a message resumes it" in json.dumps(made.bodies(helpers=False)[2]["messages"])


async def test_when_the_leader_ends_all_members_end(tmp_path: Path):
    script = [by_helper("done", repeat=True), step(hire()), step("ok", repeat=True)]
    async with leader(tmp_path, script) as made:
        made.prompt("go")
        await made.task()
        pid = (await made.pids())["ann"]
        code, _ = await made.close()
        assert (code, is_running(pid), await made.pids()) == (0, False, {})
        assert not list(Path(made.rooms).rglob("*.sock"))
        home = made.program.home / ".claude"
        assert not [*home.rglob("*.sock"), *home.rglob("team/*"), *home.rglob("questions/*/*")]


async def test_a_broadcast_reaches_those_at_work_and_the_leader(tmp_path: Path):
    script = [
        said_to("ann", use("SendMessage", 5, to="*", message="TO-ALL")),
        said_to("ann", "done", repeat=True),
        said_to("bob", use("SendMessage", 6, to="ann", message="WAIT"), held=True),
        said_to("bob", "done", repeat=True),
        step(hire("ann", 2), when="now ann"),
        step(hire("bob", 1)),
        step("ok", repeat=True),
    ]
    async with leader(tmp_path, script) as made:
        made.prompt("go")
        await made.result()
        await made.begun("bob")
        made.prompt("now ann")
        await made.task()
        made.server.released.set()
        await made.task()
        await made.close()
    to_bob = json.dumps([body for body in made.bodies(helpers=True) if "`bob`" in json.dumps(body["system"])])
    assert "TO-ALL" in to_bob
    assert "TO-ALL" in json.dumps(_leaders_words(made))


async def test_a_killed_leader_leaves_no_orphan(tmp_path: Path):
    script = [by_helper("never", delay=60), step(hire()), step("ok", repeat=True)]
    async with leader(tmp_path, script) as made:
        made.prompt("go")
        await made.result()
        pid = await made.begun()
        made.process.kill()
        await made.process.wait()
        await eventually(lambda: not is_running(pid))


async def test_the_end_of_the_tmux_server_is_reported_for_each_teammate_once(tmp_path: Path):
    script = [
        by_helper("never", delay=60, repeat=True),
        step(hire("ann", 1), hire("bob", 2)),
        step("ok", repeat=True),
    ]
    async with leader(tmp_path, script) as made:
        made.prompt("go")
        await made.result()
        await made.begun("ann")
        await made.begun("bob")
        await made.tmux("kill-server")
        await made.task("failed")
        await made.task("failed")
        await made.close()
    notes = [frame for frame in made.frames if frame.get("subtype") == "task_notification"]
    assert len({frame["task_id"] for frame in notes}) == len(notes) == 2


async def test_eight_teammates_work_at_once(tmp_path: Path):
    names = [f"t{number}" for number in range(8)]
    calls = [hire(name, number, f"JOB-{name}.") for number, name in enumerate(names)]
    script = [
        *(said_to(name, f"report of {name}") for name in names),
        step(*calls),
        step("ok", repeat=True),
    ]
    async with leader(tmp_path, script) as made:
        made.prompt("go")
        for _ in names:
            await made.until(lambda frame: frame.get("subtype") == "task_notification")
        pids = await made.pids()
        await made.close()
    assert sorted(pids) == names
    assert not any(map(is_running, pids.values()))
    said = json.dumps(made.bodies(helpers=False)[-1]["messages"])
    assert all(f"report of {name}" in said for name in names)


async def test_a_full_mailbox_is_an_error_for_the_sender_and_emptied_by_reading(tmp_path: Path):
    script = [
        by_helper("done", held=True),
        by_helper("done", repeat=True),
        step(hire()),
        step("ok", repeat=True),
    ]
    async with leader(tmp_path, script) as made:
        made.prompt("go")
        await made.result()
        await made.begun()
        task = next(frame["task_id"] for frame in made.frames if frame.get("subtype") == "task_started")
        (storage,) = [path.parent for path in made.program.home.rglob("team")]
        box = Mailbox(str(storage / "mail" / task))
        for number in range(100):
            box.put(AgentMessage(id=f"id-{number}", sender="main", text=f"LETTER-{number}.", sent=0.0))
        made.server.script([
            step(use("SendMessage", 2, to="ann", message="ONE-TOO-MANY"), when="write to ann"),
            by_helper("read it all", repeat=True),
            step("ok", repeat=True),
        ])  # fmt: skip
        made.prompt("write to ann")
        await made.result()
        refused = json.dumps(made.bodies(helpers=False)[-1]["messages"])
        made.server.released.set()
        await made.task()
        await eventually(lambda: not box.waiting())
        await made.close()
    assert "The message to ann was not delivered: it has 100 unread messages" in refused
    assert "LETTER-99." in json.dumps(made.bodies(helpers=True)[-1]["messages"])


async def test_a_teammate_that_does_not_end_in_time_is_killed(tmp_path: Path):
    script = [by_helper("done"), step(hire()), step("ok", repeat=True)]
    async with leader(tmp_path, script, CLAUDE_CODE_TEAM_TEARDOWN_PARK_TIMEOUT_MS="1000") as made:
        made.prompt("go")
        await made.task()
        pid = (await made.pids())["ann"]
        os.kill(pid, signal.SIGSTOP)
        code, _ = await made.close()
        assert (code, is_running(pid)) == (0, False)


async def test_a_visible_pane_keeps_a_teammate_at_work_after_its_leader(tmp_path: Path):
    script = [by_helper("I am through", held=True), step(hire()), step("ok", repeat=True)]
    async with leader(tmp_path, script) as made:
        made.prompt("go")
        await made.result()
        pid = await made.begun()
        env = {**os.environ, "TMUX_TMPDIR": made.rooms, "TERM": "xterm-256color"}
        argv = ["tmux", "-L", "bridle-blue", "attach"]
        async with PtyProgram(argv, size=(100, 30), env=env, cwd=tmp_path) as terminal:
            await terminal.until_text("── ann ──")
            made.process.kill()
            await made.process.wait()
            made.server.released.set()
            await terminal.until_text("I am through")
        await eventually(lambda: not is_running(pid))
        (letter,) = made.transcripts()[0].parent.rglob("mail/main/*.json")
    assert json.loads(letter.read_text())["text"] == "I am through"


async def test_leaving_in_the_pane_is_reported_to_the_leader(tmp_path: Path):
    script = [by_helper("never", delay=60), step(hire()), step("ok", repeat=True)]
    async with leader(tmp_path, script) as made:
        made.prompt("go")
        await made.result()
        pid = await made.begun()
        os.kill(pid, signal.SIGTERM)
        await made.task("failed")
        await made.result()
        await made.close()
    assert "Its pane was closed" in json.dumps(made.bodies(helpers=False)[-1]["messages"])


async def test_a_process_that_cannot_begin_leaves_the_work_to_its_leader(tmp_path: Path):
    # What is written into the settings between the two starts is refused by the second.
    script = [by_helper("all is well"), step(hire()), step("ok", repeat=True)]
    policy = {"permissions": {"disableBypassPermissionsMode": "disable"}}
    flags = ("--permission-mode", "bypassPermissions")
    async with leader(tmp_path, script, *flags, IS_SANDBOX="1") as made:
        await made.request("initialize")
        (made.program.home / ".claude" / "settings.json").write_text(json.dumps(policy), encoding="utf-8")
        made.prompt("go")
        await made.task()
        await made.close()
    notices = [frame["content"] for frame in made.frames if frame.get("subtype") == "informational"]
    assert any("ann runs without a pane" in notice for notice in notices)
    assert "all is well" in json.dumps(made.bodies(helpers=False)[-1]["messages"])
