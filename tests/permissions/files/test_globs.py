"""S15, S30, S31: patterns of file names stand for every file that bash would put in their place."""

import subprocess
from pathlib import Path

import pytest

from bridle.permissions.files.globs import matches
from bridle.permissions.word_lists import listed
from bridle.types.permission import Allow, Ask, Deny
from tests.permissions.cases import bash, rules

NAMES = listed(
    "link link2 Link a b c A B Z z zq [z]q a-b a]b a[b x1 x2 x10 .hidden ..odd é äb 1 _ l] [l]ink ink -n"
    " *star q? ^x !x a\\b [[:alpha:]]ink ab.txt"
)
PATTERNS = listed(
    "* ? ?? *.txt a* *b [ab] [a-c] [A-C] [a-z] [A-Z]* [!a] [^a]* [!a-z]* [[:alpha:]]ink [[:upper:]]*"
    " [[:digit:]] [[:punct:]]* [l]] [l]]* []l]* [!]]* [a-]* [-a]* [a-c-e]* [z]q [[.l.]]ink [[=l=]]ink"
    " [[:nope:]]* [ [a [] [!] x[0-9] x[0-9][0-9] .* .h* [.]hidden *[[:space:]]* [[:alnum:]_]* [x-z]*"
    " [0-z]* [a-Z]* [z-a]* ??b"
)


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "en_US.UTF-8"])
def test_no_file_that_bash_finds_is_missed(tmp_path: Path, locale: str):
    for name in NAMES:
        (tmp_path / name).touch()
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": locale}
    for pattern in PATTERNS:
        script = f"shopt -s nullglob; printf '%s\\0' {pattern}"
        argv = ["bash", "--norc", "--noprofile", "-c", script]
        told = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, check=False).stdout
        names = {name.decode() for name in told.split(b"\0") if name} - {".", ".."}
        found = {path.rpartition("/")[2] for path in matches(f"{tmp_path}/{pattern}")}
        assert names - {pattern} <= found, (pattern, names - found)


def test_ordinary_patterns_find_no_more_than_bash_does(tmp_path: Path):
    for name in NAMES:
        (tmp_path / name).touch()
    for pattern, expected in {
        "*.txt": {"ab.txt"},
        "x[0-9]": {"x1", "x2"},
        "[ab]": {"a", "b"},
        "[!ab]": {"c", "A", "B", "Z", "z", "é", "1", "_"},
        "x?": {"x1", "x2"},
        ".h*": {".hidden"},
        "a*b": {"a-b", "a]b", "a[b", "a\\b"},
    }.items():
        assert {path.rpartition("/")[2] for path in matches(f"{tmp_path}/{pattern}")} == expected, pattern


@pytest.mark.parametrize(
    "command",
    [
        "cat [[:alpha:]]ink",
        "cat [l]ink",
        "cat [l-m]ink",
        r"cat [l\]]ink",
        "cat [!x]ink",
        "cat [^x]ink",
        "cat ?ink",
        "cat l*",
        "cat [[.l.]]ink",
        "cat [[=l=]]ink",
        "cat [z]q",
        "set -f; cat [z]q",
        "set -o noglob; cat *q",
        "head -1 *q",
        'for f in [[:alpha:]]ink; do cat "$f"; done',
        'for f in [z]q; do cat "$f"; done',
        "wc -l < [z]q",
        "cat dir*/secret",
        "cat [d]irlink/secret",
        "cat @(link)",
        "cat l+(i)nk",
        "shopt -s nocaseglob; cat LINK*",
        "shopt -s extglob; cat @(link|x)",
        "shopt -s dotglob; cat *",
    ],
)
def test_pattern_that_may_be_a_link_to_outside_asks(tmp_path: Path, command: str):
    project, outside = tmp_path / "project", tmp_path / "outside"
    project.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("secret")
    for name in ("link", "[z]q", "*q"):
        (project / name).symlink_to(outside / "secret")
    (project / "dirlink").symlink_to(outside)
    assert isinstance(bash(command, cwd=str(project)), Ask)


def test_denied_file_is_denied_by_any_pattern(tmp_path: Path):
    (tmp_path / "secret.txt").touch()
    (tmp_path / "plain.md").touch()
    denied = rules(deny=("Read(secret.txt)",))
    for command in ("cat s*", "cat [[:lower:]]*.txt", "cat [s]ecret.txt", "cat *.txt", "cat [r-t]*"):
        assert isinstance(bash(command, denied, cwd=str(tmp_path)), Deny), command
    assert isinstance(bash("cat *.md", denied, cwd=str(tmp_path)), Allow)
