"""S16, S33: what accept-edits mode allowed changes files in the working folders, and nothing else."""

import os
from pathlib import Path

import pytest

from tests.fakes.judged import KEY, SECRET, FakeJudged

ALLOWED = [
    ("touch new", ["new"]),
    ("mkdir -p a/b/c && cp a.txt a/b/c/ && mv a/b/c/a.txt a/b/x", ["a/b/x"]),
    ("sed -i s/one/1/ a.txt && cp -p a.txt copy && chmod 600 copy", ["copy"]),
    ("cp -a src dst && rm -r src && ln -s a.txt link", ["dst/m.py", "link"]),
    ("echo x > out 2> err; echo y >> out", ["out", "err"]),
    ("touch -d 2001-01-01 a.txt && mkfifo pipe && rm pipe && rmdir empty", ["a.txt"]),
    ('mkdir -p "$PWD/x/y" "$PWD/x" && rm -f ../nothing && cd x && mkdir -p ../x/z', ["x/y", "x/z"]),
    ("mkdir -p src/below/more && mv src moved && mv moved/below .", ["moved/m.py", "below/more"]),
    ("mkdir -m 700 secret && : > secret/f && truncate -s 10 secret/f", ["secret/f"]),
]


@pytest.mark.parametrize(("command", "made"), ALLOWED)
async def test_edits_in_the_working_folders_are_as_ever(judged: FakeJudged, command: str, made: list[str]):
    for project in (judged.project, judged.outside):
        (project / "src").mkdir()
        (project / "empty").mkdir()
        (project / "src" / "m.py").write_text("x")
        (project / "a.txt").write_text("one\n")
    ran = await judged.run(command, "edit")
    assert (ran.code, ran.said, ran.refusal) == (0, "", None)
    assert all(os.path.lexists(judged.project / name) for name in made)
    plain = await judged.run(command, None, cwd=judged.outside)
    assert plain.code == 0
    assert _facts(judged.project) == {k: v for k, v in _facts(judged.outside).items() if k != "secret.txt"}


def _facts(root: Path) -> dict[str, tuple[str, object]]:
    facts: dict[str, tuple[str, object]] = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            content = (
                os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
            )
            facts[str(path.relative_to(root))] = (oct(path.lstat().st_mode), content)
    return facts


REFUSED = [
    "cd .git/hooks && echo x > pre-commit",
    "(cd .claude && echo '{}' > settings.json)",
    "(cd .git && printf x >> config)",
    "pushd .git/hooks >/dev/null; echo x > pre-commit",
    "false || (cd .git && : > config)",
    "cp -rT payload .",
    "cp -rT with_link linked",
    "cp -r payload copy",
    "mkdir -p deep/er/still/and/more/.git && : > deep/er/still/and/more/.git/config",
    "rm -rf deep/a/b/c/d/e/.git/hooks",
    "rm -rf .git",
    "mv .git moved",
    "mv payload elsewhere",
    "mv deep elsewhere",
    "mkdir in && mv -t in payload",
    "mv deep/a/b/c deep/x",
    "mkdir -p empty && mv -T payload empty",
    "mv payload/.claude .claude2 && mv .claude2 .ClAuDe",
    "ln -s /tmp harmless && mv harmless .mcp.json",
    "echo x > .npmrc",
    "touch .ENVRC",
    "chmod 777 .git/config",
    "touch -d 2001-01-01 .git/config",
    "mkdir -p .config && mkdir .config/git",
    "mkdir t && mkdir t/git && mv t .config",
    "ln .git/config hard",
    "echo x > ../outside/f",
    "cp a.txt ~/f",
    "rm ../outside/secret.txt",
    "mv ../outside/secret.txt .",
    "ln -s ../outside out && echo x > out/f",
    "echo x > link_to_config",
    "exec 9<.git/config; echo x > /dev/fd/9",
    "truncate -s 0 link_to_config",
    "mkdir -p ~/.claude && echo x > ~/.claude/settings.json",
    "exec 3<>/dev/tcp/127.0.0.1/9",
    "kill -9 $PPID",
]


@pytest.mark.parametrize("command", REFUSED)
async def test_protected_names_and_everything_else_stay(judged: FakeJudged, command: str):
    project = judged.project
    for folder in (
        ".git/hooks",
        ".claude",
        "payload/.claude",
        "with_link",
        "linked",
        "deep/a/b/c/d/e/.git/hooks",
    ):
        (project / folder).mkdir(parents=True)
    for name in (".git/config", "payload/.claude/settings.json", "with_link/f", "deep/a/b/c/d/e/.git/config"):
        (project / name).write_text("old\n")
    (project / "linked" / "f").symlink_to("../.git/config")
    (project / "link_to_config").symlink_to(".git/config")
    before = _watched(judged)
    ran = await judged.run(command, "edit")
    assert _watched(judged) == before
    assert ran.refusal is not None


def _watched(judged: FakeJudged) -> dict[str, bytes | str | None]:
    """What no edit may change: all protected names, and everything outside."""
    names = (".git", ".claude", ".npmrc", ".envrc", ".mcp.json", ".config/git")
    return {
        path: content
        for path, content in judged.snapshot().items()
        if not path.startswith(f"{judged.project}/") or any(f"/{name}" in path.casefold() for name in names)
    }


async def test_reading_and_the_environment_are_held_as_for_reading(judged: FakeJudged):
    ran = await judged.run("cat ../outside/secret.txt; env", "edit")
    assert SECRET not in ran.said and KEY not in ran.said


async def test_no_race_gets_a_protected_name_made(judged: FakeJudged):
    """S34: the name in memory is changed by a second thread while the kernel looks at it."""
    (judged.project / ".git").mkdir()
    (judged.project / "race.py").write_text(
        "import ctypes, threading, time\n"
        "libc = ctypes.CDLL(None)\n"
        "good, evil = b'harmless-file-x\\0', b'.git/hooks-here\\0'\n"
        "buffer = ctypes.create_string_buffer(good, 32)\n"
        "over = time.monotonic() + 3\n"
        "def swap():\n"
        "    while time.monotonic() < over:\n"
        "        ctypes.memmove(buffer, evil, 16); ctypes.memmove(buffer, good, 16)\n"
        "threading.Thread(target=swap).start()\n"
        "while time.monotonic() < over:\n"
        "    fd = libc.open(buffer, 0o101, 0o644)\n"
        "    if fd >= 0: libc.close(fd)\n"
    )
    await judged.run("python3 race.py", "edit")
    assert os.listdir(judged.project / ".git") == []
