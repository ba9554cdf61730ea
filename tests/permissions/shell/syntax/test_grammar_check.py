"""S6: where bash reads a command in one way, the two readings agree; what the grammar gets wrong is known."""

import itertools
import subprocess

import pytest

from bridle.permissions.shell import read_command
from bridle.permissions.shell.syntax.grammar_check import disagreement
from bridle.permissions.shell.syntax.grammar_tree import parse
from bridle.permissions.shell.syntax.parser import read_script
from tests.tables import table

JOINED = (
    "$x/$y/z", "a/$x/$y/b", "repos/$x/$y/pulls", "$x.$y.z", "$x-$y-z", "$x,$y,z", "$x@$y/z", "$x:$y:z",
    "$x//$y/b",
    "/$x/$y/z/$x/v", ".$x/.$y/a", "${x}/$y/z", "$x/${y}/z", '"$x"/$y/z', "$x/'a'/$y/z", '$x/"$y"/z',
    "$x/$y$x/w",
    "--opt=$x/$y/z", "user@host:$x/$y/r", "https://host/$x/$y/a", "$(pwd)/$y/z", "$x/$(pwd)/$y/z", "a$x",
    "$x/$y",
)  # fmt: skip
"""Words and variables without a blank between them: each is one word."""
AROUND = (
    "echo {}", "ls -l {} b", "cat a > {}", "cat < {}", "A={} make b c", "A={} B=c make b", "A={}; ls $A",
    "A={}",
    "for f in {} b; do ls $f; done", "echo $(ls {})", "test -f {} && ls", "[ -f {} ]", "(cd {} && ls)",
    "case {} in a) ls;; esac", "case a in {}) ls;; esac", "[[ a == {} ]]", "A=({} b)", "ls <<< {}",
    "f() {{ ls {}; }}",
    "export A={}", "if ls {}; then ls {}; fi", "cat <<E\n{} b\nE",
)  # fmt: skip
OTHERS = (
    "tar xf - 2>&1", "cat - 2>/dev/null | sort", "[[ $x == origin/$y ]] && ls",
    "case $x in origin/$y) ls;; esac",
    "x=a y=$$ ls", "A=$x/$y/z ls a; ls b", "A=$x/$y/z ls a && B=c ls",
)  # fmt: skip


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("word", JOINED)
def test_words_joined_with_variables_are_read_in_one_way(word: str, around: str):
    command = around.format(*[word] * around.count("{}"))

    assert subprocess.run(["bash", "-n", "-c", command], check=False).returncode == 0
    assert read_command(command, cwd="/srv/a", home="/home/me").fault is None


@pytest.mark.parametrize("command", OTHERS)
def test_ordinary_commands_are_read_in_one_way(command: str):
    assert subprocess.run(["bash", "-n", "-c", command], check=False).returncode == 0
    assert read_command(command, cwd="/srv/a", home="/home/me").fault is None


@table("word", JOINED)
def test_a_joined_word_is_one_word_for_bash(word: str):
    counted = subprocess.run(
        ["bash", "-c", f"x=1 y=2; set -- {word} b; echo $#"],
        check=True,
        capture_output=True,
        text=True,
        cwd="/",
    )
    words = [token for token in read_script(f"set -- {word} b").tokens if token[2] == "w" and token[0] >= 7]

    assert counted.stdout == "2\n"
    assert len([each for each in words if not _is_inside(each[:2], words)]) == 2


@table("word", [word for word in JOINED if not set(word) & set("\"'{(")])
def test_a_word_that_is_read_differently_is_still_noticed(word: str):
    """The tree of one command never passes for the tokens of another of the same length."""
    blanks = [f"{word[:place]} {word[place + 1 :]}" for place in range(1, len(word) - 1)]
    texts = [f"ls {each} b" for each in (word, *blanks) if "$ " not in each]
    for one, other in itertools.permutations(texts, 2):
        theirs, ours = parse(one), read_script(other)
        assert disagreement(theirs, ours) is not None or read_script(one).tokens == ours.tokens


def _is_inside(span: tuple[int, int], words: list[tuple[int, int, str]]) -> bool:
    return any(begin <= span[0] and span[1] <= end and (begin, end) != span for begin, end, _ in words)
