"""Tries mechanical repairs on a small Python project, one edit at a time, until its tests pass."""

from collections.abc import Generator

from msgspec import Struct

from bridle.providers.offline.candidates import Candidate, candidates
from bridle.providers.offline.conversation import Conversation
from bridle.providers.offline.failures import SuiteRun
from bridle.providers.offline.files import read_texts
from bridle.providers.offline.procedure import Call, Plan, Procedure, Result, Stopped, shorten, use_one
from bridle.providers.offline.sources import (
    Source,
    function_at,
    functions,
    imported_paths,
    mentioned,
    owner,
    parse_source,
)
from bridle.providers.offline.suite import Suite, describe, describe_failure, find_suite, is_test, run_tests

_MOST_TRIES = 20
_MOST_SOURCES = 8
_SHORTEST_LIMIT_MS = 15_000
_MOST_TOLD = 6
_CAUTION = "I found this by trial and error with your tests. Review it before you rely on it."


class _Edit(Struct, frozen=True):
    candidate: Candidate
    old: str
    new: str


class _Bench:
    """What one repair has in its hands; made again for every request from the results so far."""

    def __init__(self, conversation: Conversation, suite: Suite) -> None:
        self.conversation = conversation
        self.suite = suite
        self.texts = dict(suite.texts)
        self.kept: list[_Edit] = []
        """Edits after which more tests passed."""
        self.hopeful: list[_Edit] = []
        """Edits that changed the error but have not made a test pass yet."""
        self.tried: dict[tuple[str, int, str], Candidate] = {}

    def parsed(self, *, tests: bool) -> dict[str, Source]:
        found = (parse_source(path, text) for path, text in self.texts.items() if is_test(path) == tests)
        return {source.path: source for source in found if source is not None}


def repair(conversation: Conversation) -> Procedure:
    """Run the tests, try one change after the other, and tell what came of it."""
    suite = yield from find_suite(conversation)
    if not suite.python:
        return f"I can only repair Python projects; the tests here run with `{suite.command}`."
    suite, run, output = yield from run_tests(conversation, suite, text=f"Running `{suite.command}`.")
    if run is None or run.total == 0:
        return f"`{suite.command}` gave no result that I can use: {shorten(output[-300:])}"
    if not run.failed:
        return f"Nothing to repair: {run.passed} tests pass (`{suite.command}`)."
    bench = _Bench(conversation, suite)
    try:
        last = yield from _work(bench, run)
    except Stopped as stop:
        raise Stopped(f"{stop}{_left_behind(bench)}") from stop
    return _report(bench, run, last)


def _work(bench: _Bench, run: SuiteRun) -> Generator[Plan, tuple[Result, ...], SuiteRun]:
    """The state of the tests when they pass or nothing is left to try."""
    while run.failed:
        yield from _read_suspects(bench, run)
        better = yield from _improve(bench, run)
        if better is None:
            break
        run = better
    while bench.hopeful:
        edit = bench.hopeful[-1]
        text = "Reverting an edit that fixed no test."
        yield from _apply(bench, edit.candidate.path, (edit.new, edit.old), text)
        bench.hopeful.pop()
    return run


def _improve(bench: _Bench, run: SuiteRun) -> Generator[Plan, tuple[Result, ...], SuiteRun | None]:
    """Try candidates until one helps; half a repair of a function counts only when no whole one is found."""
    halves: list[tuple[_Edit, SuiteRun]] = []
    for candidate in candidates(run, bench.parsed(tests=False), bench.parsed(tests=True)):
        if len(bench.tried) >= _MOST_TRIES:
            break
        if candidate.key in bench.tried:
            continue
        better = yield from _attempt(bench, candidate, run, halves)
        if better is not None:
            return better
    if not halves:
        return None
    edit, half = max(halves, key=lambda each: each[1].passed)
    yield from _apply(bench, edit.candidate.path, (edit.old, edit.new), f"Keeping {_shown(edit.candidate)}.")
    _keep(bench, edit)
    return half


def _attempt(
    bench: _Bench, candidate: Candidate, before: SuiteRun, halves: list[tuple[_Edit, SuiteRun]]
) -> Generator[Plan, tuple[Result, ...], SuiteRun | None]:
    """Make one change and keep it when the tests say that it helps."""
    edit = _Edit(candidate, *_unique(bench.texts[candidate.path], candidate))
    bench.tried[candidate.key] = candidate
    yield from _apply(bench, candidate.path, (edit.old, edit.new), _trying(candidate, len(bench.tried)))
    bench.hopeful.append(edit)
    run = yield from _run_again(bench, before)
    text = "That did not help; reverting it."
    if run is not None and _is_better(run, before):
        if not _still_fails(bench, candidate, run):
            bench.hopeful.pop()
            _keep(bench, edit)
            return run
        halves.append((edit, run))
        text = "That helped in part; reverting it to look for a full fix."
    elif run is not None and candidate.kind in ("name", "import") and _moved_on(run, before):
        return run
    yield from _apply(bench, candidate.path, (edit.new, edit.old), text)
    bench.hopeful.pop()
    return None


def _run_again(bench: _Bench, before: SuiteRun) -> Generator[Plan, tuple[Result, ...], SuiteRun | None]:
    # A change can make a loop endless, so a run may not take much longer than the one before.
    limit_ms = _SHORTEST_LIMIT_MS + round(before.seconds * 5_000)
    _, run, _ = yield from run_tests(
        bench.conversation, bench.suite, text="Running the tests again.", limit_ms=limit_ms
    )
    return run


def _keep(bench: _Bench, edit: _Edit) -> None:
    bench.kept += (*bench.hopeful, edit)
    bench.hopeful = []


def _still_fails(bench: _Bench, candidate: Candidate, run: SuiteRun) -> bool:
    """Whether a failing test uses the very function that was changed."""
    source = bench.parsed(tests=False).get(candidate.path)
    changed = function_at(source, candidate.line) if source else None
    if changed is None:
        return False
    return any(
        function.name in test and changed.name in mentioned(function)
        for each in bench.parsed(tests=True).values()
        for function in functions(each.tree)
        for test in run.failing
    )


def _apply(
    bench: _Bench, path: str, swap: tuple[str, str], text: str
) -> Generator[Plan, tuple[Result, ...], None]:
    old, new = swap
    call = Call("Edit", {"file_path": path, "old_string": old, "new_string": new})
    result = yield from use_one(call, tools=bench.conversation.tools, text=text)
    if result.is_error:
        raise Stopped(f"I stopped: editing {path} failed ({shorten(result.text)}).")
    bench.texts[path] = bench.texts[path].replace(old, new, 1)


def _read_suspects(bench: _Bench, run: SuiteRun) -> Generator[Plan, tuple[Result, ...], None]:
    """Read the failing tests, the files in their tracebacks, and what those import."""
    known = bench.suite.paths
    wanted = [
        path
        for failure in run.failures
        for frame in reversed(failure.frames)
        if (path := owner(frame.path, known)) is not None
    ]
    wanted = wanted or list(bench.suite.tests[:1])
    for _ in range(3):
        missing = [path for path in dict.fromkeys(wanted) if path not in bench.texts]
        missing = missing[: max(0, _MOST_SOURCES - len(bench.texts))]
        if missing:
            text = f"Reading {', '.join(missing)}."
            bench.texts |= yield from read_texts(bench.conversation, missing, text=text)
        sources = [*bench.parsed(tests=True).values(), *bench.parsed(tests=False).values()]
        wanted = [path for source in sources for path in imported_paths(source, known)]


def _unique(text: str, candidate: Candidate) -> tuple[str, str]:
    """The texts before and after the change, with as many neighboring lines as make the first one unique."""
    lines = text.split("\n")
    for around in range(len(lines)):
        first, last = max(0, candidate.line - 1 - around), min(len(lines), candidate.line + around)
        head, tail = lines[first : candidate.line - 1], lines[candidate.line : last]
        old = "\n".join((*head, candidate.before, *tail))
        new = "\n".join((*head, candidate.after, *tail))
        # The way back must be as clear as the way there.
        if text.count(old) == 1 and text.replace(old, new).count(new) == 1:
            return old, new
    return text, text.replace(candidate.before, candidate.after, 1)


def _is_better(run: SuiteRun, before: SuiteRun) -> bool:
    if run.passed <= before.passed or (run.unloaded and not before.unloaded):
        return False
    return before.unloaded or run.failing <= before.failing


def _moved_on(run: SuiteRun, before: SuiteRun) -> bool:
    """The error that the change was made for is gone, though another came in its place."""
    if run.passed < before.passed or run.failed > before.failed:
        return False
    faults = {(failure.error, failure.message.split("\n")[0]) for failure in before.failures}
    faults_now = {(failure.error, failure.message.split("\n")[0]) for failure in run.failures}
    return not faults & faults_now


def _trying(candidate: Candidate, number: int) -> str:
    return f"Try {number}: {_shown(candidate)}."


def _shown(candidate: Candidate) -> str:
    before, after = candidate.before.strip(), candidate.after.strip()
    added = after.removeprefix(before).strip() if after.startswith(f"{before}\n") else None
    added = after.removesuffix(before).strip() if after.endswith(f"\n{before}") else added
    place = f"{candidate.path}:{candidate.line}"
    if added:
        return f"{place}: add `{shorten(added, 80)}`"
    if before == after:
        return f"{place}: move `{shorten(before, 80)}` out of the loop"
    return f"{place}: `{shorten(before, 80)}` → `{shorten(after, 80)}`"


def _report(bench: _Bench, first: SuiteRun, last: SuiteRun) -> str:
    changed = [f"- {_shown(edit.candidate)}" for edit in bench.kept]
    if not last.failed:
        opening = f"All tests pass now: {last.passed} passed; before: {describe(first)}. Changed:"
        return "\n".join((opening, *changed, "", _CAUTION))
    tries = len(bench.tried)
    opening = f"I gave up after {tries} {'try' if tries == 1 else 'tries'}"
    lines = [f"{opening if tries else 'I found no mechanical change to try'}: {describe(last)}."]
    if changed:
        lines += ("Kept these changes, which fixed some tests:", *changed)
    else:
        lines.append("No files changed.")
    kept = {edit.candidate.key for edit in bench.kept}
    dropped = [each for key, each in bench.tried.items() if key not in kept]
    if dropped:
        lines += ("", "Tried without success:", *(f"- {_shown(each)}" for each in dropped[:_MOST_TOLD]))
    if len(dropped) > _MOST_TOLD:
        lines.append(f"- and {len(dropped) - _MOST_TOLD} more")
    lines += (
        "",
        "Still failing:",
        *(f"- {describe_failure(failure, bench.suite)}" for failure in last.failures[:_MOST_TOLD]),
    )
    lines.append("This one needs you or a real model.")
    return "\n".join(lines)


def _left_behind(bench: _Bench) -> str:
    edits = (*bench.kept, *bench.hopeful)
    if not edits:
        return ""
    shown = "; ".join(_shown(edit.candidate) for edit in edits)
    return f" Still in place: {shown}."
