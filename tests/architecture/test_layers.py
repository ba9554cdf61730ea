import ast
import sys
from pathlib import Path

import pytest

_SOURCE = Path(__file__).parents[2] / "src"
_MODULES = sorted(_SOURCE.rglob("*.py"))

_LAYERS = (
    {"types", "version"},
    {"host"},
    {"config"},
    {"providers", "permissions", "hooks", "tools", "mcp", "sessions", "context", "extensions"},
    {"engine"},
    {"commands"},
    {"protocol"},
    {"frontends", "remote", "fleet"},
    {"cli"},
    {"sdk"},
    {"__main__", "__init__"},
)
_LEVEL = {package: level for level, packages in enumerate(_LAYERS) for package in packages}


def _package(path: Path) -> str:
    return path.relative_to(_SOURCE / "bridle").parts[0].removesuffix(".py")


def _imports(path: Path, *, for_types: bool = True) -> set[str]:
    """Modules of bridle that a file imports anywhere, also late; those for the type checker if wanted."""
    found: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if not for_types:
        tree = _RuntimeOnly().visit(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module == "bridle":
                found |= {f"bridle.{name.name}" for name in node.names}
            elif node.module and node.module.startswith("bridle."):
                found.add(node.module)
                found |= {f"{node.module}.{name.name}" for name in node.names}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names if name.name.startswith("bridle.")}
    return found


class _RuntimeOnly(ast.NodeTransformer):
    """Drops what only the type checker reads."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        is_for_types = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if is_for_types else self.generic_visit(node)


@pytest.mark.parametrize("path", _MODULES, ids=lambda path: str(path.relative_to(_SOURCE)))
def test_imports_go_down_only(path: Path):
    own = _package(path)
    for module in _imports(path):
        other = module.split(".")[1]
        assert other in _LEVEL, f"{module} belongs to no layer"
        if other != own:
            assert _LEVEL[other] < _LEVEL[own], f"{own} may not import {module}"


def test_no_module_imports_itself_through_others():
    names = {_module_name(path): path for path in _MODULES}
    graph = {
        name: {other for other in _imports(path, for_types=False) if other in names}
        for name, path in names.items()
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


def _module_name(path: Path) -> str:
    name = ".".join(path.relative_to(_SOURCE).with_suffix("").parts)
    return name.removesuffix(".__init__")
