"""S19: removals that no rule and no mode approves."""

from pathlib import Path

import pytest

from tests.permissions.shell.readings import read
from tests.tables import table

CRITICAL = [
    "rm -rf /",
    "rm -rf //",
    "rm -rf /.",
    "rm -rf /*",
    "rm -rf /u*",
    "rm -rf /usr",
    "rm -rf /usr/",
    "rm -rf /etc /x",
    "rm -rf /tmp/../usr",
    "rm -rf /{bin,usr}",
    "rm -rf ~",
    "rm -rf ~/",
    "rm -rf ~/*",
    "rm -rf ~root",
    "rm -rf $HOME",
    'rm -rf "$HOME"',
    "rm -rf ${HOME}/*",
    "rm -rf /home/someone",
    "rm -rf /home",
    "rm -rf .",
    "rm -rf ./",
    "rm -rf ..",
    "rm -rf ../",
    "rm -rf ../..",
    "rm -rf *",
    "rm -rf ./*",
    "rm -rf .*",
    "rm -rf ../*",
    "rm -rf /srv/project",
    "rm -rf /srv",
    "rm -rf $PWD",
    "rm -rf $(pwd)",
    "rm -rf `pwd`",
    'rm -rf "$X"/*',
    "rm -rf $X/*",
    "rm -rf ${X}/",
    "rm -rf $X/",
    "rm -rf $(x)/*",
    "rm -rf C:/",
    "rm -rf 'C:\\Windows'",
    "rm --no-preserve-root -rf x",
    "rmdir /usr",
    "rm -r -f -- /",
    "'rm' -rf /",
    "\\rm -rf /",
    "/bin/rm -rf /",
    "sudo rm -rf /",
    "timeout 5 rm -rf /",
    "env A=1 rm -rf /",
    "xargs rm -rf /",
    "ls && rm -rf /",
    "echo $(rm -rf /)",
    'echo "`rm -rf ~`"',
    "cat <(rm -rf /)",
    "if true; then rm -rf /; fi",
    "bash -c 'rm -rf /'",
    "eval 'rm -rf ~'",
    "find / -delete",
    "find / -name x -delete",
    "find ~ -delete",
    "find . -delete",
    "find . -type f -delete",
    "find /usr -exec rm {} +",
    "find . -exec rm -rf / \\;",
    "cd / && rm -rf *",
    "cd sub && rm -rf *",
    "cd sub && rm -rf ../../project",
    "A=1 rm -rf /",
]


CORPUS = Path(__file__).parent.parent / "corpus" / "removals.txt"
DISGUISED = [
    line.replace("⏎", "\n")
    for line in CORPUS.read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("# ")
]


@table("command", DISGUISED)
def test_nobody_may_approve_it_in_another_spelling(command: str):
    """S19: values of variables, forms of parameters, patterns, wrappers, what a process calls its folder."""
    assert any(part.critical for part in read(command).parts)


@pytest.mark.parametrize("command", ["rm -rf !(x)", "rm -rf @(*)"])
def test_patterns_that_are_not_followed_leave_the_command_unreadable(command: str):
    """S3, S19"""
    assert read(command).fault


@table("command", CRITICAL)
def test_nobody_may_approve_it_beforehand(command: str):
    assert any(part.critical for part in read(command).parts)


@table(
    "command",
    [
        "rm x",
        "rm -rf node_modules",
        "rm -rf ./dist",
        "rm -rf dist/*",
        "rm *.pyc",
        "rm -rf /tmp/x/y",
        "rm -rf ~/project/old",
        "rm -rf /srv/project/dist",
        "rm -rf ../other",
        'rm -rf "$X"',
        "rm -rf $X/cache",
        "rmdir empty",
        "find . -name '*.pyc' -delete",
        "find dist -delete",
        "find . -type d -empty -delete",
        "echo rm -rf /",
        "ls /",
        "d=build; rm -rf $d",
        'd=build; rm -rf "$d"/*.o',
        "for d in build dist; do rm -rf $d; done",
        'for d in build dist; do rm -rf "./$d"; done',
        "rm -rf build/$x",
        "rm -f $LOGS/*.log",
        'rm -rf "/tmp/${x:?}"',
        "rm -rf /tmp/build-$x",
        "rm -rf /tmp/test.$$",
        "rm -rf $(mktemp -d)",
        "t=$(mktemp -d); rm -rf $t",
        't=$(mktemp -d); rm -rf "$t"/*.o',
        "rm [0-9]*",
        "rm -rf build/[a-z]*",
        "rm -rf **/*.pyc",
        "rm -rf */node_modules",
        "rm -rf ~/.cache/x",
        "rm -rf ${HOME}/.cache/pip",
        "rm -rf $HOME/project/build",
        "find . -name x | xargs rm -f",
        "find . \\( -name '*.pyc' -o -name '*.pyo' \\) -delete",
        "find . -name '*.o' -exec rm {} +",
        "find . -name a -o -name b -delete",
        "find build -mindepth 1 -delete",
        "git ls-files -d | xargs -I{} rm -f build/{}",
        "rsync -a --delete src/ build/",
        "rsync -a --delete src/ host:/srv/x/",
        "docker run --rm x",
        "cd build && rm -rf out",
        "x=/srv/project/build; rm -rf $x",
    ],
)
def test_ordinary_removals_are_left_to_rules_and_modes(command: str):
    assert not any(part.critical for part in read(command).parts)


def test_a_fault_does_not_hide_a_critical_removal():
    reading = read("rm -rf /; ls 'unclosed")

    assert reading.fault
    assert any(part.critical for part in reading.parts)
