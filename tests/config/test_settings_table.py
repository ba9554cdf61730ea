"""Every setting has one row, and what the row says is true."""

import importlib.util
import re
from functools import cache
from pathlib import Path

import msgspec

from bridle.config.explain import known_keys
from bridle.config.schema import GlobalConfig
from bridle.config.settings_table import PREFERENCES, ROWS, SETTINGS, Setting, stated
from tests.tables import table

_ROOT = Path(__file__).parents[2]
_SOURCE = _ROOT / "src" / "bridle"


def test_every_key_has_one_row():
    keys = [row.key for row in SETTINGS]
    assert sorted(keys) == sorted(known_keys())
    assert [row.key for row in PREFERENCES] == [
        each.encode_name for each in msgspec.structs.fields(GlobalConfig)
    ]


@table("row", [*SETTINGS, *PREFERENCES])
def test_a_key_is_read_by_the_module_that_its_row_names_or_says_why_it_has_no_effect(row: Setting):
    assert bool(row.reader) != bool(row.no_effect), row.key
    assert row.meaning and not row.meaning.endswith("."), row.key
    if row.reader:
        name = row.key.rpartition(".")[2]
        reads = re.compile(rf"""\.{_field(name)}\b|["']{re.escape(name)}["']|["']{re.escape(row.key)}["']""")
        files = [path for path in _texts() if path.endswith(f"/{row.reader}.py")]
        assert len(files) == 1, f"{row.key}: {row.reader} is {files or 'no module'}; {_readers(reads)}"
        assert reads.search(_texts()[files[0]]), f"{row.reader} does not read {row.key}; {_readers(reads)}"


def _readers(reads: re.Pattern[str]) -> str:
    return f"it may be read by {[path for path, text in _texts().items() if reads.search(text)]}"


def test_a_key_with_a_dot_in_it_is_not_a_path():
    assert [row for _, _, row in stated({"sandbox.bwrapPath": "/x", "unknown": {"model": 1}})] == []
    found = list(stated({"sandbox": {"bwrapPath": "/x"}}))
    assert found[-1] == (("sandbox", "bwrapPath"), "/x", ROWS["sandbox.bwrapPath"])


def test_the_pages_are_written_from_the_tables():
    found = importlib.util.spec_from_file_location("write_tables", _ROOT / "scripts" / "write_tables.py")
    assert found is not None and found.loader is not None
    script = importlib.util.module_from_spec(found)
    found.loader.exec_module(script)
    for name, text in script.pages().items():
        assert (script.DOCS / name).read_text(encoding="utf-8") == text, f"run `make tables` to write {name}"


@cache
def _texts() -> dict[str, str]:
    """The code of each module, by its path."""
    return {path.as_posix(): path.read_text(encoding="utf-8") for path in _SOURCE.rglob("*.py")}


def _field(key: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z]+)", lambda match: f"_{match[1].lower()}", key)
