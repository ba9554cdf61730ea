from pathlib import Path

import pytest

from bridle.types.permission import Allow, Ask
from tests.permissions.cases import bash, rules


@pytest.mark.parametrize(
    "command", ["grep -rn x .", "rg x", "timeout 5 grep -r x src", "git grep x", "diff -r a src"]
)
def test_searching_a_folder_asks_while_a_rule_keeps_files_from_being_read(tmp_path: Path, command: str):
    """S32: a search would print lines of the file that the rule protects."""
    for name in ("src", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".env").write_text("x")
    assert isinstance(bash(command, rules(deny=("Read(.env)",)), cwd=str(tmp_path)), Ask)
    assert isinstance(bash(command, cwd=str(tmp_path)), Allow)


def test_searching_one_file_does_not(tmp_path: Path):
    (tmp_path / "a.txt").write_text("x")
    assert isinstance(bash("grep -n x a.txt", rules(deny=("Read(.env)",)), cwd=str(tmp_path)), Allow)
