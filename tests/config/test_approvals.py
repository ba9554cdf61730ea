import multiprocessing
import stat
from pathlib import Path

import pytest

from bridle.config.approvals import approve, digest, forget, is_approved
from bridle.types.errors import ConfigError

SERVER = {"command": "./server", "args": ["--port", "1"], "env": {"A": "1"}}


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    return {"HOME": str(tmp_path / "home")}


def file(env: dict[str, str]) -> Path:
    return Path(env["HOME"], ".claude", "bridle", "approvals.json")


def test_an_approval_holds_for_the_same_definition_in_any_order(env: dict[str, str], tmp_path: Path):
    project = str(tmp_path / "project")
    assert not is_approved(env, project, kind="mcp", name="db", definition=SERVER)
    approve(env, project, kind="mcp", name="db", definition=SERVER)
    turned = dict(reversed(SERVER.items()))
    assert is_approved(env, project, kind="mcp", name="db", definition=turned)


@pytest.mark.parametrize(
    "changed",
    [
        {**SERVER, "command": "./other"},
        {**SERVER, "args": ["1", "--port"]},
        {**SERVER, "env": {"A": "1", "LD_PRELOAD": "x"}},
        {"command": "./server"},
    ],
)
def test_a_changed_definition_is_asked_again(env: dict[str, str], tmp_path: Path, changed: dict[str, object]):
    """S42"""
    project = str(tmp_path / "project")
    approve(env, project, kind="mcp", name="db", definition=SERVER)
    assert not is_approved(env, project, kind="mcp", name="db", definition=changed)
    approve(env, project, kind="mcp", name="db", definition=changed)
    assert is_approved(env, project, kind="mcp", name="db", definition=changed)
    assert not is_approved(env, project, kind="mcp", name="db", definition=SERVER)


def test_an_approval_is_for_one_project_one_kind_and_one_name(env: dict[str, str], tmp_path: Path):
    """S42"""
    project = str(tmp_path / "project")
    (tmp_path / "other").mkdir()
    approve(env, project, kind="mcp", name="db", definition=SERVER)
    assert not is_approved(env, str(tmp_path / "other"), kind="mcp", name="db", definition=SERVER)
    assert not is_approved(env, project, kind="hook", name="db", definition=SERVER)
    assert not is_approved(env, project, kind="mcp", name="web", definition=SERVER)


def test_an_approval_can_be_taken_back(env: dict[str, str], tmp_path: Path):
    project = str(tmp_path / "project")
    forget(env, project, kind="mcp", name="db")
    assert not file(env).exists()
    approve(env, project, kind="mcp", name="db", definition=SERVER)
    approve(env, project, kind="mcp", name="web", definition=SERVER)
    forget(env, project, kind="mcp", name="db")
    assert not is_approved(env, project, kind="mcp", name="db", definition=SERVER)
    assert is_approved(env, project, kind="mcp", name="web", definition=SERVER)


def test_approvals_are_private_and_hold_no_secrets(env: dict[str, str], tmp_path: Path):
    """S36"""
    secret = {**SERVER, "env": {"TOKEN": "hush-hush"}}
    approve(env, str(tmp_path / "project"), kind="mcp", name="db", definition=secret)
    assert stat.S_IMODE(file(env).stat().st_mode) == 0o600
    assert stat.S_IMODE(file(env).parent.stat().st_mode) == 0o700
    assert "hush" not in file(env).read_text() and digest(secret) in file(env).read_text()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"projects": []}', '{"projects": {"x": 1}}'])
def test_a_damaged_file_approves_nothing(env: dict[str, str], tmp_path: Path, text: str):
    project = str(tmp_path / "project")
    file(env).parent.mkdir(parents=True)
    file(env).write_text(text.replace('"x"', f'"{project}"'))
    assert not is_approved(env, project, kind="mcp", name="db", definition=SERVER)
    if text in ("{", "[]"):
        with pytest.raises(ConfigError):
            approve(env, project, kind="mcp", name="db", definition=SERVER)
        assert file(env).read_text() == text
    else:
        approve(env, project, kind="mcp", name="db", definition=SERVER)
        assert is_approved(env, project, kind="mcp", name="db", definition=SERVER)


def _approve_many(env: dict[str, str], project: str, first: int) -> None:
    for number in range(first, first + 10):
        approve(env, project, kind="hook", name=str(number), definition=number)


def test_processes_that_approve_together_lose_nothing(env: dict[str, str], tmp_path: Path):
    """R9"""
    project = str(tmp_path / "project")
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_approve_many, args=(env, project, first)) for first in (0, 10, 20)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert all(
        is_approved(env, project, kind="hook", name=str(number), definition=number) for number in range(30)
    )
