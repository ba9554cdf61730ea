"""Python files as the repair loop sees them: text, syntax tree, imports and functions."""

import ast
from collections.abc import Iterable, Iterator

from msgspec import Struct

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Source(Struct, frozen=True):
    path: str
    lines: tuple[str, ...]
    tree: ast.Module

    def line(self, number: int) -> str:
        return self.lines[number - 1]

    def segment(self, node: ast.expr) -> str | None:
        """The text of a node that lies on one line."""
        if node.end_lineno != node.lineno:
            return None
        return self.line(node.lineno).encode()[node.col_offset : node.end_col_offset].decode()


def parse_source(path: str, text: str) -> Source | None:
    """A file with its syntax tree, or None when it is not valid Python."""
    try:
        return Source(path, tuple(text.split("\n")), ast.parse(text))
    except (SyntaxError, ValueError):
        return None


def spliced(source: Source, line: int, start: int, end: int, text: str) -> str:
    """A line with the bytes from `start` to `end` replaced; syntax trees count in bytes."""
    whole = source.line(line).encode()
    return (whole[:start] + text.encode() + whole[end:]).decode()


def owner(path: str, known: Iterable[str]) -> str | None:
    """The project's own spelling of a path that a traceback names, or None for a foreign file."""
    matching = [each for each in known if path == each or path.endswith(f"/{each}")]
    return max(matching, key=len, default=None)


def imported_paths(source: Source, known: Iterable[str]) -> list[str]:
    """The project files that a file imports."""
    known = list(known)
    found = (path for module in _modules(source) if (path := _module_path(module, known)))
    return [path for path in dict.fromkeys(found) if path != source.path]


def functions(tree: ast.AST) -> list[Function]:
    return [node for node in ast.walk(tree) if isinstance(node, Function)]


def function_at(source: Source, line: int) -> Function | None:
    """The innermost function around a line."""
    around = [
        each for each in functions(source.tree) if each.lineno <= line <= (each.end_lineno or each.lineno)
    ]
    return max(around, key=lambda each: each.lineno, default=None)


def mentioned(tree: ast.AST) -> Iterator[str]:
    """Every name and attribute that a piece of code uses."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def top_level_names(source: Source) -> list[str]:
    """Names that a module defines or imports."""
    names: list[str] = []
    for node in source.tree.body:
        if isinstance(node, Function | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names += [alias.asname or alias.name.split(".")[0] for alias in node.names]
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            names += [each.id for each in ast.walk(node) if isinstance(each, ast.Name) and _stored(each)]
    return names


def _stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _modules(source: Source) -> Iterator[str]:
    folder = source.path.rpartition("/")[0]
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = (
                folder.split("/")[: len(folder.split("/")) - node.level + 1] if node.level and folder else []
            )
            base = ".".join((*parts, *([node.module] if node.module else [])))
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _module_path(module: str, known: list[str]) -> str | None:
    stem = module.replace(".", "/")
    for ending in (f"{stem}.py", f"{stem}/__init__.py"):
        matching = [path for path in known if path == ending or path.endswith(f"/{ending}")]
        if matching:
            return min(matching, key=len)
    return None
