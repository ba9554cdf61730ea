"""What older releases kept elsewhere is taken over once, with a backup."""

import json
from pathlib import Path
from typing import Any

import pytest

from bridle.session.migrations import migrate


def _place(folder: Path, state: Any, settings: Any = None) -> tuple[Path, Path, dict[str, str]]:
    home, project = folder / "home", folder / "project"
    home.mkdir()
    project.mkdir()
    text = state if isinstance(state, str) else json.dumps(state).replace("PROJECT", str(project))
    (home / ".claude.json").write_text(text)
    if settings is not None:
        (home / "settings.json").write_text(settings if isinstance(settings, str) else json.dumps(settings))
    env = {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home), "BRIDLE_TRUST_FOLDER": str(project)}
    return home, project, env


def _json(path: Path) -> Any:
    return json.loads(path.read_text())


def test_old_answers_and_model_names_of_the_user_become_settings_once(tmp_path: Path):
    state = {"bypassPermissionsModeAccepted": True, "autoUpdates": False}
    before = {"model": "claude-opus-4-20250514", "env": {"A": "1"}}
    home, project, env = _place(tmp_path, state, before)
    migrate(env, str(project))
    settings = home / "settings.json"
    assert _json(settings) == {
        "model": "opus",
        "env": {"DISABLE_AUTOUPDATER": "1", "A": "1"},
        "skipDangerousModePermissionPrompt": True,
    }
    (backup,) = (home / "backups").iterdir()
    assert _json(backup) == before and backup.stat().st_mode & 0o777 == 0o600
    settings.write_text('{"model": "claude-opus-4-0"}')
    migrate(env, str(project))
    assert _json(settings) == {"model": "claude-opus-4-0"}


def test_old_rules_and_servers_of_a_trusted_folder_become_its_local_settings(tmp_path: Path):
    kept = {
        "allowedTools": ["Bash(make:*)", 3],
        "enabledMcpjsonServers": ["db"],
        "enableAllProjectMcpServers": True,
    }
    _, project, env = _place(tmp_path, {"projects": {"PROJECT": kept}})
    local = project / ".claude" / "settings.local.json"
    migrate({**env, "BRIDLE_TRUST_FOLDER": ""}, str(project))
    assert not local.exists()
    migrate(env, str(project))
    assert _json(local) == {
        "permissions": {"allow": ["Bash(make:*)"]},
        "enableAllProjectMcpServers": True,
        "enabledMcpjsonServers": ["db"],
    }


@pytest.mark.parametrize(
    "state", ["", "[]", "{" * 10_000, '{"projects": 3}', '{"projects": {"PROJECT": []}}', "\x00"]
)
def test_broken_files_change_nothing(tmp_path: Path, state: str):
    home, project, env = _place(tmp_path, state, {"model": "sonnet"})
    migrate(env, str(project))
    assert _json(home / "settings.json") == {"model": "sonnet"}
    assert not (project / ".claude").exists() and not (home / "backups").exists()
