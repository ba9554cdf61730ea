"""S15, S20: `xargs` behind a command that lists files reads those files, and nothing else."""

import os
import subprocess
from pathlib import Path

import pytest

from bridle.types.permission import Allow, Ask
from tests.permissions.cases import bash, rules


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("x")
    (root / "b.json").write_text("{}")
    return root


@pytest.mark.parametrize(
    "command",
    [
        "find . -name '*.py' -print0 | xargs -0 grep -l x",
        "find . -name '*.py' | xargs wc -l",
        "find src -type f | sort | head -5 | xargs cat",
        "find . -name '*.py' 2>/dev/null | grep -v test | xargs -n1 head -3",
        "find . -name '*.json' | xargs -I{} jq -r .name {}",
        "find . -name '*.json' | xargs -n1 -I {} head {}",
        "git ls-files | xargs wc -l | tail -1",
        "git ls-files -z '*.py' | xargs -0 grep -n TODO",
        "rg -l foo | xargs head -5",
        "rg --files src | xargs sed -n '1,3p'",
        "grep -rl foo src | xargs grep -n bar",
        "ls src | xargs -n1 basename",
    ],
)
def test_listed_files_may_be_read(project: Path, command: str):
    assert isinstance(bash(command, cwd=str(project)), Allow)


@pytest.mark.parametrize(
    "command",
    [
        "cat names.txt | xargs cat",
        "echo /etc/passwd | xargs cat",
        "printf '/etc/passwd' | xargs cat",
        "find / -name passwd | xargs cat",
        "find .. | xargs cat",
        "find . -printf '/etc/passwd\\n' | xargs cat",
        "find . -name '*.py' | sed 's#.*#/etc/passwd#' | xargs cat",
        "find . | awk '{print \"/etc/passwd\"}' | xargs cat",
        "find . | xargs rm",
        "find . | xargs sh -c 'x'",
        "find . -exec cat {} + | xargs cat",
        "find . -name '*.py' | xargs -I{} sh -c 'cat {}'",
        "find . | xargs -I{} cat ../{}",
        "find . | xargs -I{} awk {} b.json",
        "find . | xargs -I{} sed -n {} b.json",
        "find . | xargs -I{} jq {} b.json",
        "find . | xargs sort -o",
        "find . | xargs sed -i s/a/b/",
        "find . | xargs -a names.txt cat",
        "find . | xargs grep -f /etc/passwd",
        "find . |& xargs cat",
        "(find .; echo /etc/passwd) | xargs cat",
        "{ find .; cat names.txt; } | xargs cat",
        "find . && cat names.txt | xargs cat",
        "cat names.txt | xargs cat; find . | xargs cat",
        "git diff --name-only HEAD~1 | xargs cat",
        "git diff --name-only --cached | xargs cat",
        "git ls-files -s | xargs cat",
        "grep -r '' names.txt | xargs cat",
        "grep -rh / . | xargs cat",
        "rg -r /etc/passwd -o x | xargs cat",
        "rg -l x | tr a-z / | xargs cat",
        "ls -l | xargs cat",
        "ls -a | xargs cat",
        "ls .. | xargs cat",
        "find . < names.txt | tee names2 | xargs cat",
        "xargs cat < names.txt",
        "xargs -I{} head {} <<< /etc/passwd",
        "find . | xargs -d x cat",
    ],
)
def test_input_that_may_be_anything_asks(project: Path, command: str):
    (project / "names.txt").write_text("/etc/passwd\n")
    assert isinstance(bash(command, cwd=str(project)), Ask)


@pytest.mark.parametrize(
    "name", ["x /etc/passwd", "x\n/etc/passwd", "-f", "a'b", 'a"b', "a\\b", "x\t/etc/passwd"]
)
def test_name_that_xargs_would_misread_asks(project: Path, name: str):
    path = project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    for command in ("find . -type f | xargs cat", "git ls-files | xargs cat", "rg --files | xargs cat"):
        assert isinstance(bash(command, cwd=str(project)), Ask), command


def test_name_that_only_the_index_has_asks(project: Path):
    (project / "x " / "etc").mkdir(parents=True)
    (project / "x " / "etc" / "passwd").write_text("")
    for argv in (("init", "-q"), ("add", "-A")):
        subprocess.run(["git", *argv], cwd=project, check=True, capture_output=True)
    (project / "x " / "etc" / "passwd").unlink()
    (project / "x " / "etc").rmdir()
    (project / "x ").rmdir()
    assert isinstance(bash("git ls-files | xargs cat", cwd=str(project)), Ask)


def test_link_among_the_files_is_followed(project: Path):
    os.symlink("/etc/passwd", project / "src" / "link")
    for command in ("find . | xargs cat", "git ls-files | xargs cat", "find src -print0 | xargs -0 head"):
        assert isinstance(bash(command, cwd=str(project)), Ask), command


def test_names_that_the_command_makes_itself_ask(project: Path):
    command = "mkdir -p 'x /etc' && touch 'x /etc/passwd' && find . | xargs cat"
    assert isinstance(bash(command, mode="acceptEdits", cwd=str(project)), Ask)


def test_rule_that_keeps_a_file_back_asks(project: Path):
    denied = rules(deny=("Read(secret.txt)",))
    assert isinstance(bash("find . | xargs cat", denied, cwd=str(project)), Allow)
    (project / "src" / "secret.txt").write_text("x")
    assert isinstance(bash("find . | xargs cat", denied, cwd=str(project)), Ask)
    assert isinstance(bash("find other | xargs cat", denied, cwd=str(project)), Allow)


@pytest.mark.parametrize(
    "command", ["ls | tee", "ls | tee /dev/null", "ls | tee -a /dev/stderr | wc -l", "tee < b.json"]
)
def test_tee_that_keeps_nothing_is_free(project: Path, command: str):
    assert isinstance(bash(command, cwd=str(project)), Allow)


@pytest.mark.parametrize(
    "command", ["ls | tee x", "ls | tee /dev/null x", "ls | tee /dev/tty", "ls | tee $x", "ls | tee *"]
)
def test_tee_that_writes_asks(project: Path, command: str):
    assert isinstance(bash(command, cwd=str(project)), Ask)


@pytest.mark.parametrize(
    "command",
    [
        "cat /dev/zero", "wc /dev/zero", "wc -c < /dev/zero", "sort /dev/urandom", "cat < /dev/zero",
        "head /dev/zero",
        "grep x /dev/zero", "md5sum /dev/zero", "tail /dev/zero", "od /dev/urandom", "xxd /dev/zero",
        "cat ./../../../../../../../dev/zero", "cat /dev/../dev/zero", "base64 /dev/urandom",
        "strings /dev/random", "cat /dev/full",
        "while read -r x; do echo $x; done < /dev/urandom", "diff /dev/zero /dev/zero",
        "head -c 5 /dev/tty", "cat /dev/stdout", "head -n 1 /dev/zero",
    ],
)  # fmt: skip
def test_device_that_never_ends_asks(project: Path, command: str):
    assert isinstance(bash(command, cwd=str(project)), Ask)


@pytest.mark.parametrize(
    "command",
    [
        "head -c 16 /dev/urandom | base64",
        "od -N 8 -An -tx8 /dev/urandom",
        "xxd -l 16 /dev/urandom",
        "cat /dev/null",
    ],
)
def test_device_that_is_read_to_a_limit_does_not_ask(project: Path, command: str):
    assert isinstance(bash(command, cwd=str(project)), Allow)
