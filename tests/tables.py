"""Tables of cases that one test walks through: thousands of quick decisions need no thousand tests."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest

_Test = Callable[..., None]
_Row = Mapping[str, Any]

_SHOWN = 20
"""How many failures are told with their traces; the others by their rows alone."""
_tables: dict[_Test, tuple[_Test, Sequence[_Row]]] = {}
"""What is walked through by the tests made here."""


def table(names: str | Sequence[str], rows: Iterable[Any]) -> Callable[[_Test], _Test]:
    """Like `pytest.mark.parametrize`, but as one test that goes through all rows and tells each that fails.

    For tests that need no fixtures. Several tables above one test give every combination.
    """
    columns = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    is_single = isinstance(names, str) and len(columns) == 1
    cases = [dict(zip(columns, [row] if is_single else row, strict=True)) for row in rows]
    assert cases, f"there is no row for {names}"

    def decorate(test: _Test) -> _Test:
        plain, others = _tables.get(test, (test, [{}]))
        every = [{**other, **case} for other in others for case in cases]

        def every_row() -> None:
            walk(plain, every)

        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(every_row, name, getattr(test, name))
        _tables[every_row] = plain, every
        return every_row

    return decorate


def walk(test: _Test, rows: Sequence[_Row]) -> None:
    """Run a test for each row, to the last, and raise what failed with the rows that it failed for."""
    failed: list[tuple[_Row, BaseException]] = []
    for row in rows:
        try:
            test(**row)
        except (Exception, pytest.fail.Exception) as error:
            failed.append((row, error))
        except pytest.skip.Exception as error:
            failed.append((row, AssertionError(f"a row cannot be skipped: {error}")))
    if not failed:
        return
    for row, error in failed[:_SHOWN]:
        error.add_note(f"the row: {_shown(row)}")
    listed = "".join(f"\n  {_shown(row)}" for row, _ in failed)
    errors = [error for _, error in failed[:_SHOWN]]
    raise BaseExceptionGroup(f"{len(failed)} of {len(rows)} rows fail:{listed}", errors)


def _shown(row: _Row) -> str:
    return ", ".join(f"{name}={_short(repr(value))}" for name, value in row.items())


def _short(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:200]}… ({len(text)} characters)"
