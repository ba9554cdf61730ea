"""Every security promise names the code that holds it and tests that exist."""

import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_ROW = re.compile(r"^\| (S\d+) \| [^|]+ \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
_PAGE = (_ROOT / "docs" / "security.md").read_text(encoding="utf-8")
_ROWS = {promise: (places, tests) for promise, places, tests in _ROW.findall(_PAGE)}
_PROMISES = [f"S{number}" for first, last in ((1, 6), (10, 20), (30, 36), (40, 45), (50, 52), (60, 62))
             for number in range(first, last + 1)]  # fmt: skip


def test_every_promise_has_a_row():
    assert list(_ROWS) == _PROMISES


@pytest.mark.parametrize("promise", _PROMISES)
def test_what_a_promise_names_is_there(promise: str):
    places, tests = (re.findall(r"`([^`]+)`", cell) for cell in _ROWS[promise])
    assert places and tests
    for place in places:
        assert (_ROOT / "src" / "bridle" / place).exists(), place
    for test in tests:
        file, _, name = test.partition("::")
        assert f"def {name}(" in (_ROOT / file).read_text(encoding="utf-8"), test
