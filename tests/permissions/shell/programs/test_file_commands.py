"""Simple file commands, with what they touch."""

import pytest

from tests.permissions.shell.readings import CWD, last, only
from tests.tables import table


@table(
    ("command", "reads", "writes"),
    [
        ("mkdir -p a/b c", [], ["a/b", "c"]),
        ("mkdir -m 755 a", [], ["a"]),
        ("touch a b", [], ["a", "b"]),
        ("rm a", [], ["a"]),
        ("rm -rf a b", [], ["a", "b"]),
        ("rm -- -x", [], ["-x"]),
        ("rmdir a", [], ["a"]),
        ("mv a b", ["a"], ["b", "b/a", "a"]),
        ("mv a b c", ["a", "b"], ["c", "c/a", "c/b", "a", "b"]),
        ("mv -t d a", ["a"], ["d", "d/a", "a"]),
        ("cp a b", ["a"], ["b", "b/a"]),
        ("cp -r x/.mcp.json .", ["x/.mcp.json"], [".", ".mcp.json"]),
        ("cp /etc/x .", ["/etc/x"], [".", "x"]),
        ("cp --target-directory=d a", ["a"], ["d", "d/a"]),
        ("sed -i s/a/b/ x", ["x"], ["x"]),
        ("sed -i.bak 's/a/b/' x", ["x"], ["x", "x.bak"]),
        ("sed -i -e s/a/b/ -e 2d x y", ["x", "y"], ["x", "y"]),
        ("timeout 5 rm a", [], ["a"]),
        ("CI=1 touch a", [], ["a"]),
    ],
)
def test_it_is_a_file_command_that_touches(command: str, reads: list[str], writes: list[str]):
    part = only(command)

    assert part.file_command
    assert not part.harmless
    assert sorted(part.reads) == sorted(map(_absolute, reads))
    assert sorted(part.writes) == sorted(map(_absolute, writes))


@table(
    "command",
    [
        "rm $x",
        "rm *.pyc",
        "rm {a,b}",
        "rm $(x)",
        "mv a $x",
        "cp -r a/. b",
        "cp . b",
        "rm ~other",
        "touch a/../../b",
        "sed -i 's/a/b/w out' x",
        "sed -i $x y",
        "sed -i 1d *.py",
        "cp a",
    ],
)
def test_it_cannot_be_told_what_it_touches(command: str):
    part = last(command)

    assert not part.file_command
    assert part.unclear is not None


@pytest.mark.parametrize(
    "command",
    [
        "ln -s a b",
        "chmod +x a",
        "cp -l a b",
        "xargs rm a",
        "sudo rm a",
        "PATH=x rm a",
        "./rm a",
        "install a b",
    ],
)
def test_other_commands_are_no_file_commands(command: str):
    assert not only(command).file_command


def _absolute(path: str) -> str:
    return CWD if path == "." else path if path[0] == "/" else f"{CWD}/{path}"
