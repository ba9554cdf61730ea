"""`bridle merge` on real repositories."""

import asyncio
import os
import signal
from pathlib import Path

import msgspec

from tests.fakes.processes import eventually
from tests.fakes.program import Done, Program
from tests.fakes.repositories import branch, commit, git, repository

_TEST = "test ! -e broken"


def _program(folder: Path, **files: str) -> Program:
    program = Program(folder, GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL=os.devnull)
    repository(program.project, **files)
    return program


def _contains(project: Path, commit: str) -> bool:
    return git(project, "merge-base", "main", commit) == commit


def _lines(done: Done) -> list[str]:
    return done.out.splitlines()


async def test_what_passes_is_merged_and_what_conflicts_or_fails_stays_as_it_is(tmp_path: Path):
    program = _program(tmp_path, a="1\n", b="1\n")
    project = program.project
    tips = {
        "one": branch(project, "worktree-one", a="2\n"),
        "two": branch(project, "worktree-two", a="3\n"),
        "bad": branch(project, "worktree-bad", broken="x\n"),
        "new": branch(project, "worktree-new", c="1\n"),
    }

    done = await program.run(
        "merge", "--test", _TEST, *(f"worktree-{name}" for name in ("one", "two", "bad", "new"))
    )

    assert done.code == 4
    first, one, two, bad, new, last = _lines(done)
    assert first == f"into main: 4 branch(es), tests: {_TEST}"
    assert one.startswith("1/4 worktree-one: 1 commit(s), tests passed (") and "merged as" in one
    assert two == "2/4 worktree-two: conflicts in a; not merged"
    assert bad.startswith("3/4 worktree-bad: tests failed with code 1 (") and "not merged" in bad
    assert "merged as" in new
    assert last == "2 of 4 are in main"
    assert (project / "a").read_text() == "2\n"
    assert (project / "c").exists() and not (project / "broken").exists()
    assert [_contains(project, tips[name]) for name in ("one", "two", "bad", "new")] == [
        True,
        False,
        False,
        True,
    ]
    assert all(git(project, "rev-parse", f"worktree-{name}") == tip for name, tip in tips.items())
    assert git(project, "status", "--porcelain") == ""
    assert len(git(project, "worktree", "list").splitlines()) == 1


async def test_without_names_all_branches_of_work_trees_are_taken(tmp_path: Path):
    program = _program(tmp_path)
    branch(program.project, "worktree-one", a="1\n")
    branch(program.project, "other", b="1\n")

    done = await program.run("merge", "--no-test", "--delete")

    assert done.code == 0
    assert "branch removed" in done.out
    assert git(program.project, "branch", "--format=%(refname:short)").split() == ["main", "other"]
    assert (await program.run("merge", "--no-test")).out == "nothing to merge into main\n"


async def test_a_dry_run_tells_of_conflicts_between_branches_and_changes_nothing(tmp_path: Path):
    program = _program(tmp_path, a="1\n")
    branch(program.project, "worktree-one", a="2\n")
    branch(program.project, "worktree-two", a="3\n")
    before = git(program.project, "for-each-ref")

    done = await program.run("merge", "--dry-run", "worktree-one", "worktree-two")

    assert done.code == 3
    assert _lines(done)[1:] == [
        "1/2 worktree-one: 1 commit(s), no conflict",
        "2/2 worktree-two: conflicts in a; not merged",
        "1 of 2 can be in main",
    ]
    assert git(program.project, "for-each-ref") == before


async def test_changes_in_the_checkout_are_never_overwritten_and_a_second_run_goes_on(tmp_path: Path):
    program = _program(tmp_path, a="1\n")
    project = program.project
    tip = branch(project, "worktree-one", a="2\n")
    (project / "a").write_text("mine\n")
    counted = tmp_path / "count"
    test = f"echo x >> {counted}"

    stopped = await program.run("merge", "--test", test, "worktree-one")

    assert stopped.code == 1
    assert "Commit or stash the changes there" in stopped.err
    assert (project / "a").read_text() == "mine\n"
    assert git(project, "rev-parse", "refs/bridle/merged/main") == tip

    git(project, "checkout", "-q", "a")
    done = await program.run("merge", "--test", test, "worktree-one")
    assert done.code == 0
    assert "the same files passed the tests before" in done.out
    assert counted.read_text() == "x\n"
    again = await program.run("merge", "--test", test, "worktree-one")
    assert (again.code, _lines(again)[1]) == (0, "1/1 worktree-one: already in main")


async def test_work_that_is_not_committed_is_named_and_kept(tmp_path: Path):
    program = _program(tmp_path)
    project, tree = program.project, tmp_path / "tree"
    git(project, "worktree", "add", "-q", "-b", "worktree-x", str(tree), "main")
    commit(tree, "work", new="1\n")
    (tree / "later").write_text("not yet\n")

    done = await program.run("merge", "--no-test", "--delete", "worktree-x")

    assert done.code == 0
    assert "1 change(s) in its worktree are not committed and stay there" in done.out
    assert "branch kept: its worktree has 1 uncommitted changes" in done.out
    assert (tree / "later").read_text() == "not yet\n"


async def test_a_run_that_is_ended_in_the_middle_of_tests_is_taken_up_by_the_next(tmp_path: Path):
    program = _program(tmp_path)
    project = program.project
    branch(project, "worktree-one", a="1\n")
    branch(project, "worktree-two", b="1\n")
    mark = tmp_path / "mark"
    # The first merge passes at once, the second waits until it is ended.
    test = f"if test -e b; then touch {mark}; sleep 60; fi"
    process = await program.start("merge", "--test", test, "worktree-one", "worktree-two")
    await eventually(mark.exists)
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(50):
        _, err = await process.communicate()

    assert process.returncode == 130
    assert b"1 of 2 done; run it again to continue" in err
    assert (project / "a").exists() and not (project / "b").exists()
    done = await program.run("merge", "--test", "true", "worktree-one", "worktree-two")
    assert done.code == 0 and (project / "b").exists()


async def test_a_killed_run_leaves_nothing_in_the_way(tmp_path: Path):
    program = _program(tmp_path)
    branch(program.project, "worktree-one", a="1\n")
    mark = tmp_path / "mark"
    process = await program.start("merge", "--test", f"touch {mark}; sleep 5", "worktree-one")
    await eventually(mark.exists)
    process.kill()
    await process.wait()

    done = await program.run("merge", "--test", "true", "worktree-one")

    assert done.code == 0
    assert (program.project / "a").exists()


async def test_tests_that_take_too_long_fail_the_branch(tmp_path: Path):
    program = _program(tmp_path)
    branch(program.project, "worktree-one", a="1\n")

    done = await program.run("merge", "--timeout", "0.2", "--test", "sleep 60", "worktree-one")

    assert done.code == 4
    assert "tests took too long" in done.out


async def test_another_branch_that_nobody_has_checked_out_can_be_the_target(tmp_path: Path):
    program = _program(tmp_path)
    git(program.project, "branch", "release")
    tip = branch(program.project, "worktree-one", a="1\n")

    done = await program.run("merge", "--no-test", "--json", "--into", "release", "worktree-one")

    row = msgspec.json.decode(done.out)
    assert (done.code, row["verdict"], row["commit"]) == (0, "merged", tip)
    assert git(program.project, "rev-parse", "release") == tip
    assert not (program.project / "a").exists()


async def test_what_cannot_be_merged_is_said_in_one_line(tmp_path: Path):
    program = _program(tmp_path)
    cases = {
        ("merge", "nobody", "--no-test"): "no branch 'nobody'",
        ("merge", "--into", "nowhere", "main", "--no-test"): "no branch 'nowhere'",
        ("merge", "--frobnicate"): "unknown option --frobnicate; see bridle merge --help",
        ("merge", "main"): "cannot detect how this project runs its tests",
        ("merge", "main", "--timeout", "soon", "--no-test"): "--timeout takes a number",
        ("merge", "--test", "x", "--no-test"): "can't be used together",
    }
    for words, sentence in cases.items():
        done = await program.run(*words)
        assert done.code == 1
        assert sentence in done.err and done.err.count("\n") == 1


async def test_a_wrong_name_is_told_before_the_tests_are_asked_for(tmp_path: Path):
    program = _program(tmp_path)

    for words in (("nosuch",), ("--into", "nosuch", "main")):
        done = await program.run("merge", *words)
        assert done.code == 1
        assert done.err == "error: no branch 'nosuch'; list branches with `git branch`\n"
