"""Local settings stay out of commits from the moment that they are made."""

import subprocess
from pathlib import Path

from bridle.config.edit import set_value

_LOCAL = ".claude/settings.local.json"


def _git(folder: Path, *arguments: str) -> str:
    command = ("git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *arguments)
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _repository(folder: Path) -> Path:
    folder.mkdir()
    _git(folder, "init", "-q")
    (folder / "a").write_text("a")
    _git(folder, "add", "a")
    _git(folder, "commit", "-qm", "a")
    return folder


def _set(folder: Path, home: Path) -> None:
    set_value(str(folder / _LOCAL), ("model",), "opus", env={"CLAUDE_CONFIG_DIR": str(home)})


def test_git_ignores_new_local_settings_in_the_project_and_in_folders_and_work_trees_of_it(tmp_path: Path):
    project = _repository(tmp_path / "p")
    _git(project, "worktree", "add", "-q", str(tmp_path / "tree"))
    for folder in (project, project / "deep" / "er", tmp_path / "tree"):
        _set(folder, tmp_path)

    assert (project / _LOCAL).is_file()
    assert [_git(each, "status", "--porcelain") for each in (project, tmp_path / "tree")] == ["", ""]
    assert (project / ".git" / "info" / "exclude").read_text().count("settings.local.json") == 1


def test_other_lines_are_kept_and_a_file_that_was_there_changes_nothing(tmp_path: Path):
    project = _repository(tmp_path / "p")
    exclude = project / ".git" / "info" / "exclude"
    exclude.write_text("mine")
    _set(project, tmp_path)
    assert exclude.read_text() == f"mine\n**/{_LOCAL}\n"
    exclude.write_text("mine\n")
    set_value(str(project / _LOCAL), ("model",), "sonnet", env={"CLAUDE_CONFIG_DIR": str(tmp_path / "c")})
    assert exclude.read_text() == "mine\n"


def test_a_planted_pointer_or_link_leads_nowhere(tmp_path: Path):
    target = tmp_path / "victim"
    (target / "info").mkdir(parents=True)
    (target / "HEAD").write_text("ref: refs/heads/main\n")
    for name in ("pointer", "link"):
        git = tmp_path / name / ".git"
        git.parent.mkdir()
        if name == "link":
            git.symlink_to(target)
        else:
            git.write_text(f"gitdir: {target}\n")
        _set(git.parent, tmp_path)
        assert (git.parent / _LOCAL).is_file()
    assert list((target / "info").iterdir()) == []
