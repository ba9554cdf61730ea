"""S14: a name is judged by its reputation only where it is the system's program."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from bridle.permissions.policy import decide
from bridle.permissions.preparation import CallRequest, prepare
from bridle.types.permission import Allow, Ask, Decision, Mode
from tests.permissions.cases import standing

SYSTEM = "/usr/bin:/bin"


def _decide(
    project: Path,
    command: str,
    *,
    path: str | None,
    mode: Mode = "default",
    roots: tuple[str, ...] = (),
    **env: str,
) -> Decision:
    given = env if path is None else {**env, "PATH": path}
    where = standing(cwd=str(project), roots=roots, mode=mode)
    where = msgspec.structs.replace(where, env=given)
    return decide(prepare(CallRequest(tool="Bash", input={"command": command}, subject=command), where))


def _program(path: Path, text: str = "#!/bin/sh\ntouch pwned\n", mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder outside every temporary one, as programs of a user have it."""
    with tempfile.TemporaryDirectory(dir=os.path.expanduser("~")) as folder:
        yield Path(folder)


COMMANDS = (
    "pip --version",
    "ls",
    "timeout 5 ls -l",
    "cat x | sort",
    "git status",
    "nice ls",
    "echo $(wc -l x)",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_program_of_the_project_on_the_path_asks(tmp_path: Path, command: str):
    for name in ("pip", "ls", "timeout", "sort", "git", "nice", "wc"):
        _program(tmp_path / ".venv" / "bin" / name)
    assert isinstance(_decide(tmp_path, command, path=f"{tmp_path}/.venv/bin:{SYSTEM}"), Ask)
    assert isinstance(_decide(tmp_path, command, path=SYSTEM), Allow)


@pytest.mark.parametrize("entry", ["", ".", "bin", "./bin", "../project/bin"])
def test_relative_folder_on_the_path_asks(tmp_path: Path, entry: str):
    project = tmp_path / "project"
    _program(project / "bin" / "ls")
    _program(project / "ls")
    assert isinstance(_decide(project, "ls", path=f"{entry}:{SYSTEM}"), Ask)
    assert isinstance(_decide(project, "ls", path=f"{SYSTEM}:{entry}"), Allow)


def test_path_without_folders_asks(tmp_path: Path):
    _program(tmp_path / "ls")
    assert isinstance(_decide(tmp_path, "ls", path=""), Ask)
    assert isinstance(_decide(tmp_path, "echo hi; true; test -f x; pwd", path=""), Allow)


def test_activated_environment_without_such_a_program_does_not_ask(tmp_path: Path):
    _program(tmp_path / ".venv" / "bin" / "python")
    path = f"{tmp_path}/.venv/bin:{tmp_path}/node_modules/.bin:{SYSTEM}"
    for command in ("ls -la", "grep -rn x .", "git status", "cat a | head -5"):
        assert isinstance(_decide(tmp_path, command, path=path), Allow), command
    assert isinstance(_decide(tmp_path, "python --version", path=path), Ask)


def test_file_that_cannot_be_run_is_passed_by(tmp_path: Path):
    _program(tmp_path / "bin" / "ls", mode=0o644)
    (tmp_path / "bin" / "cat").mkdir()
    assert isinstance(_decide(tmp_path, "ls; cat x", path=f"{tmp_path}/bin:{SYSTEM}"), Allow)


def test_program_that_appears_between_two_commands_is_seen(tmp_path: Path):
    (tmp_path / "bin").mkdir()
    path = f"{tmp_path}/bin:{SYSTEM}"
    assert isinstance(_decide(tmp_path, "ls", path=path), Allow)
    _program(tmp_path / "bin" / "ls")
    assert isinstance(_decide(tmp_path, "ls", path=path), Ask)
    (tmp_path / "bin" / "ls").unlink()
    assert isinstance(_decide(tmp_path, "ls", path=path), Allow)


def test_file_that_becomes_a_program_between_two_commands_is_seen(tmp_path: Path):
    """S14: a new mode of a file is no change of its folder."""
    path = f"{tmp_path}/bin:{SYSTEM}"
    program = _program(tmp_path / "bin" / "ls", mode=0o644)
    assert isinstance(_decide(tmp_path, "ls", path=path), Allow)
    program.chmod(0o755)
    assert isinstance(_decide(tmp_path, "ls", path=path), Ask)


@pytest.mark.parametrize(
    "command",
    [
        "cp x bin/ls && ls",
        "mv x bin/ls; ls",
        "cp -r other bin; ls",
        "mv other bin && ls",
        "echo x > bin/cat && ls",
        "cd bin && cp ../x ls && cd .. && ls",
    ],
)
def test_command_that_writes_to_a_folder_of_the_path_asks(tmp_path: Path, command: str):
    """S10: what the first part writes is what the second would run."""
    _program(tmp_path / "x")
    _program(tmp_path / "other" / "ls")
    (tmp_path / "bin").mkdir()
    path = f"{tmp_path}/bin:{SYSTEM}"
    assert isinstance(_decide(tmp_path, command, path=path, mode="acceptEdits"), Ask)
    assert isinstance(_decide(tmp_path, "cp x y && ls", path=path, mode="acceptEdits"), Allow)


def test_additional_folder_counts_like_the_project(tmp_path: Path, place: Path):
    _program(place / "bin" / "ls")
    project = tmp_path / "project"
    project.mkdir()
    path = f"{place}/bin:{SYSTEM}"
    assert isinstance(_decide(project, "ls", path=path), Allow)
    assert isinstance(_decide(project, "ls", path=path, roots=(str(place),)), Ask)


def test_temporary_and_open_folders_ask(tmp_path: Path, place: Path):
    project = place / "project"
    project.mkdir()
    _program(tmp_path / "bin" / "ls")
    assert isinstance(_decide(project, "ls", path=f"{tmp_path}/bin:{SYSTEM}", TMPDIR=str(tmp_path)), Ask)
    _program(place / "open" / "ls")
    assert isinstance(_decide(project, "ls", path=f"{place}/open:{SYSTEM}"), Allow)
    (place / "open").chmod(0o777)
    assert isinstance(_decide(project, "ls", path=f"{place}/open:{SYSTEM}"), Ask)
    (place / "open").chmod(0o755)
    (place / "open" / "ls").chmod(0o757)
    assert isinstance(_decide(project, "ls", path=f"{place}/open:{SYSTEM}"), Ask)


def test_link_and_interpreter_into_the_project_ask(tmp_path: Path, place: Path):
    project = tmp_path / "project"
    _program(project / "evil")
    _program(project / "bin" / "node")
    (place / "bin").mkdir()
    (place / "bin" / "ls").symlink_to(project / "evil")
    _program(place / "bin" / "npm", "#!/usr/bin/env node\n")
    _program(place / "bin" / "pip", f"#!{project}/evil\n")
    path = f"{place}/bin:{project}/bin:{SYSTEM}"
    for command in ("ls", "npm --version", "pip --version"):
        assert isinstance(_decide(project, command, path=path), Ask), command
    assert isinstance(_decide(project, "npm --version", path=f"{place}/bin:{SYSTEM}"), Allow)


def test_script_of_the_system_is_held_to_what_it_starts(tmp_path: Path):
    _program(tmp_path / "bin" / "grep")
    assert isinstance(_decide(tmp_path, "egrep x y", path=f"{tmp_path}/bin:{SYSTEM}"), Ask)


def test_file_command_of_the_project_asks_in_accept_edits_mode(tmp_path: Path):
    _program(tmp_path / "bin" / "cp")
    assert isinstance(_decide(tmp_path, "cp a b", path=f"{tmp_path}/bin:{SYSTEM}", mode="acceptEdits"), Ask)
    assert isinstance(_decide(tmp_path, "cp a b", path=SYSTEM, mode="acceptEdits"), Allow)


@pytest.mark.parametrize(
    ("script", "free"),
    [
        ("export NODE_ENV=production\n", True),
        ("# nothing\n\nexport A='b c'; export B=$'x'\nunset C\n", True),
        ('export PATH="$PATH:{bin}"\n', True),
        ('export PATH="{bin}:$PATH"\n', False),
        ("PATH={bin}:$PATH\n", False),
        ('declare -x PATH="{bin}:/usr/bin"\n', False),
        ("export PATH='{bin}':${PATH}\n", False),
        ("export PATH=$'{bin}:/usr/bin'\n", False),
        ("export A=1;PATH={bin}\n", False),
        ("ls() { touch pwned; }\n", False),
        ("eval 'PATH={bin}'\n", False),
        (". ./activate\n", False),
        ("if true; then PATH={bin}; fi\n", False),
        ("export A=$(touch pwned)\n", False),
        ("IFS=x\n", False),
        ("shopt -s extglob\n", False),
        (". '{more}'\n", False),
    ],
)
def test_script_before_each_command_changes_the_path(tmp_path: Path, place: Path, script: str, free: bool):
    bin = tmp_path / "bin"
    _program(bin / "ls")
    more = place / "more.sh"
    more.write_text(f"export PATH={bin}:$PATH\n")
    file = place / "session.env"
    file.write_text(script.replace("{bin}", str(bin)).replace("{more}", str(more)))
    decision = _decide(tmp_path, "ls", path=SYSTEM, CLAUDE_ENV_FILE=str(file))
    assert isinstance(decision, Allow if free else Ask)


def test_interpreter_that_runs_the_tests_is_not_the_projects(tmp_path: Path):
    path = f"{os.path.dirname(os.path.realpath(sys.executable))}:{SYSTEM}"
    assert isinstance(_decide(tmp_path, "ls", path=path), Allow)
