"""Ranks the changes that could repair a failing test by how well they explain the failure."""

import ast
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from bridle.providers.offline.changes import Change, FailureHint, Kind, changes
from bridle.providers.offline.failures import Failure, SuiteRun, Values, compared_values
from bridle.providers.offline.sources import (
    Function,
    Source,
    function_at,
    functions,
    mentioned,
    owner,
    parse_source,
)
from bridle.providers.offline.wrong_names import literal_texts, misnomers

_MOST_FAILURES = 5
_FAR = 3
_PER_STEP = 12
"""What each step away from the failing line costs."""

_PER_FAILURE = 6
"""What each further failure that the same change may explain is worth."""

_AT_THE_EDGE = 12
"""What a change of a limit gains in a function that other tests find right: special cases fail."""
_EDGES: tuple[Kind, ...] = ("boundary", "comparison", "logic", "bound")

_Weights = dict[Kind, int]
_WEIGHTS: dict[str, _Weights] = {
    "index": {
        "bound": 90, "boundary": 80, "operator": 45, "comparison": 40, "constant": 40, "logic": 40,
        "swap": 30,
    },
    "nothing": {"return": 100, "boundary": 45, "comparison": 45, "logic": 45, "bound": 30},
    "truth": {
        "boundary": 80, "logic": 74, "comparison": 72, "constant": 55, "operator": 52, "bound": 50,
        "sibling": 50, "swap": 45, "return": 45,
    },
    "length": {
        "bound": 85, "boundary": 75, "return": 62, "comparison": 60, "logic": 58, "constant": 55,
        "sibling": 50, "operator": 40, "swap": 35,
    },
    "number": {
        "operator": 75, "bound": 70, "boundary": 66, "constant": 62, "sibling": 62, "return": 56, "swap": 55,
        "comparison": 54, "logic": 50,
    },
    "other": {
        "sibling": 66, "boundary": 65, "bound": 62, "constant": 60, "comparison": 58, "logic": 56,
        "operator": 54, "return": 54, "swap": 54,
    },
}  # fmt: skip


class Candidate(Struct, frozen=True):
    path: str
    line: int
    before: str
    after: str
    kind: Kind
    weight: int

    @property
    def key(self) -> tuple[str, int, str]:
        return self.path, self.line, self.after


class _Suspect(Struct, frozen=True):
    """A piece of code with its distance from the failing line."""

    source: Source
    scope: ast.AST
    distance: int


def candidates(run: SuiteRun, sources: Mapping[str, Source], tests: Mapping[str, Source]) -> list[Candidate]:
    """Changes to `sources` worth trying, the best explained first."""
    best: dict[tuple[str, int, str], Candidate] = {}
    proven = _proven_names(run, tests)
    for failure in run.failures[:_MOST_FAILURES]:
        explained: dict[tuple[str, int, str], Candidate] = {}
        for candidate in _for_failure(failure, sources, tests, proven):
            if candidate.before != candidate.after:
                _keep_heavier(explained, candidate)
        for key, candidate in explained.items():
            known = best.get(key)
            weight = max(candidate.weight, known.weight) + _PER_FAILURE if known else candidate.weight
            best[key] = replace(candidate, weight=weight)
    ranked = sorted(best.values(), key=lambda each: (-each.weight, each.path, each.line, each.after))
    return [candidate for candidate in ranked if _is_valid(candidate, sources[candidate.path])]


def _keep_heavier(found: dict[tuple[str, int, str], Candidate], candidate: Candidate) -> None:
    rival = found.get(candidate.key)
    if rival is None or rival.weight < candidate.weight:
        found[candidate.key] = candidate


def _for_failure(
    failure: Failure, sources: Mapping[str, Source], tests: Mapping[str, Source], proven: set[str]
) -> Iterator[Candidate]:
    for path, change in misnomers(failure, sources):
        yield _candidate(sources[path], change, 100 + change.strength)
    values = _oriented(failure, tests)
    weights = _WEIGHTS[_situation(failure, values, literal_texts(sources))]
    clue = FailureHint(values, _growth(failure, values))
    for suspect in _suspects(failure, sources, tests):
        for change in changes(suspect.source, suspect.scope, clue):
            weight = weights.get(change.kind, 0) + change.strength - _PER_STEP * suspect.distance
            if change.kind in _EDGES and getattr(suspect.scope, "name", None) in proven:
                weight += _AT_THE_EDGE
            yield _candidate(suspect.source, change, weight)


def _proven_names(run: SuiteRun, tests: Mapping[str, Source]) -> set[str]:
    """Names that passing tests use."""
    passing = [
        function
        for source in tests.values()
        for function in functions(source.tree)
        if function.name.startswith("test") and not any(function.name in test for test in run.failing)
    ]
    return {name for function in passing for name in mentioned(function)}


def _candidate(source: Source, change: Change, weight: int) -> Candidate:
    return Candidate(source.path, change.line, source.line(change.line), change.after, change.kind, weight)


def _is_valid(candidate: Candidate, source: Source) -> bool:
    lines = list(source.lines)
    lines[candidate.line - 1] = candidate.after
    return parse_source(source.path, "\n".join(lines)) is not None


def _situation(failure: Failure, values: Values | None, texts: set[str]) -> str:
    if failure.error == "IndexError":
        return "index"
    if "NoneType" in failure.message:
        return "nothing"
    match values:
        case Values(actual=None):
            return "nothing"
        case Values(actual=bool()) | Values(expected=bool()):
            return "truth"
        case Values(actual=int() | float(), expected=int() | float()):
            return "number"
        case Values(actual=str() as actual, expected=str() as expected) if {actual, expected} <= texts:
            # Both texts are in the code, so a condition chose the wrong one.
            return "truth"
        case Values(actual=list() | tuple() | str() as actual, expected=list() | tuple() | str() as expected):
            return "length" if len(actual) != len(expected) else "other"
        case _:
            return "truth" if "raise" in failure.message.lower() else "other"


def _growth(failure: Failure, values: Values | None) -> int:
    match values:
        case Values(actual=actual, expected=expected) if values.are_numbers:
            return (expected > actual) - (expected < actual)
        case Values(actual=list() | tuple() | str() as actual, expected=list() | tuple() | str() as expected):
            return (len(expected) > len(actual)) - (len(expected) < len(actual))
        case _:
            return -1 if failure.error == "IndexError" else 0


def _oriented(failure: Failure, tests: Mapping[str, Source]) -> Values | None:
    """The values of the comparison, with the literal that the test wrote as the expected one."""
    values = compared_values(failure)
    statement = _failing_statement(failure, tests)
    if values is None or statement is None:
        return values
    match statement:
        case ast.Assert(test=ast.Compare(left=left, comparators=[right])):
            pass
        case ast.Expr(value=ast.Call(args=[left, right, *_])):
            pass
        case _:
            return values
    return values.swapped() if _is_literal(left) and not _is_literal(right) else values


def _is_literal(node: ast.expr) -> bool:
    return not any(isinstance(each, ast.Name | ast.Call | ast.Attribute) for each in ast.walk(node))


def _failing_statement(failure: Failure, tests: Mapping[str, Source]) -> ast.stmt | None:
    for source, line in _places(failure, tests):
        around = [
            node
            for node in ast.walk(source.tree)
            if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
        ]
        return max(around, key=lambda node: node.lineno, default=None)
    return None


def _places(failure: Failure, sources: Mapping[str, Source]) -> list[tuple[Source, int]]:
    """Where the traceback passes through these files, innermost first."""
    found: list[tuple[Source, int]] = []
    for frame in reversed(failure.frames):
        path = owner(frame.path, sources)
        if path is not None and frame.line <= len(sources[path].lines):
            found.append((sources[path], frame.line))
    return found


def _suspects(
    failure: Failure, sources: Mapping[str, Source], tests: Mapping[str, Source]
) -> Iterator[_Suspect]:
    near: dict[str, int] = {}
    for step, (source, line) in enumerate(_places(failure, sources)):
        if function := function_at(source, line):
            near.setdefault(function.name, step)
    _note(near, _failing_statement(failure, tests), 0 if not near else 1)
    for source, line in _places(failure, tests):
        _note(near, function_at(source, line), 1)
    for _ in range(2):
        for source in sources.values():
            for function in functions(source.tree):
                if function.name in near:
                    _note(near, function, near[function.name] + 1)
    for source in sources.values():
        yield from _scopes(source, near)


def _note(near: dict[str, int], code: ast.AST | None, distance: int) -> None:
    """Every name that this code uses is at most this far away."""
    for name in mentioned(code) if code is not None else ():
        near[name] = min(near.get(name, distance), distance)


def _scopes(source: Source, near: Mapping[str, int]) -> Iterator[_Suspect]:
    for node in source.tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield _Suspect(source, node, near.get(node.name, _FAR))
            case ast.ClassDef():
                for method in node.body:
                    yield _Suspect(source, method, _method_distance(node, method, near))
            case ast.Assign() | ast.AnnAssign():
                names = [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
                yield _Suspect(source, node, min((near.get(name, _FAR) for name in names), default=_FAR))
            case _:
                pass


def _method_distance(owner: ast.ClassDef, member: ast.stmt, near: Mapping[str, int]) -> int:
    if not isinstance(member, Function):
        return near.get(owner.name, _FAR)
    if member.name.startswith("__"):
        # Operators and constructors run without their name being written.
        return min(near.get(member.name, _FAR), near.get(owner.name, _FAR) + 1)
    return near.get(member.name, _FAR)
