"""What the program defines, the program uses: tests alone keep nothing alive."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

_SRC = Path(__file__).parents[2] / "src" / "bridle"
_WORD = re.compile(r"\w+")
_ALLOWED = {
    "__getattr__": "Python calls it for names of a module",
}
"""Names that nothing in src says, and why they stay."""
_FOR_OTHERS = {
    "permissions/shell/bulk_decisions.py": "the gate for the fuzzer, which decides about very many commands",
    "permissions/shell/programs/checked_versions.py": "versions that tests compare the option tables with",
}
"""Modules that nothing in src imports, and why they stay."""
_STARTED = {"__main__", "__init__"}
_PUBLIC = ("sdk/", "types/services/plugins.py", "providers/scripted.py")
"""What programs import that use bridle as a library."""


def test_every_function_and_class_is_used_by_the_program():
    trees = {
        path.relative_to(_SRC).as_posix(): ast.parse(path.read_text("utf-8")) for path in _SRC.rglob("*.py")
    }
    said_in = {name: Counter(_said(tree)) for name, tree in trees.items()}
    said = Counter[str]()
    for names in said_in.values():
        said.update(names)
    dead: list[str] = []
    for name, tree in trees.items():
        if name.startswith(_PUBLIC) or name in _FOR_OTHERS:
            continue
        for node in _definitions(tree):
            if node.name in _ALLOWED or said[node.name] > said_in[name][node.name]:
                continue
            if said[node.name] <= Counter(_said(node))[node.name]:
                dead.append(f"{name}:{node.lineno} {node.name}")
    assert not dead, f"nothing in src uses these: remove them, with their tests: {dead}"


def test_every_module_is_imported_by_the_program():
    texts = {path: path.read_text("utf-8") for path in _SRC.rglob("*.py")}
    words = Counter(word for text in texts.values() for word in set(_WORD.findall(text)))
    unused = {
        path.relative_to(_SRC).as_posix()
        for path, text in texts.items()
        if path.stem not in _STARTED and words[path.stem] <= (path.stem in set(_WORD.findall(text)))
    }
    dead = sorted(unused - set(_FOR_OTHERS))
    assert not dead, f"nothing in src imports these: {dead}"


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _definitions(tree: ast.Module) -> Iterator[Definition]:
    """Functions and classes of a module, and the methods of its classes that Python does not call."""
    for node in tree.body:
        if isinstance(node, Definition):
            yield node
        if isinstance(node, ast.ClassDef):
            yield from (
                each
                for each in node.body
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and not each.name.startswith("__")
            )


def _said(tree: ast.AST) -> Iterator[str]:
    """Every name that the code says: as itself, behind a dot, imported, or in a text that is no docstring."""
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name
            case ast.ImportFrom(names=names) | ast.Import(names=names):
                yield from (part for each in names for part in each.name.split("."))
            case ast.Constant(value=str() as text) if id(node) not in docs:
                yield from _WORD.findall(text)
            case _:
                pass
