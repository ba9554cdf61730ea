"""Finds out how a project runs its tests, runs them, and reports the outcome."""

import re
from collections.abc import Generator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bridle.providers.offline.conversation import Conversation
from bridle.providers.offline.failures import Failure, SuiteRun, parse_run
from bridle.providers.offline.files import find_files, quoted, read_texts
from bridle.providers.offline.procedure import Call, Plan, Procedure, Result, Stopped, shorten, use_one
from bridle.providers.offline.sources import owner

_TIME_LIMIT_MS = 120_000
_MOST_TEST_FILES = 3
_MOST_NAMED = 5
_FULL_LISTING = 100
_FOREIGN = (
    ".venv",
    "venv",
    "env",
    "node_modules",
    "site-packages",
    "__pycache__",
    ".git",
    ".tox",
    "build",
    "dist",
)

Step = Generator[Plan, tuple[Result, ...], Any]


class Suite(Struct, frozen=True, kw_only=True):
    """A way to run the tests of a project."""

    command: str
    python: bool
    """Run by pytest or unittest, whose output can be read in full."""
    paths: tuple[str, ...] = ()
    """The project's Python files."""
    tests: tuple[str, ...] = ()
    texts: Mapping[str, str] = {}
    """Tests that have been read already."""


def report_tests(conversation: Conversation) -> Procedure:
    """Run the tests and say how many passed and what failed first."""
    suite = yield from find_suite(conversation)
    suite, run, output = yield from run_tests(conversation, suite, text=f"Running `{suite.command}`.")
    if run is None:
        return _unread(suite, output)
    if run.total == 0:
        return f"`{suite.command}` found no tests to run."
    if not run.failed:
        return f"All tests pass: {run.passed} passed (`{suite.command}`)."
    lines = [f"{describe(run)} (`{suite.command}`)."]
    lines += (f"- {describe_failure(failure, suite)}" for failure in run.failures[:_MOST_NAMED])
    if len(run.failures) > _MOST_NAMED:
        lines.append(f"- and {len(run.failures) - _MOST_NAMED} more")
    return "\n".join(lines)


def find_suite(conversation: Conversation) -> Generator[Plan, tuple[Result, ...], Suite]:
    """How this project runs its tests.

    Raises:
        Stopped: no way was found, or looking was not allowed.
    """
    paths = yield from _python_files(conversation)
    tests = tuple(path for path in paths if is_test(path))
    if tests:
        sources = yield from read_texts(conversation, tests[:_MOST_TEST_FILES], text="Reading the tests.")
        plain = all(map(_is_unittest, sources.values()))
        command = unittest_command("python3", paths, tests) if plain else pytest_command("python3")
        return Suite(command=command, python=True, paths=paths, tests=tests, texts=sources)
    if "Makefile" in (yield from find_files(conversation, "Makefile")):
        makefile = yield from read_texts(conversation, ("Makefile",))
        if re.search(r"^test\s*:", makefile["Makefile"], re.MULTILINE):
            return Suite(command="make test", python=False)
    if "package.json" in (yield from find_files(conversation, "package.json")):
        package = yield from read_texts(conversation, ("package.json",))
        if re.search(r'"test"\s*:\s*"', package["package.json"]):
            return Suite(command="npm test", python=False)
    raise Stopped(
        "I found no tests: no test_*.py files, no test target in a Makefile, no test script in package.json."
    )


def run_tests(
    conversation: Conversation, suite: Suite, *, text: str = "", limit_ms: int = _TIME_LIMIT_MS
) -> Generator[Plan, tuple[Result, ...], tuple[Suite, SuiteRun | None, str]]:
    """Run the tests; the suite that comes back is the one that could be run here.

    Raises:
        Stopped: the command was not allowed.
    """
    result = yield from _shell(conversation, suite.command, limit_ms, text=text)
    if suite.python and result.text.startswith("Exit code 127"):
        suite = replace(suite, command=suite.command.replace("python3", "python", 1))
        result = yield from _shell(
            conversation, suite.command, limit_ms, text="python3 not found; trying python."
        )
    if suite.python and "No module named pytest" in result.text:
        suite = replace(suite, command=unittest_command(suite.command.split()[0], suite.paths, suite.tests))
        result = yield from _shell(
            conversation, suite.command, limit_ms, text="pytest is missing; trying unittest."
        )
    run = parse_run(result.text) if suite.python else None
    return suite, run, result.text


def is_test(path: str) -> bool:
    """Whether a path is that of a file with tests, by its name."""
    return bool(re.search(r"(^|/)(test_[^/]*|test[A-Z0-9][^/]*|tests?|[^/]+_test)\.py$", path))


def pytest_command(python: str) -> str:
    # Without -B an edit within the same second and of the same length would run the old bytecode.
    return f"{python} -B -m pytest -q --tb=short"


def unittest_command(python: str, paths: tuple[str, ...], tests: tuple[str, ...]) -> str:
    """The command that lets unittest discover these tests."""
    folders = sorted(
        {path.rpartition("/")[0] for path in tests}, key=lambda folder: (folder.count("/"), folder)
    )
    start = folders[0].split("/")[0]
    options = ""
    if start:
        packaged = f"{start}/__init__.py" in paths
        options = f" -s {quoted(start)}{' -t .' if packaged else ''}"
    if all(path.endswith("_test.py") for path in tests):
        options += " -p '*_test.py'"
    return f"{python} -B -m unittest discover{options}"


def describe(run: SuiteRun) -> str:
    """The counts of a run in words."""
    return f"{run.failed} failed, {run.passed} passed"


def describe_failure(failure: Failure, suite: Suite) -> str:
    """One failure on one line, with the innermost place in the project's own files."""
    places = [(owner(frame.path, suite.paths), frame.line) for frame in failure.frames]
    where = next((f" at {path}:{line}" for path, line in reversed(places) if path), "")
    reason = shorten(failure.message.split("\n", 1)[0], 160)
    return f"{failure.test}{where}: {failure.error}{': ' + reason if reason else ''}"


def _shell(
    conversation: Conversation, command: str, limit_ms: int, *, text: str
) -> Generator[Plan, tuple[Result, ...], Result]:
    input = {"command": command, "description": "Run the tests", "timeout": limit_ms}
    result = yield from use_one(Call("Bash", input), tools=conversation.tools, text=text)
    running = re.search(r"moved to the background with ID: (\w+)", result.text)
    if running and "TaskStop" in conversation.tools:
        # A change may have made a loop endless: nothing of it may keep running.
        stop = Call("TaskStop", {"task_id": running[1]})
        yield from use_one(stop, tools=conversation.tools, text="The tests take too long; stopping them.")
    return result


def _python_files(conversation: Conversation) -> Generator[Plan, tuple[Result, ...], tuple[str, ...]]:
    found = yield from find_files(conversation, "**/*.py", text="Looking for the tests.")
    if len(found) >= _FULL_LISTING:
        # The listing was cut, perhaps by an installed environment: ask for the usual places one by one.
        for pattern in ("*.py", "tests/**/*.py", "test/**/*.py", "src/**/*.py"):
            found += yield from find_files(conversation, pattern)
    own = {path for path in found if not any(part in _FOREIGN for part in path.split("/"))}
    return tuple(sorted(own, key=lambda path: (path.count("/"), path)))


def _is_unittest(source: str) -> bool:
    return "unittest" in source and not re.search(
        r"^(import pytest|from pytest|(async )?def test)", source, re.MULTILINE
    )


def _unread(suite: Suite, output: str) -> str:
    tail = "\n".join(output.splitlines()[-10:])[-1_000:]
    return f"`{suite.command}` printed no test report that I can read. Last lines:\n\n```\n{tail}\n```"
