import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.providers.offline.failures import Failure, Frame, Values, compared_values, parse_run

PYTEST = """\
F.                                                                       [100%]
=================================== FAILURES ===================================
___________________________________ test_add ___________________________________
test_calc.py:5: in test_add
    assert add(2, 3) == 5
calc.py:2: in add
    return a + c
           ^
E   NameError: name 'c' is not defined
=========================== short test summary info ============================
FAILED test_calc.py::test_add - NameError: name 'c' is not defined
1 failed, 1 passed in 0.64s
"""
UNITTEST = """\
F.
======================================================================
FAIL: test_add (test_calc.T.test_add)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/tmp/p/test_calc.py", line 5, in test_add
    self.assertEqual(add(2, 3), 5)
AssertionError: Lists differ: [-1] != [5]

First differing element 0:
-1
5

----------------------------------------------------------------------
Ran 2 tests in 0.002s

FAILED (failures=1)
"""
UNLOADED = """\
==================================== ERRORS ====================================
_________________________ ERROR collecting test_bad.py _________________________
ImportError while importing test module '/tmp/u/test_bad.py'.
Traceback:
test_bad.py:1: in <module>
    from calc import ad
E   ImportError: cannot import name 'ad' from 'calc' (/tmp/u/calc.py)
=========================== short test summary info ============================
ERROR test_bad.py
!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!
1 error in 0.69s
"""


def test_a_report_of_pytest_is_read():
    run = parse_run(f"Exit code 1\n{PYTEST}")

    assert run is not None
    assert (run.passed, run.failed, run.unloaded) == (1, 1, False)
    assert run.failing == {"test_calc.py::test_add"}
    assert run.failures == (
        Failure(
            "test_add",
            (Frame("test_calc.py", 5, "test_add"), Frame("calc.py", 2, "add")),
            "NameError",
            "name 'c' is not defined",
        ),
    )


def test_a_report_of_unittest_is_read():
    run = parse_run(f"Exit code 1\n{UNITTEST}")

    assert run is not None
    assert (run.passed, run.failed, run.unloaded) == (1, 1, False)
    (failure,) = run.failures
    assert failure.frames == (Frame("/tmp/p/test_calc.py", 5, "test_add"),)
    assert (failure.error, compared_values(failure)) == ("AssertionError", Values([-1], [5]))


def test_a_test_file_that_cannot_be_imported_is_noticed():
    run = parse_run(UNLOADED)

    assert run is not None
    assert (run.passed, run.failed, run.unloaded) == (0, 1, True)
    assert run.failures[0].error == "ImportError"


def test_other_output_is_no_report():
    assert parse_run("bash: python3: command not found") is None


@given(st.text())
def test_no_output_breaks_the_reader(text: str):
    parse_run(text)
    parse_run(f"{text}\nRan 1 test in 0.1s\n{text}")
    parse_run(f"{text}\n1 failed in 0.1s\n")


@pytest.mark.parametrize(
    ("message", "values"),
    [
        ("-1 != 5", Values(-1, 5)),
        ("assert -1 == 5", Values(-1, 5)),
        ("assert 'a != b' == 'a'", Values("a != b", "a")),
        ("3.0 != 4.0 within 7 places (1.0 difference)", Values(3.0, 4.0)),
        ("assert 0.5 == 0.25 ± 2.5e-07", Values(0.5, 0.25)),
        ("1 != 2 : the sum is wrong", Values(1, 2)),
        ("False is not true", Values(False, True)),
        ("assert not True", Values(True, False)),
        ("None != 8", Values(None, 8)),
        ("assert <Thing> == 5", None),
    ],
)
def test_the_values_of_a_comparison_are_found(message: str, values: Values | None):
    assert compared_values(Failure("test", (), "AssertionError", message)) == values
