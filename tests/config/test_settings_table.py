"""Every setting has one row, and what the row says is true."""

import ast
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
        wanted = {_field(name), f'"{name}"', f'"{row.key}"'}
        files = [path for path in _files() if path.endswith(f"/{row.reader}.py")]
        others = [path for path in _files() if wanted & _names(path)] if not files else []
        assert len(files) == 1, f"{row.key}: {row.reader} is {files or 'no module'}; it may be {others}"
        assert wanted & _names(files[0]), f"{row.reader} does not read {row.key}"


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
def _files() -> tuple[str, ...]:
    return tuple(path.as_posix() for path in _SOURCE.rglob("*.py"))


@cache
def _names(path: str) -> frozenset[str]:
    """The attributes that a module reads, and its short texts in quotes."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
        match node:
            case ast.Attribute(attr=name):
                found.add(name)
            case ast.Constant(value=str() as text):
                found.add(f'"{text}"')
            case _:
                pass
    return frozenset(found)


def _field(key: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z]+)", lambda match: f"_{match[1].lower()}", key)
