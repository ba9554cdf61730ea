import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.tools.bash_reading import (
    is_silent,
    may_outlive_its_limit,
    meaning_of_one,
    read_paths,
    simple_commands,
)


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("ls", (".",)),
        ("ls -la src", ("src",)),
        ("cat 'a b.txt' \"c\"", ("a b.txt", "c")),
        ("head -n 5 x", ("x",)),
        ("head -20 x", ("x",)),
        ("tail -c100 x", ("x",)),
        ("wc -l -- -odd", ("-odd",)),
        ("echo hi there", ()),
        ("pwd", ()),
        ("date +%s", ()),
        ("du -sh", (".",)),
        ("grep -rn 'a b' src", ("src",)),
        ("grep foo", (".",)),
        ("rg -i foo", (".",)),
        ("rg --type=py foo /etc", ("/etc",)),
        ("git status -s", ()),
        ("git log --oneline -5", ()),
        ("git diff HEAD /etc/passwd", ("HEAD", "/etc/passwd")),
        ("git branch -a", ()),
    ],
)
def test_commands_that_only_read_name_what_they_read(command: str, paths: tuple[str, ...]):
    assert read_paths(command) == paths


@pytest.mark.parametrize(
    "command",
    [
        "",
        "rm x",
        "ls; rm x",
        "ls && rm x",
        "ls | sh",
        "ls & rm x",
        "ls\nrm x",
        "ls > x",
        "cat < x",
        "echo $HOME",
        "echo `id`",
        "echo $(id)",
        'echo "$(id)"',
        'echo "`id`"',
        "echo ~root",
        "ls *",
        "ls ?",
        "ls [a]",
        "ls {a,b}",
        "ls \\\n-l",
        "ls # comment",
        "ls 'open",
        "X=1 ls",
        "'ls'",
        "/bin/ls",
        "./ls",
        "ls\u00a0x",
        "ls \u202etxt",
        "ls\r",
        "tail -f x",
        "date -s now",
        "date 01010101",
        "file -C -m x",
        "wc --files0-from=x",
        "rg --pre=sh x",
        "rg --pre sh x",
        "rg --hostname-bin=sh x",
        "rg -z x",
        "rg --search-zip x",
        "rg -f patterns",
        "rg -L x",
        "grep -f patterns x",
        "grep -R x",
        "git",
        "git push",
        "git -C / status",
        "git -c core.fsmonitor=x status",
        "git branch new",
        "git branch -D old",
        "git diff --output=x",
        "git diff --ext-diff",
        "git diff --no-index a b",
        "git log --output=x",
        "git show --textconv",
        "find . -delete",
        "sort -o x y",
        "env ls",
        "ls --hyperlink=auto",
    ],
)
def test_anything_else_is_not_said_to_only_read(command: str):
    assert read_paths(command) is None


@given(
    st.text(max_size=40), st.sampled_from([";", "|", "&", ">", "<", "`", "$", "(", ")", "{", "\n", "*", "\\"])
)
def test_no_unquoted_operator_is_ever_overlooked(text: str, operator: str):
    plain = text.replace("'", "").replace('"', "")
    assert read_paths(f"echo {operator}{plain}") is None


@given(st.text(alphabet="ab'\"$(){}<>|&;\\`# \n\t=!*", max_size=60))
def test_every_text_is_read_without_a_fault(text: str):
    simple_commands(text)
    read_paths(text)


@pytest.mark.parametrize(
    "command",
    ["make test", "npm test > log 2>&1", 'cd x && FOO=1 make -j"$N" | tail -5', "pytest -k 'a b'", "digit x"],
)
def test_ordinary_commands_may_go_on(command: str):
    assert may_outlive_its_limit(command)


@pytest.mark.parametrize(
    "command",
    [
        "sleep 5",
        "make; sleep 5",
        "cd x && git pull",
        "/usr/bin/git fetch",
        "bash -c 'git pull'",
        "env git pull",
        "echo $(x)",
        "(make)",
        "for i in 1; do x; done",
        "while true; do x; done",
        "if a; then b; fi",
        "cat <<E\nx\nE",
        "f() { x; }",
        "make 'open",
        "",
    ],
)
def test_git_and_sleep_and_unclear_shapes_may_not_go_on(command: str):
    assert not may_outlive_its_limit(command)


def test_the_last_command_gives_exit_code_one_its_meaning():
    assert meaning_of_one("make | grep error") == "No matches found"
    assert meaning_of_one("cd x && git diff --exit-code") == "The inputs differ"
    assert meaning_of_one("git grep x") == "No matches found"
    assert meaning_of_one("/usr/bin/find . -name x") == "Some places could not be searched"
    assert meaning_of_one("grep x y && make") is None
    assert meaning_of_one("git push") is None


def test_commands_that_say_nothing_when_they_work():
    assert is_silent("mkdir -p a && cp b a/")
    assert not is_silent("mkdir a && ls")
    assert not is_silent("echo x")
    assert not is_silent("$(x)")
