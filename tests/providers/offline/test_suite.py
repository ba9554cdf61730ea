from pathlib import Path

import pytest

from bridle.providers.offline.suite import unittest_command
from tests.providers.offline.desk import Desk


@pytest.mark.parametrize(
    "prompt", ["run the tests", "please run all tests", "do the tests pass?", "which tests fail?", "test it"]
)
async def test_failing_tests_are_counted_and_named(tmp_path: Path, prompt: str):
    (tmp_path / "test_sums.py").write_text(
        "def test_right():\n    assert 1 + 1 == 2\n\n\ndef test_wrong():\n    assert 1 + 1 == 3\n",
        encoding="utf-8",
    )
    desk = Desk(tmp_path)

    said = await desk.ask(prompt)

    assert desk.commands() == ["python3 -B -m pytest -q --tb=short"]
    assert "1 failed, 1 passed" in said
    assert "- test_wrong at test_sums.py:6: AssertionError: assert (1 + 1) == 3" in said


async def test_passing_unittest_tests_are_counted(tmp_path: Path):
    (tmp_path / "test_sums.py").write_text(
        "import unittest\n\n\nclass SumTest(unittest.TestCase):\n    def test_right(self):\n        pass\n",
        encoding="utf-8",
    )

    said = await Desk(tmp_path).ask("run the tests")

    assert said == "All tests pass: 1 passed (`python3 -B -m unittest discover`)."


async def test_a_make_target_is_used_where_there_are_no_python_tests(tmp_path: Path):
    (tmp_path / "Makefile").write_text("test:\n\t@echo all fine\n", encoding="utf-8")
    desk = Desk(tmp_path)

    said = await desk.ask("run the tests")

    assert desk.commands() == ["make test"]
    assert "Running `make test`." in desk.texts
    assert "all fine" in said


async def test_a_package_script_is_used_where_there_is_nothing_else(tmp_path: Path):
    (tmp_path / "package.json").write_text('{"scripts": {"test": "jest"}}', encoding="utf-8")
    desk = Desk(tmp_path, refuse=lambda name, input: "denied" if name == "Bash" else None)

    said = await desk.ask("run the tests")

    assert desk.commands() == ["npm test"]
    assert "`npm test` was not allowed" in said


async def test_a_project_without_tests_is_told_so(tmp_path: Path):
    (tmp_path / "main.py").touch()

    said = await Desk(tmp_path).ask("run the tests")

    assert said.startswith("I found no tests")


async def test_python_is_used_where_python3_is_missing(tmp_path: Path):
    (tmp_path / "test_sums.py").write_text("def test_right():\n    pass\n", encoding="utf-8")
    desk = Desk(tmp_path)
    desk.answers = {("Bash", 1): "Exit code 127\nbash: python3: command not found"}

    said = await desk.ask("run the tests")

    assert desk.commands()[1] == "python -B -m pytest -q --tb=short"
    assert said.startswith("All tests pass")


async def test_tests_of_an_installed_environment_are_left_alone(tmp_path: Path):
    (tmp_path / ".venv" / "lib").mkdir(parents=True)
    (tmp_path / ".venv" / "lib" / "test_foreign.py").touch()

    said = await Desk(tmp_path).ask("run the tests")

    assert said.startswith("I found no tests")


@pytest.mark.parametrize(
    ("paths", "command"),
    [
        (("a.py", "test_a.py"), "python3 -B -m unittest discover"),
        (("a.py", "tests/test_a.py"), "python3 -B -m unittest discover -s tests"),
        (("tests/__init__.py", "tests/test_a.py"), "python3 -B -m unittest discover -s tests -t ."),
        (("a.py", "a_test.py"), "python3 -B -m unittest discover -p '*_test.py'"),
    ],
)
def test_unittest_is_told_where_to_look(paths: tuple[str, ...], command: str):
    tests = tuple(path for path in paths if "test_" in path or path.endswith("_test.py"))

    assert unittest_command("python3", paths, tests) == command
