import asyncio
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridle.host.paths import project_dir
from bridle.transcripts import resume, store
from bridle.transcripts.files.backups import MOST_BYTES
from bridle.transcripts.files.checkpoints import CheckpointContext, FileCheckpoints
from bridle.transcripts.files.file_history import open_checkpoints
from bridle.transcripts.reader import load
from bridle.transcripts.session import Session
from bridle.types.errors import SessionError
from bridle.types.services.checkpoints import Rewound
from tests.transcripts.entries import say, text


class Scene:
    """A session in a folder, with checkpoints that are written to its transcript."""

    def __init__(
        self, tmp_path: Path, *, session: Session | None = None, seen: tuple[Path, ...] = ()
    ) -> None:
        self.project = tmp_path / "project"
        self.project.mkdir(exist_ok=True)
        self.env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
        self.place = store.TranscriptPath(cwd=str(self.project), env=self.env, warn=pytest.fail)
        self.session = session or store.begin(self.place)
        around = CheckpointContext(
            note=self.session.note,
            roots=lambda: (str(self.project),),
            seen=lambda: tuple(map(str, seen)),
            env=self.env,
        )
        self.checkpoints: FileCheckpoints = open_checkpoints(self.session, around, env=self.env)

    async def prompt(self, words: str = "do it") -> str:
        entry = self.session.say_user(words)
        await self.checkpoints.begin(entry["uuid"])
        return entry["uuid"]

    async def write(self, name: str, content: str) -> Path:
        path = self.project / name
        await self.checkpoints.before_change(str(path))
        path.write_text(content)
        return path

    async def run(self, command: str) -> None:
        ended = await self.checkpoints.before_command()
        subprocess.run(["bash", "-c", command], cwd=self.project, check=True, capture_output=True)
        await ended()

    def path(self) -> str:
        return os.path.join(project_dir(str(self.project), self.env), f"{self.session.id}.jsonl")


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


async def test_files_go_back_to_what_they_held_at_the_prompt(tmp_path: Path):
    scene = Scene(tmp_path)
    old = scene.project / "old.txt"
    old.write_text("one\ntwo\n")
    first = await scene.prompt()
    await scene.write("old.txt", "one\n2\n3\n")
    new = await scene.write("new.txt", "x\n")
    second = await scene.prompt()
    await scene.write("old.txt", "all new\n")

    done = await scene.checkpoints.rewind(second)
    assert (done.files_changed, old.read_text(), new.exists()) == ((str(old),), "one\n2\n3\n", True)
    done = await scene.checkpoints.rewind(first)
    assert set(done.files_changed) == {str(old), str(new)}
    assert (old.read_text(), new.exists()) == ("one\ntwo\n", False)


async def test_a_dry_run_counts_and_changes_nothing(tmp_path: Path):
    scene = Scene(tmp_path)
    file = scene.project / "a.txt"
    file.write_text("one\ntwo\nthree\n")
    prompt = await scene.prompt()
    await scene.write("a.txt", "one\n2\n")
    await scene.write("b.txt", "b\n")

    told = await scene.checkpoints.rewind(prompt, dry_run=True)

    assert told == Rewound(
        files_changed=(str(file), str(scene.project / "b.txt")), insertions=2, deletions=2, skipped_links=()
    )
    assert (file.read_text(), (scene.project / "b.txt").exists()) == ("one\n2\n", True)


async def test_a_prompt_that_nobody_knows_is_refused(tmp_path: Path):
    scene = Scene(tmp_path)
    await scene.prompt()
    with pytest.raises(SessionError, match=r"No file checkpoint found for this message\."):
        await scene.checkpoints.rewind("another")


async def test_a_file_that_was_removed_comes_back_with_its_mode(tmp_path: Path):
    scene = Scene(tmp_path)
    script = scene.project / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    prompt = await scene.prompt()
    await scene.checkpoints.before_change(str(script))
    script.unlink()
    await scene.checkpoints.rewind(prompt)
    assert (script.read_text(), stat.S_IMODE(script.stat().st_mode)) == ("#!/bin/sh\n", 0o755)


async def test_a_path_that_became_a_link_is_left_alone(tmp_path: Path):
    scene = Scene(tmp_path)
    outside = tmp_path / "outside.txt"
    outside.write_text("precious")
    prompt = await scene.prompt()
    file = await scene.write("a.txt", "x")
    file.unlink()
    file.symlink_to(outside)
    (scene.project / "b").mkdir()
    folder = await scene.write("b/c.txt", "x")
    folder.unlink()
    folder.parent.rmdir()
    folder.parent.symlink_to(tmp_path)
    (tmp_path / "c.txt").write_text("precious too")

    done = await scene.checkpoints.rewind(prompt)

    assert set(done.skipped_links) == {str(file), str(folder)}
    assert (outside.read_text(), (tmp_path / "c.txt").read_text()) == ("precious", "precious too")


async def test_nothing_outside_the_working_folders_is_kept_or_touched(tmp_path: Path):
    scene = Scene(tmp_path)
    outside = tmp_path / "project-not" / "a.txt"
    outside.parent.mkdir()
    outside.write_text("before")
    prompt = await scene.prompt()
    await scene.checkpoints.before_change(str(outside))
    outside.write_text("after")
    assert await scene.checkpoints.rewind(prompt) == Rewound()
    assert outside.read_text() == "after"


async def test_a_transcript_cannot_point_outside(tmp_path: Path):
    scene = Scene(tmp_path)
    victim = tmp_path / "victim.txt"
    victim.write_text("here")
    prompt = await scene.prompt()
    backup = {"backupFileName": None, "version": 1, "backupTime": ""}
    row: dict[str, Any] = {"type": "file-history-delta", "messageId": prompt, "backup": backup}
    scene.session.note({**row, "trackingPath": str(victim)})
    scene.session.note({**row, "trackingPath": "../victim.txt"})
    named = {**backup, "backupFileName": "../../secret"}
    scene.session.note({**row, "trackingPath": "inside.txt", "backup": named})
    scene.session.close()
    again = Scene(tmp_path, session=resume.resume(scene.path(), scene.place))
    assert await again.checkpoints.rewind(prompt) == Rewound()
    assert victim.read_text() == "here"


async def test_a_file_that_is_too_large_is_neither_kept_nor_removed(tmp_path: Path):
    scene = Scene(tmp_path)
    large = scene.project / "large.bin"
    large.write_bytes(b"\0" * (MOST_BYTES + 1))
    prompt = await scene.prompt()
    await scene.write("large.bin", "small now")
    assert await scene.checkpoints.rewind(prompt) == Rewound()
    assert large.read_text() == "small now"


async def test_copies_are_private_and_the_same_content_is_kept_once(tmp_path: Path):
    scene = Scene(tmp_path)
    for name in ("a", "b", "c"):
        (scene.project / name).write_text("same")
    await scene.prompt()
    for name in ("a", "b", "c"):
        await scene.write(name, "other")
    folder = tmp_path / "home" / "file-history" / scene.session.id
    (copy,) = folder.iterdir()
    assert (copy.read_text(), stat.S_IMODE(copy.stat().st_mode)) == ("same", 0o600)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_checkpoints_survive_a_resume(tmp_path: Path):
    scene = Scene(tmp_path)
    (scene.project / "a.txt").write_text("before")
    prompt = await scene.prompt()
    await scene.write("a.txt", "after")
    say(scene.session, "m1", text("done"))
    scene.session.close()

    again = Scene(tmp_path, session=resume.resume(scene.path(), scene.place))
    later = await again.prompt("more")
    await again.write("a.txt", "much later")

    await again.checkpoints.rewind(later)
    assert (scene.project / "a.txt").read_text() == "after"
    await again.checkpoints.rewind(prompt)
    assert (scene.project / "a.txt").read_text() == "before"


async def test_a_fork_brings_its_checkpoints_along_and_needs_the_old_session_no_more(tmp_path: Path):
    scene = Scene(tmp_path)
    (scene.project / "a.txt").write_text("before")
    prompt = await scene.prompt()
    await scene.write("a.txt", "after")
    say(scene.session, "m1", text("done"))
    scene.session.close()

    forked = Scene(tmp_path, session=resume.resume(scene.path(), scene.place, fork=True))
    os.unlink(scene.path())
    for copy in (tmp_path / "home" / "file-history" / scene.session.id).iterdir():
        copy.unlink()
    forked.session.close()
    again = Scene(tmp_path, session=resume.resume(forked.path(), scene.place))
    await again.checkpoints.rewind(prompt)
    assert (scene.project / "a.txt").read_text() == "before"


async def test_rows_have_the_form_that_other_readers_know(tmp_path: Path):
    scene = Scene(tmp_path)
    (scene.project / "a.txt").write_text("before")
    prompt = await scene.prompt()
    await scene.write("a.txt", "after")
    scene.session.close()
    notes = load(scene.path()).notes
    snapshot, delta = notes["file-history-snapshot"], notes["file-history-delta"]
    assert snapshot["messageId"] == snapshot["snapshot"]["messageId"] == delta["snapshotMessageId"] == prompt
    assert (snapshot["snapshot"]["trackedFileBackups"], snapshot["isSnapshotUpdate"]) == ({}, False)
    assert delta["trackingPath"] == str(scene.project / "a.txt")
    assert delta["backup"].keys() == {"backupFileName", "version", "backupTime", "realParentDir"}


async def test_what_a_command_changes_in_files_that_were_read_goes_back(tmp_path: Path):
    file = tmp_path / "project" / "a.txt"
    scene = Scene(tmp_path, seen=(file,))
    file.write_text("before")
    prompt = await scene.prompt()
    await scene.run("echo after > a.txt")
    await scene.checkpoints.rewind(prompt)
    assert file.read_text() == "before"


async def test_in_a_work_tree_whatever_a_command_changes_goes_back(tmp_path: Path):
    scene = Scene(tmp_path)
    project = scene.project
    git(project, "init", "-q")
    for name in ("clean.txt", "dirty.txt", "gone.txt"):
        (project / name).write_text(f"{name} committed\n")
    (project / ".gitignore").write_text("ignored.txt\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "first")
    (project / "dirty.txt").write_text("changed by hand\n")
    (project / "notes.txt").write_text("untracked\n")
    prompt = await scene.prompt()

    await scene.run(
        "for f in clean.txt dirty.txt notes.txt ignored.txt 'made by it.txt'; do echo x > \"$f\"; done"
    )
    await scene.run("rm gone.txt; mkdir -p d && echo y > 'd/made by it.txt'; git add clean.txt")
    done = await scene.checkpoints.rewind(prompt)

    assert (project / "clean.txt").read_text() == "clean.txt committed\n"
    assert (project / "dirty.txt").read_text() == "changed by hand\n"
    assert (project / "notes.txt").read_text() == "untracked\n"
    assert (project / "gone.txt").read_text() == "gone.txt committed\n"
    assert not (project / "d" / "made by it.txt").exists()
    assert (project / "ignored.txt").read_text() == "x\n"
    assert str(project / "ignored.txt") not in done.files_changed


async def test_files_that_git_converts_are_left_alone(tmp_path: Path):
    scene = Scene(tmp_path)
    git(scene.project, "init", "-q")
    (scene.project / ".gitattributes").write_text("*.win eol=crlf\n*.sec filter=mask\n")
    (scene.project / "a.win").write_bytes(b"a\r\n")
    (scene.project / "b.sec").write_bytes(b"b\n")
    git(scene.project, "add", ".")
    git(scene.project, "commit", "-qm", "first")
    prompt = await scene.prompt()
    await scene.run("echo x > a.win; echo x > b.sec")
    assert await scene.checkpoints.rewind(prompt) == Rewound()


async def test_no_filter_of_the_repository_runs(tmp_path: Path):
    scene = Scene(tmp_path)
    git(scene.project, "init", "-q")
    (scene.project / "a.txt").write_text("a")
    git(scene.project, "add", ".")
    git(scene.project, "commit", "-qm", "first")
    await scene.prompt()
    await scene.run(
        "echo '* filter=evil' > .gitattributes; git config filter.evil.clean 'touch ../evil; cat'; "
        "echo b > a.txt"
    )
    await scene.run("echo c > a.txt")
    assert not (tmp_path / "evil").exists()


async def test_changes_that_hurry_wait_for_each_other(tmp_path: Path):
    scene = Scene(tmp_path)
    names = [f"{number}.txt" for number in range(20)]
    for name in names:
        (scene.project / name).write_text("before")
    prompt = await scene.prompt()
    async with asyncio.timeout(50), asyncio.TaskGroup() as group:
        for name in names:
            group.create_task(scene.write(name, "after"))
    done = await scene.checkpoints.rewind(prompt)
    assert len(done.files_changed) == 20
    assert {(scene.project / name).read_text() for name in names} == {"before"}


async def test_a_change_within_one_tick_of_the_clock_is_not_overlooked(tmp_path: Path):
    scene = Scene(tmp_path)
    file = scene.project / "a.txt"
    file.write_text("one")
    tick = file.stat().st_mtime_ns
    await scene.prompt()
    await scene.write("a.txt", "two")
    os.utime(file, ns=(tick, tick))
    second = await scene.prompt()
    await scene.write("a.txt", "six")
    os.utime(file, ns=(tick, tick))
    await scene.run("printf ten > a.txt; touch -r . a.txt")
    await scene.checkpoints.rewind(second)
    assert file.read_text() == "two"


async def test_before_the_first_prompt_nothing_is_kept(tmp_path: Path):
    scene = Scene(tmp_path)
    await scene.write("a.txt", "x")
    await scene.run("true")
    assert not (tmp_path / "home" / "file-history").exists()


_NAMES = ("a", "b", "c")
_CONTENTS = st.one_of(st.none(), st.sampled_from(["", "one\n", "two\n", "two\nlines\n", "\x00\xff"]))
_CHANGES = st.tuples(st.sampled_from(_NAMES), _CONTENTS)


@settings(max_examples=40)
@given(
    before=st.fixed_dictionaries(dict.fromkeys(_NAMES, _CONTENTS)),
    turns=st.lists(st.lists(_CHANGES, max_size=4), min_size=1, max_size=5),
    back=st.integers(min_value=0, max_value=4),
)
def test_going_back_to_any_prompt_gives_exactly_what_was_there(
    tmp_path_factory: pytest.TempPathFactory,
    before: dict[str, str | None],
    turns: list[list[tuple[str, str | None]]],
    back: int,
):
    scene = Scene(tmp_path_factory.mktemp("property"))

    def put(name: str, content: str | None) -> None:
        path = scene.project / name
        if content is None:
            path.unlink(missing_ok=True)
        else:
            path.write_text(content)

    def state() -> dict[str, str | None]:
        paths = {name: scene.project / name for name in _NAMES}
        return {name: path.read_text() if path.exists() else None for name, path in paths.items()}

    async def play() -> None:
        for name, content in before.items():
            put(name, content)
        states: list[tuple[str, dict[str, str | None]]] = []
        for turn in turns:
            states.append((await scene.prompt(), state()))
            for name, content in turn:
                await scene.checkpoints.before_change(str(scene.project / name))
                put(name, content)
        prompt, wanted = states[min(back, len(states) - 1)]
        await scene.checkpoints.rewind(prompt)
        assert state() == wanted

    asyncio.run(play())
