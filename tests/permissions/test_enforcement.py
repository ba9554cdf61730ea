"""S15, S20: what runs unasked as read-only does the same where the kernel forbids everything else."""

import asyncio
import os
import re
import shutil
import subprocess
from collections.abc import AsyncGenerator
from functools import cache
from pathlib import Path

import pytest
import pytest_asyncio

from bridle.host.sandbox.policy import Policy
from bridle.types.permission import Allow
from tests.fakes.confined import FakePlace, place_for
from tests.permissions.cases import bash

_CORPUS = Path(__file__).parent / "corpus" / "ordinary.txt"
_FREE = [
    line[4:].strip().replace("⏎", "\n")
    for line in _CORPUS.read_text(encoding="utf-8").splitlines()
    if line.startswith("free")
]
_CHANGING = re.compile(
    r"^\d+ +(?:open(?:at)?\(.*O_(?:WRONLY|RDWR|CREAT|TRUNC).*|connect\(.*AF_INET.*"
    r"|(?:unlink|rename|mkdir|rmdir|symlink|link|chmod|chown|truncate)(?:at|at2)?\(.*)= \d"
)
_NO_FILE = re.compile(r'"/dev/(?:null|tty|stdout|stderr)"|/\.git/index(?:\.lock)?"')
"""What is no file of the project; git refreshes its index where it may, which judged commands may not."""
_FILES = (
    "README.md", "CHANGELOG.md", "package.json", "src/main.py", "src/app.py", "src/app.ts", "src/index.js",
    "tests/test_main.py", "build.log", "server.log", "notes.txt", "data.bin", "data.json", "a.txt", "b.txt",
    "Makefile", "pyproject.toml", "requirements.txt",
)  # fmt: skip
_PATH = "/usr/bin:/bin"
"""Programs of the system alone: version managers put scripts before them."""
_LISTS_PROCESSES = re.compile(r"\b(?:ps|pgrep|pidof)\b")
"""Their exit codes depend on what else runs at that moment."""
_RUN_BY = {"npm": "node"}
"""Programs that are scripts of another."""
_EACH = 'for command; do /bin/bash --norc --noprofile -c "$command" </dev/null >&2 2>/dev/null; echo $?; done'
"""Runs every argument as a command of its own, and says how each ended."""
_PARTS = 8
_in_parts = pytest.mark.parametrize("part", range(_PARTS))
_HELPERS = {"bash", "sh", "dash", "git", "less", "cat", "grep"}


def _fill(project: Path) -> None:
    """A small project that has what the commands of the corpus look at."""
    for name in ("src", "tests", "docs", "app", "lib", "node_modules/x", ".github/workflows"):
        (project / name).mkdir(parents=True, exist_ok=True)
    for name in _FILES:
        (project / name).write_text('{"name": "x", "scripts": {"test": "true"}}\n# TODO ERROR def main\n')
    identity = ["-c", "user.name=A", "-c", "user.email=a@b.c"]
    for argv in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "begin"], ["tag", "v1"]):
        subprocess.run(["git", *identity, *argv], cwd=project, check=True, capture_output=True)


@pytest_asyncio.fixture
async def place() -> AsyncGenerator[FakePlace, None]:
    async with place_for("me", "landlock") as place:
        _fill(place.project)
        yield place


@_in_parts
async def test_what_runs_unasked_needs_no_write_and_no_network(place: FakePlace, part: int):
    """Confined to reading and without a network, each free command does what it does outside."""
    # `df` looks at mounts in /proc, which the sandbox otherwise hides.
    sandbox = place.open(Policy(never_writable=(str(place.project),), weaker_nesting=True))
    env = {"PATH": _PATH, "HOME": str(place.base), "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    # Writing inside the project must fail here, or the comparison proves nothing.
    assert (await place.bash("echo x > src/new")).code != 0
    compared = [
        each for each in _FREE[part::_PARTS] if not _waits(each) and not _LISTS_PROCESSES.search(each)
    ]
    asked = [each for each in compared if not isinstance(bash(each, cwd=str(place.project)), Allow)]
    assert not asked
    argv = ("/bin/bash", "--norc", "--noprofile", "-c", _EACH, "each", *compared)
    inside = sandbox.confine(argv, cwd=str(place.project), env=env)
    outside_codes, inside_codes = await asyncio.gather(
        _codes(argv, env, place.project), _codes(inside.argv, dict(inside.env), Path("/"))
    )
    different = [
        f"{command}: {outside} outside, {within} inside"
        for command, outside, within in zip(compared, outside_codes, inside_codes, strict=True)
        if outside != within
    ]
    assert not different, "\n".join(sorted(different))


@pytest.mark.skipif(shutil.which("strace") is None, reason="system calls are watched with strace")
@_in_parts
async def test_what_runs_unasked_changes_nothing_and_starts_no_foreign_program(tmp_path: Path, part: int):
    project = tmp_path / "project"
    project.mkdir()
    _fill(project)
    env = {"PATH": _PATH, "HOME": str(tmp_path), "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    found: list[str] = []
    gate = asyncio.Semaphore(4)

    async def watch(number: int, command: str) -> None:
        log = tmp_path / f"{number}.log"
        calls = "trace=%file,execve,connect"
        watcher = ("strace", *_quickly(), "-f", "-qq", "-o", str(log), "-e", calls)
        argv = (*watcher, "/bin/bash", "--norc", "-c", command)
        async with gate:
            await _code(argv, env, project)
        for line in _whole_calls(log.read_text(errors="replace")):
            if _CHANGING.search(line) and not _NO_FILE.search(line):
                found.append(f"{command}: {line}")
            elif (started := re.search(r'execve\("([^"]+)".*= 0', line)) is not None:
                name = os.path.basename(started[1])
                runs = {_RUN_BY.get(word, word) for word in re.findall(r"[\w.+-]+", command)}
                if (
                    name not in _HELPERS
                    and name not in runs
                    and not re.search(rf"\b{re.escape(name)}\b", command)
                ):
                    found.append(f"{command}: starts {started[1]}")

    async with asyncio.TaskGroup() as group:
        for number, command in enumerate(_FREE[part::_PARTS]):
            if not _waits(command):
                group.create_task(watch(number, command))
    assert not found, "\n".join(sorted(found))


@cache
def _quickly() -> tuple[str, ...]:
    """The way of strace to stop programs at the watched calls only, where it knows it."""
    helped = subprocess.run(["strace", "--help"], capture_output=True, text=True, check=False)
    return ("--seccomp-bpf",) if "--seccomp-bpf" in helped.stdout else ()


def _whole_calls(log: str) -> list[str]:
    """The lines of strace; a call that others came between is put together again."""
    begun: dict[str, str] = {}
    calls: list[str] = []
    for line in log.splitlines():
        process, _, rest = line.partition(" ")
        if line.endswith("<unfinished ...>"):
            begun[process] = line.removesuffix("<unfinished ...>")
        elif (resumed := re.match(r" *<\.\.\. \w+ resumed>", rest)) is not None:
            calls.append(begun.pop(process, f"{process} ") + rest[resumed.end() :])
        else:
            calls.append(line)
    return [*calls, *begun.values()]


def _waits(command: str) -> bool:
    return bool(re.search(r"\btail\b.* -[fF]|--follow|\bsleep\b", command))


async def _code(argv: tuple[str, ...], env: dict[str, str], cwd: Path) -> int:
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    async with asyncio.timeout(50):
        return await process.wait()


async def _codes(argv: tuple[str, ...], env: dict[str, str], cwd: Path) -> list[str]:
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    async with asyncio.timeout(100):
        return (await process.communicate())[0].decode().split()
