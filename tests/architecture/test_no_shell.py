"""S43: our own code starts programs with lists of words, never through a shell."""

import ast
from pathlib import Path

import pytest

_SOURCE = Path(__file__).parents[2] / "src"
_SHELLS = {"system", "popen", "getoutput", "getstatusoutput", "create_subprocess_shell"}


@pytest.mark.parametrize(
    "path", sorted(_SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(_SOURCE))
)
def test_no_module_hands_text_to_a_shell(path: Path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if isinstance(node.func, ast.Attribute) and isinstance(owner, ast.Name):
            called = (owner.id, node.func.attr)
            assert not (called[0] in ("os", "subprocess", "asyncio") and called[1] in _SHELLS), called
        shell = next((each.value for each in node.keywords if each.arg == "shell"), None)
        assert not (isinstance(shell, ast.Constant) and shell.value is True), ast.unparse(node)
