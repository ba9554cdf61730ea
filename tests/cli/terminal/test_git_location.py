import subprocess
from pathlib import Path

import pytest

from bridle.cli.terminal.git_location import repository_of, worktree_of


def _repository(folder: Path, url: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=folder, check=True)
    subprocess.run(["git", *who, "commit", "-q", "--allow-empty", "-m", "First"], cwd=folder, check=True)
    if url:
        subprocess.run(["git", "remote", "add", "upstream", "https://e.org/x/y"], cwd=folder, check=True)
        subprocess.run(["git", "remote", "add", "origin", url], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://forge.example/ada/engine.git", ("forge.example", "ada", "engine")),
        ("https://ada:secret@forge.example/ada/engine", ("forge.example", "ada", "engine")),
        ("git@forge.example:ada/engine.git", ("forge.example", "ada", "engine")),
        ("ssh://git@forge.example:2222/ada/engine.git", ("forge.example", "ada", "engine")),
        ("https://forge.example/group/part/engine.git/", ("forge.example", "group/part", "engine")),
    ],
)
def test_a_repository_is_named_by_its_origin(tmp_path: Path, url: str, expected: tuple[str, str, str]):
    folder = _repository(tmp_path / "a", url) / "below"
    folder.mkdir()
    host, owner, name = expected
    assert repository_of(str(folder)) == {"host": host, "owner": owner, "name": name}


@pytest.mark.parametrize("url", ["", "/srv/engine.git", "../engine", "file:///srv/ada/engine"])
def test_a_repository_without_a_host_has_no_name(tmp_path: Path, url: str):
    assert repository_of(str(_repository(tmp_path / "a", url))) is None


def test_a_folder_outside_of_repositories_has_neither(tmp_path: Path):
    assert repository_of(str(tmp_path)) is None
    assert worktree_of(str(tmp_path)) is None


def test_a_linked_work_tree_is_named_and_the_main_one_is_not(tmp_path: Path):
    main = _repository(tmp_path / "main", "https://forge.example/ada/engine")
    subprocess.run(["git", "worktree", "add", "-q", str(tmp_path / "side")], cwd=main, check=True)
    assert worktree_of(str(main)) is None
    assert worktree_of(str(tmp_path / "side")) == "side"
    assert repository_of(str(tmp_path / "side")) == repository_of(str(main))
