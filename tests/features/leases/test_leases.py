"""What one thread has for itself: files that it changes, ports, a scratch folder, git."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from bridle.engine.feature import Features
from bridle.engine.runtime import Runtime
from bridle.features.leases.feature import LeasesFeature
from bridle.features.leases.leases import Leases
from bridle.host.leases import LeaseStore
from bridle.host.owners import this_process
from bridle.providers.scripted import calls, says
from bridle.tools.files.write import TOOL as WRITE
from bridle.tools.shell.bash import TOOL as BASH
from bridle.types.agent import AgentDefinition
from tests.fakes.agents import Team, team
from tests.fakes.repositories import repository

_HELPER = AgentDefinition(name="helper", description="d", text="p", source="user")


def _claiming(folder: Path) -> Callable[[Runtime], Runtime]:
    claims = Leases.of_session(str(folder), "s1")
    return lambda runtime: msgspec.structs.replace(
        runtime, features=Features([*runtime.features, LeasesFeature(lambda: claims)])
    )


def _result(made: Team, key: str, number: int) -> Any:
    content = made.models.requests(key)[number].messages[-1]["content"]
    (block,) = [each for each in content if not isinstance(each, str) and each["type"] == "tool_result"]
    return block


def _write(path: Path) -> Any:
    return calls("Write", file_path=str(path), content="mine\n")


async def test_a_file_that_another_thread_changes_is_named_in_one_line(tmp_path: Path):
    other = this_process("other", label="agent fixer")
    LeaseStore(str(tmp_path / "broker")).lease(str(tmp_path / "a.py"), other)
    scripts = {"main": [says(_write(tmp_path / "a.py")), says(_write(tmp_path / "b.py")), says("ok")]}
    async with team(tmp_path, scripts, WRITE, change=_claiming(tmp_path / "broker")) as made:
        await made.prompt()
        refused, done = _result(made, "main", 1), _result(made, "main", 2)

    assert refused["is_error"] and "agent fixer is changing" in refused["content"]
    assert "\n" not in refused["content"]
    assert not done.get("is_error") and not (tmp_path / "a.py").exists()


async def test_files_are_free_again_after_the_turn(tmp_path: Path):
    scripts = {"main": [says(_write(tmp_path / "a.py")), says("ok")]}
    async with team(tmp_path, scripts, WRITE, change=_claiming(tmp_path / "broker")) as made:
        await made.prompt()
        assert LeaseStore(str(tmp_path / "broker")).leases() == []


async def test_an_agent_may_change_what_the_thread_that_waits_for_it_has_changed(tmp_path: Path):
    start = calls("Agent", description="d", prompt="<job>", subagent_type="helper", run_in_background=False)
    file = tmp_path / "a.py"
    scripts = {
        "main": [says(_write(file)), says(start), says("ok")],
        "job": [says(calls("Write", file_path=str(file), content="theirs\n")), says("done")],
    }
    async with team(
        tmp_path, scripts, WRITE, agents=[_HELPER], change=_claiming(tmp_path / "broker")
    ) as made:
        await made.prompt()
    assert file.read_text() == "theirs\n"


async def test_commands_of_a_thread_find_ports_and_those_of_agents_a_scratch_folder(tmp_path: Path):
    start = calls("Agent", description="d", prompt="<job>", subagent_type="helper", run_in_background=False)
    show = calls("Bash", command='echo "[$BRIDLE_PORT_BASE|$TMPDIR|$BRIDLE_AGENT_ID]"; touch "$TMPDIR/x"')
    scripts = {"main": [says(show), says(start), says("ok")], "job": [says(show), says("done")]}
    env = {"TMPDIR": str(tmp_path), "PATH": os.environ["PATH"]}
    async with team(
        tmp_path, scripts, BASH, agents=[_HELPER], env=env, change=_claiming(tmp_path / "broker")
    ) as made:
        await made.prompt()
        main = _result(made, "main", 1)["content"].strip("[]\n").split("|")
        agent = _result(made, "job", 1)["content"].strip("[]\n").split("|")

    assert main[0].isdecimal() and main[1:] == [str(tmp_path), ""]
    assert agent[0].isdecimal() and agent[0] != main[0]
    assert agent[1].startswith(str(tmp_path / "bridle-a")) and agent[2].startswith("a")
    assert not os.path.exists(agent[1])


async def test_leases_that_cannot_be_stored_block_no_thread(tmp_path: Path):
    (tmp_path / "broker").write_text("in the way")
    command = calls("Bash", command="git init -q x && echo done")
    scripts = {"main": [says(_write(tmp_path / "a.py"), command), says("ok")]}
    env = {"PATH": os.environ["PATH"]}
    repository(tmp_path)
    async with team(tmp_path, scripts, WRITE, BASH, env=env, change=_claiming(tmp_path / "broker")) as made:
        await made.prompt()
        content = made.models.requests("main")[1].messages[-1]["content"]
    assert (tmp_path / "a.py").read_text() == "mine\n"
    assert not [block for block in content if not isinstance(block, str) and block.get("is_error")]


async def test_git_that_another_session_uses_for_too_long_is_an_error_with_a_way_out(tmp_path: Path):
    repository(tmp_path)
    claims = Leases.of_session(str(tmp_path / "broker"), "s1", patience=0.05)
    scripts = {"main": [says(calls("Bash", command="git commit -qm x --allow-empty")), says("ok")]}
    env = {"PATH": os.environ["PATH"]}
    async with (
        LeaseStore(str(tmp_path / "broker")).git(str(tmp_path)),
        team(
            tmp_path,
            scripts,
            BASH,
            env=env,
            change=lambda each: msgspec.structs.replace(
                each, features=Features([*each.features, LeasesFeature(lambda: claims)])
            ),
        ) as made,
        asyncio.timeout(50),
    ):
        await made.prompt()
        result = _result(made, "main", 1)
    assert result["is_error"] and "Try again later" in result["content"]
