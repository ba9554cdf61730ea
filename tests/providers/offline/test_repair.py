import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.providers.offline.desk import Desk, Refuse

SAMPLE = Path(__file__).parents[3] / "examples" / "broken-calculator"


class Broken(NamedTuple):
    """A project with one fault; `fixed` is a line that the repaired code must hold."""

    name: str
    code: str
    test: str
    fixed: str


def unit(*checks: str, names: str) -> str:
    body = "\n".join(
        f"    def test_{number}(self):\n        {check}\n" for number, check in enumerate(checks)
    )
    return (
        f"import unittest\n\nfrom code_under import {names}\n\n\nclass CodeTest(unittest.TestCase):\n{body}"
    )


def plain(*checks: str, names: str) -> str:
    body = "\n\n".join(f"def test_{number}():\n    {check}\n" for number, check in enumerate(checks))
    return f"from code_under import {names}\n\n\n{body}"


BROKEN = [
    Broken(
        "wrong operator, unittest",
        "def area(width, height):\n    return width + height\n",
        unit("self.assertEqual(area(3, 4), 12)", "self.assertEqual(area(2, 2), 4)", names="area"),
        "    return width * height",
    ),
    Broken(
        "wrong operator, pytest",
        "def net(gross, tax):\n    return gross + tax\n",
        plain("assert net(100, 20) == 80", "assert net(5, 0) == 5", names="net"),
        "    return gross - tax",
    ),
    Broken(
        "wrong boundary, unittest",
        "def is_adult(age):\n    return age > 18\n",
        unit("self.assertTrue(is_adult(18))", "self.assertFalse(is_adult(17))", names="is_adult"),
        "    return age >= 18",
    ),
    Broken(
        "inverted comparison, pytest",
        "def largest(numbers):\n    best = numbers[0]\n    for number in numbers:\n"
        "        if number < best:\n            best = number\n    return best\n",
        plain("assert largest([3, 9, 2]) == 9", "assert largest([4]) == 4", names="largest"),
        "        if number > best:",
    ),
    Broken(
        "range one short, pytest",
        "def countdown(start):\n    return [start - i for i in range(start)]\n",
        plain("assert countdown(2) == [2, 1, 0]", "assert countdown(0) == [0]", names="countdown"),
        "    return [start - i for i in range(start + 1)]",
    ),
    Broken(
        "slice one short, unittest",
        "def first(words, count):\n    return words[:count - 1]\n",
        unit("self.assertEqual(first(['a', 'b', 'c'], 2), ['a', 'b'])", names="first"),
        "    return words[:count]",
    ),
    Broken(
        "index past the end, unittest",
        "def last(items):\n    return items[len(items)]\n",
        unit("self.assertEqual(last([1, 2, 3]), 3)", names="last"),
        "    return items[len(items) - 1]",
    ),
    Broken(
        "wrong number, pytest",
        "HOUR = 3500\n\n\ndef seconds(hours):\n    return hours * HOUR\n",
        plain("assert seconds(1) == 3600", "assert seconds(2) == 7200", names="seconds"),
        "HOUR = 3600",
    ),
    Broken(
        "wrong text, unittest",
        'def greet(name):\n    return f"Hello {name}!"\n',
        unit("self.assertEqual(greet('Ada'), 'Hello, Ada!')", names="greet"),
        '    return f"Hello, {name}!"',
    ),
    Broken(
        "expected value written first, pytest",
        "def answer():\n    return 41\n",
        plain("assert 42 == answer()", names="answer"),
        "    return 42",
    ),
    Broken(
        "missing return of an expression, pytest",
        "def double(number):\n    number * 2\n",
        plain("assert double(4) == 8", names="double"),
        "    return number * 2",
    ),
    Broken(
        "missing return of a result, unittest",
        "def squares(numbers):\n    found = []\n    for n in numbers:\n        found.append(n ** 2)\n",
        unit("self.assertEqual(squares([1, 2, 3]), [1, 4, 9])", names="squares"),
        "    return found",
    ),
    Broken(
        "return inside the loop, pytest",
        "def total(numbers):\n    result = 0\n    for number in numbers:\n        result += number\n"
        "        return result\n",
        plain("assert total([1, 2, 3]) == 6", "assert total([5]) == 5", names="total"),
        "    return result",
    ),
    Broken(
        "misspelled variable, unittest",
        "def mean(values):\n    return sum(values) / len(vlaues)\n",
        unit("self.assertEqual(mean([2, 4]), 3)", names="mean"),
        "    return sum(values) / len(values)",
    ),
    Broken(
        "misspelled variable, pytest",
        "def join(words, separator):\n    return seperator.join(words)\n",
        plain("assert join(['a', 'b'], '-') == 'a-b'", names="join"),
        "    return separator.join(words)",
    ),
    Broken(
        "misspelled method, pytest",
        "def shout(text):\n    return text.uper() + '!'\n",
        plain("assert shout('hey') == 'HEY!'", names="shout"),
        "    return text.upper() + '!'",
    ),
    Broken(
        "misspelled definition, unittest",
        "def multipy(a, b):\n    return a * b\n",
        unit("self.assertEqual(multiply(2, 3), 6)", names="multiply"),
        "def multiply(a, b):",
    ),
    Broken(
        "misspelled key, pytest",
        "PRICES = {'apple': 3}\n\n\ndef price():\n    return PRICES['aple']\n",
        plain("assert price() == 3", names="price"),
        "    return PRICES['apple']",
    ),
    Broken(
        "missing import, unittest",
        '"""Circles."""\n\n\ndef circumference(radius):\n    return round(2 * math.pi * radius, 2)\n',
        unit("self.assertEqual(circumference(1), 6.28)", names="circumference"),
        "import math",
    ),
    Broken(
        "misspelled import, pytest",
        "from functools import redcue\n\n\ndef product(numbers):\n    return reduce(int.__mul__, numbers)\n",
        plain("assert product([2, 3, 4]) == 24", names="product"),
        "from functools import reduce",
    ),
    Broken(
        "or instead of and, pytest",
        "def in_range(x, low, high):\n    return x >= low or x <= high\n",
        plain(
            "assert not in_range(11, 1, 10)",
            "assert in_range(5, 1, 10)",
            "assert not in_range(0, 1, 10)",
            names="in_range",
        ),
        "    return x >= low and x <= high",
    ),
    Broken(
        "swapped operands, unittest",
        "def ratio(part, whole):\n    return whole / part\n",
        unit("self.assertEqual(ratio(1, 4), 0.25)", "self.assertEqual(ratio(3, 4), 0.75)", names="ratio"),
        "    return part / whole",
    ),
    Broken(
        "min instead of max, pytest",
        "def clamp(value):\n    return min(0, value)\n",
        plain("assert clamp(-5) == 0", "assert clamp(7) == 7", names="clamp"),
        "    return max(0, value)",
    ),
    Broken(
        "a change that helps in part first, pytest",
        "def is_leap(year):\n    return year % 4 == 0 and (year % 100 == 0 or year % 400 == 0)\n",
        plain("assert is_leap(2024)", "assert not is_leap(1900)", "assert is_leap(2000)", names="is_leap"),
        "    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)",
    ),
    Broken(
        "wrong condition between two texts, unittest",
        "def fizz(n):\n    if n % 3 == 0 or n % 5 == 0:\n        return 'both'\n    if n % 3 == 0:\n"
        "        return 'fizz'\n    return 'none'\n",
        unit("self.assertEqual(fizz(9), 'fizz')", "self.assertEqual(fizz(15), 'both')", names="fizz"),
        "    if n % 3 == 0 and n % 5 == 0:",
    ),
    Broken(
        "misspelled attribute, pytest",
        "class Cart:\n    def __init__(self):\n        self.itmes = []\n\n    def add(self, price):\n"
        "        self.items.append(price)\n        return sum(self.items)\n",
        plain("assert Cart().add(3) == 3", names="Cart"),
        "        self.items = []",
    ),
    Broken(
        "same line twice, unittest",
        "def plus(a, b):\n    result = a + b\n    return result\n\n\n"
        "def minus(a, b):\n    result = a + b\n    return result\n",
        unit("self.assertEqual(minus(5, 3), 2)", "self.assertEqual(plus(1, 1), 2)", names="minus, plus"),
        "    result = a - b",
    ),
]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
async def test_a_broken_project_is_repaired_and_the_change_reported(broken: Broken, tmp_path: Path):
    desk = project(tmp_path, broken.code, broken.test)

    said = await desk.ask("fix the failing tests")

    code = (tmp_path / "code_under.py").read_text(encoding="utf-8")
    assert broken.fixed in code.split("\n")
    assert "tests pass now" in said
    assert "code_under.py:" in said
    assert (tmp_path / "test_code_under.py").read_text(encoding="utf-8") == broken.test
    assert not [name for name, input in desk.calls if name == "Edit" and "test" in input["file_path"]]


async def test_the_sample_project_is_repaired_by_the_general_mechanism(tmp_path: Path):
    shutil.copytree(SAMPLE, tmp_path, dirs_exist_ok=True)
    desk = Desk(tmp_path)

    said = await desk.ask("fix the failing test")

    assert "All tests pass now: 9 passed" in said
    assert "    if cents >= DISCOUNT_FROM:" in (tmp_path / "till.py").read_text(encoding="utf-8")
    assert set(desk.commands()) == {"python3 -B -m unittest discover"}


async def test_two_faults_are_repaired_one_after_the_other(tmp_path: Path):
    desk = project(
        tmp_path,
        "def add(a, b):\n    return a - b\n\n\ndef is_big(n):\n    return n > 10\n",
        unit("self.assertEqual(add(2, 3), 5)", "self.assertTrue(is_big(10))", names="add, is_big"),
    )

    said = await desk.ask("make the tests pass")

    assert "All tests pass now: 2 passed" in said
    assert "return a + b" in said
    assert "return n >= 10" in said


async def test_a_second_misspelling_behind_the_first_is_found(tmp_path: Path):
    desk = project(
        tmp_path,
        "def mean(values):\n    total = sum(vlaues)\n    return totl / len(values)\n",
        unit("self.assertEqual(mean([2, 4]), 3)", names="mean"),
    )

    said = await desk.ask("repair the failing test")

    assert "All tests pass now: 1 passed" in said
    assert "sum(values)" in said
    assert "total / len(values)" in said


async def test_a_return_moved_out_of_a_loop_is_told_as_such(tmp_path: Path):
    desk = project(
        tmp_path,
        "def total(numbers):\n    result = 0\n    for number in numbers:\n        result += number\n"
        "        return result\n",
        unit("self.assertEqual(total([1, 2, 3]), 6)", names="total"),
    )

    said = await desk.ask("fix the failing test")

    assert "- code_under.py:5: move `return result` out of the loop" in said


async def test_code_in_a_package_is_found_through_the_imports_of_its_tests(tmp_path: Path):
    for folder in ("shop", "tests"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "shop" / "cart.py").write_text(
        "from shop.price import gross\n\n\ndef pay(net):\n    return gross(net)\n"
    )
    (tmp_path / "shop" / "price.py").write_text("def gross(net):\n    return net - 2\n")
    (tmp_path / "tests" / "test_cart.py").write_text(
        "import unittest\n\nfrom shop import cart\n\n\nclass CartTest(unittest.TestCase):\n"
        "    def test_pay(self):\n        self.assertEqual(cart.pay(10), 12)\n"
    )
    desk = Desk(tmp_path)

    said = await desk.ask("fix the bug")

    assert "shop/price.py:2: `return net - 2` → `return net + 2`" in said
    assert set(desk.commands()) == {"python3 -B -m unittest discover -s tests -t ."}


class Hopeless(NamedTuple):
    name: str
    code: str
    function: str
    call: str
    value: str


UNFIXABLE = [
    Hopeless(
        "unwritten code", "def roman(number):\n    raise NotImplementedError\n", "roman", "roman(14)", "'XIV'"
    ),
    Hopeless(
        "wrong method",
        "def median(values):\n    ordered = sorted(values)\n    return sum(ordered) / len(ordered)\n",
        "median",
        "median([1, 2, 9, 30, 31])",
        "9",
    ),
    Hopeless("broken syntax", "def half(number)\n    return number / 2\n", "half", "half(4)", "2"),
]


@pytest.mark.parametrize("hopeless", UNFIXABLE, ids=lambda hopeless: hopeless.name)
@pytest.mark.parametrize("flavor", ["pytest", "unittest"])
async def test_what_cannot_be_repaired_is_given_up_with_the_files_as_they_were(
    tmp_path: Path, flavor: str, hopeless: Hopeless
):
    call, value = hopeless.call, hopeless.value
    check = f"self.assertEqual({call}, {value})" if flavor == "unittest" else f"assert {call} == {value}"
    test = (unit if flavor == "unittest" else plain)(check, names=hopeless.function)
    desk = project(tmp_path, hopeless.code, test)

    said = await desk.ask("fix the failing tests")

    assert (tmp_path / "code_under.py").read_text(encoding="utf-8") == hopeless.code
    assert "No files changed" in said
    assert "Still failing" in said
    assert desk.names().count("Edit") <= 2 * 20


async def test_a_misspelling_that_was_mended_in_vain_is_put_back(tmp_path: Path):
    code = "def roman(number):\n    digits = str(nubmer)\n    raise NotImplementedError(digits)\n"
    desk = project(tmp_path, code, unit("self.assertEqual(roman(14), 'XIV')", names="roman"))

    said = await desk.ask("fix the failing tests")

    assert (tmp_path / "code_under.py").read_text(encoding="utf-8") == code
    assert "str(nubmer)` → `digits = str(number)" in said
    assert "No files changed" in said


async def test_a_part_that_was_repaired_is_kept_and_the_rest_reported(tmp_path: Path):
    desk = project(
        tmp_path,
        "def add(a, b):\n    return a - b\n\n\ndef roman(number):\n    raise NotImplementedError\n",
        unit("self.assertEqual(add(2, 3), 5)", "self.assertEqual(roman(1), 'I')", names="add, roman"),
    )

    said = await desk.ask("fix the failing tests")

    assert "return a + b" in (tmp_path / "code_under.py").read_text(encoding="utf-8")
    assert "1 failed, 1 passed" in said
    assert "Kept these changes" in said


async def test_passing_tests_need_no_repair(tmp_path: Path):
    desk = project(tmp_path, "def one():\n    return 1\n", unit("self.assertEqual(one(), 1)", names="one"))

    said = await desk.ask("fix the tests")

    assert "Nothing to repair" in said
    assert "Edit" not in desk.names()


async def test_a_denied_command_ends_the_work_with_the_rule_that_would_allow_it(tmp_path: Path):
    desk = project(tmp_path, *WRONG_SIGN)
    desk.refuse = refusing("Bash", "Permission to run this was denied.")

    said = await desk.ask("fix the failing test")

    assert '--allowedTools "Bash(python3 -B -m unittest:*)"' in said
    assert desk.names().count("Bash") == 1


async def test_a_denied_edit_ends_the_work_and_names_the_mode_that_allows_edits(tmp_path: Path):
    desk = project(tmp_path, *WRONG_SIGN)
    desk.refuse = refusing("Edit", "The user declined.")

    said = await desk.ask("fix the failing test")

    assert "--permission-mode acceptEdits" in said
    assert "changing code_under.py was not allowed" in said
    assert (tmp_path / "code_under.py").read_text(encoding="utf-8") == WRONG_SIGN[0]


async def test_an_edit_that_could_not_be_checked_is_told_as_still_in_place(tmp_path: Path):
    desk = project(tmp_path, *WRONG_SIGN)

    def refuse(name: str, input: Mapping[str, Any]) -> str | None:
        del input
        return "denied" if name == "Bash" and "Edit" in desk.names() else None

    desk.refuse = refuse

    said = await desk.ask("fix the failing test")

    assert " Still in place: code_under.py:2: `return a - b` → `return a + b`" in said


async def test_after_a_denial_going_on_takes_the_request_up_again(tmp_path: Path):
    desk = project(tmp_path, *WRONG_SIGN)
    desk.refuse = refusing("Edit", "denied")
    await desk.ask("fix the failing test")
    desk.refuse = None

    said = await desk.ask("go on")

    assert "All tests pass now: 1 passed" in said


async def test_files_that_were_read_in_an_earlier_turn_can_be_repaired(tmp_path: Path):
    desk = project(tmp_path, *WRONG_SIGN)
    await desk.ask("show code_under.py")

    said = await desk.ask("fix the failing test")

    assert "All tests pass now: 1 passed" in said


async def test_unittest_takes_over_where_pytest_is_missing(tmp_path: Path):
    programs = tmp_path / "programs"
    program(programs / "python3", f'exec {sys.executable} -S "$@"')
    folder = tmp_path / "project"
    folder.mkdir()
    # A function at the top of the file makes it look like pytest's.
    test = f"{WRONG_SIGN[1]}\n\ndef test_nothing():\n    pass\n"
    desk = project(folder, WRONG_SIGN[0], test, programs=programs)

    said = await desk.ask("fix the failing test")

    assert desk.commands()[:2] == ["python3 -B -m pytest -q --tb=short", "python3 -B -m unittest discover"]
    assert "All tests pass now: 1 passed" in said


async def test_a_run_that_does_not_end_is_stopped_and_counts_as_no_help(tmp_path: Path):
    desk = project(tmp_path, *WRONG_SIGN)
    desk.tools = (*desk.tools, "TaskStop")
    endless = (
        "The command timed out after 120 s and was moved to the background with ID: b123abcd. Its output…"
    )
    desk.answers = {("Bash", 2): endless, ("TaskStop", 1): "Stopped."}

    await desk.ask("fix the failing test")

    limits = [input["timeout"] for name, input in desk.calls if name == "Bash"]
    assert limits[0] == 120_000
    assert limits[1] < 20_000
    assert ("TaskStop", {"task_id": "b123abcd"}) in desk.calls
    assert "That did not help; reverting it." in desk.texts


WRONG_SIGN = (
    "def add(a, b):\n    return a - b\n",
    unit("self.assertEqual(add(2, 3), 5)", names="add"),
)


def project(folder: Path, code: str, test: str, *, programs: Path | None = None) -> Desk:
    (folder / "code_under.py").write_text(code, encoding="utf-8")
    (folder / "test_code_under.py").write_text(test, encoding="utf-8")
    return Desk(folder, programs=programs)


def refusing(tool: str, reason: str) -> Refuse:
    def refuse(name: str, input: Mapping[str, Any]) -> str | None:
        del input
        return reason if name == tool else None

    return refuse


def program(path: Path, line: str) -> None:
    path.parent.mkdir()
    path.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    path.chmod(0o755)
