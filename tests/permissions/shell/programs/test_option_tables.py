"""S15: the tables say of every option what the program itself says: whether a value follows."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache

import pytest

from bridle.permissions.shell.programs import (
    checked_versions,
    file_commands,
    git_commands,
    read_commands,
    small_languages,
)
from bridle.permissions.shell.programs.options import HarmlessUse, Refused, parse
from bridle.permissions.shell.syntax.words import Word
from tests.permissions.shell.readings import is_free
from tests.tables import table

ROWS: dict[str, HarmlessUse] = {**read_commands.PLAIN, **small_languages.USES, **file_commands.USES}
TOLD = re.compile(
    r"(?<![\w-])(--[A-Za-z][\w-]*|-[A-Za-z0-9])(\[=?[\w<]|=[\w<\[]|[ ]<\w|[ ][A-Z][A-Z_\d]*(?![a-z]))?"
)
MISREAD = {
    ("sort", "-c"), ("sort", "-C"), ("sort", "--check"), ("ls", "-p"), ("ls", "-F"), ("du", "--time"),
    ("od", "-S"), ("cp", "--update"), ("mv", "--update"), ("tail", "--follow"), ("od", "--endian"),
    ("stat", "-c"), ("diff", "-c"), ("diff", "-u"), ("diff", "-C"), ("diff", "-U"), ("lscpu", "-e"),
    ("lscpu", "-p"),
    ("shasum", "-a"), ("shasum", "--algorithm"), ("strings", "-t"), ("strings", "--radix"), ("strings", "-e"),
    ("strings", "--encoding"), ("xxd", "-c"), ("xxd", "-g"), ("xxd", "-l"), ("xxd", "-o"), ("xxd", "-s"),
    ("jq", "--arg"), ("jq", "--argjson"),
    ("tree", "-L"), ("tree", "-P"), ("tree", "-I"), ("tree", "--filelimit"),
}  # fmt: skip
"""What the help says in words or in examples, so that reading it by rule goes wrong; looked up by hand."""


def test_every_row_names_the_version_it_was_checked_against():
    listed = [name for names in checked_versions.CHECKED.values() for name in names]
    known = {*read_commands.PLAIN, *small_languages.PROGRAMS, *file_commands.USES, "git", "pip", "pip3"}
    assert len(listed) == len(set(listed))
    assert known - set(listed) == set()
    assert all(re.fullmatch(r"[\w-]+ \d+(?:\.\d+)*", version) for version in checked_versions.CHECKED)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_option_takes_a_value_where_the_program_says_so(name: str):
    told = _told(name)
    wrong = {
        option: (kind, told[option])
        for option, kind in _kinds(ROWS[name]).items()
        if option in told and told[option] != kind and (name, option) not in MISREAD
    }
    assert wrong == {}


WRITTEN_BY_HAND = {"diff", "diff-files", "diff-index", "diff-tree", "rev-list"}
"""Their help is a short text that leaves values out; `range-diff` has the same options in the usual form."""
GIT = set(git_commands.SUBCOMMANDS) - WRITTEN_BY_HAND


@pytest.mark.parametrize("name", sorted(GIT))
def test_option_of_git_takes_a_value_where_git_says_so(name: str):
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    told = _read_help(_output(["git", *name.split(), "-h"]))
    wrong = {
        option: (kind, told[option])
        for option, kind in _kinds(git_commands.SUBCOMMANDS[name]).items()
        if option in told and told[option] != kind and (name, option) not in GIT_MISREAD
    }
    assert wrong == {}


GIT_MISREAD = {
    ("range-diff", "--diff-filter"),
    *((name, "--decorate") for name in ("log", "show", "whatchanged")),
    *(
        (name, f"--{option}")
        for name in ("branch", "for-each-ref", "tag")
        for option in ("contains", "no-contains", "merged", "no-merged")
    ),
}
"""These take the next word unless they are the last, and list whatever it is."""


@pytest.mark.parametrize("name", sorted(ROWS))
def test_no_other_option_of_the_program_is_taken_for_a_listed_one(name: str):
    """An option that is not listed must not pass as an abbreviation of one that is."""
    told, kinds = _told(name), _kinds(ROWS[name])
    for option in told:
        if option in kinds or not option.startswith("--"):
            continue
        with pytest.raises(Refused):
            parse(ROWS[name], (Word(option, option), Word("x", "x")))


@table(
    "command",
    [
        "column -L /etc/passwd",
        "column -t -N a -J /etc/passwd",
        "column -d /etc/passwd",
        "column -n x -t /etc/passwd",
        "column -r /etc/passwd",
        "diff -D -- --from-file=/etc/passwd x",
        "diff -D x --to-file=/etc/passwd y",
        "diff --ifdef=x a b",
        "diff --from-f=/etc/passwd a",
        "diff -X /etc/passwd a b",
        "pgrep -P /etc/passwd -F /etc/passwd",
        "sort --files0-from=/etc/passwd",
        "wc --files0=/etc/passwd",
        "du --files0-from=-",
        "date -f /etc/passwd",
        "file -f /etc/passwd",
        "file -m /etc/passwd x",
        "tail -f --pid=1 /etc/passwd",
        "join -t: /etc/passwd a",
        "comm a /etc/passwd",
        "git branch --abbrev made-by-mistake",
        "git diff -U /etc/passwd /dev/null",
        "git diff --unified /etc/passwd /dev/null",
    ],
)
def test_file_behind_an_option_is_seen(command: str):
    assert not is_free(command)


def _kinds(use: HarmlessUse) -> dict[str, str]:
    """Whether each option takes a value: never, always, or one that is attached."""
    marks = {"": "", ":": "=", "::": "?"}
    short = {f"-{found[1]}": marks[found[2]] for found in re.finditer(r"([^:])(:{0,2})", use.short)}
    long = {f"--{word.rstrip('=?')}": word[-1] if word[-1] in "=?" else "" for word in use.long.split()}
    return short | long


def _output(argv: list[str]) -> str:
    env = {**os.environ, "LC_ALL": "C", "COLUMNS": "200"}
    told = subprocess.run(
        argv, capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL, check=False
    )
    return told.stdout or told.stderr


OTHER_NAMES = {"fd": "fdfind"}
"""What Debian calls a program whose name another one had."""
BUILTINS = frozenset(_output(["bash", "-c", "compgen -b"]).split())


@cache
def _told(name: str) -> Mapping[str, str]:
    """What a program, or bash of what is built into it, says about its options."""
    # Beside the Python of the tests are programs that packages bring, such as rg.
    places = f"{os.environ['PATH']}:{os.path.dirname(sys.executable)}"
    program = shutil.which(name, path=places) or shutil.which(OTHER_NAMES.get(name, name))
    if program is None and name not in BUILTINS:
        pytest.skip(f"{name} is not installed")
    return _read_help(_output([program, "--help"] if program else ["bash", "-c", f"{name} --help"]))


def _read_help(text: str) -> dict[str, str]:
    told: dict[str, str] = {}
    for line in text.splitlines():
        if (found := re.match(r"\s{1,12}(-.*)", line)) is None:
            continue
        spec = found[1] if re.match(r"-\w,\s{2,}", found[1]) else re.split(r"\s{2,}|\t", found[1])[0]
        options = TOLD.findall(spec)
        value = next((value for _, value in reversed(options) if value), "")
        kind = "" if not value else "?" if value.startswith("[") else "="
        told |= {option: kind or told.get(option, "") for option, _ in options}
    return told
