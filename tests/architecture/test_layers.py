import ast
import sys
from collections.abc import Iterator

from tests.architecture.modules import modules

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


def test_imports_go_down_only():
    assert [wrong for module in modules() for wrong in _upward(module)] == []


def test_no_module_imports_itself_through_others():
    names = {_name(module): module for module in modules()}
    graph = {
        name: {other for other in _imports(module, for_types=False) if other in names}
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
    for imported in _imports(module):
        other = imported.split(".")[1]
        if other not in _LEVEL:
            yield f"{module}: {imported} belongs to no layer"
        elif other != own and _LEVEL[other] >= _LEVEL[own]:
            yield f"{module} may not import {imported}"


def _imports(module: str, *, for_types: bool = True) -> set[str]:
    """Modules of bridle that a file imports anywhere, also late; those for the type checker if wanted."""
    found: set[str] = set()
    tree = ast.parse(modules()[module])
    if not for_types:
        tree = _RuntimeOnly().visit(tree)
    for node in ast.walk(tree):
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


class _RuntimeOnly(ast.NodeTransformer):
    """Drops what only the type checker reads."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        is_for_types = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if is_for_types else self.generic_visit(node)


def _name(module: str) -> str:
    return f"bridle/{module}".removesuffix(".py").replace("/", ".").removesuffix(".__init__")
