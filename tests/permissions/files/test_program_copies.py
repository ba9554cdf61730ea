"""S11: a rule knows a program by its name, so a command that gives the program another name asks."""

from pathlib import Path

import pytest

from bridle.types.permission import Allow, Ask, Decision
from tests.permissions.cases import bash, rules

RULES = rules(deny=("Bash(evil:*)", "Bash(worse push *)"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("copied")
    for name in ("bin/evil", "bin/worse", "bin/fine"):
        program = top / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    (top / "link").symlink_to("bin/evil")
    (top / "docs").mkdir()
    (top / "docs/evil").write_text("no program\n")
    return top


COPIES = [
    "cp bin/evil x", "cp bin/worse x", "cp -t . bin/evil", "mv bin/evil x", "ln bin/evil x",
    "ln -s bin/evil x", "link bin/evil x", "install bin/evil x", "cat bin/evil > x",
    "cat < bin/evil > x", "cat bin/evil | tee x", "dd if=bin/evil of=x", "rsync bin/evil x",
    "tee x < bin/evil", "head -c 99 bin/evil >> x", "cp link x", "ln link x", "cat link > x",
    "cd bin && cp evil ../x", "cd bin; cp ./evil ../x", "cp bin/../bin/evil x",
    "(cd bin; cat evil) > x", "cp bin/ev?l x", "cp bin/[e]vil x", "cp bin/{evil,fine} docs",
    "cp bin/* docs", "cp -r bin x", "cp -a bin/. x", "tar c bin | tar x -C docs",
    "f=bin/evil; cp $f x", "for f in bin/evil; do cp $f x; done", "cp $(command -v bin/evil) x",
    "env cp bin/evil x", "busybox cp bin/evil x", "base64 bin/evil | base64 -d > x",
    "gzip -k bin/evil",
]  # fmt: skip
FREE = [
    "cp bin/fine x", "cp docs/evil x", "mv docs docs2", "ls -l bin/evil", "file bin/evil | head -2",
    "cat bin/evil", "wc -c bin/evil; echo done", "cp -r docs x", "rm x; ls bin",
    "cp nowhere/evil x", "echo hi > x", "make",
]  # fmt: skip


def decided(command: str, folder: Path) -> Decision:
    return bash(command, RULES, "bypassPermissions", cwd=str(folder))


def test_a_program_of_a_rule_gets_no_other_name_unasked(folder: Path):
    assert [each for each in COPIES if not isinstance(decided(each, folder), Ask)] == []


def test_other_files_and_looking_at_it_are_as_free_as_before(folder: Path):
    assert [each for each in FREE if not isinstance(decided(each, folder), Allow)] == []


def test_without_a_rule_for_commands_nothing_changes(folder: Path):
    assert isinstance(bash("cp bin/evil x", (), "bypassPermissions", cwd=str(folder)), Allow)


def test_an_allow_rule_that_names_the_very_command_settles_it(folder: Path):
    weighed = (*RULES, *rules(allow=("Bash(cp bin/evil x)",)))

    assert isinstance(bash("cp bin/evil x", weighed, "bypassPermissions", cwd=str(folder)), Allow)
