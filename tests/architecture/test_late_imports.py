"""An import inside a function delays something; where the module has it anyway, it stands at the top."""

import ast
from collections.abc import Iterator
from functools import cache

from tests.architecture.modules import modules

_Import = ast.Import | ast.ImportFrom


def test_no_function_imports_what_its_module_has_imported():
    needless = [
        f"{path}:{line}: {target}"
        for path in modules()
        for line, target in _late(path)
        if target in _loaded_with(path)
    ]
    assert needless == []


@cache
def _loaded_with(path: str) -> frozenset[str]:
    """All that importing a module imports."""
    found = set(_at_the_top(path))
    for target in _at_the_top(path):
        if (inner := _path_of(target)) is not None:
            found |= _loaded_with(inner)
    return frozenset(found)


@cache
def _at_the_top(path: str) -> frozenset[str]:
    return frozenset(target for node in _imports(_tree(path), late=False) for target in _targets(node))


def _late(path: str) -> Iterator[tuple[int, str]]:
    for node in _imports(_tree(path), late=True):
        for target in _targets(node):
            yield node.lineno, target


@cache
def _tree(path: str) -> ast.Module:
    return ast.parse(modules()[path])


def _imports(tree: ast.AST, *, late: bool, inside: bool = False) -> Iterator[_Import]:
    """The imports in functions, or those that run with the module."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _Import):
            if inside == late:
                yield node
        elif not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _imports(node, late=late, inside=inside or is_function)


def _targets(node: _Import) -> Iterator[str]:
    """The modules that are imported, the innermost where a name is one."""
    for name in node.names:
        if isinstance(node, ast.Import):
            yield name.name
        else:
            inner = f"{node.module}.{name.name}"
            yield inner if _path_of(inner) is not None else node.module or ""


def _path_of(target: str) -> str | None:
    """The file of a module of bridle."""
    below = target.removeprefix("bridle.").replace(".", "/")
    if not target.startswith("bridle."):
        return None
    return next((path for path in (f"{below}.py", f"{below}/__init__.py") if path in modules()), None)
