"""S10: what is proven to be a line of plain words is what both readings make of it."""

import random
import subprocess
from collections.abc import Iterator

import pytest

from bridle.permissions.shell.syntax.grammar_check import disagreement
from bridle.permissions.shell.syntax.grammar_tree import parse
from bridle.permissions.shell.syntax.nodes import Script
from bridle.permissions.shell.syntax.parser import read_script
from bridle.permissions.shell.syntax.plain_lines import read_plain
from bridle.permissions.word_lists import listed
from tests.tables import table

CHARACTERS = "aeiloOxR_0129./:=,+@%^*?~-"
PRINTABLE = "".join(map(chr, range(32, 127)))
RESERVED = listed("""
    if then elif else fi while until for do done case esac in function select time coproc declare typeset
    export readonly local unset unsetenv let eval test exec source alias set trap return exit true . : !
    { } [ ] [[ ]]
""")
BETWEEN = ("|", "&&", "||", ";", " | ", " && ", " || ", "; ", "  |  ", " & ", "\n", " |& ", ";;")
REDIRECTIONS = (
    "2>&1", ">&2", "1>&2", "2>/dev/null", "> f", "&>f", ">> f", ">f", "< f", "1>f", "&>> f", "2>>f", "3>f",
    "<<E", "<<<x", ">&-", "2>1", "> 1", ">|f", "<>f",
)  # fmt: skip
PLAIN = (
    "ls", "git status", "  ls -la\tsrc ", "git log --oneline -5 | head -3", "make build && make test || true",
    "cd a; ls", "cat a 2>/dev/null | sort > b", "tar xf - 2>&1", "grep -n 'a | b' \"c; d\"", "a --b='c d'",
    "ls *.py ~/a?",
)  # fmt: skip
OTHERS = (
    "", " ", "ls;", "ls &", "ls |", "| ls", "a=b", "a=b ls", "ls {a}", "ls [a]", "echo $x", 'echo "$x"',
    "echo `a`", "ls # x", "ls\nls", "ls \\\n a", "echo a\\ b", "if a; then b; fi", "time ls",
    "export a=b", "[ a ]", "'ls' a", '"ls"', "ls {a,b}", "! ls", "(ls)", "f() a",
    "ls 'a", 'ls "a', "ls é", "ls 'é'", "a ==", "3>f", "ls >", "ls > $x", "ls 2>&1 a", "ls a> b",
    "[[ a ]]", "ls ((", "a <(b)", 'echo "a\\"b"', "echo $'a'",
)  # fmt: skip


@table("command", PLAIN)
def test_ordinary_lines_are_plain(command: str):
    assert read_plain(command) is not None
    assert subprocess.run(["bash", "-n", "-c", command], check=False).returncode == 0


@table("command", OTHERS)
def test_a_line_with_anything_else_in_it_is_not(command: str):
    assert read_plain(command) is None


def test_a_long_line_goes_the_full_way():
    assert read_plain(f"cat{' a' * 200}") is None
    assert read_plain("|".join(["ls"] * 60)) is None


@pytest.mark.parametrize("kind", ["words", "reserved", "quoted"])
def test_both_readings_find_what_was_found_in_short_lines(kind: str):
    lines = {"words": words, "reserved": reserved, "quoted": quoted}[kind]()

    assert [line for line in lines if differs(line)] == []


@pytest.mark.parametrize("seed", range(4))
def test_both_readings_find_what_was_found_in_any_line(seed: int):
    choose = random.Random(seed)
    made = [line(choose) for _ in range(1_500)]

    assert [each for each in made if differs(each)] == []
    assert sum(read_plain(each) is not None for each in made) > 200


def words() -> Iterator[str]:
    for one in CHARACTERS:
        yield from (one, f"x {one}", f"{one} x", f"x | {one} x")
        for two in CHARACTERS:
            yield from (f"x {one}{two}", f"{one}{two} x", f"x {one} {two} | y", f"x > {one}{two}")
            yield f"x {one}{two} 2>&1"


def reserved() -> Iterator[str]:
    shapes = (
        "{}",
        "{} a",
        "a {}",
        "a {} b",
        "a | {} b",
        "a && {}",
        "a; {} x",
        "a > {}",
        "a {} 2>&1",
        "a {} | b",
    )
    for name in sorted(RESERVED):
        yield from (shape.replace("{}", name) for shape in shapes)


def quoted() -> Iterator[str]:
    shapes = (
        "x '{}'",
        'x "{}"',
        "x a'{}'b",
        'x a="{}"',
        "x --a='{} {}' | y",
        'x "a{}" > y',
        'x " {} "',
        "x '{}''{}'",
    )
    for letter in PRINTABLE:
        yield from (shape.replace("{}", letter) for shape in shapes)


def line(choose: random.Random) -> str:
    return "".join(
        command(choose) + choose.choice(BETWEEN[:9] if choose.random() < 0.9 else BETWEEN)
        for _ in range(choose.choice((0, 0, 1, 2)))
    ) + command(choose)


def command(choose: random.Random) -> str:
    name = choose.choice(("ls", "git", "./a", "/bin/ls", "_x")) if choose.random() < 0.8 else word(choose)
    given = [word(choose) for _ in range(choose.randint(0, 4))]
    opened = [choose.choice(REDIRECTIONS) for _ in range(choose.choice((0, 0, 0, 1, 2)))]
    return choose.choice((" ", "  ", "\t")).join([name, *given, *opened])


def word(choose: random.Random) -> str:
    text = "".join(choose.choice(PRINTABLE) for _ in range(choose.randint(0, 6)))
    plain = "".join(choose.choice(CHARACTERS) for _ in range(choose.randint(1, 6)))
    return choose.choice(
        (plain, plain, plain, f"'{text}'", f'"{text}"', f"{plain}'{text}'", choose.choice(sorted(RESERVED)))
    )


def differs(text: str) -> bool:
    """Whether a line that is said to be plain is read otherwise, or the two readings do not agree on it."""
    plain = read_plain(text)
    if plain is None:
        return False
    full = read_script(text)
    return found(plain) != found(full) or disagreement(parse(text), full) is not None


def found(script: Script) -> tuple[object, ...]:
    places = dict(script.ends), list(script.inner), dict(script.documents)
    return script.text, script.body, list(script.tokens), places


UNFINISHED = [
    "cd .. && ",
    "ls; ",
    "ls |",
    "ls ||",
    "ls &&",
    "ls >",
    "ls 2>",
    "echo a'b",
    'echo "a',
    "ls; 'x",
    "",
    " ",
]


def test_half_of_a_command_is_no_plain_line():
    """Python before 3.11.5 accepts half of what a possessive pattern repeats."""
    assert [line for line in UNFINISHED if read_plain(line) is not None] == []
