"""Sessions that have not been used for long are removed."""

import os
from pathlib import Path

from bridle.transcripts.retention import remove_old_sessions

DAY = 24 * 60 * 60
NOW = 1_800_000_000.0
OLD, NEW = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


def _session(home: Path, name: str, age: float, project: str = "-srv-project") -> Path:
    folder = home / "projects" / project
    (folder / name / "subagents").mkdir(parents=True)
    (folder / name / "subagents" / "a.jsonl").write_text("{}\n")
    path = folder / f"{name}.jsonl"
    path.write_text("{}\n")
    os.utime(path, (NOW - age, NOW - age))
    return path


def _looked(home: Path, age: float) -> None:
    """Say that old sessions were looked for so long ago."""
    stamp = home / ".bridle-cleanup"
    stamp.touch()
    os.utime(stamp, (NOW - age, NOW - age))


def _remove(home: Path, days: int = 30) -> list[str]:
    return remove_old_sessions({"CLAUDE_CONFIG_DIR": str(home)}, days=lambda: days, now=NOW)


def test_a_transcript_goes_with_the_folder_beside_it_and_others_stay(tmp_path: Path):
    old, new = _session(tmp_path, OLD, 31 * DAY), _session(tmp_path, NEW, 29 * DAY)
    notes = old.parent / "memory" / "MEMORY.md"
    notes.parent.mkdir()
    notes.write_text("kept")
    os.utime(notes, (0, 0))
    before = tmp_path / "file-history" / OLD
    before.mkdir(parents=True)
    _looked(tmp_path, 2 * DAY)

    assert _remove(tmp_path) == [str(old)]
    assert not before.exists() and not old.exists() and not old.with_suffix("").exists()
    assert new.exists() and new.with_suffix("").exists() and notes.exists()


def test_the_setting_says_how_old(tmp_path: Path):
    path = _session(tmp_path, OLD, 3 * DAY)
    _looked(tmp_path, 2 * DAY)

    assert _remove(tmp_path, days=2) == [str(path)]


def test_the_first_time_and_twice_a_day_nothing_is_removed(tmp_path: Path):
    path = _session(tmp_path, OLD, 90 * DAY)

    assert _remove(tmp_path) == []
    assert (tmp_path / ".bridle-cleanup").stat().st_mtime == NOW
    assert _remove(tmp_path) == []
    assert path.exists()


def test_links_and_files_of_other_names_stay(tmp_path: Path):
    real = _session(tmp_path, OLD, 90 * DAY, project="-elsewhere")
    kept = tmp_path / "kept"
    real.parent.rename(kept)
    (tmp_path / "projects" / "-linked").symlink_to(kept)
    folder = tmp_path / "projects" / "-srv"
    folder.mkdir()
    (folder / f"{NEW}.jsonl").symlink_to(kept / real.name)
    (folder / "notes.jsonl").write_text("mine")
    os.utime(folder / "notes.jsonl", (0, 0))
    _looked(tmp_path, 2 * DAY)

    assert _remove(tmp_path) == []
    assert (kept / real.name).exists() and (folder / "notes.jsonl").exists()


def test_a_home_that_cannot_be_written_or_read_is_left_alone(tmp_path: Path):
    assert _remove(tmp_path / "missing") == []
    (tmp_path / "projects").write_text("a file")
    _looked(tmp_path, 2 * DAY)
    assert _remove(tmp_path) == []


def test_a_clock_that_jumps_ahead_by_years_removes_nothing_that_was_in_use(tmp_path: Path):
    path = _session(tmp_path, OLD, 400 * DAY)
    _looked(tmp_path, 400 * DAY)

    assert _remove(tmp_path) == []
    assert path.exists()
    _looked(tmp_path, 2 * DAY)
    assert _remove(tmp_path) == [str(path)]
