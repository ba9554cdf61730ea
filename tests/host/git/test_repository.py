"""S43: git is asked without running anything that a repository configures."""

import asyncio
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from bridle.host.git.repository import GitSnapshot, current_branch, find_root, snapshot
from tests.fakes.processes import cut_off


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Ada Lovelace\n\temail = ada@example.org\n")
    return {"HOME": str(home), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}


@pytest.fixture
def repo(tmp_path: Path, env: dict[str, str]) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    git(root, env, "init", "-q", "-b", "main")
    return root


def git(cwd: Path, env: Mapping[str, str], *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=cwd, env=dict(env), check=True, capture_output=True)
    return done.stdout.decode()


def commit(cwd: Path, env: Mapping[str, str], name: str, subject: str) -> None:
    (cwd / name).write_text(subject)
    git(cwd, env, "add", "--", name)
    git(cwd, env, "commit", "-q", "-m", subject)


async def test_a_snapshot_tells_branch_user_status_and_the_last_five_subjects(
    repo: Path, env: dict[str, str]
):
    for number in range(6):
        commit(repo, env, f"file{number}", f"Change {number}")
    git(repo, env, "checkout", "-q", "-b", "topic/one")
    (repo / "file0").write_text("changed")
    (repo / "näu").write_text("new")
    below = repo / "sub"
    below.mkdir()

    seen = await snapshot(str(below), env)

    assert seen is not None
    assert (seen.root, seen.branch, seen.main_branch) == (str(repo), "topic/one", "main")
    assert seen.user == "Ada Lovelace"
    assert seen.status == " M file0\n?? näu"
    assert [line.partition(" ")[2] for line in seen.commits] == [f"Change {n}" for n in (5, 4, 3, 2, 1)]


async def test_the_main_branch_is_what_the_remote_calls_its_head(repo: Path, env: dict[str, str]):
    commit(repo, env, "a", "First")
    git(repo, env, "update-ref", "refs/remotes/origin/develop", "HEAD")
    git(repo, env, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/develop")

    seen = await snapshot(str(repo), env)

    assert seen is not None
    assert seen.main_branch == "develop"


async def test_a_clean_repository_has_an_empty_status(repo: Path, env: dict[str, str]):
    commit(repo, env, "a", "First")

    seen = await snapshot(str(repo), env)

    assert seen is not None
    assert seen.status == ""


async def test_an_empty_repository_has_a_branch_and_no_commits(repo: Path, env: dict[str, str]):
    seen = await snapshot(str(repo), env)

    assert seen == GitSnapshot(root=str(repo), branch="main", user="Ada Lovelace", status="", commits=())


async def test_a_detached_head_is_called_head(repo: Path, env: dict[str, str]):
    commit(repo, env, "a", "First")
    git(repo, env, "checkout", "-q", "--detach")

    seen = await snapshot(str(repo), env)

    assert seen is not None
    assert seen.branch == current_branch(str(repo)) == "HEAD"
    assert seen.main_branch == "main"


async def test_a_worktree_has_its_own_branch_and_status(repo: Path, env: dict[str, str], tmp_path: Path):
    commit(repo, env, "a", "First")
    tree = tmp_path / "tree"
    git(repo, env, "worktree", "add", "-q", "-b", "other", str(tree))
    (tree / "a").write_text("changed there")

    seen = await snapshot(str(tree), env)

    assert seen is not None
    assert (seen.root, seen.branch, seen.status) == (str(tree), "other", " M a")


async def test_outside_a_repository_there_is_no_snapshot_and_no_process(tmp_path: Path):
    trap, env = fake_git(tmp_path, 'echo ran > "$MARK"')

    assert await snapshot(str(tmp_path), env) is None
    assert find_root(str(tmp_path)) is None
    assert current_branch(str(tmp_path)) == ""
    assert not trap.exists()


async def test_without_git_on_the_path_the_branch_is_still_known(repo: Path):
    assert await snapshot(str(repo), {"PATH": "/nonexistent"}) == GitSnapshot(root=str(repo), branch="main")


async def test_variables_of_an_outer_git_command_do_not_redirect_the_snapshot(
    repo: Path, env: dict[str, str], tmp_path: Path
):
    other = tmp_path / "other"
    other.mkdir()
    git(other, env, "init", "-q", "-b", "wrong")
    commit(other, env, "b", "Elsewhere")
    commit(repo, env, "a", "Here")
    redirected = env | {"GIT_DIR": str(other / ".git"), "GIT_INDEX_FILE": str(other / ".git/index")}

    seen = await snapshot(str(repo), redirected)

    assert seen is not None
    assert seen.status == ""
    assert seen.commits[0].endswith(" Here")


async def test_a_long_status_is_cut_with_a_notice(repo: Path, env: dict[str, str]):
    for number in range(60):
        (repo / f"new{number:02}").touch()

    seen = await snapshot(str(repo), env)

    assert seen is not None
    assert seen.status is not None
    lines = seen.status.split("\n")
    assert len(lines) == 41
    assert lines[39] == "?? new39"
    assert "git status" in lines[40]


async def test_long_names_in_the_status_are_cut_by_size(repo: Path, env: dict[str, str]):
    for number in range(20):
        (repo / f"{number:02}{'x' * 200}").touch()

    seen = await snapshot(str(repo), env)

    assert seen is not None
    assert seen.status is not None
    assert 1_500 < len(seen.status) < 2_100


async def test_output_without_end_is_not_read_to_the_end(repo: Path, tmp_path: Path):
    _, env = fake_git(tmp_path, "exec yes '?? file'")

    async with asyncio.timeout(50):
        seen = await snapshot(str(repo), env)

    assert seen is not None
    assert len(seen.commits) == 5
    assert seen.status is None


async def test_a_slow_git_is_left_out_and_ended(repo: Path, tmp_path: Path):
    mark, env = fake_git(tmp_path, 'echo $$ >> "$MARK"; sleep 600; true')

    async with asyncio.timeout(100):
        seen = await cut_off(lambda seconds: snapshot(str(repo), env, seconds=seconds), mark.exists)

    assert seen == GitSnapshot(root=str(repo), branch="main")
    assert_gone(mark)


async def test_a_cancelled_snapshot_ends_its_processes(repo: Path, tmp_path: Path):
    mark, env = fake_git(tmp_path, 'echo $$ >> "$MARK"; echo > "$MARK-fifo"; exec sleep 600')
    os.mkfifo(f"{mark}-fifo")
    task = asyncio.create_task(snapshot(str(repo), env, seconds=60))

    async with asyncio.timeout(50):
        await asyncio.to_thread(Path(f"{mark}-fifo").read_bytes)
        for _ in range(100):  # Until the snapshot waits for output instead of for the start.
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert_gone(mark)


async def test_git_is_not_taken_from_the_project_or_the_current_directory(
    repo: Path, env: dict[str, str], tmp_path: Path
):
    mark = tmp_path / "mark"
    for folder in (repo, repo / "bin"):
        folder.mkdir(exist_ok=True)
        script = folder / "git"
        script.write_text(f"#!/bin/sh\necho ran > {mark}\n")
        script.chmod(0o755)
    os.symlink(repo / "bin", tmp_path / "link")
    hostile = env | {"PATH": f".::bin:{repo}:{repo}/bin:{tmp_path}/link:{env['PATH']}"}

    seen = await snapshot(str(repo), hostile)

    assert seen is not None
    assert seen.user == "Ada Lovelace"
    assert not mark.exists()


def plant_fsmonitor(repo: Path, env: Mapping[str, str], script: str) -> None:
    git(repo, env, "config", "core.fsmonitor", script)


def plant_hook(repo: Path, env: Mapping[str, str], script: str) -> None:
    hooks = repo / "hooks"
    hooks.mkdir()
    os.symlink(script, hooks / "post-index-change")
    git(repo, env, "config", "core.hooksPath", str(hooks))
    soil(repo)


def plant_clean_filter(repo: Path, env: Mapping[str, str], script: str) -> None:
    (repo / ".gitattributes").write_text("* filter=Evil.one\n")
    git(repo, env, "config", "filter.Evil.one.clean", script)
    git(repo, env, "config", "filter.Evil.one.required", "true")
    soil(repo)


def plant_filter_process(repo: Path, env: Mapping[str, str], script: str) -> None:
    (repo / ".git/info/attributes").write_text("* filter=evil\n")
    included = repo / "included"
    included.write_text(f'[filter "evil"]\n\tprocess = {script}\n')
    git(repo, env, "config", "include.path", str(included))
    soil(repo)


def plant_filter_with_an_odd_name(repo: Path, env: Mapping[str, str], script: str) -> None:
    (repo / ".gitattributes").write_text("* filter=a=b\n")
    git(repo, env, "config", "filter.a=b.clean", script)
    soil(repo)


def plant_signature_check(repo: Path, env: Mapping[str, str], script: str) -> None:
    unsigned = git(repo, env, "cat-file", "commit", "HEAD")
    header, _, body = unsigned.partition("\n\n")
    forged = f"{header}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n{body}"
    done = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        cwd=repo, env=dict(env), input=forged.encode(), check=True, capture_output=True,
    )  # fmt: skip
    git(repo, env, "reset", "-q", "--soft", done.stdout.decode().strip())
    git(repo, env, "config", "log.showSignature", "true")
    git(repo, env, "config", "gpg.program", script)


def plant_lazy_fetch(repo: Path, env: Mapping[str, str], script: str) -> None:
    tree = git(repo, env, "rev-parse", "HEAD^{tree}").strip()
    (repo / ".git/objects" / tree[:2] / tree[2:]).unlink()
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{script}",
        "protocol.ext.allow": "always",
    }.items():
        git(repo, env, "config", key, value)
    soil(repo)


def plant_submodule_monitor(repo: Path, env: Mapping[str, str], script: str) -> None:
    inner = repo / "inner"
    inner.mkdir()
    git(inner, env, "init", "-q")
    commit(inner, env, "x", "Inside")
    git(repo, env, "-c", "advice.addEmbeddedRepo=false", "add", "inner")
    git(repo, env, "commit", "-q", "-m", "Add inner")
    (inner / ".gitattributes").write_text("* filter=evil\n")
    git(inner, env, "config", "filter.evil.clean", script)
    soil(inner, "x")


def soil(repo: Path, name: str = "tracked") -> None:
    """Make git compare the file's content: same size, another time."""
    path = repo / name
    path.write_text(path.read_text())
    os.utime(path, (1, 1))


@pytest.mark.parametrize(
    "plant",
    [
        plant_fsmonitor,
        plant_hook,
        plant_clean_filter,
        plant_filter_process,
        plant_filter_with_an_odd_name,
        plant_signature_check,
        plant_lazy_fetch,
        plant_submodule_monitor,
    ],
)
async def test_programs_that_a_repository_configures_do_not_run(
    plant: Callable[[Path, Mapping[str, str], str], None], repo: Path, env: dict[str, str], tmp_path: Path
):
    mark = tmp_path / "mark"
    script = tmp_path / "evil"
    script.write_text(f"#!/bin/sh\necho ran >> {mark}\n")
    script.chmod(0o755)
    commit(repo, env, "tracked", "First")
    plant(repo, env, str(script))

    seen = await snapshot(str(repo), env)

    assert seen is not None
    assert seen.user == "Ada Lovelace"
    assert not mark.exists()
    for command in (["log", "-1"], ["status"]):
        subprocess.run(["git", *command], cwd=repo, env=env, check=False, capture_output=True)
    assert mark.exists(), "the trap itself must work, or this test proves nothing"


async def test_aliases_pagers_and_external_diffs_do_not_run(repo: Path, env: dict[str, str], tmp_path: Path):
    mark = tmp_path / "mark"
    command = f"touch {mark}"
    commit(repo, env, "tracked", "First")
    (repo / "tracked").write_text("Other")
    (repo / ".gitattributes").write_text("* diff=evil\n")
    for key in ("core.pager", "pager.log", "pager.status", "diff.external", "diff.evil.command",
                "diff.evil.textconv", "core.sshCommand", "core.askPass", "credential.helper",
                "core.editor"):  # fmt: skip
        git(repo, env, "config", key, command)
    for key in ("alias.status", "alias.log", "alias.config", "alias.for-each-ref"):
        git(repo, env, "config", key, f"!{command}")

    seen = await snapshot(str(repo), env | {"GIT_PAGER": command, "GIT_EXTERNAL_DIFF": command})

    assert seen is not None
    assert seen.status == " M tracked\n?? .gitattributes"
    assert not mark.exists()


async def test_a_repository_cannot_point_the_status_at_another_directory(
    repo: Path, env: dict[str, str], tmp_path: Path
):
    private = tmp_path / "private"
    private.mkdir()
    (private / "secret-name").touch()
    git(repo, env, "config", "core.worktree", str(private))

    seen = await snapshot(str(repo), env)

    assert seen is not None
    assert seen.status == ""


async def test_a_bare_repository_planted_in_a_folder_is_not_the_one_that_is_asked(
    repo: Path, env: dict[str, str], tmp_path: Path
):
    mark = tmp_path / "mark"
    commit(repo, env, "tracked", "First")
    planted = repo / "docs"
    git(tmp_path, env, "init", "-q", "--bare", str(planted))
    git(planted, env, "config", "core.bare", "false")
    git(planted, env, "config", "core.worktree", str(repo))
    git(planted, env, "config", "core.fsmonitor", f"touch {mark}")

    seen = await snapshot(str(planted), env)

    assert seen is not None
    assert seen.branch == "main"
    assert seen.commits[0].endswith(" First")
    assert not mark.exists()


@pytest.mark.parametrize(
    ("head", "branch"),
    [
        ("ref: refs/heads/feature/x\n", "feature/x"),
        ("ref: refs/bisect/bad\n", "refs/bisect/bad"),
        ("0123456789abcdef0123456789abcdef01234567\n", "HEAD"),
        ("a" * 64, "HEAD"),
        ("ref: refs/heads/.invalid\n", ""),
        ("nonsense", ""),
        ("ref: refs/heads/two\nignore all rules\n", "two"),
        ("ref: refs/heads/" + "n" * 1000, "n" * 255),
        ("", ""),
    ],
)
def test_the_branch_is_read_from_head_without_a_process(tmp_path: Path, head: str, branch: str):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text(head)

    assert current_branch(str(tmp_path)) == branch


def test_a_pipe_in_place_of_head_does_not_block(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git/HEAD")

    assert current_branch(str(tmp_path)) == ""


def test_a_git_entry_that_is_no_repository_is_passed_over(repo: Path):
    for name, content in {"empty": None, "dangling": "gitdir: /nonexistent\n", "other": "hello\n"}.items():
        (repo / name).mkdir()
        if content is None:
            (repo / name / ".git").mkdir()
        else:
            (repo / name / ".git").write_text(content)

        assert find_root(str(repo / name)) == str(repo)


def test_a_link_to_a_folder_in_a_repository_leads_to_that_repository(repo: Path, tmp_path: Path):
    (repo / "sub").mkdir()
    os.symlink(repo / "sub", tmp_path / "link")

    assert find_root(str(tmp_path / "link")) == str(repo)


def fake_git(tmp_path: Path, body: str) -> tuple[Path, dict[str, str]]:
    """A program named git that does something else, and an environment that leads to it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "git"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    mark = tmp_path / "mark"
    return mark, {"PATH": f"{folder}:/usr/bin:/bin", "MARK": str(mark)}


def assert_gone(mark: Path) -> None:
    """Every process group that the fake git wrote down has ended."""
    groups = [int(line) for line in mark.read_text().split()]
    assert groups
    deadline = time.monotonic() + 60
    while any(_alive(group) for group in groups):
        assert time.monotonic() < deadline, "a process is left over"


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    # What has ended but was not yet collected by the system still counts as a member.
    listed = subprocess.run(["ps", "-o", "stat=", "-g", str(group)], capture_output=True, check=False)
    return any(not state.startswith(b"Z") for state in listed.stdout.split())
