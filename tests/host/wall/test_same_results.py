"""S20: behind the wall everyday commands print and return what they do without it."""

import asyncio
import os
import re
import shutil
from pathlib import Path

import pytest

from bridle.permissions.shell.programs.read_commands import VERSIONS
from bridle.permissions.shell.values.variables import is_harmless
from tests.fakes.judged import FakeJudged

_CORPUS = Path(__file__).parents[2] / "permissions" / "corpus" / "ordinary.txt"
_CHANGES_BY_THE_MOMENT = re.compile(
    r"\b(?:ps|free|uptime|date|df|du|top|sleep|watch|who|w|RANDOM|SECONDS|EPOCHSECONDS|BASHPID|PPID)\b"
    r"|tail -[fF]|\$\$"
)
_FREE = [
    line[4:].strip().replace("⏎", "\n")
    for line in _CORPUS.read_text(encoding="utf-8").splitlines()
    if line.startswith("free") and not _CHANGES_BY_THE_MOMENT.search(line)
]
_MORE = (
    "cat <<< hello", "cat <(echo hi)", "sort <<E\nb\na\nE", "diff <(ls) <(ls src)", "hostname -I",
    "git log -p", "git blame README.md", "git config --list", "git worktree list", "git stash list",
    "locale", "id", "groups", "stat -c %n .", "find . -name '*.py' -newer README.md", "type ls",
    "which python3", "ls -la | head -1", "cat missing", "ls /nowhere", "grep -r TODO . | sort", "false",
    "exit 3", "kill -l", "echo $HOME $PWD $TERM $EDITOR", "ulimit -n", "umask", "set -o | head -3",
    "test -w README.md && echo yes",
)  # fmt: skip
_FILES = (
    "README.md", "CHANGELOG.md", "package.json", "src/main.py", "src/app.ts", "build.log", "notes.txt",
    "data.bin", "data.json", "a.txt", "b.txt", "Makefile", "pyproject.toml",
)  # fmt: skip
_AT_ONCE = 4


async def test_everyday_commands_say_the_same(judged: FakeJudged):
    _fill(judged)
    different: list[str] = []
    slots = asyncio.Semaphore(_AT_ONCE)

    async def compare(command: str) -> None:
        async with slots:
            free, held = await judged.run(command, None), await judged.run(command)
        if (free.code, _timeless(free.said)) != (held.code, _timeless(held.said)) or held.refusal is not None:
            different.append(f"{command}: {free} {held}")

    versions = [
        f"{name} {word}" for name, words in VERSIONS.items() if shutil.which(name) for word in sorted(words)
    ]
    await asyncio.gather(*(compare(command) for command in (*_FREE, *_MORE, *versions)))
    assert different == []


def _timeless(said: str) -> str:
    return re.sub(r"\d\d:\d\d(?::\d\d)?|/proc/\d+|/dev/fd/\d+|bridle-judged-\w+", "#", said)


def _fill(judged: FakeJudged) -> None:
    for name in ("src", "tests", "docs", "node_modules/x"):
        (judged.project / name).mkdir(parents=True, exist_ok=True)
    for name in _FILES:
        (judged.project / name).write_text(
            '{"name": "x", "scripts": {"test": "true"}}\n# TODO ERROR def main\n'
        )
    (judged.home / ".gitconfig").write_text(
        "[user]\nname = A\n[include]\npath = ~/more\n[alias]\nst = status\n"
    )
    (judged.home / "more").write_text("[core]\nexcludesfile = ~/ignored\n[color]\nui = never\n")
    (judged.home / "ignored").write_text("*.log\n")
    judged.git("init", "-q")
    judged.git("add", ".")
    judged.git("commit", "-q", "-m", "begin")
    judged.git("tag", "v1")


@pytest.mark.parametrize("level", ["read", "edit"])
async def test_git_in_a_work_tree_and_in_a_part_of_a_repository(
    judged: FakeJudged, level: str, tmp_path: Path
):
    """What git reads outside of the working folder is found, and nothing beside it."""
    main = tmp_path / "main"
    shutil.move(judged.project, main)
    judged.git("init", "-q", cwd=main)
    judged.git("add", ".", cwd=main)
    judged.git("commit", "-q", "-m", "begin", cwd=main)
    judged.git("worktree", "add", "-q", str(judged.project), cwd=main)
    ran = await judged.run("git status --short --branch && git log --format=%s")
    assert (ran.code, ran.refusal) == (0, None) and "begin" in ran.said
    (main / "secret").write_text("canary")
    assert "canary" not in (await judged.run("cat ../main/secret; git status")).said
    shutil.rmtree(judged.project)
    judged.project = main / "part"
    judged.project.mkdir()
    ran = await judged.run("git status --short --branch && git log --format=%s")
    assert (ran.code, ran.refusal) == (0, None) and "begin" in ran.said


async def test_a_planted_pointer_to_another_repository_opens_nothing(judged: FakeJudged):
    other = judged.outside
    judged.git("init", "-q", cwd=other)
    (judged.project / ".git").write_text(f"gitdir: {other}/.git\n")
    assert "secret" not in (await judged.run(f"git status; cat {other}/.git/HEAD")).said
    (judged.project / ".git").unlink()
    planted = judged.project / "data"
    planted.mkdir()
    (judged.project / ".git").write_text("gitdir: data\n")
    (planted / "gitdir").write_text(str(judged.project / ".git"))
    (planted / "commondir").write_text(str(other))
    ran = await judged.run(f"git status; cat {other}/secret.txt")
    assert "canary" not in ran.said


@pytest.mark.parametrize(
    "name",
    ["HOME", "PATH", "TERM", "LANG", "LC_ALL", "TZ", "EDITOR", "USER", "NODE_ENV", "RUST_LOG"],
)
async def test_what_the_gate_lets_be_shown_stays_the_same(judged: FakeJudged, name: str):
    value = judged.env.get(name) or f"some-{name.lower()}"
    env = {name: value} if name not in ("LC_ALL", "LANG") else {name: "C.UTF-8"}
    ran = await judged.run(f'printf %s "${name}"', env=env)
    assert ran.said == env[name]
    assert name in ("HOME", "PATH", "TERM", "EDITOR", "USER") or is_harmless(name)


async def test_a_part_of_the_path_that_is_no_place_is_left_out(judged: FakeJudged):
    (judged.project / "ls").write_text("#!/bin/sh\necho planted\n")
    os.chmod(judged.project / "ls", 0o755)
    ran = await judged.run("ls", env={"PATH": f".::bin:{judged.env['PATH']}"})
    assert "planted" not in ran.said and ran.code == 0
