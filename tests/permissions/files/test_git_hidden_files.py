"""S30, S31: what a rule keeps from being read, git does not show out of its own store."""

import subprocess
from pathlib import Path

import pytest

from bridle.types.permission import Allow, Ask, Decision, Deny
from tests.permissions.cases import bash, rules

DENIED = rules(deny=("Read(.env)", "Read(secrets/**)"))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name in (".env", "secrets/key.pem", "src/a.py", "sub/b.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    for argv in (("init", "-q"), ("add", "-A"), (*who, "commit", "-q", "-m", "first")):
        subprocess.run(["git", *argv], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


def _decide(
    folder: Path, command: str, *, start: Path | None = None, allow: tuple[str, ...] = ()
) -> Decision:
    weighed = (*DENIED, *rules(allow=allow))
    return bash(command, weighed, cwd=str(folder), start=str(start or folder))


@pytest.mark.parametrize(
    "command",
    [
        "git show HEAD:.env",
        "git show HEAD~0:./.env",
        "git show :.env",
        "git show :0:.env",
        "git show HEAD:secrets/key.pem",
        "git blame .env",
        "git blame secrets/key.pem",
        "git diff .env",
        "git diff -- .env",
        "git diff /dev/null .env",
        "git log -p -- .env",
        "git log -p .env",
        "git cat-file -p HEAD:.env",
        "git cat-file blob HEAD:.env",
        "git grep x -- .env",
        "git diff HEAD -- secrets",
    ],
)
def test_denied_file_is_denied_by_its_name_in_a_commit(repository: Path, command: str):
    assert isinstance(_decide(repository, command), Deny)
    assert isinstance(_decide(repository, command, allow=("Bash(git:*)",)), Deny)


def test_denied_file_is_found_from_a_folder_below(repository: Path):
    assert isinstance(_decide(repository / "sub", "git show HEAD:.env", start=repository), Deny)


@pytest.mark.parametrize(
    "command",
    ["git log -p", "git show", "git diff", "git show HEAD", "git stash show -p", "git log -p -3 --stat"],
)
def test_command_that_shows_the_whole_repository_asks(repository: Path, command: str):
    assert isinstance(_decide(repository, command), Ask)
    assert isinstance(_decide(repository, command, allow=("Bash(git:*)",)), Ask)
    assert isinstance(bash(command, cwd=str(repository)), Allow)


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git log --oneline -5",
        "git diff --stat",
        "git diff src/a.py",
        "git show HEAD:src/a.py",
        "git log",
    ],
)
def test_command_that_shows_nothing_of_it_does_not_ask(repository: Path, command: str):
    assert isinstance(_decide(repository, command), Allow)


def test_repository_without_such_a_file_does_not_ask(repository: Path):
    weighed = rules(deny=("Read(nothing.key)", "Read(~/.ssh/**)", "Read(*.pfx)"))
    for command in ("git log -p", "git show", "git diff"):
        assert isinstance(bash(command, weighed, cwd=str(repository)), Allow), command


def test_operands_of_git_are_followed(repository: Path, tmp_path_factory: pytest.TempPathFactory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret").write_text("x")
    (repository / "dirlink").symlink_to(outside)
    (repository / "link").symlink_to(outside / "secret")
    for command in (
        "git diff /dev/null dirlink/secret",
        "git diff link src/a.py",
        "git diff --stat /dev/null link",
        "git diff -- /dev/null dirlink/secret",
        "git diff src/a.py dirlink",
        "git diff /dev/null [l]ink",
    ):
        assert isinstance(bash(command, cwd=str(repository)), Ask), command
    for command in (
        "git diff main feature",
        "git diff HEAD~3..HEAD -- src",
        "git log origin/main..HEAD -- src",
    ):
        assert isinstance(bash(command, cwd=str(repository)), Allow), command
