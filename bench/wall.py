"""What the second wall costs: each command with and without it, in turns, and the difference.

`python -m bench.wall [rounds]` prints what one command takes more: processor time on average, and the least
and the middle of the time that passes. Where much else runs, only the first says something.
"""

import asyncio
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from msgspec.structs import replace

from bridle.host.background import BackgroundShells
from bridle.host.shell import command_line, shell_environment
from bridle.host.wall.probe import describe
from bridle.permissions.files.protected_names import FILES, FOLDERS
from bridle.types.sandbox import View

_BUDGET_MS = 3.0
_COMMANDS = (
    "true",
    "ls -la",
    "cat a.txt | grep one",
    "cat a.txt 2>/dev/null",
    "git status --short",
    "git log -3",
)
_EDITING = ("mkdir -p d && cp a.txt d/b.txt", "sed -i s/one/one/ a.txt && cat a.txt")
_SEARCH = "grep -rc one many > /dev/null"
_MANY = 20_000


async def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print(describe().sentence)
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "project")
        project.mkdir()
        (project / "a.txt").write_text("one\ntwo\n")
        identity = ("-c", "user.name=A", "-c", "user.email=a@b.c")
        for words in (("init", "-q"), ("add", "."), (*identity, "commit", "-qm", "begin")):
            subprocess.run(("git", *words), cwd=project, check=True)
        shells = BackgroundShells(os.path.join(folder, "storage"), on_change=lambda _: None)
        _make_files(project / "many")
        for place in (project, project / "many" / "7"):
            (place / ".env").write_text("KEY=1\n")
        closed = ((str(project), ("**", ".env")), (str(project), ("secrets",)))
        try:
            for patterns in ((), closed):
                print(f"\n{len(patterns)} rules keep files from being read")
                view = View(
                    level="read",
                    roots=(str(project),),
                    protected_names=FILES | FOLDERS,
                    unreadable=patterns,
                )
                for command in _COMMANDS:
                    await _measure(shells, command, project, view, rounds)
                await _measure(shells, _SEARCH, project, view, 3)
                for command in _EDITING:
                    await _measure(shells, command, project, replace(view, level="edit"), rounds)
        finally:
            await shells.close()


def _make_files(folder: Path) -> None:
    for number in range(_MANY):
        if number % 50 == 0:
            (folder / str(number // 50)).mkdir(parents=True)
        (folder / str(number // 50) / f"{number}.txt").write_text("text\n")


async def _measure(shells: BackgroundShells, command: str, project: Path, view: View, rounds: int) -> None:
    for warm in (None, view):
        await _run(shells, command, project, warm)
    free: list[tuple[float, float]] = []
    held: list[tuple[float, float]] = []
    for _ in range(rounds):
        free.append(await _run(shells, command, project, None))
        held.append(await _run(shells, command, project, view))
    used = (statistics.fmean(cpu for _, cpu in held) - statistics.fmean(cpu for _, cpu in free)) * 1000
    least = (min(held)[0] - min(free)[0]) * 1000
    middle = (statistics.median(t for t, _ in held) - statistics.median(t for t, _ in free)) * 1000
    verdict = "within" if min(used, least) <= _BUDGET_MS else "OVER"
    print(
        f"{command:24} {min(free)[0] * 1000:5.1f} ms; behind the wall {used:+.1f} ms of processor time, "
        f"{least:+.1f} ms at least, {middle:+.1f} ms in the middle: {verdict} {_BUDGET_MS:g} ms"
    )


async def _run(
    shells: BackgroundShells, command: str, project: Path, view: View | None
) -> tuple[float, float]:
    """The time that passes and the processor time, in seconds."""
    began, used = time.perf_counter(), _used()
    shell = shells.launch(
        command_line("/bin/bash", command),
        cwd=str(project),
        env=shell_environment(os.environ, cwd=str(project), session_id="bench"),
        output_file=str(project.parent / "storage" / f"{time.monotonic_ns()}.txt"),
        view=view,
        command=command,
    )
    await shells.follow(shell, timeout=30)
    shells.release(shell, keep_output=False)
    return time.perf_counter() - began, _used() - used


def _used() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


if __name__ == "__main__":
    asyncio.run(main())
