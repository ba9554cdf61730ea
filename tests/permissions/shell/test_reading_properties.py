"""S6 and the promises that hold for every command."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.types.shell import Part
from tests.permissions.counted import calls
from tests.permissions.shell.readings import is_free, read
from tests.permissions.shell.test_parts import NESTED
from tests.permissions.shell.test_read_only import DANGEROUS, HARMLESS
from tests.tables import table

PIECES = [
    "ls", "rm x", "cat a", "git log", "a", " ", " ", ";", "&", "|", "&&", "||", "(", ")", "{ ", " }",
    "$(", "`", '"', "'", "\\", "\n", "#", "$", "<", ">", "<<E\n", "\nE\n", "<(", "$((", "((", "))", "[[ ",
    " ]]", "if ", "; then ", "; fi", "for i in ", "; do ", "; done", "case a in ", " esac", ";;", "=",
    "x=", "${", "}", "~", "*", "!", "time ", "$'", "\\\n", "\t", "a=(", "-o ", "2>&1", "&>", "cd /",
    "cd ", "\xe9", "\r", "\x00", "sed -n ", "bash -c ", "rm -rf ",
]  # fmt: skip
COMMANDS = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=20).map("".join),
    st.sampled_from(HARMLESS + DANGEROUS + NESTED),
    st.text(max_size=60),
)


@given(COMMANDS)
def test_reading_never_raises_and_leaves_nothing_out(command: str):
    reading = read(command)

    assert all(part.text and part.deny_forms for part in reading.parts)
    assert command.strip(" \t\n") == "" or reading.parts or reading.fault or "#" in command or "{" in command


@pytest.mark.parametrize(
    "wrapping", ["ls && {}", "{} && ls", "( {} )", "timeout 5 {}", "! {}", "{{ {}\n}}", "ls | {}"]
)
@given(command=COMMANDS)
def test_wrapping_never_makes_a_command_harmless(wrapping: str, command: str):
    # A comment mark or an open quotation mark in front swallows the command, and that is no harm.
    if is_free(wrapping.format(command)):
        assert is_free(command) or _is_swallowed(wrapping, command)


@given(command=st.sampled_from(NESTED), other=st.sampled_from(HARMLESS))
def test_parts_stay_when_something_stands_around_them(command: str, other: str):
    alone = _forms(read(command).parts)

    for together in (
        f"{other}; {command}",
        f"{command}\n{other}",
        f"({command}\n)",
        f"if {other}; then {command}\nfi",
    ):
        assert alone <= _forms(read(together).parts)


@given(command=st.sampled_from(DANGEROUS), other=st.sampled_from(HARMLESS))
def test_a_harmless_neighbor_changes_nothing(command: str, other: str):
    assert not is_free(f"{other}; {command}")


LONG = {
    "list": "a && " * 1999 + "b",
    "sequence": "ls;" * 3333,
    "parentheses": "(" * 5000 + ")" * 5000,
    "substitutions": "$(" * 5000,
    "quotes": '"' * 9999,
    "backquotes": "`" * 9999,
    "braces": "{ " * 5000,
    "here-document": "cat <<E\n" + "x $(a) " * 1300 + "\nE\n",
    "words": "echo " + "a " * 4990,
    "redirections": "ls " + ">a " * 3300,
    "targets": "ls " + " ".join(f">a/b/{n}" for n in range(990)),
    "operands": "tee " + " ".join(f"a/b/{n}" for n in range(1200)),
    "files": "cat " + " ".join(f"a/b/{n}" for n in range(1200)),
    "odd files": "cat -Z " + " ".join(f"../a/../{n}" for n in range(900)),
    "patterns": "chmod 1 " + " ".join(f"a/{n}*" for n in range(1200)),
    "conditions": "if a; then " * 900,
    "backslashes": "\\" * 9999,
    "stars": "ls " + "*" * 9990,
    "brackets": "ls " + "[" * 9900,
    "wrappers": "timeout 5 " * 999 + "ls",
    "environments": "env " * 2400 + "ls",
    "scripts": 'bash -c "ls"; ' * 700,
    "variables": 'echo "' + "$x " * 3300 + '"',
    "expansions": "echo " + "${a:-" * 1600 + "}" * 1600,
    "arithmetic": "echo $((" + "(" * 4000 + "1" + ")" * 4000 + "))",
    "alternatives": "rm " + "{a,b}" * 1900,
    "sed": "sed -n '" + "p;" * 4900 + "'",
    "garbage": "".join(random.Random(1).choices("$(){}[]<>|&;\"'`\\ \nabc#!", k=10_000)),
    "tokens": "".join(random.Random(2).choices(PIECES, k=4000)),
}


@table("shape", LONG)
def test_the_longest_command_is_read_with_bounded_work(shape: str):
    assert calls(lambda: read(LONG[shape][:10_000])) < 200_000


def test_ordinary_commands_take_little_work():
    counts = sorted(calls(lambda command=command: read(command)) for command in HARMLESS)

    assert counts[len(counts) // 2] < 700


@table("seed", range(30))
def test_no_heap_of_signs_is_too_much(seed: int):
    choose = random.Random(seed)

    read("".join(choose.choices(PIECES, k=choose.choice([50, 300, 1500]))))


def _forms(parts: tuple[Part, ...]) -> set[str]:
    return {form for part in parts for form in part.deny_forms}


def _is_swallowed(wrapping: str, command: str) -> bool:
    first = read(wrapping.format("")).parts
    return len(read(wrapping.format(command)).parts) <= len(first)
