"""A table is as strict as a test for each of its rows."""

from collections.abc import Callable

import pytest

from tests.tables import table


def test_every_row_is_tried_and_every_row_that_fails_is_told():
    tried: list[tuple[int, str]] = []

    @table(("text", "other"), [("a", 1), ("b", 2)])
    @table("number", [1, 2, 3])
    def test_of_numbers(number: int, text: str, other: int):
        """What it says."""
        tried.append((number, text))
        assert number != 2
        with pytest.raises(ValueError, match="never" if (number, text) == (3, "b") else "said"):
            raise ValueError("said")

    with pytest.raises(BaseExceptionGroup) as raised:
        test_of_numbers()

    assert sorted(tried) == [(number, text) for number in (1, 2, 3) for text in "ab"]
    rows = ["number=2, text='a', other=1", "number=2, text='b', other=2", "number=3, text='b', other=2"]
    assert raised.value.message == "\n  ".join(("3 of 6 rows fail:", *rows))
    assert [error.__notes__ for error in raised.value.exceptions] == [[f"the row: {row}"] for row in rows]
    assert (test_of_numbers.__name__, test_of_numbers.__doc__) == ("test_of_numbers", "What it says.")


def test_a_row_that_fails_without_an_assertion_or_skips_fails():
    @table("how", [pytest.fail, pytest.skip, ValueError, print])
    def test_of_ways(how: Callable[[str], Exception | None]):
        if error := how("so"):
            raise error

    with pytest.raises(BaseExceptionGroup, match="3 of 4 rows fail") as raised:
        test_of_ways()
    assert [str(error) for error in raised.value.exceptions] == ["so", "a row cannot be skipped: so", "so"]


def test_a_table_without_rows_is_a_mistake():
    with pytest.raises(AssertionError, match="there is no row"):
        table("number", [])
