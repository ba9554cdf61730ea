"""What it costs to be able to go back: a repository of 50,000 files, its first look, its steps, and the disk.

`python -m bench.evidence_rewind [files]` prints how long a prompt waits, how long the first look takes beside
the turn, what a command of the model takes more (the middle and the slowest), a rewind, and the extra disk.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bridle.transcripts import store
from bridle.transcripts.files.checkpoints import CheckpointContext, FileCheckpoints
from bridle.transcripts.files.file_history import open_checkpoints

_STEPS = 40
_IN_A_FOLDER = 100
_GIT = ("git", "-c", "user.name=b", "-c", "user.email=b@b.invalid", "-c", "gc.auto=0")


def measure_rewind(files: int = 50_000) -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "project")
        _fill(project, files)
        asyncio.run(_measure(project, Path(folder, "home")))


def _fill(project: Path, files: int) -> None:
    for number in range(files):
        place = project / f"d{number // (_IN_A_FOLDER * 50)}" / f"s{number // _IN_A_FOLDER}"
        if number % _IN_A_FOLDER == 0:
            place.mkdir(parents=True, exist_ok=True)
        (place / f"f{number}.txt").write_text(f"{number}\n" * 100)
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "first")):
        subprocess.run([*_GIT, *words], cwd=project, check=True)


async def _measure(project: Path, home: Path) -> None:
    env = {"CLAUDE_CONFIG_DIR": str(home), "PATH": os.environ["PATH"]}
    session = store.begin(store.TranscriptPath(cwd=str(project), env=env, warn=print))
    around = CheckpointContext(
        note=session.note, roots=lambda: (str(project),), env=env, whole=True, say=print
    )
    checkpoints = open_checkpoints(session, around, env=env)
    prompt = session.say_user("go")["uuid"]
    began = time.perf_counter()
    await checkpoints.begin(prompt)
    waited = time.perf_counter() - began
    began = time.perf_counter()
    ended = await checkpoints.before_command()
    looked = time.perf_counter() - began
    await ended()
    steps = [await _step(checkpoints, project, number) for number in range(_STEPS)]
    await checkpoints.end()
    began = time.perf_counter()
    changed = await checkpoints.rewind(prompt)
    back = time.perf_counter() - began
    await checkpoints.close()
    print(f"a prompt waits {waited * 1000:.2f} ms; the first look takes {looked * 1000:.0f} ms (150 asked)")
    print(f"a step: {statistics.median(steps):.2f} ms, at most {max(steps):.2f} ms (20 asked)")
    print(f"a rewind of {len(changed.files_changed)} files: {back * 1000:.0f} ms")
    extra, whole = _disk(home), _disk(project)
    print(f"extra disk: {extra / whole:.2%} of {whole / 1e6:.0f} MB (5% asked)")


async def _step(checkpoints: FileCheckpoints, project: Path, number: int) -> float:
    began = time.perf_counter()
    ended = await checkpoints.before_command()
    took = time.perf_counter() - began
    file = next(iter(sorted((project / "d0" / f"s{number % 50}").iterdir())))
    file.write_text("changed")
    file.with_suffix(".new").write_text("new")
    began = time.perf_counter()
    await ended()
    return (took + time.perf_counter() - began) * 1000


def _disk(folder: Path) -> int:
    """The blocks that files take which have no other name elsewhere."""
    found = (path.lstat() for path in folder.rglob("*"))
    return sum(
        status.st_blocks * 512 for status in found if status.st_nlink == 1 or status.st_mode & 0o040000
    )


if __name__ == "__main__":
    measure_rewind(*map(int, sys.argv[1:2]))
