import os
import subprocess
import sys
from pathlib import Path

import pytest

from bridle.host.globs import compile_glob, depth_of, split_glob
from bridle.host.ripgrep import find_ripgrep, search_command


def program(folder: Path) -> str:
    folder.mkdir(exist_ok=True)
    path = folder / "rg"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_the_systems_ripgrep_is_used_where_the_installed_one_is_ruled_out(tmp_path: Path):
    own = program(tmp_path / "bin")
    env = {"PATH": f"/nowhere:{tmp_path}/bin:/usr/bin", "USE_BUILTIN_RIPGREP": "0"}
    assert find_ripgrep(env) == own
    installed = find_ripgrep({**env, "USE_BUILTIN_RIPGREP": "1"})
    assert installed == os.path.join(os.path.dirname(sys.executable), "rg")


def test_the_ripgrep_of_a_project_is_never_run(tmp_path: Path):
    """S43, S50: a confined command may write `.venv/bin/rg`, so the search passes it over."""
    program(tmp_path / "project")
    env = {"PATH": f"{tmp_path}/project:/nowhere", "USE_BUILTIN_RIPGREP": "0"}
    assert find_ripgrep(env, writable=(str(tmp_path / "project"),)) is None


def test_the_path_never_leads_through_the_current_directory(tmp_path: Path, request: pytest.FixtureRequest):
    """S43"""
    program(tmp_path / "bin")
    before = os.getcwd()
    request.addfinalizer(lambda: os.chdir(before))
    os.chdir(tmp_path)
    assert find_ripgrep({"PATH": "bin:./bin::.", "USE_BUILTIN_RIPGREP": "0"}) is None


def test_what_cannot_be_run_is_passed_over(tmp_path: Path):
    (tmp_path / "rg").write_text("not a program")
    assert find_ripgrep({"PATH": str(tmp_path), "USE_BUILTIN_RIPGREP": "0"}) is None


def test_the_installed_ripgrep_is_used_where_the_system_has_none():
    found = find_ripgrep({"PATH": ""})
    assert found == os.path.join(os.path.dirname(sys.executable), "rg")
    assert found is not None
    assert subprocess.run([found, "--version"], capture_output=True, check=True).stdout.startswith(b"ripgrep")


def test_a_users_ripgrep_configuration_is_not_read():
    assert search_command({"PATH": ""})[1] == "--no-config"


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("*.py", ["a.py", "d/e/a.py", ".py"], ["a.pyc", "a/b.pyx"]),
        ("src/*.py", ["src/a.py"], ["src/d/a.py", "x/src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/d/e/a.py"], ["a.py"]),
        ("**/test_?.{py,ts}", ["test_a.py", "x/test_b.ts"], ["test_ab.py", "test_a.js"]),
        ("src/**", ["src/a", "src/d/b"], ["src", "a/src/b"]),
        ("{src,lib}/[a-c].py", ["src/a.py", "lib/c.py"], ["src/d.py", "tests/a.py"]),
        ("[!a]*", ["b", "x/bc"], ["a"]),
        (r"\{x\}.py", ["{x}.py"], ["x.py"]),
        ("a+(b).py", ["a+(b).py"], ["ab.py"]),
    ],
)
def test_globs_mean_what_people_expect(pattern: str, matching: list[str], other: list[str]):
    expression = compile_glob(pattern, anchored="/" in pattern)
    assert [path for path in matching if not expression.fullmatch(path)] == []
    assert [path for path in other if expression.fullmatch(path)] == []


@pytest.mark.parametrize("pattern", ["{a", "[b-a]"])
def test_a_glob_that_does_not_close_is_an_error(pattern: str):
    with pytest.raises(ValueError, match="not a glob pattern"):
        compile_glob(pattern, anchored=True)


def test_leading_plain_directories_are_split_off():
    assert split_glob("src/a/**/*.py") == ("src/a", "**/*.py")
    assert split_glob("/etc/*.conf") == ("/etc", "*.conf")
    assert split_glob("/*.conf") == ("/", "*.conf")
    assert split_glob("*.py") == ("", "*.py")
    assert split_glob("src/a.py") == ("src", "a.py")


def test_a_pattern_without_double_stars_reaches_only_so_deep():
    assert depth_of("*/*.py") == 2
    assert depth_of("**/*.py") is None
    assert depth_of("{a/b,c}/x") is None
