"""S10, S15-S17, S30-S33: every way around the gate that was found is harmless behind the second wall alone.

No gate stands before these commands: each runs with the view of one that was judged to read, or to edit."""

import asyncio
import socket
import tarfile
from pathlib import Path

import pytest

from tests.fakes.judged import KEY, SECRET, FakeJudged

HOLES = {
    "a continuation behind a dollar sign": [
        'cat <<< "$\\\n(touch pwned)"',
        'x="$\\\n(touch pwned)"',
        '[ "$\\\n(touch pwned)" ]',
        '[[ "$\\\n(touch pwned)" ]]',
        'case "$\\\n(touch pwned)" in x) ;; esac',
        'for i in "$\\\n(touch pwned)"; do :; done',
        "cat <<E\n$\\\n(touch pwned)\nE",
        "x='$(touch pwned)'; echo \"$\\\n{x@P}\"",
        "z='a[$(touch pwned)]'; echo \"$\\\n((z))\"",
        "sort $\\\n'-opwned' /dev/null",
        "cat $\\\nHOME/.profile",
    ],
    "a test that is none": [
        "[[a || touch${IFS}pwned ]]",
        "[[a ; touch${IFS}pwned ]]",
        "[[a | touch${IFS}pwned ]]",
        "[[a & touch${IFS}pwned ]]",
        "[[a > ../outside/secret.txt ]]",
        "[[a =~ x;touch${IFS}pwned ]]",
    ],
    "an escape that was not read": [
        "find . $'\\x{2d}exec' touch pwned \\;",
        "sort $'\\x{2d}opwned' /dev/null",
        "cat $'\\x{2e}\\x{2e}/outside/secret.txt'",
    ],
    "the end of a document": [
        'cat <<E\nx\nE; cat <<"E"\n$(touch pwned)\nE',
        "cat <<E\n\\\n'$(touch pwned)'\nE",
    ],
    "an operand that is computed": [
        "x='a[$'; z='(touch pwned)]'; y=1; [[ \"$x$z $y\" -eq 1 ]]",
        "x='a[$(touch pwned)]'; ((x))",
        "x='a[$(touch pwned)]'; [ -v \"$x\" ]",
        "declare -i n='a[$(touch pwned)]'",
    ],
    "a variable that is run": [
        "x='$(touch pwned)'; echo ${x@P}",
        "y=x; x='a[$(touch pwned)]'; y='a[$(touch pwned)]'; echo ${!y}",
    ],
    "a pattern read otherwise": [
        "cat [[:alpha:]]ink",
        "cat [l\\]]ink",
        "cat [z]q",
        "set -f; cat [z]q",
    ],
    "an option taken for a value": [
        "column -L ../outside/secret.txt",
        "column -t -N a -J ../outside/secret.txt",
        "diff -D -- --from-file=../outside/secret.txt a.txt",
        "diff -rN ra rb",
        "git diff /dev/null dirlink/secret.txt",
    ],
    "an environment that is shown": ["jq -n '$ ENV'", "ps -auxwwe"],
    "an option of a program that lists": [
        "tar -xf a.tar --to-command='touch pwned'",
        "tar -tf a.tar -I ./evil",
        "tar -cf pwned a.txt",
        "tar -tf a.tar --checkpoint=1 --checkpoint-action=exec='touch pwned'",
        "gzip a.txt",
        "find . -exec touch pwned \\;",
        "find . -exec rm {} +",
        "ls | xargs rm -f",
        "echo pwned | xargs touch",
        "find . -exec cat {} +",
        "ls | xargs cat",
        "sort -o pwned a.txt",
        "rg --pre ./evil one",
    ],
}


@pytest.mark.parametrize("hole", HOLES)
async def test_a_command_judged_to_read_changes_and_shows_nothing(judged: FakeJudged, hole: str):
    _lay_out(judged.project, judged.outside)
    before = judged.snapshot()
    slots = asyncio.Semaphore(3)

    async def told(command: str) -> str:
        async with slots:
            return (await judged.run(command)).said

    for command, said in zip(HOLES[hole], await asyncio.gather(*map(told, HOLES[hole])), strict=True):
        assert SECRET not in said and KEY not in said, command
    assert judged.snapshot() == before


def _lay_out(project: Path, outside: Path) -> None:
    for name in ("link", "[z]q"):
        (project / name).symlink_to(outside / "secret.txt")
    (project / "dirlink").symlink_to(outside)
    for name in ("ra", "rb"):
        (project / name).mkdir()
    (project / "ra" / "f").symlink_to(outside / "secret.txt")
    evil = project / "evil"
    evil.write_text("#!/bin/sh\ntouch pwned\n")
    evil.chmod(0o755)
    with tarfile.open(project / "a.tar", "w") as archive:
        archive.add(project / "a.txt", "a.txt")


REMOVING = [
    "x=~; rm -rf $x",
    "for d in ../outside ~; do rm -rf $d; done",
    "rm -rf ~/$unset",
    "rm -rf homelink/*",
    "rm -rf ${HOME%/}",
    "rm -rf ${HOME:?}",
    "rm -rf /proc/self/cwd/../outside",
    "setarch -R rm -rf ../outside",
    "rm -rf ../[!p]*",
    "chmod 000 .git",
    "rm -rf deep/a/b/c/d/e/.git",
    "cd sub && echo x > ../.git/config",
    "cd .git/hooks && echo x > pre-commit",
    "cp -rT payload .",
]


@pytest.mark.parametrize("command", REMOVING)
async def test_a_command_judged_to_edit_removes_nothing_elsewhere(judged: FakeJudged, command: str):
    project = judged.project
    for folder in (".git/hooks", "sub", "payload/.claude", "deep/a/b/c/d/e/.git"):
        (project / folder).mkdir(parents=True)
    for name in (".git/config", "payload/.claude/settings.json", "deep/a/b/c/d/e/.git/config"):
        (project / name).write_text("old\n")
    (project / "homelink").symlink_to(judged.home)
    before = _kept(judged)
    await judged.run(command, "edit")
    assert _kept(judged) == before


def _kept(judged: FakeJudged) -> dict[str, bytes | str | None]:
    """Everything outside of the project, and what is protected in it."""
    return {
        path: content
        for path, content in judged.snapshot().items()
        if not path.startswith(f"{judged.project}/") or "/.git" in path or f"{judged.project}/.claude" in path
    }


PLANTED = (
    "[core]\nrepositoryformatversion = 0\nbare = false\nfsmonitor = touch {0}/pwned; cat {1}/secret.txt\n"
)


@pytest.mark.parametrize("shape", ["bare", "gitdir", "commondir"])
async def test_a_planted_repository_changes_and_shows_nothing(judged: FakeJudged, shape: str):
    project = judged.project
    repository = project if shape == "bare" else project / "data"
    for folder in ("objects", "refs"):
        (repository / folder).mkdir(parents=True)
    settings = PLANTED.format(project, judged.outside) + f"worktree = {project}\n"
    (repository / "HEAD").write_text("ref: refs/heads/main\n")
    if shape == "commondir":
        (project / "common" / "objects").mkdir(parents=True)
        (project / "common" / "refs").mkdir()
        (project / "common" / "config").write_text(settings)
        (repository / "commondir").write_text("../common\n")
    else:
        (repository / "config").write_text(settings)
    if shape != "bare":
        (project / ".git").write_text("gitdir: data\n")
    before = judged.snapshot()
    for command in ("git status", "git diff --stat", "git ls-files -m"):
        assert SECRET not in (await judged.run(command)).said
    assert judged.snapshot() == before


@pytest.mark.parametrize("level", ["read", "edit"])
async def test_no_hole_reaches_the_network_or_another_process(judged: FakeJudged, level: str):
    child = await asyncio.create_subprocess_exec("sleep", "60", start_new_session=True)
    try:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            listener.setblocking(False)
            port = listener.getsockname()[1]
            for hole in (
                f'echo "$\\\n(echo x > /dev/tcp/127.0.0.1/{port})"',
                f"[[a || echo > /dev/tcp/127.0.0.1/{port} ]]",
                f'echo "$\\\n(kill -9 {child.pid})"',
                f"find . $'\\x{{2d}}exec' kill -9 {child.pid} \\;",
            ):
                await judged.run(hole, "edit" if level == "edit" else "read")
            with pytest.raises(BlockingIOError):
                listener.accept()
        assert child.returncode is None
        assert Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0] in "RSD"
    finally:
        child.kill()
        await child.wait()
