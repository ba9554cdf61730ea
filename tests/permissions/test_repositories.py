"""S40: a repository that came with an untrusted folder runs nothing through a git command that only reads."""

import subprocess
from pathlib import Path

import msgspec
import pytest

from bridle.permissions.policy import decide
from bridle.permissions.prepare import Asked, prepare
from bridle.types.permission import Allow, Ask, Decision
from tests.permissions.cases import standing


def _git(folder: Path, *argv: str) -> None:
    subprocess.run(["git", *argv], cwd=folder, check=True, capture_output=True)


def _decide(folder: Path, command: str, *, trusted: bool = False) -> Decision:
    where = msgspec.structs.replace(standing(cwd=str(folder)), trusted=trusted)
    return decide(prepare(Asked(tool="Bash", input={"command": command}, subject=command), where))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "remote", "add", "origin", "https://example.invalid/x.git")
    return tmp_path


@pytest.mark.parametrize("command", ["git status", "git diff", "git log -p", "ls && git status --short"])
def test_ordinary_repository_asks_for_nothing(repository: Path, command: str):
    assert isinstance(_decide(repository, command), Allow)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.fsmonitor", "./evil"),
        ("diff.external", "./evil"),
        ("filter.x.clean", "./evil"),
        ("core.hooksPath", "hooks"),
        ("alias.status", "!./evil"),
        ("include.path", "../more"),
        ("core.pager", "./evil"),
    ],
)
def test_setting_that_could_run_something_asks(repository: Path, key: str, value: str):
    _git(repository, "config", key, value)
    decision = _decide(repository, "git status")
    assert isinstance(decision, Ask) and "not trusted" in decision.reason
    assert isinstance(_decide(repository, "git status", trusted=True), Allow)
    assert isinstance(_decide(repository, "ls"), Allow)


def test_planted_hook_asks(repository: Path):
    (repository / ".git" / "hooks" / "post-index-change").write_text("#!/bin/sh\n")
    assert isinstance(_decide(repository, "git status"), Ask)


@pytest.mark.parametrize(
    "text", ["[core]\n\tpager = \\\n evil\n", "\x00", "[x", "[core] fsmonitor = ./x\n", "fsmonitor\n"]
)
def test_configuration_that_is_hard_to_read_asks(repository: Path, text: str):
    config = repository / ".git" / "config"
    config.write_text(config.read_text() + text)
    assert isinstance(_decide(repository, "git status"), Ask)


def test_nested_repository_is_looked_at_too(repository: Path):
    inner = repository / "vendor"
    inner.mkdir()
    _git(inner, "init", "-q")
    _git(inner, "config", "core.fsmonitor", "./evil")
    assert isinstance(_decide(repository, "git -C vendor status"), Ask)
