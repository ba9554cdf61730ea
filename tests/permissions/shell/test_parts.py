"""S10, S11: every simple command is found, wherever it stands."""

import pytest

from tests.permissions.shell.readings import denies, is_free, read, texts
from tests.tables import table

NESTED = [
    "rm x",
    "ls; rm x",
    "ls;rm x",
    "ls && rm x",
    "ls || rm x",
    "ls | rm x",
    "ls |& rm x",
    "ls & rm x",
    "rm x &",
    "ls\nrm x",
    "ls # comment\nrm x",
    "ls #\nrm x",
    "# comment\n rm x",
    "(rm x)",
    "(ls; (rm x))",
    "{ rm x; }",
    "! rm x",
    "if rm x; then :; fi",
    "if ls; then rm x; fi",
    "if ls; then :; else rm x; fi",
    "if ls; then :; elif rm x; then :; fi",
    "while rm x; do :; done",
    "while ls; do rm x; done",
    "until rm x; do :; done",
    "for i in a b; do rm x; done",
    "for i in $(rm x); do :; done",
    "for ((i=0; i<$(rm x); i++)); do :; done",
    "for ((i=0; i<1; i++)); do rm x; done",
    "select i in a; do rm x; done",
    "case a in a) rm x;; esac",
    "case $(rm x) in a) :;; esac",
    "case a in $(rm x)) :;; esac",
    "f() { rm x; }",
    "f() { rm x; }; f",
    "function f { rm x; }; f",
    "f() (rm x)",
    "[[ -n $(rm x) ]]",
    "[[ a =~ $(rm x) ]]",
    "[ -f $(rm x) ]",
    "((a = $(rm x)))",
    "echo $((1 + $(rm x)))",
    "echo $[1 + $(rm x)]",
    "echo $(rm x)",
    'echo "$(rm x)"',
    'echo "a $(echo "$(rm x)") b"',
    "echo `rm x`",
    'echo "`rm x`"',
    "echo `echo \\`rm x\\``",
    "cat <(rm x)",
    "ls > >(rm x)",
    "cat <<END\n$(rm x)\nEND",
    "cat <<END\n`rm x`\nEND",
    "cat <<-END\n\t`rm x`\n\tEND",
    "cat <<END | rm x\nhello\nEND",
    "cat <<END && rm x\nhello\nEND",
    "cat <<END\nhello\nEND\nrm x",
    'cat <<< "$(rm x)"',
    "echo ${a:-$(rm x)}",
    ": ${a:=$(rm x)}",
    'echo "${a:-`rm x`}"',
    "echo ${a[$(rm x)]}",
    "a=$(rm x)",
    "a=`rm x`",
    "a=(b $(rm x))",
    "a[$(rm x)]=1",
    "a=$(rm x) ls",
    "export A=$(rm x)",
    "ls > $(rm x)",
    "ls < $(rm x)",
    "ls 2> $(rm x)",
    "time rm x",
    "coproc rm x",
    "a=b rm x",
    "A=1 B=2 rm x",
    "PATH=/tmp rm x",
    "rm \\\n x",
    "> out rm x",
    "2>/dev/null rm x",
    "eval rm x",
    "eval 'rm x'",
    "sh -c 'rm x'",
    'bash -c "ls; rm x"',
    "bash -lc 'rm x'",
    "bash -c 'bash -c \"rm x\"'",
    "bash <<END\nrm x\nEND",
    "bash -s <<'END'\nls\nrm x\nEND",
    "sh <<< 'rm x'",
    "trap 'rm x' EXIT",
    "alias ls='rm x'",
    "find . -exec rm x \\;",
    "find . -type f -exec rm x +",
    "find . -execdir rm x ';'",
    "find . -exec sh -c 'rm x' \\;",
    "ls | xargs rm x",
    "ls | xargs -0 -n 1 rm x",
    "ls | xargs -I{} sh -c 'rm x'",
]


@table("command", NESTED)
def test_a_part_that_nothing_covers_is_found_in_every_form(command: str):
    assert not is_free(command)


@table("command", NESTED)
def test_a_denied_part_is_found_in_every_form(command: str):
    assert denies(command, "rm x")


SPELLINGS = [
    '"rm" x',
    "'rm' x",
    '"r""m" x',
    "r'm' x",
    "\\rm x",
    "r\\m x",
    "$'rm' x",
    "$'\\x72m' x",
    "$'\\162m' x",
    "$'\\u0072m' x",
    "rm 'x'",
    'rm "x"',
    "/bin/rm x",
    "/usr/bin/rm 'x'",
    "../../bin/rm x",
    "rm\tx",
    "rm    x",
    "r\\\nm x",
]


@table("command", SPELLINGS)
def test_a_deny_rule_sees_through_every_spelling(command: str):
    assert denies(command, "rm x")


@pytest.mark.parametrize("count", [10, 60, 500, 3000])
def test_a_denied_part_is_found_among_however_many(count: int):
    assert denies("; ".join(["ls"] * count + ["rm x"] + ["ls"] * 5), "rm x")


@pytest.mark.parametrize("wrapper", ["timeout 5 ", "env ", "sudo -x ", "nice ", "! "])
def test_a_denied_part_is_found_behind_however_many_wrappers(wrapper: str):
    assert denies(wrapper * 150 + "rm x", "rm x")


def test_what_is_only_text_is_no_part():
    assert texts("echo 'rm x; rm y'") == ["echo 'rm x; rm y'"]
    assert texts("cat <<'END'\n$(rm x) `rm y`\nEND") == ["cat <<'END'"]
    assert texts("cat <<\\END\n$(rm x)\nEND") == ["cat <<\\END"]
    assert texts('echo "\\$(rm x)"') == ['echo "\\$(rm x)"']
    assert texts("ls # rm x") == ["ls"]
    assert texts("echo a#b") == ["echo a#b"]


def test_a_commit_message_in_a_here_document_may_hold_anything():
    command = 'git commit -m "$(cat <<\'EOF\'\nDon\'t `break` $(this) "ever"; rm x\n\nEOF\n)"'

    reading = read(command)

    assert reading.fault is None
    assert [part.harmless for part in reading.parts] == [True, False]
    assert reading.parts[1].allow_forms == (command,)


def test_parts_are_shown_as_written_with_single_blanks():
    assert texts("ls   -la\t src  |  grep   foo") == ["ls -la src", "grep foo"]
    assert read("ls").shape == "simple"
    assert read("ls | wc").shape == "compound"


def test_words_behind_a_redirection_belong_to_the_command():
    part = read("ls >out -la src").parts[0]

    assert part.allow_forms == ("ls >out -la src", "ls -la src")
    assert part.reads == ("/srv/project/src",)
    assert part.writes == ("/srv/project/out",)
