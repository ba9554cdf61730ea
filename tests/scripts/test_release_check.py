"""A tag is released only if version, changelog and addresses agree with it."""

import subprocess
import sys
from pathlib import Path

_SCRIPT = Path(__file__).parents[2] / "scripts" / "release_check.py"
_REAL = 'Source = "https://host.test/bridle"'
_RESERVED = 'Source = "https://bridle.example/bridle"'
_NOTES = """# Changelog

## [Unreleased]

## [1.2.3] - 2026-01-02

### Added

- It.

## [1.2.2] - 2026-01-01

- Old.
"""


def _checked(root: Path, *, tag: str, urls: str = _REAL, notes: str = _NOTES) -> tuple[int, str, str]:
    (root / "src" / "bridle").mkdir(parents=True)
    (root / "src" / "bridle" / "version.py").write_text('__version__ = "1.2.3"\n', encoding="utf-8")
    (root / "CHANGELOG.md").write_text(notes, encoding="utf-8")
    (root / "pyproject.toml").write_text(f"[project.urls]\n{urls}\n", encoding="utf-8")
    argv = [sys.executable, str(_SCRIPT), "--root", str(root), "--tag", tag, "--notes"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_notes_of_the_version_are_printed(tmp_path: Path):
    assert _checked(tmp_path, tag="v1.2.3") == (0, "### Added\n\n- It.\n", "")


def test_another_tag_is_refused(tmp_path: Path):
    code, out, errors = _checked(tmp_path, tag="v1.2.4")
    assert (code, out) == (1, "") and "v1.2.4" in errors and "1.2.3" in errors


def test_version_without_a_dated_section_is_refused(tmp_path: Path):
    code, _, errors = _checked(tmp_path, tag="v1.2.3", notes="# Changelog\n\n## [Unreleased]\n\n- It.\n")
    assert code == 1 and "CHANGELOG.md" in errors


def test_reserved_addresses_are_refused(tmp_path: Path):
    code, _, errors = _checked(tmp_path, tag="v1.2.3", urls=_RESERVED)
    assert code == 1 and "Source" in errors
