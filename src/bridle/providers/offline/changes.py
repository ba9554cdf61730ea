"""Small mechanical changes to a piece of code, each on one line, found in its syntax tree."""

import ast
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from bridle.providers.offline.failures import Values
from bridle.providers.offline.sources import Function, Source, spliced

Kind = Literal[
    "operator", "boundary", "comparison", "logic", "bound", "constant", "swap", "sibling", "return", "name",
    "import",
]  # fmt: skip

_OPERATORS: dict[type[ast.operator], tuple[str, tuple[str, ...]]] = {
    ast.Add: ("+", ("-", "*")),
    ast.Sub: ("-", ("+", "/")),
    ast.Mult: ("*", ("/", "+", "**")),
    ast.Div: ("/", ("//", "*")),
    ast.FloorDiv: ("//", ("/", "%")),
    ast.Mod: ("%", ("//",)),
    ast.Pow: ("**", ("*",)),
}
_COMPARISONS: dict[type[ast.cmpop], tuple[str, str | None, str]] = {
    ast.Lt: ("<", "<=", ">"),
    ast.LtE: ("<=", "<", ">="),
    ast.Gt: (">", ">=", "<"),
    ast.GtE: (">=", ">", "<="),
    ast.Eq: ("==", None, "!="),
    ast.NotEq: ("!=", None, "=="),
    ast.In: ("in", None, "not in"),
    ast.NotIn: ("not in", None, "in"),
    ast.Is: ("is", None, "is not"),
    ast.IsNot: ("is not", None, "is"),
}
"""The sign, the same with the other boundary, and the contrary."""
_SIBLINGS = {
    "min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor",
    "upper": "lower", "lower": "upper", "startswith": "endswith", "endswith": "startswith",
    "lstrip": "rstrip", "rstrip": "lstrip", "append": "extend", "extend": "append", "keys": "values",
    "values": "keys", "find": "rfind", "rfind": "find",
}  # fmt: skip
_GROWING = ("+", "*", "**")
_FILLING = (
    "append",
    "add",
    "extend",
    "insert",
    "update",
    "setdefault",
    "remove",
    "pop",
    "sort",
    "reverse",
    "clear",
)


class FailureHint(Struct, frozen=True):
    """What a failure says about the change that is needed."""

    values: Values | None
    growth: int = 0
    """1 when the result should be greater or longer than it is, -1 when smaller or shorter."""


class Change(Struct, frozen=True):
    kind: Kind
    line: int
    after: str
    """What the line becomes; it may become several."""
    strength: int = 0
    """How much more, or less, this change explains the failure than others of its kind."""


def changes(source: Source, scope: ast.AST, clue: FailureHint) -> Iterator[Change]:
    """Every change that the rules below know for this code."""
    embedded = _inside_strings(scope)
    for node in ast.walk(scope):
        if id(node) not in embedded:
            for make in MAKERS:
                yield from make(source, node, clue)


def operators(source: Source, node: ast.AST, clue: FailureHint) -> Iterator[Change]:
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            suffix = ""
        case ast.AugAssign(target=left, op=op, value=right):
            suffix = "="
        case _:
            return
    if type(op) not in _OPERATORS or _is_text(left) or _is_text(right):
        return
    sign, others = _OPERATORS[type(op)]
    for rank, other in enumerate(others):
        growing = clue.growth == (1 if other in _GROWING else -1)
        # A wrong sign in a running total throws the result far off, so other causes come first.
        looped = 8 if isinstance(node, ast.AugAssign) else 0
        strength = (4 if growing else 0) - 15 * rank - looped
        yield from _resigned(source, (left, right), (sign + suffix, other + suffix), "operator", strength)


def comparisons(source: Source, node: ast.AST, clue: FailureHint) -> Iterator[Change]:
    del clue
    if not isinstance(node, ast.Compare):
        return
    sides = (node.left, *node.comparators)
    for op, (left, right) in zip(node.ops, pairwise(sides), strict=True):
        sign, boundary, contrary = _COMPARISONS[type(op)]
        if boundary:
            yield from _resigned(source, (left, right), (sign, boundary), "boundary")
        yield from _resigned(source, (left, right), (sign, contrary), "comparison")


def logic(source: Source, node: ast.AST, clue: FailureHint) -> Iterator[Change]:
    del clue
    match node:
        case ast.BoolOp(op=op, values=operands):
            signs = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
            for left, right in pairwise(operands):
                yield from _resigned(source, (left, right), signs, "logic")
        case ast.UnaryOp(op=ast.Not(), operand=operand) if text := source.segment(operand):
            yield from _replaced(source, node, text, "logic", -5)
        case ast.If(test=ast.Name() | ast.Call() | ast.Attribute() as test) if text := source.segment(test):
            yield from _replaced(source, test, f"not {text}", "logic", -10)
        case _:
            pass


def bounds(source: Source, node: ast.AST, clue: FailureHint) -> Iterator[Change]:
    more, less = (0, -4) if clue.growth >= 0 else (-4, 0)
    match node:
        case ast.Call(func=ast.Name(id="range"), args=[stop]):
            yield from _nudged(source, stop, more, less)
        case ast.Call(func=ast.Name(id="range"), args=[start, stop, *_]):
            yield from _nudged(source, stop, more, less)
            yield from _nudged(source, start, less - 1, more - 1)
        case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper, step=step)):
            yield from _nudged(source, upper, more, less) if upper else ()
            yield from _nudged(source, lower, less, more) if lower else ()
            if step and (text := source.segment(step)):
                yield from _replaced(source, step, f"-{text}", "bound")
        case ast.Subscript(slice=ast.Constant(value=int()) | ast.Name() | ast.BinOp() | ast.Call() as index):
            yield from _nudged(source, index, more - 5, less - 5)
        case ast.Compare(comparators=[ast.BinOp() | ast.Call() as limit]):
            yield from _nudged(source, limit, more - 15, less - 15)
        case ast.Return(value=ast.Name() | ast.BinOp() | ast.Call() as result) if _differ_by_one(clue.values):
            yield from _nudged(source, result, more - 10, less - 10)
        case _:
            pass


def constants(source: Source, node: ast.AST, clue: FailureHint) -> Iterator[Change]:
    match node:
        case ast.Constant(value=bool() as flag):
            yield from _replaced(source, node, str(not flag), "constant")
        case ast.Constant(value=int() | float() as number):
            for other, strength in _other_numbers(number, clue.values):
                yield from _replaced(source, node, repr(other), "constant", strength)
        case ast.Constant(value=str() as text):
            yield from _respelled(source, node, text, clue.values)
        case ast.JoinedStr(values=parts):
            for part in parts:
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield from _respelled(source, node, part.value, clue.values)
        case _:
            pass


def swaps(source: Source, node: ast.AST, clue: FailureHint) -> Iterator[Change]:
    del clue
    match node:
        case ast.Call(args=[left, right], keywords=[], func=func):
            if isinstance(func, ast.Name) and func.id in ("range", "isinstance", "min", "max", "print"):
                return
        case ast.BinOp(
            left=left, op=ast.Sub() | ast.Div() | ast.FloorDiv() | ast.Mod() | ast.Pow(), right=right
        ):
            pass
        case _:
            return
    first, second = source.segment(left), source.segment(right)
    start, end = left.col_offset, right.end_col_offset
    if first is None or second is None or left.lineno != right.lineno or end is None:
        return
    middle = source.line(left.lineno).encode()[left.end_col_offset : right.col_offset].decode()
    yield Change("swap", left.lineno, spliced(source, left.lineno, start, end, f"{second}{middle}{first}"))


def siblings(source: Source, node: ast.AST, clue: FailureHint) -> Iterator[Change]:
    del clue
    match node:
        case ast.Call(func=ast.Name(id=name) as called) if name in _SIBLINGS:
            yield from _replaced(source, called, _SIBLINGS[name], "sibling")
        case ast.Call(func=ast.Attribute(attr=name) as called) if name in _SIBLINGS:
            if text := source.segment(called):
                yield from _replaced(source, called, f"{text.removesuffix(name)}{_SIBLINGS[name]}", "sibling")
        case _:
            pass


def returns(source: Source, node: ast.AST, clue: FailureHint) -> Iterator[Change]:
    del clue
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from _missing_returns(source, node)
        case ast.For(body=[*_, ast.Return() as early]) | ast.While(body=[*_, ast.Return() as early]):
            if early.lineno == early.end_lineno and early.value is not None:
                text = " " * node.col_offset + source.line(early.lineno).lstrip()
                yield Change("return", early.lineno, text, 5)
        case _:
            pass


MAKERS: tuple[Callable[[Source, ast.AST, FailureHint], Iterator[Change]], ...] = (
    operators,
    comparisons,
    logic,
    bounds,
    constants,
    swaps,
    siblings,
    returns,
)


def _missing_returns(source: Source, function: Function) -> Iterator[Change]:
    for tail in _tails(function.body):
        if isinstance(tail, ast.Expr) and _worth_returning(tail.value):
            line = source.line(tail.lineno)
            yield Change(
                "return", tail.lineno, f"{line[: tail.col_offset]}return {line[tail.col_offset :]}", 5
            )
    returning = [each for each in ast.walk(function) if isinstance(each, ast.Return) and each.value]
    last = function.body[-1]
    if returning or last.end_lineno is None:
        return
    for rank, name in enumerate(_built_names(function)[:3]):
        text = f"{' ' * last.col_offset}return {name}"
        if isinstance(last, ast.Return):
            yield Change("return", last.lineno, text, -rank)
        else:
            yield Change("return", last.end_lineno, f"{source.line(last.end_lineno)}\n{text}", -rank)


def _tails(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    match body[-1]:
        case ast.If(body=then, orelse=otherwise):
            yield from _tails(then)
            if otherwise:
                yield from _tails(otherwise)
        case ast.With(body=inner) | ast.Try(body=inner):
            yield from _tails(inner)
        case last:
            yield last


def _worth_returning(value: ast.expr) -> bool:
    match value:
        case (
            ast.Constant() | ast.Yield() | ast.YieldFrom() | ast.Await() | ast.Call(func=ast.Name(id="print"))
        ):
            return False
        case ast.Call(func=ast.Attribute(attr=attr)):
            return attr not in _FILLING
        case _:
            return True


def _built_names(function: Function) -> list[str]:
    """Names that the function works on, the likeliest result first."""
    built: list[str] = []
    assigned: list[str] = []
    for node in ast.walk(function):
        match node:
            case ast.AugAssign(target=ast.Name(id=name)):
                built.append(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr in _FILLING:
                built.append(name)
            case ast.Assign(targets=[ast.Name(id=name)]):
                assigned.append(name)
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]):
                built.append(name)
            case _:
                pass
    return list(dict.fromkeys((*built, *reversed(assigned))))


def _resigned(
    source: Source, sides: tuple[ast.expr, ast.expr], signs: tuple[str, str], kind: Kind, strength: int = 0
) -> Iterator[Change]:
    """Another sign between two expressions on one line."""
    left, right = sides
    sign, other = signs
    if left.end_lineno != right.lineno or left.end_col_offset is None:
        return
    gap = source.line(right.lineno).encode()[left.end_col_offset : right.col_offset].decode()
    if (at := gap.find(sign)) >= 0:
        start = left.end_col_offset + at
        after = spliced(source, right.lineno, start, start + len(sign), other)
        yield Change(kind, right.lineno, after, strength)


def _replaced(source: Source, node: ast.expr, text: str, kind: Kind, strength: int = 0) -> Iterator[Change]:
    if source.segment(node) is not None and node.end_col_offset is not None:
        after = spliced(source, node.lineno, node.col_offset, node.end_col_offset, text)
        yield Change(kind, node.lineno, after, strength)


def _nudged(source: Source, node: ast.expr, more: int, less: int) -> Iterator[Change]:
    """The expression plus one and minus one, each with its strength."""
    match node:
        case ast.Constant(value=int() as number):
            yield from _replaced(source, node, repr(number + 1), "bound", more)
            yield from _replaced(source, node, repr(number - 1), "bound", less)
        case ast.BinOp(left=rest, op=ast.Add() | ast.Sub(), right=ast.Constant(value=1)):
            if text := source.segment(rest):
                yield from _replaced(source, node, text, "bound", max(more, less) + 5)
        case _:
            if text := source.segment(node):
                yield from _replaced(source, node, f"{text} + 1", "bound", more)
                yield from _replaced(source, node, f"{text} - 1", "bound", less)


def _other_numbers(number: int | float, values: Values | None) -> Iterator[tuple[int | float, int]]:
    if values is not None and values.are_numbers:
        actual, expected = values.actual, values.expected
        # A nought or one is seldom a mistyped figure, and fitting it to one result would hide the cause.
        doubt = 25 if number in (0, 1) else 0
        if number == actual:
            yield expected, 30 - doubt
        yield _tidy(number + expected - actual), 2 - doubt
        if actual and expected:
            yield _tidy(number * expected / actual), 4 - doubt
    if isinstance(number, int):
        yield number + 1, -12
        yield number - 1, -12


def _respelled(source: Source, node: ast.expr, text: str, values: Values | None) -> Iterator[Change]:
    """A literal whose new spelling turns the actual text into the expected one."""
    segment = source.segment(node)
    if values is None or segment is None or segment.count(text) != 1 or not text:
        return
    actual, expected = values.actual, values.expected
    if not isinstance(actual, str) or not isinstance(expected, str):
        return
    for found in re.finditer(re.escape(text), actual):
        head, tail = actual[: found.start()], actual[found.end() :]
        new = expected[len(head) : len(expected) - len(tail)]
        if f"{head}{new}{tail}" == expected and not re.search(r"[\\'\"{}\n]", new):
            yield from _replaced(source, node, segment.replace(text, new), "constant", 30)


def _tidy(number: float) -> int | float:
    rounded = round(number, 10)
    return int(rounded) if rounded == int(rounded) else rounded


def _differ_by_one(values: Values | None) -> bool:
    return values is not None and values.are_numbers and abs(values.expected - values.actual) == 1


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _inside_strings(scope: ast.AST) -> set[int]:
    """Parts of formatted strings, whose places in the text are not known before Python 3.12."""
    strings = [node for node in ast.walk(scope) if isinstance(node, ast.JoinedStr)]
    return {id(part) for string in strings for part in ast.walk(string) if part is not string}
