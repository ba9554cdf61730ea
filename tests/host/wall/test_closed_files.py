"""S15, S30-S32: files in the working folders that rules keep from being read stay closed to judgment."""

import asyncio
import os
import shutil
from pathlib import Path
from typing import Literal

import pytest
from msgspec.structs import replace

from bridle.host.background import BackgroundShells
from bridle.host.sandbox.bubblewrap import find_bubblewrap
from bridle.host.wall.bubblewrap import wrap
from bridle.host.wall.closed_files import ClosedFiles, closed_files, runs_git
from bridle.host.wall.closed_index import ClosedIndex
from bridle.host.wall.landlock import CHANGE, SEE
from bridle.host.wall.landlock_rules import without
from bridle.host.wall.visible_files import VisibleFiles
from bridle.types.sandbox import Pattern
from tests.fakes.judged import FakeJudged

CANARY = "canary-closed"
CLOSED = (".env", "sub/deep/.env", "keys/one.pem", "keys/more/two.pem", "secrets/a/b.txt", "[x] y.key")


def _lay_out(judged: FakeJudged) -> None:
    project = judged.project
    for name in CLOSED:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(f"{CANARY}\n")
    (project / "keys" / "readme.txt").write_text("open\n")
    (project / "sub" / "plain.txt").write_text("open\n")
    (project / "link").symlink_to(".env")
    (project / "sub" / "up").symlink_to("../keys")
    (project / "chain").symlink_to("link")
    (project / "folder").symlink_to("secrets")
    os.link(project / ".env", project / "other-name")
    os.link(project / "keys" / "one.pem", project / "another-name")
    root = str(project)
    judged.unreadable = (
        (root, ("**", ".env")),
        (root, ("keys", "**", "*.pem")),
        (root, ("secrets",)),
        (root, ("**", "[[]x[]] *.key")),
    )


READING = [
    "cat .env",
    "cat ./sub/../.env",
    "cat < .env",
    "sort < .env",
    "sort .env sub/deep/.env",
    "grep -r canary .",
    "grep -r canary . | head -1",
    "grep -r canary . 2>/dev/null",
    "grep -h canary .e* keys/* keys/more/*",
    "cat link",
    "cat chain",
    "cat sub/up/one.pem sub/up/more/two.pem",
    "cat folder/a/b.txt",
    "cat other-name",
    "cat another-name",
    "cat '[x] y.key'",
    "cat \"$PWD/.env\"",
    "cat /proc/self/cwd/.env",
    "cd sub/deep && cat .env",
    "cd keys/more && cat ../one.pem two.pem",
    "exec 3< .env; cat <&3",
    "read -r line < .env; echo \"$line\"",
    "echo \"$(<.env)\"",
    "mapfile -t lines < secrets/a/b.txt; echo \"${lines[@]}\"",
    "while read -r l; do echo \"$l\"; done < sub/deep/.env",
    "find . -type f -exec cat {} +",
    "find . -type f | xargs cat",
    "tail -n +1 .env keys/*.pem",
    "od -c .env | head -3; strings .env",
    "diff a.txt .env",
    "diff -r keys secrets",
    "tar -cf - . | tar -xOf -",
    "base64 .env | base64 -d",
    "awk 1 .env",
    "sed -n p .env",
    "dd if=.env",
    "cp .env /dev/stdout",
    "git grep --no-index canary",
    "git diff --no-index a.txt .env",
    "git hash-object --stdin < .env; git diff --no-index /dev/null keys/one.pem",
    "python3 -c 'print(open(\".env\").read())'",
    "python3 -c 'import os; print(os.read(os.open(\".env\", os.O_RDWR), 99))'",
    "python3 -c 'import os; f = os.open(\".env\", os.O_PATH); print(open(f\"/proc/self/fd/{f}\").read())'",
    "perl -e 'open F, \"<keys/one.pem\"; print <F>'",
    "rg -uu canary",
]  # fmt: skip


def _runs(command: str) -> bool:
    program = command.split(maxsplit=1)[0]
    return program not in ("python3", "perl", "rg") or shutil.which(program) is not None


@pytest.mark.parametrize("level", ["read", "edit"])
async def test_no_command_shows_a_closed_file(judged: FakeJudged, level: Literal["read", "edit"]):
    _lay_out(judged)
    commands = [command for command in READING if _runs(command)]
    slots = asyncio.Semaphore(3)

    async def told(command: str) -> str:
        async with slots:
            return (await judged.run(command, level)).said

    for command, said in zip(commands, await asyncio.gather(*map(told, commands)), strict=True):
        assert CANARY not in said, command


@pytest.mark.parametrize("level", ["read", "edit"])
@pytest.mark.parametrize(
    "command", ["cat .env", "sort < link", "cat other-name", "grep -r canary . | head -1", "cat keys/*"]
)
async def test_a_refused_reading_is_told_with_the_file(
    judged: FakeJudged, command: str, level: Literal["read", "edit"]
):
    _lay_out(judged)
    ran = await judged.run(command, level)
    assert ran.refusal is not None and ran.refusal.path is not None
    # Which of them comes first is up to the file system.
    assert Path(ran.refusal.path).relative_to(judged.project).as_posix() in CLOSED
    assert ran.refusal.deed == f"read {ran.refusal.path}"


OPEN = [
    ("cat a.txt sub/plain.txt keys/readme.txt", "one\ntwo\nopen\nopen\n"),
    ("grep -r open sub keys --include='*.txt' | sort", "keys/readme.txt:open\nsub/plain.txt:open\n"),
    ("sort < a.txt; sort /dev/stdin < a.txt; cat - < a.txt", "one\ntwo\none\ntwo\none\ntwo\n"),
    ("cat <(echo hi) /dev/null; echo there | cat", "hi\nthere\n"),
    ("find . -name .env | sort; ls secrets", "./.env\n./sub/deep/.env\na\n"),
    ("cd sub && cat ../a.txt plain.txt && wc -c < plain.txt", "one\ntwo\nopen\n5\n"),
    ("test -f .env && stat -c %s .env", f"{len(CANARY) + 1}\n"),
    ("exec 5< a.txt; read -r l <&5; echo $l; cat /proc/self/fd/5", "one\none\ntwo\n"),
]  # fmt: skip


@pytest.mark.parametrize("level", ["read", "edit"])
async def test_everything_else_is_read_as_ever(judged: FakeJudged, level: Literal["read", "edit"]):
    _lay_out(judged)
    for command, expected in OPEN:
        ran = await judged.run(command, level)
        assert (ran.said, ran.refusal) == (expected, None), command


async def test_what_a_command_makes_is_read_by_it(judged: FakeJudged):
    _lay_out(judged)
    ran = await judged.run(
        "sed -i s/one/1/ a.txt && cat a.txt && cp a.txt b && cat b && mkdir n && mv b n/ && cat n/b && "
        "echo x > keys/new && cat keys/new && cat keys/new >> n/b && tail -1 n/b",
        "edit",
    )
    assert (ran.said, ran.refusal) == ("1\ntwo\n1\ntwo\n1\ntwo\nx\nx\n", None)


MOVING = [
    "mv .env open.txt && cat open.txt",
    "ln .env open.txt && cat open.txt",
    "cp .env open.txt && cat open.txt",
    "mv sub moved && cat moved/deep/.env",
    "mv secrets open && cat open/a/b.txt",
    "mv secrets/a open && cat open/b.txt",
    "echo x > .env",
    "rm .env",
    "echo x > keys/more/new.pem",
    "cat a.txt | tee secrets/a/b.txt",
    'python3 -c \'open(".env", "r+")\'',
]


async def test_a_closed_file_is_not_changed_either(judged: FakeJudged):
    _lay_out(judged)
    before = judged.snapshot()
    for command in MOVING:
        ran = await judged.run(command, "edit")
        assert ran.refusal is not None and CANARY not in ran.said, command
        assert {path: kind for path, kind in judged.snapshot().items() if path in before} == before, command


async def test_a_closed_file_that_is_made_later_is_closed_as_well(judged: FakeJudged):
    _lay_out(judged)
    assert (await judged.run("cat a.txt")).code == 0
    for place in ("new/folder", "keys/more/third", "sub/deep/er"):
        folder = judged.project / place
        folder.mkdir(parents=True)
        (folder / ".env").write_text(CANARY)
        (folder / "plain").write_text("open")
        shown = await judged.run(f"cat {place}/plain {place}/.env")
        assert "open" in shown.said and CANARY not in shown.said
        assert shown.refusal is not None and shown.refusal.path == str(folder / ".env")
    (judged.project / "moved").mkdir()
    (judged.project / "sub").rename(judged.project / "moved" / "sub")
    os.link(judged.project / "moved" / "sub" / "deep" / ".env", judged.project / "late")
    (judged.project / "fresh.txt").write_text("fresh\n")
    shown = await judged.run("cat moved/sub/deep/.env moved/sub/plain.txt late fresh.txt")
    assert "open\nfresh\n" in shown.said.replace("cat: late: Permission denied\n", "")
    assert CANARY not in shown.said


async def test_git_works_beside_closed_files_and_where_its_own_folder_is_closed(judged: FakeJudged):
    judged.git("init")
    (judged.project / ".env").write_text(CANARY)
    judged.git("add", "a.txt")
    judged.git("commit", "-m", "first")
    root = str(judged.project)
    judged.unreadable = ((root, ("**", ".env")), (root, (".git",)))
    ran = await judged.run("git log --format=%s && git status --short && git diff --stat")
    assert (ran.said, ran.refusal) == ("first\n?? .env\n", None)
    assert (await judged.run("cat .git/config")).refusal is not None


async def test_past_the_limit_files_are_looked_at_one_by_one(judged: FakeJudged):
    many = judged.project / "many"
    many.mkdir()
    for number in range(1_100):
        (many / f"{number}.key").write_text(CANARY)
    judged.unreadable = ((str(judged.project), ("**", "*.key")),)
    assert (await judged.run("cat a.txt && ls many | wc -l")).said == "one\ntwo\n1100\n"
    ran = await judged.run("cat many/7.key")
    assert CANARY not in ran.said
    assert ran.refusal is not None and ran.refusal.path == str(many / "7.key")


def test_the_project_is_walked_once(tmp_path: Path):
    _make(tmp_path, "a/b/.env", "a/c/x", ".git/objects/.env", "loop/.env")
    (tmp_path / "a" / "back").symlink_to(tmp_path)
    (tmp_path / "named").mkdir()
    index = ClosedIndex(ClosedFiles(((str(tmp_path), ("**", ".env")),)), (str(tmp_path),))
    assert _names(index, tmp_path) == {"a/b/.env", "loop/.env"}
    _make(tmp_path, "a/c/.env", "new/er/est/.env", ".env")
    (tmp_path / "loop" / ".env").unlink()
    assert _names(index, tmp_path) == {"a/b/.env", "a/c/.env", "new/er/est/.env", ".env"}
    (tmp_path / "a").rename(tmp_path / "z")
    (tmp_path / "named" / ".env").symlink_to("../z/c/x")
    assert _names(index, tmp_path) == {
        "z/b/.env",
        "z/c/.env",
        "new/er/est/.env",
        ".env",
        "named/.env",
        "z/c/x",
    }
    index.close()
    assert index.paths() is None


def _make(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")


def _names(index: ClosedIndex, root: Path) -> set[str]:
    return {os.path.relpath(path, root) for path in index.paths() or ()}


def test_patterns_for_other_places_cost_nothing():
    near: list[Pattern] = [
        ("/home/u/p", ("**", ".env")),
        ("/home/u", ("*", "secret")),
        ("/", ("**", "x")),
        ("/home/u/p/sub", ("x",)),
    ]
    far: list[Pattern] = [("/home/u", (".ssh",)), ("/", ("etc", "**")), ("/home/u/other", ("**", ".env"))]
    for pattern in near:
        assert closed_files((pattern,), ("/home/u/p",)) is not None, pattern
    assert closed_files(tuple(far), ("/home/u/p",)) is None


def test_a_command_with_git_in_it_is_known():
    assert all(map(runs_git, ["git log", "cd a && git diff", "x=$(git status)", "ls; git show"]))
    assert not any(map(runs_git, ["cat .git/config", "ls .git", "digit x", "cat a.git b"]))


def test_what_stands_beside_a_closed_file_is_named(tmp_path: Path):
    _make(tmp_path, ".env", "a.txt", "sub/.env", "sub/b.txt", "other/c.txt")
    root = str(tmp_path)
    found = without({root: SEE | CHANGE, "/usr": SEE}, (f"{root}/.env", f"{root}/sub/.env"))
    assert found is not None
    places, _ = found
    listing = SEE & ~(1 << 2)
    assert places == {
        root: listing | CHANGE,
        "/usr": SEE,
        f"{root}/a.txt": SEE,
        f"{root}/sub": listing,
        f"{root}/sub/b.txt": SEE,
        f"{root}/other": SEE,
    }


@pytest.mark.skipif(find_bubblewrap(None) is None, reason="bubblewrap is missing")
async def test_bubblewrap_hides_them_where_there_is_no_landlock(judged: FakeJudged, tmp_path: Path):
    _lay_out(judged)
    view = judged.view("read")
    closed = closed_files(view.unreadable, view.roots)
    assert closed is not None
    index = ClosedIndex(closed, view.roots)
    temporary = tmp_path / "private"
    temporary.mkdir()
    seen = VisibleFiles().find(view, cwd=view.roots[0], env=judged.env, temporary=str(temporary), git=False)
    seen = replace(seen, closed=closed, closed_paths=index.paths())
    index.close()
    script = "grep -r canary . ; cat .env link folder/a/b.txt; cat a.txt keys/readme.txt"
    argv = wrap(("/bin/sh", "-c", script), view, seen, temporary=str(temporary), cwd=view.roots[0])
    shells = BackgroundShells(str(tmp_path / "more"), on_change=lambda _: None)
    shell = shells.launch(argv, cwd=view.roots[0], env=judged.env, output_file=str(tmp_path / "out.txt"))
    await shells.follow(shell)
    said = Path(shell.output_file).read_text()
    shells.release(shell, keep_output=True)
    await shells.close()
    if "namespace" in said and "one\ntwo" not in said:
        pytest.skip("bubblewrap does not work here")
    assert CANARY not in said and said.endswith("one\ntwo\nopen\n") and "Permission denied" in said
