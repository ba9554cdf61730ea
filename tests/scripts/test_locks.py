"""The lock files hold what pyproject.toml asks for; a difference is found without a network."""

import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType

from tests.tables import table

_ROOT = Path(__file__).parents[2]
_SCRIPT = _ROOT / "scripts" / "locks.py"


def _load() -> ModuleType:
    found = importlib.util.spec_from_file_location("locks", _SCRIPT)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_locks_of_this_repository_match_pyproject():
    done = subprocess.run(
        [sys.executable, str(_SCRIPT), "check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def _copied(folder: Path) -> Path:
    shutil.copy(_ROOT / "pyproject.toml", folder)
    shutil.copytree(_ROOT / "locks", folder / "locks")
    shutil.copytree(_ROOT / "editors", folder / "editors")
    return folder


def _replaced(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@table(
    ("file", "old", "new", "problem"),
    [
        ("pyproject.toml", '"h11>=0.16"', '"h11>=0.16", "new-one"', "locks/run.txt: new-one is missing"),
        ("pyproject.toml", '"h11>=0.16"', '"h11>=99"', "does not match >=99"),
        ("pyproject.toml", '"h11>=0.16"', '"h11<0.10"', "does not match <0.10"),
        ("pyproject.toml", '    "h11>=0.16",\n', "", "locks/dev.txt: h11 is not in pyproject.toml"),
        ("pyproject.toml", '    "pyte>=0.8.2",\n', "", "locks/dev.txt: pyte is not in pyproject.toml"),
        ("pyproject.toml", 'lock = ["packaging>=25", ', 'lock = [', "locks/lock.txt: packaging is not"),
        ("pyproject.toml", "docs = [", 'others = ["a"]\ndocs = [', "group others has no lock file"),
        ("pyproject.toml", 'requires-python = ">=3.11"', 'requires-python = ">=3.12"', "first line is not"),
        ("locks/run.txt", "h11==", "h12==", "locks/run.txt: h11 is missing"),
        ("locks/run.txt", "msgspec==0.", "msgspec==0.99", "msgspec is another version than in locks/dev.txt"),
        ("locks/docs.txt", "\nzensical==", "\nadded==1.0\nzensical==", "locks/docs.txt: added has no hash"),
        ("locks/docs.txt", "\n", "\n--index-url https://example.com/simple\n", "an address or"),
        ("locks/docs.txt", "\nzensical==", "\na @ https://example.com/a.whl\nzensical==", "an address or"),
        ("locks/node/package.json", '"2026.8.31"', '"2026.8.30"', "written for another package.json"),
        ("locks/node/package-lock.json", '"integrity": ', '"resolved": "x", "integrity": ', "has an address"),
        ("locks/node/package-lock.json", '"integrity": ', '"nothing": ', "has no hash"),
        ("editors/vscode/package.json", 'script": "', 'script": "0', "vscode/package-lock.json: it was"),
    ],
)  # fmt: skip
def test_a_difference_is_named(file: str, old: str, new: str, problem: str):
    with tempfile.TemporaryDirectory() as folder:
        root = _copied(Path(folder))
        _replaced(root / file, old, new)
        assert [each for each in _load().check(root) if problem in each]


def test_a_missing_and_a_needless_lock_are_named(tmp_path: Path):
    copy = _copied(tmp_path)
    (copy / "locks" / "docs.txt").rename(copy / "locks" / "other.txt")
    assert _load().check(copy) == ["locks/docs.txt is missing", "locks/other.txt belongs to no lock"]


def test_every_package_is_pinned_with_a_hash_and_no_host_is_written():
    for path in sorted((_ROOT / "locks").glob("*.txt")):
        text = path.read_text(encoding="utf-8")
        assert "://" not in text
        for line in text.splitlines():
            assert line.startswith(("#", "    #", "    --hash=sha256:")) or (
                "==" in line and line.endswith("\\")
            ), line
    lock = json.loads((_ROOT / "locks" / "node" / "package-lock.json").read_text(encoding="utf-8"))
    assert all("resolved" not in package for package in lock["packages"].values())
