import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bridle.config.schema import GlobalConfig
from bridle.config.state import global_config, installation_id, is_trusted, trust_root
from bridle.config.trust import trust


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    return {"HOME": str(tmp_path / "home")}


def repository(path: Path) -> Path:
    (path / ".git").mkdir(parents=True)
    (path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return path


def accept(env: dict[str, str], *paths: Path) -> None:
    projects = {str(path): {"hasTrustDialogAccepted": True} for path in paths}
    Path(env["HOME"], ".claude.json").write_text(json.dumps({"projects": projects}))


def test_nothing_is_trusted_without_a_state_file(env: dict[str, str], tmp_path: Path):
    assert not is_trusted(env, str(tmp_path))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"projects": []}', '{"projects": {"%s": {}}}'])
def test_a_state_file_that_says_something_else_trusts_nothing(env: dict[str, str], tmp_path: Path, text: str):
    Path(env["HOME"], ".claude.json").write_text(text.replace("%s", str(tmp_path)))
    assert not is_trusted(env, str(tmp_path))


def test_trust_in_a_repository_covers_its_folders(env: dict[str, str], tmp_path: Path):
    root = repository(tmp_path / "code" / "project")
    (root / "src" / "deep").mkdir(parents=True)
    accept(env, root)
    assert is_trusted(env, str(root))
    assert is_trusted(env, str(root / "src" / "deep"))
    assert not is_trusted(env, str(tmp_path / "code"))


def test_trust_is_not_a_matter_of_equal_beginnings(env: dict[str, str], tmp_path: Path):
    (tmp_path / "project-two").mkdir()
    accept(env, tmp_path / "project")
    assert not is_trusted(env, str(tmp_path / "project-two"))


def test_a_repository_inside_a_trusted_folder_needs_its_own_trust(env: dict[str, str], tmp_path: Path):
    """S42"""
    outer = repository(tmp_path / "outer")
    inner = repository(outer / "vendor" / "inner")
    accept(env, outer)
    assert not is_trusted(env, str(inner))


def test_a_link_is_as_trusted_as_the_place_it_leads_to(env: dict[str, str], tmp_path: Path):
    """S42"""
    safe, evil = tmp_path / "safe", tmp_path / "evil"
    safe.mkdir()
    evil.mkdir()
    (tmp_path / "to-safe").symlink_to(safe)
    (safe / "to-evil").symlink_to(evil)
    accept(env, safe)
    assert is_trusted(env, str(tmp_path / "to-safe"))
    assert not is_trusted(env, str(safe / "to-evil"))


def test_trust_in_a_folder_says_nothing_about_those_below_and_above(env: dict[str, str], tmp_path: Path):
    """S42"""
    (tmp_path / "notes" / "today" / "deep").mkdir(parents=True)
    accept(env, tmp_path / "notes" / "today")
    assert is_trusted(env, str(tmp_path / "notes" / "today"))
    assert not is_trusted(env, str(tmp_path / "notes" / "today" / "deep"))
    assert not is_trusted(env, str(tmp_path / "notes"))


def test_trust_in_a_part_of_a_repository_is_not_trust_in_the_repository(env: dict[str, str], tmp_path: Path):
    """S42"""
    root = repository(tmp_path / "project")
    (root / "src").mkdir()
    accept(env, root / "src")
    assert not is_trusted(env, str(root / "src"))
    assert not is_trusted(env, str(root))


def test_a_pointer_to_a_trusted_repository_brings_no_trust(env: dict[str, str], tmp_path: Path):
    """S42"""
    safe = repository(tmp_path / "safe")
    (safe / ".git" / "worktrees" / "evil").mkdir(parents=True)
    (safe / ".git" / "worktrees" / "evil" / "HEAD").write_text("ref: refs/heads/main\n")
    evil = tmp_path / "evil"
    evil.mkdir()
    (evil / ".git").write_text(f"gitdir: {safe}/.git/worktrees/evil\n")
    accept(env, safe)
    assert not is_trusted(env, str(evil))
    (evil / ".git").unlink()
    (evil / ".git").symlink_to(safe / ".git")
    assert not is_trusted(env, str(evil))


def test_a_home_directory_under_version_control_is_no_repository_of_everything(env: dict[str, str]):
    """S42"""
    home = repository(Path(env["HOME"]))
    (home / "notes").mkdir()
    accept(env, home, home / "notes")
    assert trust_root(env, str(home / "notes")) == str(home / "notes")
    assert is_trusted(env, str(home / "notes"))
    assert not is_trusted(env, str(home))


def test_a_variable_trusts_one_folder_for_one_run(env: dict[str, str], tmp_path: Path):
    """S42"""
    home, root = Path(env["HOME"]), repository(tmp_path / "project")
    inner = repository(root / "inner")
    assert is_trusted({**env, "BRIDLE_TRUST_FOLDER": str(home)}, str(home))
    once = {**env, "BRIDLE_TRUST_FOLDER": str(root)}
    assert is_trusted(once, str(root))
    assert not is_trusted(once, str(inner))
    assert not is_trusted(once, str(tmp_path))
    assert not is_trusted({**env, "BRIDLE_TRUST_FOLDER": "."}, os.getcwd())
    assert not Path(env["HOME"], ".claude.json").exists()


def test_trust_in_the_home_directory_or_the_whole_disk_is_never_remembered(env: dict[str, str]):
    """S42"""
    home = Path(env["HOME"])
    (home / "downloads").mkdir()
    accept(env, home, Path("/"))
    assert not is_trusted(env, str(home))
    assert not is_trusted(env, str(home / "downloads"))


def test_trust_is_kept_beside_what_others_keep(env: dict[str, str], tmp_path: Path):
    root = repository(tmp_path / "project")
    (root / "src").mkdir()
    state = Path(env["HOME"], ".claude.json")
    state.write_text(json.dumps({"userID": "u", "projects": {str(root): {"lastCost": 1}, "/other": {}}}))
    trust(env, str(root / "src"))
    assert is_trusted(env, str(root))
    assert json.loads(state.read_text()) == {
        "userID": "u",
        "projects": {str(root): {"lastCost": 1, "hasTrustDialogAccepted": True}, "/other": {}},
    }


def test_preferences_are_read_from_the_state_file(env: dict[str, str]):
    assert global_config(env) == GlobalConfig()
    Path(env["HOME"], ".claude.json").write_text('{"autoConnectIde": true, "projects": {}, "numStartups": 3}')
    assert global_config(env).auto_connect_ide is True


def test_the_installation_keeps_its_random_private_id(env: dict[str, str], tmp_path: Path):
    """S36"""
    first = installation_id(env)
    assert installation_id(env) == first
    path = Path(env["HOME"], ".claude", "bridle", "installation-id")
    assert path.read_text().strip() == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (tmp_path / "other").mkdir()
    assert installation_id({"HOME": str(tmp_path / "other")}) != first


def test_a_damaged_installation_id_is_made_anew(env: dict[str, str]):
    first = installation_id(env)
    Path(env["HOME"], ".claude", "bridle", "installation-id").write_text("")
    second = installation_id(env)
    assert second != first
    assert installation_id(env) == second


def test_a_home_that_cannot_be_written_is_harmless(tmp_path: Path):
    """R4"""
    (tmp_path / "file").write_text("not a folder")
    env = {"HOME": str(tmp_path / "file")}
    assert len(installation_id(env)) == 32


def test_processes_that_start_together_agree_on_the_id(env: dict[str, str]):
    program = (
        "import os; from bridle.config.state import installation_id; print(installation_id(dict(os.environ)))"
    )
    command = [sys.executable, "-c", program]
    starts = [subprocess.Popen(command, env={**os.environ, **env}, stdout=subprocess.PIPE) for _ in range(4)]
    printed = {start.communicate()[0] for start in starts}
    assert len(printed) == 1
