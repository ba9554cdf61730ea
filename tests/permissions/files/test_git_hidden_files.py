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


UNLIMITED = """
git show {blob}
git show {blob} src/a.py
git show src/a.py {blob}
git show {blob} -- src/a.py
git show HEAD:src/a.py {blob}
git show HEAD:src/a.py HEAD
git show HEAD:src/a.py HEAD~0 -- src/a.py
git show {short} src/a.py
git show {blob}^{{}} -- src/a.py
git diff {blob} HEAD:src/a.py
git diff {blob}..{blob} -- src/a.py
git diff HEAD:src/a.py {blob}
git cat-file blob {blob}
git cat-file -p {short}
git cat-file --batch < src/a.py
git cat-file --batch --batch-all-objects < src/a.py
git cat-file --batch <<< HEAD:src/a.py
git log -p < src/a.py
git show < src/a.py
git diff --cached < src/a.py
git log -p -- .
git log -p -- '*'
git log -p -- ':/'
git log -p -- ':(glob)**'
git log -p -- ':!src'
git log -p -- src ':(top)'
git diff HEAD -- ./
git diff HEAD .
git grep x -- .
git grep x -- '*.pem'
git grep x {blob} -- src/a.py
git grep src
git grep -e x HEAD
git show HEAD: -- .
git stash show -p
git show secret-name -- .
"""


def test_what_is_not_limited_to_other_files_asks(repository: Path):
    shown = subprocess.run(
        ["git", "rev-parse", "HEAD:.env"], cwd=repository, capture_output=True, text=True, check=True
    )
    blob = shown.stdout.strip()
    free = [
        command
        for command in UNLIMITED.strip().format(blob=blob, short=blob[:7]).splitlines()
        if isinstance(_decide(repository, command), Allow)
        or isinstance(_decide(repository, command, allow=("Bash(git:*)",)), Allow)
    ]
    assert free == []


LIMITED = """
git log -p -- src
git log -p src/a.py
git log -p HEAD~0 -- src/a.py sub
git log -p main..HEAD -- sub/b.py
git diff src
git diff HEAD -- src/a.py
git diff --cached sub
git show HEAD src/a.py
git show HEAD -- src/a.py
git show HEAD:src/a.py HEAD:sub/b.py
git grep x -- src
git grep x HEAD -- sub
git blame src/a.py
git cat-file -p HEAD:src/a.py
git diff HEAD:src/a.py HEAD:sub/b.py
"""


def test_what_is_limited_to_other_files_is_free(repository: Path):
    asking = [
        command
        for command in LIMITED.strip().splitlines()
        if not isinstance(_decide(repository, command), Allow)
    ]
    assert asking == []
