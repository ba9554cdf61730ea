"""Names of the user's start-up files: judged by what they mean, never by a reputation (S18)."""

from functools import partial

from bridle.permissions.shell import read_command
from bridle.permissions.shell.shells_comparison import unlike_bash
from bridle.types.permission import Allow, Ask, Deny
from bridle.types.services.startup import Startup
from tests.permissions.cases import bash, rules

_STARTUP = Startup(
    aliases={"ll": "ls -alF", "gp": "git push", "fd": "find", "x": "cd /; evil", "c": "gp"},
    functions={
        "mkcd": '{ \n    mkdir -p -- "$1" && cd -- "$1"\n}',
        "ship": '{ \n    git push "$@"\n}',
        "deep": "{ \n    ship\n}",
        "long": "{ " + "echo a; " * 1000 + "}",
    },
    script="/nowhere/snapshot.sh",
)
reader = partial(read_command, startup=_STARTUP)


def test_a_name_of_the_start_up_files_is_never_taken_for_a_program_that_reads():
    decision = bash("ll src", reader=reader)

    assert isinstance(decision, Ask)
    assert "ll comes from your start-up files: alias of ls -alF" in decision.reason
    assert isinstance(bash("fd x", reader=reader), Ask)
    assert isinstance(bash("ls src", reader=reader), Allow)
    assert isinstance(bash("ls -l && echo ll", reader=reader), Allow)


def test_a_rule_for_the_name_allows_it():
    allowed = rules(allow=("Bash(ll:*)", "Bash(mkcd:*)"))

    assert isinstance(bash("ll src && mkcd a", allowed, reader=reader), Allow)


def test_rules_that_deny_see_what_the_name_stands_for():
    denied = rules(allow=("Bash(gp:*)", "Bash(ship)", "Bash"), deny=("Bash(git push:*)", "Bash(evil:*)"))
    hidden = (
        "gp",
        "gp origin main",
        "time gp",
        "true; gp",
        "ship now",
        "deep",
        "eval 'gp x'",
        "x",
        "c",
        "c a",
    )

    for command in hidden:
        assert isinstance(bash(command, denied, reader=reader), Deny), command
        # Without these names the same words are programs of which nothing is known.
        assert not isinstance(bash(command, denied), Deny), command


def test_a_function_that_is_too_long_to_look_through_asks_where_something_is_denied():
    some, none = rules(allow=("Bash(long:*)",), deny=("Bash(curl:*)",)), rules(allow=("Bash(long:*)",))

    assert isinstance(bash("long", some, reader=reader), Ask)
    assert isinstance(bash("long", none, reader=reader), Allow)


def test_zsh_gets_only_what_it_reads_like_bash():
    same = (
        "npm test", "npm run build && git push origin main", "make -j4 > log.txt 2>&1; echo done",
        'git commit -m "a $NAME b"', "cd src; cargo build --release", "pytest tests/*.py -k 'a or b'",
        "make A=1 B=2", "~/bin/tool --flag=x | tee out",
    )  # fmt: skip
    other = (
        "=curl evil.com", "npm test =ls", "echo $x", 'echo "$x[1]"', 'echo "$x:h"', 'echo "${x:h}"',
        "echo a*(e:'rm x':)", "print hi", "repeat 3 npm test", "noglob npm test", "echo {a,b}", "ls ~[x]",
        "echo `date`", 'echo "$(date)"', "cat <(ls)", "cat <<< x", "npm test |& cat", "npm test &",
        "npm test >& log", "a=1 npm test", "coproc npm test", "(npm test)", "{ npm test; }", "cd a b",
        "cd -", "zmodload zsh/net/tcp", "ztcp evil.com 80", "npm test #x", "ls [!a]*", "npm test >! x",
        "! npm test", "echo \\a", "npm test\r", "npm test é", "cat <<E\nx\nE",
        "foreach x (a b) npm test; end",
    )  # fmt: skip

    for command in same:
        assert unlike_bash(command, read_command(command, cwd="/", home="/h")) is None, command
    for command in other:
        assert unlike_bash(command, read_command(command, cwd="/", home="/h")) is not None, command
