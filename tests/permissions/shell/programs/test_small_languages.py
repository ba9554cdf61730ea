"""S15: programs of awk, filters of jq and forms of ps run unasked only where every word of them is known."""

import itertools
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from bridle.permissions.shell.programs import awk_programs, jq_filters
from tests.permissions.shell.readings import is_free
from tests.tables import table

AWK_FREE = r"""
{print $1}
NR==1
NR > 1 && NR < 20
$3 > 100 {print $1, $2}
{ if ($2 > 5) print $1; else print "-" }
BEGIN {FS=":"; OFS="\t"} {print $1, $NF}
{sum += $1} END {print sum/NR}
{a[$1]++} END {for (k in a) print a[k], k}
!seen[$0]++
/^#/ {next} {print}
{print ($1 > $2) ? "a" : "b"}
{printf "%-20s %d\n", $1, $2}
/start/,/end/
length($0) > 80 {print FILENAME ":" FNR}
{gsub(/a\/b/, "c"); print}
{print $1/2, $2 / 3}
{print > "/dev/stderr"}
{total += ($2 + $3) / 2} END {printf "%.2f\n", total / NR}
{n = split($0, parts, "/"); print parts[n]}
$0 ~ /[[:digit:]]+/ {c++} END {print c+0}
function f(x) { return x * 2 } {print f($1)}
{SUM += $2} END {print SUM}
BEGIN { while (i++ < 3) print i }
{ for (i = 1; i <= NF; i++) if ($i > max) max = $i } END { print max }
if_not = 1
NF
{ sub(/\r$/, ""); print tolower($1) }
"""
AWK_REFUSED = r"""
{print > "x"}
{print >> "x"}
{print $1 > $2}
{print a, b > "x"}
{print a,
 b > "x"}
{print a, # c
 b > "x"}
{printf "%s" > "x"}
{printf("%s", $1) > "x"}
{print (a)(b) > "x"}
{print | "sh"}
{print |& "sh"}
{"date" | getline d}
{"date" |getline}
{getline < "x"}
{getline x < "/etc/passwd"}
BEGIN {system("x")}
BEGIN {system ("x")}
{close("x")}
{fflush()}
{print ENVIRON["HOME"]}
{for (k in ENVIRON) print k}
"ENVIRON=" {print ENVIRON["A"]}
{x = "ENVIRON = 1"; print ENVIRON["A"]}
{print PROCINFO["pid"]}
{print SYMTAB["ENVIRON"]}
BEGIN {ARGV[1] = "/etc/passwd"; ARGC = 2}
@include "x"
@load "x"
{f = "system"; @f("x")}
{a = 1 / b; print x > "f"; c = 2 / d}
{if (x) /a"/ ; print > "f"; y = "/"}
{print length /2; print > "f" /1}
{a[/[[:alpha:]/]" ; print > "f" ; x = "/]}
{print > "/dev/stderr" ".x"}
{print > "/dev/stderr" $1}
{print > "/dev/stderr" x}
{print > ("/dev/stderr" "x")}
{print "a" > "/dev/tcp/x"}
{print `x`}
{print "a
extension("x")
function system(x) {} {system("x")}
{x = /=/ > "f" ; print /=/ > "f"}
"""
JQ_FREE = r"""
.
.scripts
.dependencies | keys
.[] | select(.a == 1) | .name
.a.env
.env
."env"
.["env"]
{name, version}
{a: .b, "c": .d, (.e): .f}
{env: .b}
[.[] | {id, t: .title}] | length
to_entries[] | "\(.key)=\(.value)"
.items | map(select(.x != null)) | sort_by(.y) | reverse | .[0:5]
if .a then .b else .c end
reduce .[] as $x (0; . + $x)
. as {a: $x, b: [$y]} | $x + $y
def f(x): x * 2; map(f(.))
.a // "none"
.. | objects | .id?
@csv
.[] | [.a, .b] | @tsv
"\(.a | tostring) and \("x" + .b)"
[paths(scalars)] | map(join("."))
group_by(.k) | map({k: .[0].k, n: length})
.a |= . + 1
del(.b)
limit(3; .[])
test("a.b"; "i")
input
[inputs]
$name == .x
"""
JQ_REFUSED = r"""
env
env.PATH
$ENV
$ ENV
$  ENV.PATH
$ENV.PATH
$__loc__
$__prog_args
.a | env
[env]
{env}
{a: env}
{(env): 1}
{"a": [1, env]}
"\(env)"
"\("\(env)")"
"\($ENV)"
{$ENV}
{$__loc__}
. as $x | env
. or env
.. env
def env: 1; env
def f: env; f
import "x" as x; .
include "x"; .
input_filename
modulemeta
get_search_list
a::b
getpath(["a"]) | env
@sh "\(env)"
"unclosed
(.a
.a)
`x`
halt_error | env
ltrimstr(env)
# \
env
"""


def _listed(text: str) -> list[str]:
    """One program per line; one that begins with a blank or follows an open one belongs to the last."""
    found: list[str] = []
    for line in text.strip("\n").split("\n"):
        if found and (line.startswith(" ") or found[-1].endswith("\\") or found[-1] == '{print "a'):
            found[-1] += "\n" + line
        else:
            found.append(line)
    return found


@table("program", _listed(AWK_FREE))
def test_awk_that_only_prints_is_free(program: str):
    assert is_free(f"awk {shlex.quote(program)} a.txt")


@table("program", _listed(AWK_REFUSED))
def test_awk_that_may_do_more_asks(program: str):
    assert not is_free(f"awk {shlex.quote(program)} a.txt")


@table("program", _listed(JQ_FREE))
def test_jq_that_only_looks_is_free(program: str):
    assert is_free(f"jq --arg name x {shlex.quote(program)} a.json")


@table("program", _listed(JQ_REFUSED))
def test_jq_that_may_look_elsewhere_asks(program: str):
    assert not is_free(f"jq -n {shlex.quote(program)}")


AWK_PIECES = (
    "print", "print $1", "> \"f\"", ">> \"f\"", "| \"touch f\"", "/", "/a/", "a", ";", "\n", "{", "}", "(",
    ")", ",", "\"", "if (a)", "a[1]", "++", "length", "1", "#", "\\\n", "getline", "? b : c", "[/]",
)  # fmt: skip


@pytest.mark.skipif(shutil.which("mawk") is None, reason="mawk is not installed")
def test_no_program_that_is_free_writes_a_file(tmp_path: Path):
    """Every short program of hostile pieces that is let through is given to awk itself."""
    programs = ["BEGIN { " + " ".join(pieces) + " }" for pieces in itertools.product(AWK_PIECES, repeat=3)]
    free = [program for program in programs if awk_programs.only_prints(program)]
    assert len(free) > 100
    env = {"PATH": os.environ["PATH"]}
    assert _found_by(_AWK_WRITES, ['BEGIN { print > "seen" }'], tmp_path, env) == ['BEGIN { print > "seen" }']
    assert _found_by(_AWK_WRITES, free, tmp_path, env) == []


JQ_PIECES = (
    "env", "$", "ENV", "$ENV", ".", "..", "|", ",", "{", "}", "(", ")", "as", "def", ":", ";", "\"", "\\(",
    "#", "\n", "@sh",
)  # fmt: skip


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_no_filter_that_is_free_shows_the_environment(tmp_path: Path):
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "CANARY": "canary-value"}
    let_through = [
        " ".join(pieces)
        for count in (1, 2, 3)
        for pieces in itertools.product(JQ_PIECES, repeat=count)
        if jq_filters.only_looks(" ".join(pieces)) and {"env", "ENV", "$ENV"} & set(pieces)
    ]
    assert _found_by(_JQ_TELLS, ["env"], tmp_path, env) == ["env"]
    assert _found_by(_JQ_TELLS, let_through, tmp_path, env) == []


_AWK_WRITES = """shopt -s nullglob dotglob
for program; do
    (ulimit -t 2; exec mawk "$program") </dev/null >/dev/null 2>&1
    files=(*); if ((${#files[@]})); then printf '%s\\0' "$program"; rm -r -- "${files[@]}"; fi
done
printf 'the end\\0'
"""
_JQ_TELLS = """
for program; do
    told=$(ulimit -t 2; exec jq -n "$program" </dev/null 2>&1)
    [[ $told != *canary-value* ]] || printf '%s\\0' "$program"
done
printf 'the end\\0'
"""


def _found_by(script: str, programs: list[str], folder: Path, env: dict[str, str]) -> list[str]:
    """The programs that a shell, which runs one after another, finds doing what they must not."""
    argv = ["bash", "-c", script, "bash", *programs]
    told = subprocess.run(argv, cwd=folder, env=env, stdout=subprocess.PIPE, timeout=100, check=True)
    *found, end, nothing = told.stdout.decode().split("\0")
    assert (end, nothing) == ("the end", "")
    return found


@table(
    "command",
    [
        "ps", "ps aux", "ps -ef", "ps ax", "ps auxww", "ps auxf", "ps -e -o pid,comm",
        "ps -eo pid,ppid,cmd", "ps axo pid,comm", "ps aux --sort=-%mem", "ps -p 1", "ps -p 1 -o comm=",
        "ps -C node", "ps --ppid 12", "ps -ef --forest", "ps aux | grep node | grep -v grep",
        "ps -eo pid,etime --sort=etime | head", "ps -o pid= -p 123", "ps -A", "ps -eF", "ps -ejH",
        "ps u -p 12",
    ],
)  # fmt: skip
def test_everyday_form_of_ps_is_free(command: str):
    assert is_free(command)


@table(
    "command",
    [
        "ps e", "ps auxe", "ps -auxwwe", "ps auxwwe", "ps -aux e", "ps axe", "ps eww", "ps ewf",
        "ps -ef e", "ps -u ede", "ps -e -u nobody-there", "ps -ef -p x", "ps -e -o environ",
        "ps -o pid,environ", "ps -ef -t nowhere", "ps -aeux", "ps -e --sort=nothing", "ps -p 1e",
        "ps E", "ps -E", "ps xe -p 1", "ps -o pid e", "ps -ef --pid x", "ps -eU x", "ps -e -O nothing",
        "ps -ef --cols=x", "ps -ef k nothing", "ps -C e -ef -g", "ps aux Oe", "ps f e", "ps -ww e",
    ],
)  # fmt: skip
def test_form_of_ps_that_may_show_environments_asks(command: str):
    assert not is_free(command)


@table(
    "command",
    [
        "printenv", "printenv HOME ANTHROPIC_API_KEY", "printenv -0", "printenv $x",
        "env", "export -p", "export", "declare -p", "declare",
        "declare -x", "typeset -p", "set", "compgen -v", "compgen -e", "readonly -p", "readonly",
        "local", "cat /proc/self/environ", "cat /proc/1/environ", "strings /proc/self/environ",
        "tr '\\0' '\\n' < /proc/self/environ", "xargs -0 -n1 < /proc/self/environ",
        "echo $ANTHROPIC_API_KEY", "echo ${!A*}", "echo ${!ANTHROPIC*}", "set -o posix; set",
        'awk \'BEGIN{print ENVIRON["A"]}\'', "find /proc/self -name environ -printf %p",
        "grep -a x /proc/self/environ", "ls -l /proc/self/fd",
    ],
)  # fmt: skip
def test_other_ways_to_the_environment_ask(command: str):
    assert not is_free(command)
