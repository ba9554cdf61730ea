"""Going back and forth with everything that changed in the working folders, no matter who changed it."""

import asyncio
import os
import random
import stat
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridle.host.git.index_file import IndexFile
from bridle.transcripts.files.backups import BackupFolder
from bridle.transcripts.files.checkpoints import CheckpointContext, FileCheckpoints
from bridle.transcripts.files.file_history import open_checkpoints
from bridle.types.errors import SessionError
from tests.transcripts.test_checkpoints import Scene, git

_GIT = "git -c user.name=t -c user.email=t@t.invalid"
_COMMANDS = (
    "echo {r} > a{n}.txt", "echo {r} >> t{n}.txt", "rm -f t{n}.txt", "mkdir -p d{n}/e && echo {r} > d{n}/e/f",
    "rm -rf d{n}", "chmod 600 t{n}.txt", "ln -sf t{n}.txt l{n}", "mv t{n}.txt m{n}.txt",
    f"git add -A && {_GIT} commit -qm c{{r}}", "git checkout -q -b b{r}", "git checkout -q main",
    f"{_GIT} stash -q", "git reset -q --hard HEAD~1", "echo {r} > ignored{n}.log", "rm -f ignored{n}.log",
    "mkdir empty{n}", "rmdir empty{n}", "mv d{n} dd{n}", "cp -r dd{n} d{n}", "git clean -qfdx",
    "git rm -q t{n}.txt", "printf {r} > t{n}.txt; touch -r .gitignore t{n}.txt",
)  # fmt: skip
"""What a model's shell may do to the project, which is a temporary folder."""


def _tree(root: Path) -> dict[str, object]:
    """Everything below a folder but the objects of git, and its index, which says when it looked."""
    found: dict[str, object] = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [each for each in folders if f"{folder}/{each}" != f"{root}/.git/objects"]
        for name in (*folders, *files):
            path = Path(folder, name)
            status, key = path.lstat(), str(path.relative_to(root))
            mode = stat.S_IMODE(status.st_mode)
            if stat.S_ISLNK(status.st_mode):
                found[key] = os.readlink(path)
            elif stat.S_ISDIR(status.st_mode):
                found[key] = mode
            elif key != ".git/index":
                found[key] = (mode, path.read_bytes())
    return found


def _fill(project: Path, *, repository: bool) -> None:
    for number in range(4):
        (project / f"t{number}.txt").write_text(f"tracked {number}\n")
        (project / f"ignored{number}.log").write_text(f"ignored {number}")
    (project / ".gitignore").write_text("*.log\n")
    (project / "t1.txt").chmod(0o640)
    (project / "link").symlink_to("t0.txt")
    (project / "d1" / "e").mkdir(parents=True)
    (project / "d1" / "e" / "f").write_text("x")
    (project / "empty9").mkdir()
    if repository:
        git(project, "init", "-q")
        git(project, "add", "-A")
        git(project, "commit", "-qm", "first")
        (project / "t2.txt").write_text("dirty\n")
        (project / "untracked.txt").write_text("untracked")


class _Session:
    """A session that can put back everything, and be opened again."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.said: list[str] = []
        self.checkpoints = self._open()

    def _open(self) -> FileCheckpoints:
        scene = self.scene
        around = CheckpointContext(
            note=scene.session.note,
            roots=lambda: (str(scene.project),),
            env=scene.env,
            whole=True,
            say=self.said.append,
        )
        return open_checkpoints(scene.session, around, env=scene.env)

    async def prompt(self) -> str:
        uuid = self.scene.session.say_user("do it")["uuid"]
        await self.checkpoints.begin(uuid)
        await self.run("true")  # Whatever is run waits until everything was looked at.
        return uuid

    async def run(self, command: str) -> None:
        ended = await self.checkpoints.before_command()
        project = self.scene.project
        # Git stays in this folder, also where it is no repository.
        env = {**self.scene.env, "HOME": str(project.parent), "GIT_CEILING_DIRECTORIES": str(project.parent)}
        subprocess.run(["bash", "-c", command], cwd=project, env=env, capture_output=True, check=False)
        await ended()

    async def write(self, name: str, text: str) -> None:
        path = self.scene.project / name
        await self.checkpoints.before_change(str(path))
        path.write_text(text)

    async def again(self) -> None:
        await self.checkpoints.close()
        self.scene.session.flush()
        self.checkpoints = self._open()


@asynccontextmanager
async def _session(folder: Path, *, repository: bool = True) -> AsyncGenerator[_Session]:
    scene = Scene(folder)
    _fill(scene.project, repository=repository)
    session = _Session(scene)
    try:
        yield session
    finally:
        await session.checkpoints.close()


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), repository=st.booleans())
def test_random_scripts_go_back_and_forth_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, seed: int, repository: bool
):
    asyncio.run(_play(tmp_path_factory.mktemp("scripts"), random.Random(seed), repository=repository))


async def _play(folder: Path, dice: random.Random, *, repository: bool) -> None:
    async with _session(folder, repository=repository) as session:
        project = session.scene.project
        states: list[tuple[str, dict[str, object]]] = []
        for _ in range(dice.randint(1, 3)):
            states.append((await session.prompt(), _tree(project)))
            for _ in range(dice.randint(1, 5)):
                command = dice.choice(_COMMANDS).format(r=dice.randint(0, 99), n=dice.randint(0, 3))
                file = project / f"t{dice.randint(0, 3)}.txt"
                if dice.random() < 0.3 and not file.is_symlink() and not file.is_dir():
                    await session.write(file.name, command)
                else:
                    await session.run(command)
            await session.checkpoints.end()
        last = _tree(project)
        uuid, wanted = dice.choice(states)
        await session.checkpoints.rewind(uuid)
        assert _tree(project) == wanted
        if dice.random() < 0.5:
            await session.again()
        await session.checkpoints.redo()
        assert _tree(project) == last


async def test_what_another_program_changed_since_is_named_and_nothing_is_touched(tmp_path: Path):
    async with _session(tmp_path) as session:
        project, checkpoints = session.scene.project, session.checkpoints
        prompt = await session.prompt()
        await session.run("echo ours > t0.txt; echo ours > t1.txt")
        await checkpoints.end()
        (project / "t1.txt").write_text("theirs\n")
        (project / "t3.txt").write_text("theirs alone\n")
        preview = await checkpoints.rewind(prompt, dry_run=True)
        assert (preview.can_rewind, preview.foreign) == (False, (str(project / "t1.txt"),))
        with pytest.raises(SessionError, match=r"t1\.txt"):
            await checkpoints.rewind(prompt)
        assert (project / "t0.txt").read_text() == "ours\n"
        await session.again()
        with pytest.raises(SessionError, match=r"t1\.txt"):
            await session.checkpoints.rewind(prompt)
        await session.checkpoints.rewind(prompt, force=True)
        assert (project / "t1.txt").read_text() == "tracked 1\n"
        assert (project / "t3.txt").read_text() == "theirs alone\n"


async def test_changes_while_no_session_looked_are_noticed(tmp_path: Path):
    async with _session(tmp_path) as session:
        prompt = await session.prompt()
        await session.run("echo ours > t0.txt")
        await session.checkpoints.end()
        await session.checkpoints.close()
        session.scene.session.flush()
        (session.scene.project / "t0.txt").write_text("theirs\n")
        await session.again()
        with pytest.raises(SessionError, match=r"t0\.txt"):
            await session.checkpoints.rewind(prompt)


async def test_redo_ends_with_the_next_prompt_and_with_foreign_changes(tmp_path: Path):
    async with _session(tmp_path) as session:
        project, checkpoints = session.scene.project, session.checkpoints
        with pytest.raises(SessionError, match="nothing to redo"):
            await checkpoints.redo()
        prompt = await session.prompt()
        await session.run("echo new > t0.txt")
        await checkpoints.end()
        await checkpoints.rewind(prompt, leaf="leaf-1")
        (project / "t0.txt").write_text("theirs\n")
        with pytest.raises(SessionError, match=r"t0\.txt"):
            await checkpoints.redo()
        done = await checkpoints.redo(force=True)
        assert (done.leaf, (project / "t0.txt").read_text()) == ("leaf-1", "new\n")
        await checkpoints.rewind(prompt, leaf="leaf-1")
        await session.prompt()
        with pytest.raises(SessionError, match="nothing to redo"):
            await checkpoints.redo()


async def test_a_folder_that_cannot_be_written_leaves_everything_as_it_was(tmp_path: Path):
    async with _session(tmp_path) as session:
        project, checkpoints = session.scene.project, session.checkpoints
        prompt = await session.prompt()
        await session.run("echo new > t0.txt; rm -r d1; echo now a file > d1; mkdir empty9/kept")
        await checkpoints.end()
        # A folder in which others keep a file stands where nothing was; it cannot go, and a file must come.
        await session.run("true")
        (project / "d1").unlink()
        (project / "d1").mkdir()
        (project / "d1" / "e").write_text("theirs")
        before = _tree(project)
        with pytest.raises(SessionError):
            await checkpoints.rewind(prompt)
        assert _tree(project) == before


async def test_a_file_whose_second_name_was_overwritten_in_place_is_named(tmp_path: Path):
    folder = BackupFolder(str(tmp_path / "kept"))
    file = tmp_path / "large.bin"
    file.write_bytes(b"x" * 100_000)
    name = folder.keep_file(str(file), file.stat())
    assert name is not None
    assert folder.read(name) == b"x" * 100_000
    shared = os.stat(os.path.join(folder.path, name)).st_ino == file.stat().st_ino
    with file.open("r+b") as opened:
        opened.write(b"y" * 100_001)
    if shared:
        with pytest.raises(OSError, match="overwritten"):
            folder.read(name)
    else:
        assert folder.read(name) == b"x" * 100_000


async def test_where_nothing_can_be_watched_everything_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sys.platform", "other")
    async with _session(tmp_path) as session:
        project = session.scene.project
        prompt, before = await session.prompt(), _tree(project)
        await session.run(
            "echo x >> t0.txt; rm t1.txt; mkdir -p n/m; echo y > n/m/f; ln -s t2.txt s; chmod 700 d1"
        )
        await session.checkpoints.end()
        after = _tree(project)
        await session.checkpoints.rewind(prompt)
        assert _tree(project) == before
        await session.checkpoints.redo()
        assert _tree(project) == after


@pytest.mark.parametrize("version", [2, 3, 4])
def test_every_form_of_an_index_is_read(tmp_path: Path, version: int):
    git(tmp_path, "init", "-q")
    for name in ("a", "folder/b b", "folder/c", "x" * 200, "füñf"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name)
    (tmp_path / "a").chmod(0o755)
    git(tmp_path, "add", "-A")
    git(tmp_path, "update-index", f"--index-version={min(version, 4)}")
    if version == 3:
        git(tmp_path, "update-index", "--skip-worktree", "folder/c")
    listed = subprocess.run(
        ["git", "ls-files", "-s", "-z"], cwd=tmp_path, capture_output=True, check=True
    ).stdout.decode()
    wanted = {
        f"{tmp_path}/{item.partition(chr(9))[2]}": (item.split()[1], item.startswith("100755"))
        for item in listed.split("\0")
        if item
    }
    index = IndexFile(str(tmp_path / ".git" / "index"), str(tmp_path))
    found = {path: index.find(path) for path in wanted}
    assert {path: (each.object, each.program) for path, each in found.items() if each} == wanted
    assert {path: (each.object, each.program) for path, each in index.every().items()} == wanted
    assert index.find(f"{tmp_path}/nowhere") is None


async def test_a_home_folder_is_not_looked_at_as_a_whole(tmp_path: Path):
    scene = Scene(tmp_path)
    scene.env["HOME"] = str(scene.project)
    (scene.project / "a.txt").write_text("one")
    session = _Session(scene)
    prompt = await session.prompt()
    await session.write("a.txt", "two")
    await session.run("echo x > b.txt")
    await session.checkpoints.end()
    await session.checkpoints.rewind(prompt)
    await session.checkpoints.close()
    assert (scene.project / "a.txt").read_text() == "one"
    assert (scene.project / "b.txt").exists()
    assert session.said == [
        "A home folder is too wide to keep: /rewind restores files there that tools edit."
    ]
