"""Notes that a project hands out to the memory of an agent."""

import json
from pathlib import Path

from bridle.features.agents.memory import memory_folder, memory_prompt
from bridle.features.agents.snapshots import check_snapshot
from bridle.types.agent import AgentDefinition

_AGENT = AgentDefinition(name="helper", description="d", text="p", memory="user")


def _snapshot(project: Path, updated: str, **files: str) -> Path:
    folder = project / ".claude" / "agent-memory-snapshots" / "helper"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "snapshot.json").write_text(json.dumps({"updatedAt": updated}))
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text)
    return folder


def _memory(folder: Path) -> tuple[Path, dict[str, str]]:
    env = {"HOME": str(folder / "home")}
    return Path(memory_folder("helper", "user", cwd=str(folder), env=env)), env


def _prompt(folder: Path, *, trusted: bool = True) -> str:
    return memory_prompt(_AGENT, cwd=str(folder), env=_memory(folder)[1], trusted=trusted)


def test_an_empty_memory_begins_with_the_notes_of_the_project(tmp_path: Path):
    snapshot = _snapshot(tmp_path, "2026-01-01T00:00:00Z", MEMORY="Use tabs.", more="Details.")
    (snapshot / "link.md").symlink_to("/etc/passwd")
    memory, _ = _memory(tmp_path)

    assert "Use tabs." in _prompt(tmp_path)

    assert sorted(path.name for path in memory.iterdir()) == [".snapshot-synced.json", "MEMORY.md", "more.md"]
    assert json.loads((memory / ".snapshot-synced.json").read_text()) == {
        "syncedFrom": "2026-01-01T00:00:00Z"
    }
    assert check_snapshot(str(memory), str(snapshot))[0] == "none"


def test_newer_notes_are_announced_once_and_overwrite_nothing(tmp_path: Path):
    snapshot = _snapshot(tmp_path, "2026-01-01T00:00:00Z", MEMORY="Use tabs.")
    _prompt(tmp_path)
    memory, _ = _memory(tmp_path)
    (memory / "MEMORY.md").write_text("Use spaces.")
    _snapshot(tmp_path, "2026-02-01T00:00:00Z", MEMORY="Use four spaces.")
    assert check_snapshot(str(memory), str(snapshot)) == ("prompt-update", "2026-02-01T00:00:00Z")

    announced, later = _prompt(tmp_path), _prompt(tmp_path)

    assert "newer notes from 2026-02-01T00:00:00Z" in announced and "Use spaces." in announced
    assert "newer notes" not in later


def test_notes_are_announced_to_a_memory_that_never_had_them(tmp_path: Path):
    memory, _ = _memory(tmp_path)
    memory.mkdir(parents=True)
    (memory / "own.md").write_text("mine")
    snapshot = _snapshot(tmp_path, "2026-01-01T00:00:00Z", MEMORY="Use tabs.")
    assert check_snapshot(str(memory), str(snapshot))[0] == "prompt-update"


def test_no_notes_are_taken_from_a_folder_that_is_not_trusted_or_without_facts(tmp_path: Path):
    snapshot = _snapshot(tmp_path, "2026-01-01T00:00:00Z", MEMORY="Use tabs.")
    assert "Use tabs." not in _prompt(tmp_path, trusted=False)
    (snapshot / "snapshot.json").write_text("{")
    assert check_snapshot(str(_memory(tmp_path)[0]), str(snapshot)) == ("none", "")
