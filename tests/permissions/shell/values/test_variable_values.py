"""S10, S15, S20: variables of a command line are as good as what was written into them, and no better."""

import pytest

from bridle.types.permission import Allow
from tests.permissions.cases import bash, rules
from tests.permissions.shell.readings import CWD, is_free, last, read
from tests.tables import table


@pytest.mark.parametrize(
    "command", ["cat src/a.py", "ls -la", "sort -u src/a.py", "sort -o x src/a.py", "find -delete"]
)
def test_a_word_from_a_variable_is_judged_as_if_it_were_written_there(command: str):
    name, word, *rest = command.split()
    filled = f"x={word}; {name} $x {' '.join(rest)}"

    assert is_free(filled) == is_free(command)


def test_what_a_loop_reads_is_told():
    assert last('for f in a b; do cat "src/$f"; done').reads == (f"{CWD}/src/a", f"{CWD}/src/b")
    part = last('for f in src/*.py; do head "$f"; done')
    assert (part.reads, part.globs) == ((f"{CWD}/src",), (f"{CWD}/src/*.py",))


def test_a_number_in_a_file_name_stands_for_every_number():
    part = last('for i in {1..9}; do cat "log.$i"; done')

    assert part.globs == (f"{CWD}/log.*",)


def test_every_value_counts_wherever_it_is_set():
    assert is_free('f=a; cat "$f"; f=b')
    assert not is_free('f=a; cat "$f"; f=/etc/passwd')
    assert not is_free('for f in a; do cat "$f"; read -r f; done')
    assert not is_free('f=a; (cat "$f"); for f in $(cat x); do :; done')


@table(
    "command",
    ['{} f=a; cat "$f"', 'f=a; {} cat "$f"', 'f=a; cat "$f"; {}', 'for f in a; do {} cat "$f"; done'],
)
@table(
    "setter",
    ["eval x;", "source x;", "declare -n f=g;", "unset f;", "mapfile f;", "IFS=/;", "g() { :; };", "let f=1;",
     "printf -v f x;", "trap x DEBUG;", "alias cat=x;", "$x;", ": ${f:=x};", "f+=x;", "typeset f;", "f=(x);"],
)  # fmt: skip
def test_one_thing_that_cannot_be_followed_leaves_nothing_known(command: str, setter: str):
    line = command.format(setter)
    cat = next(part for part in read(line).parts if part.text == 'cat "$f"')

    assert not cat.harmless


@table(
    "before",
    ["(f=a);", "f=a |", "f=a &", "false && f=a;", "if ls; then f=a; fi;", "while ls; do f=a; done;",
     "f=a ls;", "if ls; then f=a; elif ls; then f=b; fi;",
     "for f in $(ls); do ls; done;", "case x in y) f=a;; esac;", "$(f=a)", "true || f=a;"],
)  # fmt: skip
def test_only_what_is_certain_to_be_set_is_known(before: str):
    cat = next(part for part in read(f'{before} cat "$f"').parts if 'cat "$f"' in part.text)

    assert not cat.harmless


@pytest.mark.parametrize(
    "before",
    [
        "f=a;",
        "f=a &&",
        "f=a ||",
        "if ls; then f=a; else f=b; fi;",
        "for f in a b; do ls; done;",
        "{ f=a; };",
        "! f=a;",
    ],
)
def test_what_is_certain_to_be_set_is_known(before: str):
    assert is_free(f'{before} cat "$f"')


@pytest.mark.parametrize("value", ["'a b'", "'a *'", "$(echo)", "$HOME", "'../*'", "'a\\b'"])
def test_without_quotes_a_value_may_become_other_words(value: str):
    assert not is_free(f"x={value}; cat $x")


@pytest.mark.parametrize("names", ["*", "?", "*.py", "[a]*", "-*"])
def test_names_from_a_pattern_may_look_like_options(names: str):
    assert not is_free(f'for f in {names}; do sort "$f"; done')


def test_a_pattern_in_a_value_is_one_where_quotes_lack():
    assert is_free("x='src/*'; echo $x")
    assert is_free("x='../*'; echo \"$x\"")
    assert not is_free("x='../*'; echo $x")
    assert not is_free("x='a ../*'; echo $x")


def test_names_from_a_pattern_may_hold_blanks():
    assert is_free('for f in src/*; do head "$f"; done')
    assert not is_free("for f in src/*; do head $f; done")


@pytest.mark.parametrize(
    "compute", ["echo $((n))", "((n))", "[[ $n -eq 1 ]]", "[[ 1 -lt $n ]]", "echo $((n++))"]
)
def test_only_numbers_are_computed_with(compute: str):
    assert is_free(f"n=1; {compute}")
    assert is_free(f"n=$(wc -l < a); {compute}")
    assert is_free(f"n=1; n=$((n + 1)); {compute}")
    assert not is_free(f"n=$(cat a); {compute}")
    assert not is_free(f"n='a[$(evil)]'; {compute}")
    assert not is_free(f"n=1; n=x; {compute}")
    assert not is_free(f"{compute}; n=1")
    assert not is_free(f"n=1; read -r n; {compute}")


def test_each_sum_in_a_script_may_be_negative_or_not():
    assert is_free('n=1; sed -n "$((n - 5)),$((n + 5))p" a')
    assert not is_free('n=1; sed "s-a$((n - 2))-w x-" a')
    assert not is_free('n=1; sed "1,$((n - 2))p" -e "w x" a')
    assert not is_free('n=1; sed "1,$((n - 2))p" *')
    assert not is_free('n=1; sed "s-a$((n - 2))$((n + 2))-w x-" a')


@pytest.mark.parametrize("word", ["$((n))", "${n@P}", "${a[n]}", "${x:n}", "${!n}"])
def test_no_rule_covers_what_filling_in_a_word_may_run(word: str):
    command = f"n='a[$(evil)]'; echo {word}"

    assert not isinstance(bash(command, rules(allow=("Bash(echo *)",))), Allow)


def test_the_environment_is_not_shown_by_way_of_another_variable():
    assert is_free("x=1; y=$x; echo $y")
    assert not is_free("x=$API_TOKEN; echo $x")
    assert not is_free("x=$API_TOKEN; y=$x; echo $y")
    assert not is_free("for x in $API_TOKEN; do echo $x; done")
    assert not is_free("false && API_TOKEN=x; echo $API_TOKEN")


def test_object_names_of_git_are_operands_of_git_alone():
    assert is_free('x=$(git rev-parse HEAD); git diff "$x"')
    assert not is_free('x=$(git rev-parse HEAD); cat "$x"')
    assert not is_free('x=$(git branch --show-current); git diff "$x"')
    assert not is_free('x=$(git rev-parse "$y"); git log "$x"')


def test_what_is_made_in_a_loop_over_words_is_known():
    part = last('for d in a b; do mkdir -p "out/$d"; done')

    assert (part.writes, part.unclear) == ((f"{CWD}/out/a", f"{CWD}/out/b"), None)
    assert last('for d in *; do mkdir "out/$d"; done').unclear
    assert last('for i in {1..3}; do mkdir "out/$i"; done').unclear
    assert last('for d in a b; do rm "$d"; done').unclear


def test_too_many_values_are_not_followed():
    words = " ".join(f"w{number}" for number in range(100))

    assert not is_free(f'for f in {words}; do cat "$f"; done')


def test_a_dash_before_a_here_document_is_a_word():
    part = last("python3 - <<'E'\nprint(1)\nE")

    assert "python3 -" in part.deny_forms
    assert is_free("cat - <<E\nx\nE")
    assert read("cat << - <<E\nx\n-\nE").fault
