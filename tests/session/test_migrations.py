"""What older releases kept elsewhere is taken over once, with a backup."""

import json
from pathlib import Path
from typing import Any

import pytest

from bridle.session.migrations import migrate
from bridle.transcripts.store import project_dir


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


def test_conversations_of_agents_and_past_prompts_are_taken_over_once_and_the_old_ones_stay(tmp_path: Path):
    prompts = [{"display": "newest", "pastedContents": {}}, {"display": "older"}, {"display": ""}, 3]
    home, project, env = _place(tmp_path, {"projects": {"PROJECT": {"history": prompts}}})
    session = "6f1a3c52-9f0e-4b7e-8d55-0a3b1c2d4e5f"
    folder = Path(project_dir(str(project), env))
    folder.mkdir(parents=True)
    (folder / f"{session}.jsonl").write_text("{}\n")
    old = folder / "agent-ab12.jsonl"
    old.write_text(json.dumps({"sessionId": session, "isSidechain": True}) + "\n")
    for name, text in (("agent-other.jsonl", '{"sessionId": "../../x"}'), ("agent-torn.jsonl", '{"sess')):
        (folder / name).write_text(text)
    history = home / "history.jsonl"
    history.write_text(json.dumps({"display": "older", "project": str(project)}) + "\nbroken\n")

    migrate(env, str(project))
    migrate(env, str(project))

    new = folder / session / "subagents" / "agent-ab12.jsonl"
    assert new.read_bytes() == old.read_bytes() and new.stat().st_mode & 0o777 == 0o600
    assert sorted(each.name for each in (folder / session).rglob("*.jsonl")) == ["agent-ab12.jsonl"]
    lines = history.read_text().splitlines()
    assert len(lines) == 3 and json.loads(lines[-1])["display"] == "newest"
