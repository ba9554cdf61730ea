import os
from pathlib import Path

from bridle.extensions.pending_events import note_event, take_events

_ON = {"CLAUDE_CODE_ENABLE_TELEMETRY": "1"}


def test_an_event_outside_sessions_is_kept_once_and_only_where_telemetry_is_on(tmp_path: Path):
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    note_event(env, "auth", action="login", success=True)
    assert list(take_events({**env, **_ON})) == []
    note_event({**env, **_ON}, "auth", action="login", success=True)
    note_event({**env, **_ON}, "retention_sweep", removed_count=3)
    kept = tmp_path / "bridle" / "pending-telemetry.jsonl"
    assert kept.stat().st_mode & 0o777 == 0o600
    with kept.open("a") as file:
        file.write("broken\n{}\n")

    found = list(take_events({**env, **_ON}))

    assert [(each.name, each.attributes) for each in found] == [
        ("auth", {"action": "login", "success": True}),
        ("retention_sweep", {"removed_count": 3}),
    ]
    assert list(take_events({**env, **_ON})) == []


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path):
    (tmp_path / "bridle").mkdir()
    os.symlink(tmp_path / "elsewhere", tmp_path / "bridle" / "pending-telemetry.jsonl")
    note_event({"CLAUDE_CONFIG_DIR": str(tmp_path), **_ON}, "auth")
    assert not (tmp_path / "elsewhere").exists()
