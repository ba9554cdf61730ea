"""Every promise has a row that names the code that holds it and tests that exist; none is missing."""

import re
from pathlib import Path

from tests.tables import table

_ROOT = Path(__file__).parents[2]
_ROW = re.compile(r"^\| ([SR]\d+) \| [^|]+ \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
_PAGE = (_ROOT / "docs" / "security.md").read_text(encoding="utf-8")
_ROWS = {promise: (places, tests) for promise, places, tests in _ROW.findall(_PAGE)}
_KINDS = (
    ("S", 1, 6), ("S", 10, 20), ("S", 30, 36), ("S", 40, 45), ("S", 50, 52), ("S", 60, 62), ("R", 1, 15),
)  # fmt: skip
_PROMISES = [f"{kind}{number}" for kind, first, last in _KINDS for number in range(first, last + 1)]


def test_every_promise_has_a_row():
    assert list(_ROWS) == _PROMISES


def test_page_is_a_threat_model_with_everything_that_one_needs():
    for heading in (
        "What is protected", "Who might attack", "What is assumed", "Where the boundaries run",
        "What is not promised",
    ):  # fmt: skip
        assert f"\n## {heading}\n" in _PAGE
    for page in re.findall(r"\]\(([^)#:]+)\)", _PAGE):
        assert (_ROOT / "docs" / page).exists(), page


@table("promise", _PROMISES)
def test_what_a_promise_names_is_there(promise: str):
    places, tests = (re.findall(r"`([^`]+)`", cell) for cell in _ROWS[promise])
    assert places and tests
    for place in places:
        assert (_ROOT / "src" / "bridle" / place).exists(), place
    for test in tests:
        file, _, name = test.partition("::")
        assert f"def {name}(" in (_ROOT / file).read_text(encoding="utf-8"), test
