"""Every variable has one row, and what the row says is true."""

import re
from functools import cache
from pathlib import Path

from bridle.config.variables_table import VARIABLES, Variable, without_effect
from bridle.types.variables import is_off, is_on
from tests.tables import table

_SOURCE = Path(__file__).parents[2] / "src" / "bridle"
_OWN = re.compile(r"""["']((?:BRIDLE|CLAUDE|ANTHROPIC)_[A-Z0-9]+(?:_[A-Z0-9]+)*)["']""")
_TABLES = ("config/variables_table.py", "config/variables.py")


def test_every_variable_of_bridle_in_the_code_has_one_row():
    names = [row.name for row in VARIABLES]
    assert len(names) == len(set(names))
    found = {name for text in _texts().values() for name in _OWN.findall(text)}
    assert found - set(names) - _PARTS == set()


_PARTS = {row.part for row in VARIABLES if row.part}


@table("row", VARIABLES)
def test_a_variable_is_read_by_the_module_that_its_row_names_or_says_why_it_has_no_effect(row: Variable):
    assert bool(row.reader) != bool(row.no_effect), row.name
    assert row.meaning and not row.meaning.endswith("."), row.name
    if row.reader:
        files = [path for path in _texts() if path.endswith(f"/{row.reader}.py")]
        assert files, f"{row.name}: {row.reader} is no module"
        read = any((row.part or row.name) in _texts()[path] for path in files)
        assert read, f"{row.reader} does not read {row.name}"


def test_no_module_has_its_own_idea_of_what_is_on():
    words = r"""["'](?:1|0|true|false|yes|no|on|off)["']"""
    own_idea = re.compile(rf"""(?:env|environ)(?:\.get\(|\[)[^\n]*?\s(?:==|!=|(?:not )?in)\s\(?{words}""")
    found = {path: own_idea.findall(text) for path, text in _texts().items()}
    # A time of 0 is a number.
    known = ("types/variables.py", "providers/http_provider.py")
    assert {path: places for path, places in found.items() if places and not path.endswith(known)} == {}


def test_what_is_on_and_off():
    for value in ("1", "true", "yes", "on", " TRUE ", "On"):
        assert is_on({"X": value}, "X") and not is_off({"X": value}, "X")
    for value in ("0", "false", "no", "off", "OFF "):
        assert is_off({"X": value}, "X") and not is_on({"X": value}, "X")
    for value in ("", "2", "enabled", "y", "\0"):
        assert not is_on({"X": value}, "X") and not is_off({"X": value}, "X")


def test_variables_without_effect_are_named_where_they_ask_for_something():
    env = {
        "CLAUDE_CODE_ENABLE_FEEDBACK_SURVEY_FOR_OTEL": "1",
        "DISABLE_GROWTHBOOK": "1",
        "ANTHROPIC_PROFILE": "",
        "HOME": "/",
    }
    assert [row.name for row in without_effect(env)] == ["CLAUDE_CODE_ENABLE_FEEDBACK_SURVEY_FOR_OTEL"]


@cache
def _texts() -> dict[str, str]:
    """The code of each module, by its path."""
    paths = (path for path in _SOURCE.rglob("*.py") if not path.as_posix().endswith(_TABLES))
    return {path.as_posix(): path.read_text(encoding="utf-8") for path in paths}
