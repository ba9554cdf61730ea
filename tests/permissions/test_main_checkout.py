"""A session in the background leaves the main checkout alone, in every mode and whatever is allowed."""

from pathlib import Path
from typing import Any

import pytest

from bridle.permissions.policy import decide
from bridle.permissions.preparation import CallRequest, SessionPosition, prepare
from bridle.types.permission import MODES, Access, Allow, Decision, Deny, Effect, Mode, Rule

_ALL = (Rule(Effect.ALLOW, "Bash"), Rule(Effect.ALLOW, "Write"), Rule(Effect.ALLOW, "Edit"))


def _decide(
    root: Path, tool: str, path: str = "", command: str = "", *, mode: Mode = "bypassPermissions"
) -> Decision:
    target = str(root / path)
    access = Access(writes=(target,)) if path else Access()
    subject = command or target
    input: dict[str, Any] = {"command": command} if command else {"file_path": target}
    standing = SessionPosition(
        rules=_ALL,
        mode=mode,
        cwd=str(root),
        start=str(root),
        roots=(str(root),),
        home="/home/nobody",
        config_home="/home/nobody/.claude",
        checkout=str(root),
    )
    return decide(prepare(CallRequest(tool=tool, input=input, subject=subject, access=access), standing))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tool", ["Edit", "Write", "NotebookEdit"])
def test_files_of_the_checkout_are_not_changed_in_any_mode(tmp_path: Path, tool: str, mode: Mode):
    decision = _decide(tmp_path, tool, "src/a.py", mode=mode)
    assert isinstance(decision, Deny)
    assert "EnterWorktree" in decision.reason


@pytest.mark.parametrize(
    "command",
    [
        "echo x > a.txt",
        "echo x >> sub/a.txt",
        "echo x | tee a.txt",
        "rm a.txt",
        "sed -i s/x/y/ a.txt",
        "cp a.txt b.txt",
        "mv a.txt b.txt",
        "touch new.txt",
        "mkdir sub",
        "cd sub && echo x > a.txt",
        "git commit -am x",
        "true; git checkout other",
        "GIT_EDITOR=true git rebase main",
    ],
)
def test_commands_that_write_into_the_checkout_are_turned_away(tmp_path: Path, command: str):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").touch()
    assert isinstance(_decide(tmp_path, "Bash", command=command), Deny)


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "cat a.txt | head",
        "git status",
        "git log -1",
        "git fetch",
        "cd .claude/worktrees/x && git add a",
        "echo x > /dev/null",
        "echo x > /tmp/a",
    ],
)
def test_commands_that_only_read_or_write_elsewhere_run(tmp_path: Path, command: str):
    root = tmp_path / "checkout"
    root.mkdir()
    assert isinstance(_decide(root, "Bash", command=command), Allow)


def test_work_trees_inside_the_checkout_may_be_changed(tmp_path: Path):
    assert isinstance(_decide(tmp_path, "Write", ".claude/worktrees/apart/a.py"), Allow)


def test_a_link_into_the_checkout_is_followed(tmp_path: Path):
    root = tmp_path / "checkout"
    root.mkdir()
    trees = root / ".claude" / "worktrees" / "apart"
    trees.mkdir(parents=True)
    (trees / "out").symlink_to(root)
    assert isinstance(_decide(root, "Write", ".claude/worktrees/apart/out/a.py"), Deny)
