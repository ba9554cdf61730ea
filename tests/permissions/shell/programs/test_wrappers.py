"""S13: which wrappers are looked through, and for whom."""

import pytest

from tests.permissions.shell.readings import denies, is_free, last, only, read
from tests.tables import table

TRANSPARENT = [
    "timeout 5 {}",
    "timeout 1.5m {}",
    "timeout -s KILL 5 {}",
    "timeout --signal=KILL 5 {}",
    "timeout -k 2 10s {}",
    "timeout --preserve-status 5 {}",
    "time {}",
    "time -p {}",
    "nice {}",
    "nice -n 5 {}",
    "nice -n5 {}",
    "nice -10 {}",
    "nice --adjustment=5 {}",
    "nohup {}",
    "stdbuf -oL {}",
    "stdbuf -o L -e0 {}",
    "command {}",
    "builtin {}",
    "noglob {}",
    "xargs {}",
    "timeout 5 nice time {}",
]


@table("wrapper", TRANSPARENT)
def test_transparent_wrappers_are_looked_through_for_every_rule(wrapper: str):
    part = only(wrapper.format("npm test"))

    assert "npm test" in part.allow_forms
    assert "npm test" in part.deny_forms
    assert not part.blocks_prefix


@pytest.mark.parametrize(
    "wrapper", ["timeout 5 {}", "time {}", "nice -n 5 {}", "stdbuf -oL {}", "command {}"]
)
def test_a_harmless_command_stays_so_behind_a_transparent_wrapper(wrapper: str):
    assert is_free(wrapper.format("grep -r foo src"))
    assert not is_free(wrapper.format("rm x"))


@pytest.mark.parametrize(
    "command",
    [
        "xargs cat",
        "ls -a | xargs cat",
        "nohup ls",
        "timeout --unknown 5 ls",
        "timeout $x ls",
        "nice -n $x ls",
        "timeout five ls",
        "stdbuf ls -oL --weird",
        "command -x ls",
    ],
)
def test_a_wrapper_used_in_another_way_is_not_harmless(command: str):
    assert not is_free(command)


OPAQUE = [
    "sudo {}",
    "sudo -u root {}",
    "sudo A=1 {}",
    "doas {}",
    "env {}",
    "env A=1 B=2 {}",
    "env -i {}",
    "env -u A {}",
    "setsid {}",
    "setsid -f {}",
    "ionice -c 3 {}",
    "watch {}",
    "watch -n 1 {}",
    "flock /tmp/lock {}",
    "chroot /mnt {}",
    "unshare -n {}",
    "strace -f {}",
    "busybox {}",
    "exec {}",
    "exec -a name {}",
    "sudo env A=1 timeout 5 {}",
]


@table("wrapper", OPAQUE)
def test_opaque_wrappers_are_looked_through_to_deny_only(wrapper: str):
    part = only(wrapper.format("npm test"))

    assert "npm test" in part.deny_forms
    assert "npm test" not in part.allow_forms
    assert part.blocks_prefix
    assert not part.harmless


@table(
    ("command", "form"),
    [
        ("xargs -n 1 rm x", "rm x"),
        ("xargs -I {} rm x", "rm x"),
        ("xargs --max-args=1 rm x", "rm x"),
        ("xargs -P4 rm x", "rm x"),
        ("ssh host rm x", "rm x"),
        ("ssh -p 22 host 'rm x'", "rm x"),
        ("su -c 'rm x' root", "rm x"),
        ("watch 'rm x'", "rm x"),
        ("script -c 'rm x' log", "rm x"),
        ("env -S 'rm x'", "rm x"),
        ("timeout --odd 5 rm x", "rm x"),
        ("fd -e py -x rm x", "rm x"),
    ],
)
def test_what_other_commands_would_run_is_found_to_deny(command: str, form: str):
    assert denies(command, form)


@pytest.mark.parametrize(
    "command",
    [
        "find . -exec touch {} \\;",
        "find . -execdir ls ';'",
        "find . -ok ls \\;",
        "find . -delete",
        "find . -fprint out",
        "find . -fprintf out %p",
        "find . -fls out",
        "timeout 5 find . -delete",
        "fd -x ls",
        "fd --exec-batch ls",
    ],
)
def test_no_wildcard_covers_a_search_that_acts(command: str):
    part = only(command)

    assert part.blocks_prefix
    assert not part.harmless


def test_a_name_that_comes_from_an_expansion_is_unknown():
    for command in ("$x y", "$(echo rm) y", "`echo rm` y", "r? y", "${x} y", '"$x" y', "time $x y"):
        parts = read(command).parts
        assert any(part.unclear and not part.harmless for part in parts)
    assert last("$x y").allow_forms == ()


@pytest.mark.parametrize("command", ["./ls", "../ls", "bin/ls", "/tmp/ls", "/srv/project/ls", "~/ls"])
def test_a_program_in_a_folder_is_never_harmless(command: str):
    assert not only(command).harmless
    assert only(command).allow_forms


def test_a_program_of_the_system_may_be_named_with_its_folder():
    assert is_free("/bin/ls")
    assert is_free("/usr/bin/git status")


@table(
    "command",
    [
        "sh -c ls",
        "bash -c 'ls'",
        "bash",
        "eval ls",
        "source x",
        ". x",
        "exec ls",
        "trap ls EXIT",
        "python3 -c 1",
        "python x.py",
        "node x.js",
        "perl -e 1",
        "ruby -e 1",
        "alias ls=rm",
        "enable ls",
        "hash -p /x ls",
        "shopt -s x",
    ],
)
def test_interpreters_and_what_changes_the_shell_are_never_harmless(command: str):
    assert not is_free(command)


def test_a_command_that_is_redefined_is_not_harmless():
    assert not is_free("ls() { echo hi; }; ls")
    assert not is_free("function git { echo hi; }; git status")
