"""Every module of bridle, read once for all rules."""

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "bridle"


@cache
def modules() -> dict[str, str]:
    """The text of each module by its path below `src/bridle`."""
    return {
        path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(SOURCE.rglob("*.py"))
    }


@cache
def nodes(module: str) -> tuple[ast.AST, ...]:
    """Every node of a module's tree."""
    return tuple(ast.walk(ast.parse(modules()[module])))
