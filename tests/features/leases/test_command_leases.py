"""What shell commands change belongs to the thread that runs them, as with the tools that edit."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.engine.feature import Features
from bridle.engine.runtime import Runtime
from bridle.features.leases.commands import named
from bridle.features.leases.feature import LeasesFeature
from bridle.features.leases.leases import Command, Leases
from bridle.host.leases import LeaseStore
from bridle.host.owners import Owner, this_process
from bridle.permissions.preparation import read_command
from bridle.providers.scripted import calls, says
from bridle.tools.shell.bash import TOOL as BASH
from bridle.types.errors import ToolError
from bridle.types.event import Noticed
from tests.fakes.agents import Team, team
from tests.fakes.repositories import git, repository

_ENV = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
_UNNAMED = 'f=a.py; python3 -c \'import sys; open(sys.argv[1], "w").write("changed")\' $f'


def _other(name: str = "fixer") -> Owner:
    return this_process("other", agent=name, label=f"agent {name}")


def _claiming(folder: Path) -> Callable[[Runtime], Runtime]:
    claims = Leases.of_session(str(folder), "s1")
    return lambda runtime: msgspec.structs.replace(
        runtime, features=Features([*runtime.features, LeasesFeature(lambda: claims)])
    )


def _command(text: str, cwd: Path, *, env: dict[str, str] = _ENV) -> Command:
    reading = read_command(text, cwd=str(cwd), home="/nowhere")
    return Command(reading=reading, read_only=False, is_awaited=True, cwd=str(cwd), env=env)


def _texts(made: Team, number: int) -> str:
    return msgspec.json.encode(made.models.requests("main")[number].messages[-2:]).decode()


async def _run(folder: Path, *commands: str) -> Team:
    scripts: dict[str, Any] = {
        "main": [*(says(calls("Bash", command=each)) for each in commands), says("ok")]
    }
    async with team(folder, scripts, BASH, env=_ENV, change=_claiming(folder / "broker")) as made:
        await made.prompt()
    return made


@pytest.mark.parametrize(
    "command",
    ["sed -i s/old/new/ a.py", "echo new > a.py", "rm -f a.py", "mv a.py b.py", "echo x | tee a.py"],
)
async def test_a_command_that_names_a_file_of_another_thread_does_not_run(tmp_path: Path, command: str):
    (tmp_path / "a.py").write_text("old\n")
    LeaseStore(str(tmp_path / "broker")).lease(str(tmp_path / "a.py"), _other())
    made = await _run(tmp_path, command)
    assert "agent fixer is changing" in _texts(made, 1)
    assert (tmp_path / "a.py").read_text() == "old\n"


async def test_a_folder_with_a_file_of_another_thread_is_not_removed_but_takes_new_files(tmp_path: Path):
    (tmp_path / "src").mkdir()
    (tmp_path / "a.py").touch()
    LeaseStore(str(tmp_path / "broker")).lease(str(tmp_path / "src" / "x.py"), _other())
    made = await _run(tmp_path, "rm -rf src", "cp a.py src/")
    assert "agent fixer is changing" in _texts(made, 1)
    assert "is changing" not in _texts(made, 2)
    assert (tmp_path / "src" / "a.py").exists()


def test_only_files_that_can_be_meant_are_named(tmp_path: Path):
    (tmp_path / "src").mkdir()
    (tmp_path / "b.py").touch()

    def files(command: str) -> list[str]:
        found = named(read_command(command, cwd=str(tmp_path), home="/nowhere"))
        return [os.path.relpath(path, tmp_path) for path in (*found.files, *found.folders)]

    assert files("cp a.py b.py") == ["b.py"]
    assert files("cp a.py src") == ["src/a.py"]
    assert files("chmod +x *.sh; make > /dev/null 2>&1") == []
    assert files("mv src lib") == ["lib", "src"]


async def test_what_a_command_is_seen_to_have_changed_is_its_own_until_the_turn_ends(tmp_path: Path):
    project = repository(tmp_path / "project", **{"a.py": "old\n"})
    broker = LeaseStore(str(tmp_path / "broker"))
    claims = Leases(broker, this_process("s1", label="session s1"))
    broker.join(str(project), _other())

    async with claims.command(_command(_UNNAMED, project)):
        (project / "a.py").write_text("changed\n")
        (project / "new.py").write_text("made\n")

    held = broker.lease(str(project / "a.py"), _other())
    assert held is not None and held.owner == claims.owner
    assert {each.what for each in broker.leases()} == {str(project / "a.py"), str(project / "new.py")}
    assert claims.end_turn() == ()
    assert broker.lease(str(project / "a.py"), _other()) is None


async def test_a_conflict_that_the_command_did_not_name_is_one_line_for_both_threads(tmp_path: Path):
    project = repository(tmp_path / "project", **{"a.py": "old\n"})
    broker, other = LeaseStore(str(project / "broker")), _other()
    broker.join(str(project), other)
    broker.lease(str(project / "a.py"), other)
    made = await _run(project, _UNNAMED)

    assert (project / "a.py").read_text() == "changed"
    assert f"{project}/a.py changed while the command ran, and agent fixer is changing it too" in _texts(
        made, 1
    )
    (line,) = broker.messages(other)
    assert line.startswith(f"{project}/a.py changed while session s1 ran a command")
    assert broker.messages(other) == []


async def test_changes_by_others_are_reported_with_the_next_call(tmp_path: Path):
    async with team(
        tmp_path,
        {"main": [says(calls("Bash", command="true")), says("ok"), says("bye")]},
        BASH,
        env=_ENV,
        change=_claiming(tmp_path / "broker"),
    ) as made:
        *_, leases = made.runtime.features
        assert isinstance(leases, LeasesFeature)
        broker, owner = LeaseStore(str(tmp_path / "broker")), leases.leases().owner
        broker.tell(owner, "a.py changed")
        await made.prompt()
        assert "<system-reminder>a.py changed</system-reminder>" in _texts(made, 1)
        broker.tell(owner, "b.py changed")
        await made.prompt()
    assert Noticed("b.py changed", level="warning") in made.channel.events


async def test_changes_of_commands_that_ran_together_are_nobodys(tmp_path: Path):
    project = repository(tmp_path / "project", **{"a.py": "old\n"})
    broker = LeaseStore(str(tmp_path / "broker"))
    main = Leases(broker, this_process("s1", label="session s1"))
    agent = main.for_agent("a1", "one")
    broker.join(str(project), _other())
    async with main.command(_command(_UNNAMED, project)), agent.command(_command(_UNNAMED, project)):
        (project / "a.py").write_text("changed\n")
    assert broker.leases() == []


async def test_what_another_thread_edits_while_a_command_runs_stays_theirs_without_a_remark(tmp_path: Path):
    project = repository(tmp_path / "project", **{"a.py": "old\n"})
    broker = LeaseStore(str(tmp_path / "broker"))
    claims = Leases(broker, this_process("s1", label="session s1"))
    broker.join(str(project), _other())
    async with claims.command(_command(_UNNAMED, project)):
        broker.lease(str(project / "a.py"), _other())
        (project / "a.py").write_text("changed\n")
    assert [each.owner for each in broker.leases()] == [_other()]
    assert claims.remarks() == () and broker.messages(_other()) == []


async def test_nothing_is_looked_at_while_no_other_thread_works_in_the_folder(tmp_path: Path):
    project = repository(tmp_path / "project", **{"a.py": "old\n"})
    log = tmp_path / "log"
    (tmp_path / "bin").mkdir()
    shim = tmp_path / "bin" / "git"
    real = next(path for each in _ENV["PATH"].split(":") if os.access(path := f"{each}/git", os.X_OK))
    shim.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {real} "$@"\n')
    shim.chmod(0o755)
    env = {**_ENV, "PATH": f"{tmp_path}/bin:{_ENV['PATH']}"}
    broker = LeaseStore(str(tmp_path / "broker"))
    claims = Leases(broker, this_process("s1", label="session s1"))
    broker.join(str(tmp_path), _other())
    async with claims.command(_command(_UNNAMED, project, env=env)):
        pass
    assert not log.exists()
    broker.join(str(project), _other("second"))
    async with claims.command(_command(_UNNAMED, project, env=env)):
        pass
    assert "status" in log.read_text()


async def test_a_refused_command_reserves_none_of_its_files(tmp_path: Path):
    broker = LeaseStore(str(tmp_path / "broker"))
    claims = Leases(broker, this_process("s1", label="session s1"))
    broker.lease(str(tmp_path / "b"), _other())
    with pytest.raises(ToolError):
        async with claims.command(_command("touch a b", tmp_path)):
            pass
    assert [each.what for each in broker.leases()] == [str(tmp_path / "b")]


def test_lines_for_the_dead_are_swept(tmp_path: Path):
    broker = LeaseStore(str(tmp_path / "broker"))
    dead = msgspec.structs.replace(_other(), birth="1")
    broker.tell(dead, "a.py changed")
    broker.tell(_other(), "a.py changed")
    broker.sweep()
    assert broker.messages(dead) == [] and broker.messages(_other()) == ["a.py changed"]


def test_lines_go_with_whom_they_were_for(tmp_path: Path):
    broker = LeaseStore(str(tmp_path / "broker"))
    broker.tell(_other(), "a.py changed")
    broker.release(_other())
    assert os.listdir(tmp_path / "broker" / "notes") == []


async def test_a_command_after_its_own_commit_claims_what_it_left_changed(tmp_path: Path):
    project = repository(tmp_path / "project", **{"a.py": "old\n", "b.py": "old\n"})
    (project / "b.py").write_text("dirty\n")
    broker = LeaseStore(str(tmp_path / "broker"))
    claims = Leases(broker, this_process("s1", label="session s1"))
    broker.join(str(project), _other())
    async with claims.command(_command(_UNNAMED, project)):
        (project / "b.py").write_text("dirtier\n")
        git(project, "commit", "-qm", "x", "--allow-empty")
    assert [each.what for each in broker.leases()] == [str(project / "b.py")]
