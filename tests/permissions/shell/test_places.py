"""S16, S17: where a command reads and writes, and the directories it goes to."""

import pytest

from tests.permissions.shell.readings import CWD, is_free, last, only, read
from tests.tables import table


@table(
    ("command", "writes"),
    [
        ("ls > out", ["out"]),
        ("ls >out", ["out"]),
        ("ls >> out", ["out"]),
        ("ls >| out", ["out"]),
        ("ls &> out", ["out"]),
        ("ls &>> out", ["out"]),
        ("ls >& out", ["out"]),
        ("ls 2> err > out", ["err", "out"]),
        ("ls 2>&1 > out", ["out"]),
        ("ls <> both", ["both"]),
        ("> out", ["out"]),
        (": > out", ["out"]),
        ("ls > 'a b'", ["a b"]),
        ("ls > /etc/passwd", ["/etc/passwd"]),
        ("ls > ~/x", ["/home/someone/x"]),
        ("ls > sub/x", ["sub/x"]),
        ("ls > -", ["-"]),
        ("cat <<END > out\nx\nEND", ["out"]),
        ("ls > /dev/null", []),
        ("ls 2>/dev/null", []),
        ("ls > /dev/stderr", []),
        ("ls 2>&1", []),
        ("ls >&2", []),
        ("ls 2>&-", []),
        ("ls 3>&1 1>&2 2>&3", []),
        ("npm test > out", ["out"]),
    ],
)
def test_every_output_redirection_is_a_write(command: str, writes: list[str]):
    part = only(command)

    assert sorted(part.writes) == sorted(path if path[0] == "/" else f"{CWD}/{path}" for path in writes)
    assert part.unclear is None


@pytest.mark.parametrize(
    "command",
    [
        "ls > $x",
        'ls > "$x"',
        "ls > $(x)",
        "ls > *.txt",
        "ls > {a,b}",
        "ls >& $x",
        "ls > ~other/x",
        "ls > a/../../b",
        "ls > /dev/tcp/example.com/80",
        "cat < /dev/tcp/example.com/80",
        "cat < $x",
    ],
)
def test_a_target_that_cannot_be_told_is_unclear(command: str):
    assert last(command).unclear is not None


@pytest.mark.parametrize(
    "command",
    [
        "{ ls; } > out",
        "(ls) > out",
        "if ls; then pwd; fi > out",
        "while ls; do pwd; done > out",
        "for i in a; do ls; done > out",
        "f() { ls; } > /srv/project/out",
        "! ls > out",
        "[[ -f a ]] > out",
    ],
)
def test_redirections_of_compound_commands_are_writes_too(command: str):
    reading = read(command)

    assert reading.fault is None
    assert [path for part in reading.parts for path in part.writes] == ["/srv/project/out"]


def test_here_strings_and_documents_are_no_files():
    assert only("cat <<< text").reads == ()
    assert only("cat <<END\ntext\nEND").reads == ()


def test_input_redirections_are_reads():
    assert only("npm test < /etc/x").reads == ("/etc/x",)
    assert only("cat <> x").reads == ("/srv/project/x",)


@table(
    ("command", "reads"),
    [
        ("cd a && cat x", ["a/x"]),
        ("cd a && cd b && cat x", ["a/b/x"]),
        ("cd /etc && cat x", ["/etc/x"]),
        ("cd && cat x", ["/home/someone/x"]),
        ("cd ~ && cat x", ["/home/someone/x"]),
        ("cd -- a && cat x", ["a/x"]),
        ("cd 'a b' && cat x", ["a b/x"]),
        ("cd a && cat /etc/x", ["/etc/x"]),
        ("command cd a && cat x", ["a/x"]),
        ("builtin cd a && cat x", ["a/x"]),
        ("time cd a && cat x", ["a/x"]),
        ("pushd a && cat x", ["a/x"]),
        ("{ cd a && pwd; } && cat x", ["a/x"]),
        ("cd a; cat x", ["a/x", "x"]),
        ("cd a\ncat x", ["a/x", "x"]),
        ("cd a || cat x", ["x"]),
        ("cd a && pwd || cat x", ["a/x", "x"]),
        ("cd a && pwd; cat x", ["a/x", "x"]),
        ("! cd a && cat x", ["x"]),
        ("if cd a; then cat x; fi", ["a/x"]),
        ("if cd a; then pwd; else cat x; fi", ["x"]),
        ("if pwd; then cd a; fi; cat x", ["a/x", "x"]),
        ("(cd a && pwd); cat x", ["x"]),
        ("(cd a && cat x)", ["a/x"]),
        ("cd a | pwd; cat x", ["x"]),
        ("cd a & cat x", ["x"]),
        ("echo $(cd a && pwd); cat x", ["x"]),
        ("cd a && echo $(cat x)", ["a/x"]),
        ("cd .. && cat x", ["/srv/x"]),
        ("cd a/.. && cat x", ["x"]),
        ("timeout 5 cd a; cat x", ["x"]),
    ],
)
def test_later_paths_are_seen_from_where_cd_leads(command: str, reads: list[str]):
    reading = read(command)
    found = {path for part in reading.parts for path in part.reads}

    assert reading.fault is None
    assert found == {path if path[0] == "/" else f"{CWD}/{path}" for path in reads}


@table(
    "command",
    [
        "cd $x && cat x",
        "cd - && cat x",
        "cd $(pwd) && cat x",
        "cd a* && cat x",
        "popd; cat x",
        "source a; cat x",
        ". a; cat x",
        "eval 'cd a'; cat x",
        "f() { cd a; }; f; cat x",
        "while cd a; do cat x; done",
        "for i in 1 2; do cd a; cat x; done",
        "case a in a) cd b;; esac; cat x",
        "cd a && cat ../x",
        "$x; cat x",
    ],
)
def test_where_the_directory_cannot_be_told_relative_paths_are_not_harmless(command: str):
    assert not last(command).harmless


def test_directories_outside_are_listed():
    assert read("cd /etc && ls").leaves == ("/etc",)
    assert read("cd /etc").leaves == ("/etc",)
    assert read("cd ..; ls").leaves == ("/srv",)
    assert read("ls; (cd ~ && pwd)").leaves == ("/home/someone",)
    assert read("cd src && cd lib && ls").leaves == ()
    assert read("cd /srv/project/src && ls").leaves == ()
    assert read("cd /srv/project-other").leaves == ("/srv/project-other",)


@pytest.mark.parametrize(
    "command", ["cd sub && git status", "cd sub; git log", "(cd sub && git diff)", "pushd sub && git status"]
)
def test_git_after_a_real_change_of_directory_asks(command: str):
    assert not is_free(command)


@pytest.mark.parametrize(
    "command", ["cd . && git status", "cd /srv/project && git status", "(cd sub && ls); git status"]
)
def test_git_where_everything_started_is_free(command: str):
    assert is_free(command)
