"""Work trees behind the real walls: files can be changed there, git's own folder cannot."""

import pytest

from bridle.host.sandbox.linux import Way
from tests.fakes.confined import place_for
from tests.fakes.repositories import git, repository


@pytest.mark.parametrize("way", ["direct", "bubblewrap"])
async def test_a_commit_in_a_work_tree_is_refused_with_a_way_out_and_the_files_stay(way: Way):
    async with place_for("me", way) as place:
        repository(place.project)
        git(place.project, "worktree", "add", "-q", "-b", "worktree-x", ".claude/worktrees/x")
        tree = place.project / ".claude" / "worktrees" / "x"
        sandbox = place.open()
        command = f"cd {tree} && echo hi > new && git add new && git commit -qm x"

        said = await place.bash(command)

        assert said.code != 0 and "Read-only file system" in said.output
        assert "dangerouslyDisableSandbox" in sandbox.annotate(said.output, failed=True, command=command)
        assert (tree / "new").read_text() == "hi\n"
        # What the user then agrees to, or what excludedCommands names, runs outside.
        git(tree, "add", "new")
        git(tree, "commit", "-q", "-m", "x")
        assert git(place.project, "log", "-1", "--format=%s", "worktree-x") == "x"
        assert git(place.project, "status", "--porcelain", "--untracked-files=no") == ""
