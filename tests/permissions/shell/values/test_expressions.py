"""S10, S14: what is filled in must not run what a variable holds, whatever a rule says about the command."""

import pytest

from bridle.types.permission import Allow
from tests.permissions.cases import bash, rules
from tests.permissions.shell.readings import is_free
from tests.tables import table

RULES = rules(
    allow=(
        "Bash(echo:*)", "Bash(printf:*)", "Bash(test:*)", "Bash([:*)", "Bash([[:*)", "Bash(read:*)",
        "Bash(unset:*)", "Bash(let:*)", "Bash(declare:*)", "Bash(typeset:*)", "Bash(local:*)",
        "Bash(readonly:*)", "Bash(export:*)", "Bash(cat:*)", "Bash(npm run:*)", "Bash(mapfile:*)",
        "Bash(wait:*)", "Bash(x=*)", "Bash(A=*)",
    )
)  # fmt: skip
EVALUATED = [
    "echo ${x@P}", 'echo "${x@P}"', "echo ${!x}", 'echo "${!x}"', "echo ${x[y]}", "echo ${x[$y]}",
    "echo ${x:y}", "echo ${x:0:y}", "echo ${x:$y}", "echo ${x: y}", "echo ${x:=y}", "echo ${x=y}",
    "echo ${x:=$(touch p)}", "echo ${x/${y@P}/z}", "echo ${x:-${y@P}}", 'echo "${x:-${!y}}"',
    "echo ${x:-$((y))}", "echo $((x))", "echo $((x+1))", "echo $[x]", "echo $((a[x]))",
    'echo "$((x))"', "echo $(( $x ))", "cat <<E\n${x@P}\nE", "cat <<E\n$((x))\nE", "cat <<< ${x@P}",
    "cat <<< $((x))", "x=${y@P} echo a", "x=$((y)) echo a", "echo a > ${x@P}", "npm run ${x@P}",
    "let x", "let x=y", 'let "a[0]"', "let $x", "declare -i x=y", "declare -i x", "declare x[y]=1",
    'declare "$x"', "declare -n r=$x", "typeset -i a=b", "local -i a=b", 'export "$x"',
    "readonly x[y]=1", "unset 'a[$(touch p)]'", "unset a[x]", 'unset "$x"', "read 'a[$(touch p)]'",
    "read a[x]", 'read "$x"', "printf -v 'a[$(touch p)]' x", "printf -v a[x] x", 'printf -v "$x" y',
    "printf -va[x] y", "test -v 'a[$(touch p)]'", "test -v a[x]", 'test -v "$x"',
    'test -n a -a -v "$x"', "[ -v 'a[$(touch p)]' ]", "[ -v a[x] ]", "[[ -v a[x] ]]", "[[ $x -eq 1 ]]",
    "[[ x -eq 1 ]]", "(( x ))", "((x++))", "for ((i=x;i<3;i++)); do echo; done", "x=$((y))",
    "x=$((y)); echo $x", "case ${x@P} in a) echo;; esac", "for i in ${x@P}; do echo; done",
    "[ ${x@P} ]", "[[ ${x@P} ]]", "[[ a == ${x@P} ]]", "mapfile -C touch x", "echo $(echo ${x@P})",
    "echo ${x@P}${y}", "echo ${x:-a}${!y}", "echo ${@:x}", "echo ${x:0:$n}", "echo ${a[0]:x}",
    "echo ${#a[x]}", "echo ${x^${y@P}}", "echo ${*@P}", "echo ${@@P}", 'echo "${a[@]@P}"',
    "echo ${!x@P}", "echo ${x:$((y))}", "time echo ${x@P}", "timeout 5 echo ${x@P}",
    "echo a && echo ${x@P}", 'test $a "$x"', '[ "$a" "$x" ]', 'test "$x" = y -o -v "$z"',
    "wait -p a[x]", "x=${!y}", "x=${y@P}", "echo `echo ${x@P}`", "cat <(echo ${x@P})",
    "export A=${x@P}", "declare A=${x@P}", "readonly x=$((y))",
]  # fmt: skip
FILLED_IN = [
    "echo ${x}", "echo ${x:-a}", 'echo "${x:-$y}"', "echo ${x%.*}", "echo ${x##*/}", "echo ${x//a/b}",
    "echo ${x/a/$y}", "echo ${x:0:7}", "echo ${x: -3}", "echo ${x^^}", "echo ${x,,}", "echo ${#x}",
    "echo ${a[0]}", 'echo "${a[@]}"', "echo ${#a[@]}", "echo ${x@Q}", 'npm run build "${x:-dev}"',
    "echo $((1+2))", "x=1; echo $((x+1))", "for i in 1 2 3; do echo $((i*2)); done", 'test -n "$x"',
    "test -v x", '[ "$x" = y ]', '[ -f "$x" ]', "export A=b", 'export A="$b"', "unset x", "unset -f x",
    "read -r line", 'printf "%s" "$x"', "printf -v x %s y", "echo ${x:?no}", "cat <<E\n${x:-a} $y\nE",
    'echo "${!a[@]}"', "let x=1", "let i++", "declare -r A=b", "declare -A m", 'declare -x A="$b"',
]  # fmt: skip


@table("command", EVALUATED)
def test_no_rule_with_a_star_covers_what_may_run_a_variable(command: str):
    assert not isinstance(bash(command, RULES), Allow)


@table("command", EVALUATED)
def test_it_is_never_free(command: str):
    assert not is_free(command)
    assert not isinstance(bash(command), Allow)


@pytest.mark.parametrize("command", ["echo ${x@P}", "echo $((x))", "let x=y", "read a[x]", "echo ${!x}"])
def test_a_rule_for_all_commands_or_for_this_very_one_covers_it(command: str):
    assert isinstance(bash(command, rules(allow=("Bash",))), Allow)
    assert isinstance(bash(command, rules(allow=(f"Bash({command})",))), Allow)


@table("command", FILLED_IN)
def test_what_only_puts_a_value_in_its_place_is_covered(command: str):
    """S20"""
    assert isinstance(bash(command, RULES), Allow)
