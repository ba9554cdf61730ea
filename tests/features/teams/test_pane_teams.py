"""What teammates in processes of their own share with their leader: rights, hooks, lists, trees, history."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.host import FakeHost
from tests.fakes.messages_server import step
from tests.fakes.processes import eventually, is_running
from tests.fakes.repositories import git, repository
from tests.fakes.teammates import HELPER, by_helper, hire, leader, said_to, use
from tests.fakes.tmux import needs_tmux

pytestmark = needs_tmux


def _tools(body: Any) -> set[str]:
    return {tool["name"] for tool in body["tools"]}


async def test_a_teammate_has_at_most_the_rights_of_its_leader(tmp_path: Path):
    (extra := tmp_path / "extra").mkdir()
    (extra / "note").write_text("FROM-THE-EXTRA-FOLDER", encoding="utf-8")
    settings = {"permissions": {"defaultMode": "acceptEdits", "deny": ["WebFetch"]}}
    script = [
        by_helper(use("Read", 5, file_path=str(extra / "note"))),
        by_helper(use("Write", 6, file_path="made", content="x")),
        by_helper(use("Bash", 7, command="python3 -c \"open('other', 'w')\"", description="Make a file")),
        by_helper("done"),
        step(hire()),
        step("ok", repeat=True),
    ]
    flags = ("--settings", json.dumps(settings), "--add-dir", str(extra), "--disallowedTools", "Edit")
    async with leader(tmp_path, script, *flags) as made:
        made.prompt("go")
        await made.task()
        await made.close()
    first, *_, last = made.bodies(helpers=True)
    assert not {"Edit", "WebFetch", "Agent"} & _tools(first)
    said = json.dumps(last["messages"])
    assert "FROM-THE-EXTRA-FOLDER" in said
    assert (made.program.project / "made").exists()
    # This leader cannot ask a user, so the command is not approved.
    assert "No one can approve it" in said and not (made.program.project / "other").exists()


async def test_idle_hooks_may_send_a_teammate_back_to_work(tmp_path: Path):
    log = tmp_path / "log"
    code = (
        "import json, pathlib, sys; given = json.load(sys.stdin); log = pathlib.Path(sys.argv[1]);"
        "first = not log.exists(); log.open('a').write(given['teammate_name'] + given['team_name'] + '\\n');"
        "print(json.dumps({'decision': 'block', 'reason': 'LOOK-AGAIN'}) if first else '{}')"
    )
    (tmp_path / "hook.py").write_text(code, encoding="utf-8")
    command = f"{sys.executable} {tmp_path}/hook.py {log}"
    hooks = {"TeammateIdle": [{"hooks": [{"type": "command", "command": command}]}]}
    script = [by_helper("first"), by_helper("second"), step(hire()), step("ok", repeat=True)]
    async with leader(tmp_path, script, settings={"hooks": hooks}) as made:
        made.prompt("go")
        await made.task()
        await made.close()
    assert log.read_text() == "annblue\nannblue\n"
    assert "LOOK-AGAIN" in json.dumps(made.bodies(helpers=True)[1]["messages"])
    assert "second" in json.dumps(made.bodies(helpers=False)[-1]["messages"])


async def test_the_task_list_is_shared_and_hooks_get_completed_tasks(tmp_path: Path):
    log = tmp_path / "log"
    hooks = {"TaskCompleted": [{"hooks": [{"type": "command", "command": f"cat >> {log}"}]}]}
    script = [
        by_helper(use("TaskUpdate", 5, taskId="1", status="in_progress", owner="ann")),
        by_helper(use("TaskUpdate", 6, taskId="1", status="completed")),
        by_helper("done"),
        step(use("TaskCreate", 1, subject="Test it", description="All of it.")),
        step(hire("ann", 2)),
        step("ok", repeat=True),
    ]
    async with leader(tmp_path, script, settings={"hooks": hooks}) as made:
        made.prompt("go")
        await made.task()
        await made.close()
    (item,) = list((made.program.home / ".claude" / "tasks").rglob("1.json"))
    assert (json.loads(item.read_text())["status"], json.loads(item.read_text())["owner"]) == (
        "completed",
        "ann",
    )
    logged = json.loads(log.read_text())
    assert (logged["task_subject"], logged["teammate_name"], logged["team_name"]) == (
        "Test it",
        "ann",
        "blue",
    )


async def test_a_teammate_may_have_a_work_tree_of_its_own(tmp_path: Path):
    repository(tmp_path / "project", readme="Hello.")
    script = [
        by_helper(use("Bash", 5, command="touch made", description="Touch")),
        by_helper("done"),
        step(hire(isolation="worktree")),
        step("ok", repeat=True),
    ]
    async with leader(tmp_path, script, "--allowedTools", "Bash") as made:
        made.prompt("go")
        await made.task()
        await made.result()
        await made.close()
        (tree,) = (made.program.project / ".claude" / "worktrees").iterdir()
    assert (tree / "made").exists() and not (made.program.project / "made").exists()
    assert f"Its changes are in the work tree {tree}" in json.dumps(
        made.bodies(helpers=False)[-1]["messages"]
    )
    assert "worktree" in git(made.program.project, "branch", "--all")


@pytest.mark.parametrize("mode", ["tmux", "in-process"])
async def test_a_resumed_team_finds_its_teammates_again(tmp_path: Path, mode: str):
    script = [by_helper("first"), step(hire()), step("ok", repeat=True)]
    async with leader(tmp_path, script) as made:
        made.prompt("go")
        await made.task()
        await made.result()
        await made.close()
        session = next(frame["session_id"] for frame in made.frames if "session_id" in frame)
        made.server.script([
            step(use("SendMessage", 2, to="ann", message="AND-MORE"), when="NEXT-ROUND"),
            by_helper("second"),
            step("ok", repeat=True),
        ])  # fmt: skip
        flags = ("--agents", json.dumps(HELPER), "--teammate-mode", mode, "--resume", session)
        async with FakeHost(made.program, *flags) as again:
            again.prompt("NEXT-ROUND")
            await again.until(lambda frame: frame.get("subtype") == "task_notification")
            assert list(await made.pids()) == (["ann"] if mode == "tmux" else [])
            await again.close()
        last = json.dumps(made.bodies(helpers=True)[-1]["messages"])
    assert "THE-JOB" in last and "first" in last and "AND-MORE" in last


async def test_conversations_of_teammates_are_not_offered_to_people(tmp_path: Path):
    script = [by_helper("done"), step(hire()), step("ok", repeat=True)]
    async with leader(tmp_path, script) as made:
        made.prompt("go")
        await made.task()
        await made.result()
        await made.close()
        session = next(frame["session_id"] for frame in made.frames if "session_id" in frame)
        done = await made.program.run("-p", "again", "--continue", "--output-format", "json")
    assert json.loads(done.out)["session_id"] == session


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("echo tmux 2.9", "tmux 2.9 is too old"),
        ('[ "$1" = -V ] && echo tmux 3.3 || { echo broken >&2; exit 1; }', "tmux opened no pane (broken)"),
    ],
)
async def test_where_there_can_be_no_pane_a_sentence_says_so_and_nothing_is_lost(
    tmp_path: Path, program: str, why: str
):
    (folder := tmp_path / "bin").mkdir()
    (folder / "tmux").write_text(f"#!/bin/sh\n{program}\n", encoding="utf-8")
    (folder / "tmux").chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    script = [by_helper("all is well"), step(hire()), step("ok", repeat=True)]
    async with leader(tmp_path, script, PATH=path) as made:
        made.prompt("go")
        await made.task()
        await made.close()
        notices = [frame["content"] for frame in made.frames if frame.get("subtype") == "informational"]
    assert [notice for notice in notices if why in notice and "ann runs without a pane" in notice]
    assert "all is well" in json.dumps(made.bodies(helpers=False)[-1]["messages"])


async def test_a_pane_that_closes_at_once_is_no_loss(tmp_path: Path):
    (folder := tmp_path / "bin").mkdir()
    real = shutil.which("tmux")
    # Another program than the teammate's runs in the pane, and ends at once.
    (folder / "tmux").write_text(
        f'#!/bin/sh\ncase "$*" in *new-session*) exec {real} -L bridle-blue new-session -d -s bridle-blue '
        f'-P -F "#{{pane_id}} #{{pane_pid}}" false now;; *) exec {real} "$@";; esac\n',
        encoding="utf-8",
    )
    (folder / "tmux").chmod(0o755)
    script = [by_helper("all is well"), step(hire()), step("ok", repeat=True)]
    async with leader(tmp_path, script, PATH=f"{folder}:{os.environ['PATH']}") as made:
        made.prompt("go")
        await made.task()
        await made.close()
        notices = [frame["content"] for frame in made.frames if frame.get("subtype") == "informational"]
    assert notices == ["ann runs without a pane: its pane closed immediately."]
    assert "all is well" in json.dumps(made.bodies(helpers=False)[-1]["messages"])


@pytest.mark.parametrize(("flag", "panes"), [(None, ["ann"]), ("in-process", [])])
async def test_the_flag_counts_more_than_the_setting(tmp_path: Path, flag: str | None, panes: list[str]):
    script = [by_helper("all is well"), step(hire()), step("ok", repeat=True)]
    async with leader(tmp_path, script, mode=flag, settings={"teammateMode": "tmux"}) as made:
        made.prompt("go")
        await made.task()
        assert list(await made.pids()) == panes
        await made.close()


async def test_auto_needs_a_terminal_with_panes(tmp_path: Path):
    script = [by_helper("all is well"), step(hire()), step("ok", repeat=True)]
    async with leader(tmp_path, script, mode="auto") as made:
        made.prompt("go")
        await made.task()
        assert await made.pids() == {}
        await made.close()
    assert not [frame for frame in made.frames if frame.get("subtype") == "informational"]
    assert "all is well" in json.dumps(made.bodies(helpers=False)[-1]["messages"])


async def test_a_teammate_whose_definition_brings_hooks_stays_with_its_leader(tmp_path: Path):
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}
    agents = {"helper": {**HELPER["helper"], "hooks": hooks}}
    script = [by_helper("all is well"), step(hire()), step("ok", repeat=True)]
    async with leader(tmp_path, script, "--agents", json.dumps(agents)) as made:
        made.prompt("go")
        await made.task()
        assert await made.pids() == {}
        await made.close()
    notices = [frame["content"] for frame in made.frames if frame.get("subtype") == "informational"]
    assert ["its definition has its own hooks" in notice for notice in notices] == [True]


async def test_a_hook_of_the_program_around_the_session_keeps_teammates_within_its_reach(tmp_path: Path):
    script = [by_helper("all is well"), step(hire()), step("ok", repeat=True)]
    async with leader(tmp_path, script) as made:
        await made.request("initialize", hooks={"PreToolUse": [{"hookCallbackIds": ["h1"]}]})
        made.prompt("go")
        call = await made.asked("hook_callback")
        made.answer(call, {})
        await made.task()
        assert await made.pids() == {}
        await made.close()
    notices = [frame["content"] for frame in made.frames if frame.get("subtype") == "informational"]
    assert notices == ["ann runs without a pane: the host program has its own hooks."]


async def test_a_teammate_that_is_hired_anew_takes_the_place_of_the_one_that_rests(tmp_path: Path):
    script = [
        said_to("ann", "done", repeat=True),
        step(hire("ann", 1), when="first"),
        step(hire("ann", 2), when="second"),
        step("ok", repeat=True),
    ]
    async with leader(tmp_path, script[:2] + script[3:]) as made:
        made.prompt("first")
        await made.task()
        await made.result()
        before = (await made.pids())["ann"]
        made.server.script([script[0], script[2], script[3]])
        made.prompt("second")
        await made.task()
        await eventually(lambda: not is_running(before))
        assert list(await made.pids()) == ["ann"]
        await made.close()
