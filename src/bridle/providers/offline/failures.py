"""Reads the output of pytest and unittest: how many passed, what failed, where and with which values."""

import ast
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct


class Frame(Struct, frozen=True):
    path: str
    line: int
    function: str


class Failure(Struct, frozen=True):
    test: str
    frames: tuple[Frame, ...]
    """From the test inwards."""
    error: str
    message: str


class SuiteRun(Struct, frozen=True):
    passed: int
    failed: int
    failing: frozenset[str]
    failures: tuple[Failure, ...]
    unloaded: bool
    """A test file could not be imported, so its tests are not counted at all."""
    seconds: float

    @property
    def total(self) -> int:
        return self.passed + self.failed


class Values(Struct, frozen=True):
    """What a failed comparison saw, taken in the usual order: the result, then what it should be."""

    actual: Any
    expected: Any

    @property
    def are_numbers(self) -> bool:
        """Both are, and neither is a truth value."""
        return all(
            isinstance(each, int | float) and not isinstance(each, bool)
            for each in (self.actual, self.expected)
        )

    def swapped(self) -> "Values":
        return Values(self.expected, self.actual)


def parse_run(output: str) -> SuiteRun | None:
    """What a test run reported, or None when the output is not that of pytest or unittest."""
    if re.search(r"^Ran \d+ tests? in \d+(?:\.\d+)?s", output, re.MULTILINE):
        return _parse_unittest(output)
    if _pytest_counts(output):
        return _parse_pytest(output)
    return None


def compared_values(failure: Failure) -> Values | None:
    """The two sides of the comparison that failed, when both are plain values."""
    message = failure.message.split("\n", 1)[0].strip()
    for pattern, values in (
        (r"(assert )?False( is not true)?( : .*)?", Values(False, True)),
        (r"assert not True|True is not false( : .*)?", Values(True, False)),
        (r"(assert )?None( is not true)?( : .*)?|unexpectedly None.*", Values(None, True)),
    ):
        if re.fullmatch(pattern, message):
            return values
    message = re.sub(r"^(assert |\w+ differ: )", "", message)
    message = re.sub(r"( within .* (places|delta).*| ± .*)$", "", message)
    return _sides(message, " != ") or _sides(message, " == ") or _sides(message, " is ")


def _sides(message: str, sign: str) -> Values | None:
    for found in re.finditer(re.escape(sign), message):
        left, right = message[: found.start()], message[found.end() :]
        try:
            return Values(ast.literal_eval(left), ast.literal_eval(re.sub(r" : .*$", "", right)))
        except (ValueError, SyntaxError):
            continue
    return None


def _parse_unittest(output: str) -> SuiteRun:
    failures: list[Failure] = []
    for block in re.split(r"^={70}$", output, flags=re.MULTILINE)[1:]:
        head = re.match(r"\n(?:FAIL|ERROR): (.+)\n-{70}\n", block)
        if head:
            body = re.split(r"^-{70}$", block[head.end() :], flags=re.MULTILINE)[0]
            failures.append(_unittest_failure(head[1], body))
    ran = int(re.findall(r"^Ran (\d+) tests? in ", output, re.MULTILINE)[-1])
    counts = {name: int(number) for name, number in re.findall(r"(failures|errors|skipped)=(\d+)", output)}
    failed = counts.get("failures", 0) + counts.get("errors", 0)
    return SuiteRun(
        passed=max(0, ran - failed - counts.get("skipped", 0)),
        failed=failed,
        failing=frozenset(failure.test for failure in failures),
        failures=tuple(failures),
        unloaded="_FailedTest" in output,
        seconds=_seconds(output),
    )


def _unittest_failure(test: str, body: str) -> Failure:
    # Of chained tracebacks the last one says what ended the test.
    newest = body.rpartition("Traceback (most recent call last):\n")[2]
    frames = tuple(
        Frame(path, int(line), function)
        for path, line, function in re.findall(
            r'^  File "(.+?)", line (\d+)(?:, in (.+))?$', newest, re.MULTILINE
        )
    )
    said = re.search(r"^([A-Za-z_][\w.]*)(?:: (.*?))?(?=\n\s*\n|\Z)", newest, re.MULTILINE | re.DOTALL)
    return Failure(test, frames, said[1] if said else "", (said[2] or "").strip() if said else "")


def _parse_pytest(output: str) -> SuiteRun:
    counts = _pytest_counts(output)
    failures = tuple(_pytest_failures(output))
    named = re.findall(r"^(?:FAILED|ERROR|SUBFAIL\S*) (.+?)(?: - .*)?$", output, re.MULTILINE)
    return SuiteRun(
        passed=counts.get("passed", 0),
        failed=counts.get("failed", 0) + counts.get("error", 0),
        failing=frozenset(named or (failure.test for failure in failures)),
        failures=failures,
        unloaded="ERROR collecting" in output,
        seconds=_seconds(output),
    )


def _seconds(output: str) -> float:
    return float(re.findall(r" in (\d+(?:\.\d+)?)s", output)[-1])


def _pytest_counts(output: str) -> dict[str, int]:
    summaries = re.findall(
        r"^=*\s*((?:\d+ [a-z]+(?:, )?)+|no tests ran) in \d+(?:\.\d+)?s.*$", output, re.MULTILINE
    )
    if not summaries:
        return {}
    counted = re.findall(r"(\d+) ([a-z]+)", summaries[-1])
    return {
        word.removesuffix("s") if word == "errors" else word: int(number) for number, word in counted
    } or {"passed": 0}


def _pytest_failures(output: str) -> Iterator[Failure]:
    parts = re.split(r"^_{3,} (.+?) _{3,}$", output, flags=re.MULTILINE)
    for name, rest in zip(parts[1::2], parts[2::2], strict=True):
        body = re.split(r"^={3,}.*={3,}$", rest, flags=re.MULTILINE)[0]
        frames = tuple(
            Frame(path, int(line), function)
            for path, line, function in re.findall(r"^(\S[^:\n]*\.py):(\d+): in (.+)$", body, re.MULTILINE)
        )
        said = [line.strip() for line in re.findall(r"^E(?: {2,}(.*))?$", body, re.MULTILINE)]
        error, message = _pytest_error(said)
        yield Failure(name, frames, error, message)


def _pytest_error(said: list[str]) -> tuple[str, str]:
    first = said[0] if said else ""
    if syntax := next((line for line in said if re.match(r"\w*SyntaxError: ", line)), None):
        first = syntax
    if first.startswith("assert "):
        return "AssertionError", "\n".join(said)
    if found := re.match(r"([A-Za-z_][\w.]*)(?:: (.*))?$", first):
        return found[1], "\n".join(((found[2] or ""), *said[1:]))
    return "AssertionError" if first else "", first
