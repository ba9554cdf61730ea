import ast
import sys
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from tests.architecture.layers import FEATURE_IMPORTS, LAYERS, LEVELS, level
from tests.architecture.modules import SOURCE, modules


def test_imports_go_down_only():
    assert [wrong for module in modules() for wrong in _upward(module)] == []


def test_every_layer_is_there_and_every_package_has_one():
    packages = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    files = {path.stem for path in SOURCE.glob("*.py")}
    assert packages | files == set(LEVELS)


def test_documents_draw_the_layers_as_they_are():
    page = (SOURCE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    drawing = page.partition("## Layers")[2].split("```")[1]
    drawn = [set(line.split()) for line in drawing.strip().splitlines()]
    assert drawn[::-1] == [layer - {"version"} for layer in LAYERS[:-1]]


def test_features_import_only_those_that_they_are_made_of():
    wrong: list[str] = []
    for module in modules():
        if not module.startswith("features/") or module.count("/") < 2:
            continue
        own = module.split("/")[1]
        others = {name.split(".")[2] for name in _imports(module).all if name.startswith("bridle.features.")}
        allowed = {own, "context", *FEATURE_IMPORTS.get(own, ())}
        wrong += [f"{module} may not import features.{other}" for other in sorted(others - allowed)]
    assert wrong == []


def test_no_module_imports_itself_through_others():
    names = {_name(module): module for module in modules()}
    graph = {
        name: {other for other in _imports(module).at_runtime if other in names}
        for name, module in names.items()
    }
    settled: set[str] = set()
    sys.setrecursionlimit(10_000)

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " → ".join((*trail[trail.index(name) :], name))
        if name in settled:
            return
        for other in graph[name] - {name}:
            visit(other, (*trail, name))
        settled.add(name)

    for name in graph:
        visit(name, ())


def _upward(module: str) -> Iterator[str]:
    own = module.partition("/")[0].removesuffix(".py")
    for imported in _imports(module).all:
        other = imported.split(".")[1]
        if other not in LEVELS:
            yield f"{module}: {imported} belongs to no layer"
        elif other != own and LEVELS[other] >= level(module):
            yield f"{module} may not import {imported}"


class _Imports(NamedTuple):
    """Modules of bridle that a file imports anywhere, also late."""

    all: set[str]
    at_runtime: set[str]
    """Without those for the type checker."""


@cache
def _imports(module: str) -> _Imports:
    tree = ast.parse(modules()[module])
    return _Imports(_named(module, tree, for_types=True), _named(module, tree, for_types=False))


def _named(module: str, tree: ast.Module, *, for_types: bool) -> set[str]:
    found: set[str] = set()
    for node in _statements(tree, for_types=for_types):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            if node.module == "bridle":
                found |= {f"bridle.{name.name}" for name in node.names}
            elif node.module and node.module.startswith("bridle."):
                found.add(node.module)
                found |= {f"{node.module}.{name.name}" for name in node.names}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names if name.name.startswith("bridle.")}
    return found


def _statements(node: ast.AST, *, for_types: bool) -> Iterator[ast.stmt]:
    """Every statement below a node; those that only the type checker reads if wanted."""
    for part in ("body", "orelse", "handlers", "finalbody", "cases"):
        for each in getattr(node, part, ()):
            if not for_types and _is_for_types(each):
                continue
            if isinstance(each, ast.stmt):
                yield each
            yield from _statements(each, for_types=for_types)


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _name(module: str) -> str:
    return f"bridle/{module}".removesuffix(".py").replace("/", ".").removesuffix(".__init__")
