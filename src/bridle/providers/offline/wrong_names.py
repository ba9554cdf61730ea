"""Repairs for what is called by a wrong name: a variable, an attribute, an import, a key."""

import ast
import builtins
import difflib
import importlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping

from bridle.providers.offline.changes import Change
from bridle.providers.offline.failures import Failure
from bridle.providers.offline.sources import Function, Source, functions, mentioned, owner, top_level_names

_SIMILAR = 0.6
_SAFE_MODULES = (
    "collections",
    "datetime",
    "functools",
    "itertools",
    "json",
    "math",
    "os",
    "random",
    "re",
    "string",
)
"""Standard modules whose names may be looked at: importing them does nothing else."""
_CONTENTS = {
    "collections": ("defaultdict", "Counter", "deque", "namedtuple", "OrderedDict"),
    "pathlib": ("Path",),
    "datetime": ("datetime", "timedelta", "date"),
    "dataclasses": ("dataclass", "field"),
    "functools": ("partial", "reduce", "lru_cache", "cache", "wraps"),
    "decimal": ("Decimal",),
    "fractions": ("Fraction",),
    "math": ("sqrt", "ceil", "floor", "pi"),
    "itertools": ("chain", "product", "combinations", "permutations"),
    "enum": ("Enum",),
    "abc": ("ABC", "abstractmethod"),
    "typing": ("Any", "Optional"),
    "statistics": ("mean", "median"),
    "random": ("randint", "choice"),
    "textwrap": ("dedent",),
}
_HOMES = {name: module for module, names in _CONTENTS.items() for name in names}


def misnomers(failure: Failure, sources: Mapping[str, Source]) -> Iterator[tuple[str, Change]]:
    """Changes, with the file each is for, that give a thing its right name."""
    message = failure.message
    place = _place(failure, sources)
    if found := re.search(r"name '(\w+)' is not defined", message):
        if place:
            yield from _for_name(*place, found[1], message)
    elif found := re.search(
        r"(?:module|object|type) ?'?([\w.]+)?'? ?(?:object )?has no attribute '(\w+)'", message
    ):
        yield from _for_attribute(sources, place, (_holder(message), found[2]), message)
    elif found := re.search(r"cannot import name '(\w+)' from '([\w.]+)'", message):
        yield from _for_import(sources, place, found[1], found[2])
    elif (found := re.search(r"No module named '([\w.]+)'", message)) and place:
        modules = {path.removesuffix(".py").replace("/", ".") for path in sources} | set(
            sys.stdlib_module_names
        )
        yield from _renamed(*place, found[1], _similar(found[1], modules), "import")
    elif failure.error == "KeyError" and place and (found := re.match(r"'([^']+)'", message)):
        yield from _renamed(*place, found[1], _similar(found[1], literal_texts(sources)), "name")


def literal_texts(sources: Mapping[str, Source]) -> set[str]:
    """Every short text that the code spells out."""
    return {
        node.value
        for source in sources.values()
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 60
    }


def _for_name(source: Source, line: int, name: str, message: str) -> Iterator[tuple[str, Change]]:
    dotted = re.search(rf"\b{name}\.", source.line(line))
    if name in sys.stdlib_module_names and dotted:
        yield source.path, _import_line(source, f"import {name}", 20)
    if name in _HOMES:
        yield source.path, _import_line(source, f"from {_HOMES[name]} import {name}", 15)
    pool = {*_visible(source, line), *dir(builtins)} - {name}
    yield from _renamed(source, line, name, [*_hinted(message), *_similar(name, pool)], "name")
    if name in sys.stdlib_module_names and not dotted:
        yield source.path, _import_line(source, f"import {name}", -10)


def _for_attribute(
    sources: Mapping[str, Source], place: tuple[Source, int] | None, missing: tuple[str, str], message: str
) -> Iterator[tuple[str, Change]]:
    holder, name = missing
    if holder == "NoneType":
        return
    if place and re.search(rf"\.{name}\b", place[0].line(place[1])):
        pool = {each for source in sources.values() for each in (*mentioned(source.tree), *_defined(source))}
        pool |= _names_of(holder)
        yield from _renamed(*place, name, [*_hinted(message), *_similar(name, pool - {name})], "name")
    yield from _redefined(sources.values(), name)


def _for_import(
    sources: Mapping[str, Source], place: tuple[Source, int] | None, name: str, module: str
) -> Iterator[tuple[str, Change]]:
    stem = module.replace(".", "/")
    homes = [source for path, source in sources.items() if re.search(rf"(^|/){stem}(/__init__)?\.py$", path)]
    if place:
        pool = [each for source in homes for each in top_level_names(source)] or _names_of(module)
        yield from _renamed(*place, name, _similar(name, pool), "import")
    yield from _redefined(homes, name)


def _redefined(sources: Iterable[Source], name: str) -> Iterator[tuple[str, Change]]:
    """The thing exists under a similar name: give the definition the name that its users expect."""
    for source in sources:
        for node in ast.walk(source.tree):
            match node:
                case ast.FunctionDef(name=old) | ast.AsyncFunctionDef(name=old) | ast.ClassDef(name=old):
                    line = node.lineno
                case ast.Attribute(attr=old, ctx=ast.Store()):
                    line = node.lineno
                case _:
                    continue
            if _similar(name, [old]):
                yield from _renamed(source, line, old, [name], "name")


def _renamed(
    source: Source, line: int, old: str, names: Iterable[str], kind: str
) -> Iterator[tuple[str, Change]]:
    for rank, new in enumerate(dict.fromkeys(names)):
        text = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new, source.line(line))
        yield source.path, Change("import" if kind == "import" else "name", line, text, -rank)


def _import_line(source: Source, statement: str, strength: int) -> Change:
    body = [node for node in source.tree.body if not _is_docstring(node) and not _is_future(node)]
    first = body[0]
    decorators = first.decorator_list if isinstance(first, Function | ast.ClassDef) else []
    line = min((first.lineno, *(each.lineno for each in decorators)))
    gap = "\n" if isinstance(first, ast.Import | ast.ImportFrom) else "\n\n"
    return Change("import", line, f"{statement}{gap}{source.line(line)}", strength)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _place(failure: Failure, sources: Mapping[str, Source]) -> tuple[Source, int] | None:
    """The innermost line of the traceback, when it is in one of these files."""
    known = [frame for frame in failure.frames if not frame.path.startswith("<")]
    if not known or (path := owner(known[-1].path, sources)) is None:
        return None
    return (sources[path], known[-1].line) if known[-1].line <= len(sources[path].lines) else None


def _visible(source: Source, line: int) -> Iterator[str]:
    yield from top_level_names(source)
    for function in functions(source.tree):
        if function.lineno <= line <= (function.end_lineno or function.lineno):
            for node in ast.walk(function):
                if isinstance(node, ast.arg):
                    yield node.arg
                elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id


def _defined(source: Source) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if isinstance(node, Function | ast.ClassDef):
            yield node.name


def _holder(message: str) -> str:
    found = re.search(r"(?:module |type object )?'([\w.]+)'", message)
    return found[1] if found else ""


def _names_of(holder: str) -> set[str]:
    if holder in _SAFE_MODULES:
        return set(dir(importlib.import_module(holder)))
    return set(dir(getattr(builtins, holder, object)))


def _hinted(message: str) -> list[str]:
    return re.findall(r"Did you mean: '(\w+)'", message)


def _similar(name: str, pool: Iterable[str]) -> list[str]:
    return difflib.get_close_matches(name, sorted(set(pool) - {name}), 3, _SIMILAR)
