"""S6: the whole decision stays quick on the longest commands that anybody can send."""

import time

import pytest

from bridle.types.permission import Ask, Deny
from tests.permissions.cases import bash, rules
from tests.permissions.shell.test_reading_properties import LONG

LONGEST = 10_000
PROMISED = 0.05
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


def _seconds(command: str) -> float:
    """The time of this process alone, whatever else the machine is doing."""
    start = time.process_time()
    bash(command, RULES)
    return time.process_time() - start


@pytest.mark.parametrize("shape", [*LONG, *REPEATED])
def test_decision_about_the_longest_command_keeps_the_promise(shape: str):
    command = LONG[shape] if shape in LONG else f"cat {REPEATED[shape] * LONGEST}"

    assert min(_seconds(command[:LONGEST]) for _ in range(5)) < PROMISED


@pytest.mark.parametrize("shape", FILLED_IN)
def test_values_of_variables_are_followed_within_the_same_time(shape: str):
    assert min(_seconds(FILLED_IN[shape][:LONGEST]) for _ in range(5)) < PROMISED


@pytest.mark.parametrize("repeated", ["a ", ">a ", "$(a) ", "x;"])
def test_what_is_too_much_to_judge_asks_and_what_is_denied_in_it_is_found(repeated: str):
    much = (repeated * LONGEST)[: LONGEST - 20]

    assert isinstance(bash(f"cat {much}", rules(allow=("Bash(cat *)",))), Ask)
    assert isinstance(bash(f"cat {much};evil x", RULES), Deny)
