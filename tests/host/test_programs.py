"""S43, S50: programs for bridle's own work come from where no session can put them."""

import os
import subprocess
from pathlib import Path

import pytest

from bridle.host.programs import Programs
from bridle.types.workspace import Workspace
from tests.fakes.tool_context import FakeTasks

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give files away")


def plant(folder: Path, name: str = "tool") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def on_path(*folders: object) -> dict[str, str]:
    return {"PATH": os.pathsep.join(map(str, folders))}


def test_the_first_safe_program_on_the_path_is_taken(tmp_path: Path):
    plant(project := tmp_path / "project" / ".venv" / "bin")
    own = plant(tmp_path / "bin")
    programs = Programs()
    env = on_path(project, "", ".", "bin", tmp_path / "nowhere", tmp_path / "bin")
    assert programs.find("tool", env, writable=(str(tmp_path / "project"),)) == own
    assert programs.search_path(env) == [str(tmp_path / "nowhere"), str(tmp_path / "bin")]


def test_relative_and_empty_entries_lead_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    plant(tmp_path)
    plant(tmp_path / "bin")
    monkeypatch.chdir(tmp_path)
    assert Programs().find("tool", {"PATH": ":.:bin:./bin"}) is None
    assert Programs().find("./tool", on_path(tmp_path)) is None
    assert Programs().find("bin/tool", on_path(tmp_path)) is None


def test_links_into_a_working_folder_are_seen_through(tmp_path: Path):
    project = tmp_path / "project"
    plant(project / "bin")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tool").symlink_to(project / "bin" / "tool")
    (tmp_path / "linked").symlink_to(project / "bin")
    for folder in ("bin", "linked"):
        assert Programs().find("tool", on_path(tmp_path / folder)) is not None
        assert Programs().find("tool", on_path(tmp_path / folder), writable=(str(project),)) is None


def test_a_link_that_only_passes_through_a_working_folder_does_not_count(tmp_path: Path):
    """What the link in the middle leads to can be changed later."""
    plant(tmp_path / "real")
    project = tmp_path / "project"
    project.mkdir()
    (project / "hop").symlink_to(tmp_path / "real" / "tool")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tool").symlink_to(project / "hop")
    assert Programs().find("tool", on_path(tmp_path / "bin")) is not None
    assert Programs().find("tool", on_path(tmp_path / "bin"), writable=(str(project),)) is None


def test_the_repository_around_a_working_folder_counts_as_well(tmp_path: Path):
    plant(tmp_path / "repo" / "bin")
    (tmp_path / "repo" / "sub").mkdir()
    (tmp_path / "repo" / ".git").mkdir()
    env = on_path(tmp_path / "repo" / "bin")
    assert Programs().find("tool", env, writable=(str(tmp_path / "repo" / "sub"),)) is None


def test_a_working_folder_is_known_under_every_name(tmp_path: Path):
    plant(tmp_path / "project" / "bin")
    (tmp_path / "alias").symlink_to(tmp_path / "project")
    for path in ("project", "alias"):
        for named in ("project", "alias"):
            env = on_path(tmp_path / path / "bin")
            assert Programs().find("tool", env, writable=(str(tmp_path / named),)) is None


def test_folders_and_files_that_anyone_may_change_are_passed_over(tmp_path: Path):
    plant(tmp_path / "open")
    (tmp_path / "open").chmod(0o777)
    plant(tmp_path / "sticky")
    (tmp_path / "sticky").chmod(0o1777)
    plant(tmp_path / "above" / "bin")
    (tmp_path / "above").chmod(0o777)
    loose = plant(tmp_path / "loose")
    os.chmod(loose, 0o777)
    for folder in ("open", "sticky", "above/bin", "loose"):
        assert Programs().find("tool", on_path(tmp_path / folder)) is None


@as_root
def test_programs_and_folders_of_other_users_are_passed_over(tmp_path: Path):
    os.chown(plant(tmp_path / "file"), 4242, 4242)
    plant(tmp_path / "folder")
    os.chown(tmp_path / "folder", 4242, 4242)
    for folder in ("file", "folder"):
        assert Programs().find("tool", on_path(tmp_path / folder)) is None


def test_what_is_no_program_is_passed_over(tmp_path: Path):
    (tmp_path / "folder" / "tool").mkdir(parents=True)
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "tool").write_text("", encoding="utf-8")
    (tmp_path / "loop").mkdir()
    (tmp_path / "loop" / "tool").symlink_to("tool")
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "tool", 0o755)
    env = on_path(*(tmp_path / name for name in ("folder", "text", "loop", "pipe")))
    assert Programs().find("tool", env) is None


def test_a_program_that_changed_is_looked_at_again(tmp_path: Path):
    programs = Programs()
    first, second = plant(tmp_path / "a"), plant(tmp_path / "b")
    env = on_path(tmp_path / "a", tmp_path / "b")
    assert programs.find("tool", env) == first
    os.unlink(first)
    assert programs.find("tool", env) == second
    project = tmp_path / "project"
    plant(project)
    os.unlink(second)
    os.symlink(project / "tool", second)
    assert programs.find("tool", env, writable=(str(project),)) is None


def test_folders_that_a_session_gets_later_count(tmp_path: Path):
    programs = Programs()
    found = plant(tmp_path / "bin")
    workspace = Workspace(str(tmp_path / "project"), tasks=FakeTasks())
    programs.watch(workspace)
    assert programs.find("tool", on_path(tmp_path / "bin")) == found
    workspace.roots = (*workspace.roots, str(tmp_path / "bin"))
    assert programs.find("tool", on_path(tmp_path / "bin")) is None


def test_nothing_of_the_environment_brings_in_code(tmp_path: Path):
    hostile = {
        "LD_PRELOAD": "x", "LD_AUDIT": "x", "DYLD_INSERT_LIBRARIES": "x", "GIT_SSH_COMMAND": "x",
        "GIT_CONFIG_COUNT": "1", "BASH_ENV": "x", "ENV": "x", "NODE_OPTIONS": "x", "PYTHONPATH": "x",
        "PYTHONSTARTUP": "x", "PERL5OPT": "x", "RUBYOPT": "x", "RIPGREP_CONFIG_PATH": "x", "IFS": "x",
        "BASH_FUNC_ls%%": "() { x; }", "GCONV_PATH": "x", "GLIBC_TUNABLES": "x", "PS4": "x",
    }  # fmt: skip
    programs = Programs()
    programs.keep_out_of((str(tmp_path),))
    env = {**hostile, "HOME": "/h", "LANG": "C", **on_path(tmp_path / "bin", ".", "/usr/bin", "/bin")}
    assert programs.environment(env) == {"HOME": "/h", "LANG": "C", "PATH": "/usr/bin:/bin"}
    assert programs.plain_environment({**env, "SECRET": "x"}) == programs.environment(env)


def test_the_systems_programs_are_found():
    found = Programs().find("sh", on_path("/usr/bin", "/bin"))
    assert found is not None
    assert subprocess.run([found, "-c", "exit 7"], check=False).returncode == 7
