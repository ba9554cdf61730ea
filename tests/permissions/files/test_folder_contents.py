"""S31, S33: what is in a folder counts when the folder is copied or moved."""

import os
from pathlib import Path

import pytest

from bridle.types.permission import Allow, Ask, Decision, Deny, Rule
from tests.permissions.cases import bash, rules


def _edit(project: Path, command: str, weighed: tuple[Rule, ...] = ()) -> Decision:
    return bash(command, weighed, "acceptEdits", cwd=str(project))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Folders with every trap: protected names, links to protected, outside and inside."""
    root = tmp_path / "project"
    outside = tmp_path / "outside"
    outside.mkdir()
    for folder in (
        "plain/deep",
        "payload/.claude",
        "nested/a/.git/hooks",
        "named",
        "links",
        "clash",
        ".git/hooks",
    ):
        (root / folder).mkdir(parents=True)
    for file in (
        "plain/x",
        "plain/deep/y",
        "payload/.claude/settings.json",
        "nested/a/.git/hooks/pre-commit",
    ):
        (root / file).write_text("")
    (root / "named" / ".BashRC").write_text("")
    (root / "links" / "out").symlink_to(outside)
    (root / "links" / "hooks").symlink_to("../.git/hooks")
    (root / "clash" / "x").symlink_to("../.git/config")
    (root / "dirlink").symlink_to(".git")
    (root / "outlink").symlink_to(outside)
    return root


@pytest.mark.parametrize(
    "command",
    [
        "cp -rT payload .",
        "cp -r -T payload .",
        "cp --recursive --no-target-directory payload .",
        "cp -r payload copy",
        "cp -a payload copy",
        "cp -R payload copy",
        "cp -rf payload plain",
        "cp -t plain -r payload",
        "cp -rt plain payload",
        "cp -r --target-directory=plain payload",
        "cp -r nested copy",
        "cp -r nested/a copy",
        "cp -r named copy",
        "cp -r plain nested named copy",
        "cp -rT plain clash",
        "cp -r plain/x clash",
        "cp -r plain links/hooks",
        "cp -r plain links/out",
        "cp -rT plain outlink",
        "cp -r . copy",
        "cp -r payload/ copy",
        "mv payload copy",
        "mv payload plain",
        "mv -T payload copy",
        "mv nested other",
        "mv -t plain payload",
        "mv named copy",
        "mv plain/x clash",
        "mv dirlink d2 && echo x > d2/hooks/pre-commit",
        "mv outlink d2; touch d2/file",
        "mv outlink d2; cat d2/file",
        "mv links l2 && cp plain/x l2/hooks/pre-commit",
        "cp -d dirlink d2 && cp plain/x d2/config",
        "cp -a links l2 && echo x > l2/out/file",
        "cp -P outlink d2 && (cd d2 && touch file)",
        "mv outlink b && mv b c && touch c/file",
        "cp -l .git/config x",
        "cp -s .git/config x",
        "cp -rl plain copy",
        "cp --symbolic-link plain/x y",
        "cp --link plain/x y",
        "cp -rL links copy",
        "cp -rH outlink copy",
        "cp --parents plain/x links",
        "cp --remove-destination plain/x clash/x",
        "cp -r --copy-contents plain copy",
        "cp -t plain -T payload",
        "install plain/x copy",
        "ln plain/x y",
        "ln -s .git g",
        "rsync -a payload/ .",
        "tar xf x.tar",
    ],
)
def test_copy_that_would_reach_what_is_protected_asks(project: Path, command: str):
    assert isinstance(_edit(project, command), Ask)


@pytest.mark.parametrize(
    "command",
    [
        "cp -r plain copy",
        "cp -rT plain copy",
        "cp -a plain copy",
        "cp -r plain/deep named",
        "cp -rv plain/deep copy/deep",
        "mkdir -p build && cp -r plain build/ && ls build",
        "mv plain other",
        "mv plain/x plain/z",
        "mv -n plain/deep .",
        "cp plain/x payload/y",
        "cp --backup plain/x plain/y",
    ],
)
def test_copy_of_ordinary_files_is_accepted(project: Path, command: str):
    assert isinstance(_edit(project, command), Allow)


def test_folder_that_is_too_large_asks(project: Path):
    crowd = project / "crowd"
    crowd.mkdir()
    for number in range(5_001):
        os.mknod(crowd / str(number))
    assert isinstance(_edit(project, "cp -r crowd copy"), Ask)
    assert isinstance(_edit(project, "mv crowd copy"), Ask)


def test_rule_for_a_file_holds_for_the_folder_it_is_in(project: Path):
    (project / "plain" / "secret.txt").write_text("")
    for denied in ("Read(secret.txt)", "Edit(copy/secret.txt)"):
        for command in ("cp -r plain copy", "mv plain copy", "cp -rT plain copy"):
            decision = _edit(project, command, weighed=rules(deny=(denied,)))
            assert isinstance(decision, Deny), (denied, command)


def test_link_made_under_a_rule_leads_nothing_else_out(project: Path):
    weighed = rules(allow=("Bash(ln:*)",))
    assert isinstance(_edit(project, "ln -s ../outside o && echo x > o/f", weighed=weighed), Ask)


def test_programs_that_follow_links_are_held_to_where_they_lead(project: Path):
    """S30: `diff` reads through every link in the folders that it compares."""
    for command in (
        "diff -r plain links",
        "diff plain links",
        "diff -rN links plain",
        "diff -rq links clash",
    ):
        assert isinstance(bash(command, cwd=str(project)), Ask), command
    assert isinstance(bash("diff -r plain named", cwd=str(project)), Allow)
    assert isinstance(bash("ls -RL links", cwd=str(project)), Ask)
    assert isinstance(bash("ls -R links", cwd=str(project)), Allow)
    denied = rules(deny=("Read(x)",))
    assert isinstance(bash("diff -r plain named", denied, cwd=str(project)), Ask | Deny)
