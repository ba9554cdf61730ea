"""S6: deciding about the longest commands is bounded work; `make bench` measures its time."""

import pytest

from bridle.permissions.shell.syntax.lexer import Fault
from bridle.permissions.shell.syntax.parser import read_script
from bridle.types.permission import Ask, Deny
from tests.permissions.cases import bash, rules
from tests.permissions.counted import calls
from tests.permissions.shapes import LONGEST, SHAPES
from tests.permissions.shell.test_reading_properties import LONG
from tests.tables import table

MOST_CALLS = 350_000
"""About 50 ms on a slow machine."""
RULES = rules(
    allow=("Bash(git *)", "Bash(npm run build)", "Edit(src/**)", "Read(docs/**)"),
    ask=("Bash(sudo *)",),
    deny=("Bash(evil *)", "Read(**/.env)", "Edit(secret/**)"),
)
REPEATED = {
    "redirections of many commands": "x>y;", "here-documents": "cat <<E\nx\nE\n", "folders": "cd a;",
    "quoted variables": '"$a"', "assignments": "a=b ", "lists": "a;", "pipes": "a|", "globs": "ls * ",
    "removals": "rm -rf a ", "copies": "cp a b;", "streams": "sed -n 1p a;", "searches": "find . -name a;",
    "long path": "a/", "way up": "../", "tests": "[[ a = b ]];", "functions": "f(){ a; };",
    "loops": "for i in a; do b; done;", "scripts": "sh -c 'a';", "processes": "cat <(a) ",
    "continued lines": "a \\\n", "environments": "env a=b ", "branches": "case x in a) b;; esac;",
    "negations": "! ", "comments": "a #b\n", "arrays": "a=(b c);",
}  # fmt: skip
_WORDS = " ".join(f"w{number}" for number in range(24))
FILLED_IN = {
    "values of a loop": f"for a in {_WORDS}; do " + 'ls "$a" "$a" "$a";' * 49 + " done",
    "many words of a loop": f"for a in {_WORDS}; do " + ("cat " + '"$a" ' * 16 + ";") * 48 + " done",
    "two loops": "for a in 1 2 3 4; do for b in 5 6 7; do " + 'ls "$a/$b" $((a+b));' * 45 + " done; done",
    "doubled values": "x0=a;" + "".join(f'x{n}="$x{n - 1}$x{n - 1}";' for n in range(1, 40)) + 'ls "$x39"',
    "copied values": "".join(f"x{number}=$x{number - 1};" for number in range(1, 900)),
    "copies below the limit": "".join(f"x{number}=$x{number - 1};" for number in range(1, 49)) + "ls $x48",
    "sums": "x=1; echo " + "$((x+1)) " * 800,
}


def _long(shape: str) -> str:
    return LONG[shape] if shape in LONG else f"cat {REPEATED[shape] * LONGEST}"


@table("shape", [*LONG, *REPEATED])
def test_decision_about_the_longest_command_is_bounded_work(shape: str):
    assert calls(lambda: bash(_long(shape)[:LONGEST], RULES)) < MOST_CALLS


@table("shape", SHAPES)
def test_no_shape_of_a_long_command_is_too_much(shape: str):
    assert calls(lambda: bash(SHAPES[shape], RULES)) < MOST_CALLS


@pytest.mark.parametrize("shape", FILLED_IN)
def test_values_of_variables_are_followed_with_bounded_work(shape: str):
    assert calls(lambda: bash(FILLED_IN[shape][:LONGEST], RULES)) < MOST_CALLS


@table("length", [1_000, LONGEST])
@table("shape", [*LONG, *REPEATED])
def test_the_work_of_reading_grows_with_the_text_and_no_faster(shape: str, length: int):
    assert calls(lambda: _script(_long(shape)[:length])) <= 8 * length


def _script(command: str) -> None:
    try:
        read_script(command)
    except Fault:
        return


@pytest.mark.parametrize("repeated", ["a ", ">a ", "$(a) ", "x;"])
def test_what_is_too_much_to_judge_asks_and_what_is_denied_in_it_is_found(repeated: str):
    much = (repeated * LONGEST)[: LONGEST - 20]

    assert isinstance(bash(f"cat {much}", rules(allow=("Bash(cat *)",))), Ask)
    assert isinstance(bash(f"cat {much};evil x", RULES), Deny)
