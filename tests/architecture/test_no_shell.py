"""S43: our own code starts programs with lists of words, never through a shell."""

import ast
from collections.abc import Iterator

from tests.architecture.modules import modules, nodes

_SHELLS = {"system", "popen", "getoutput", "getstatusoutput", "create_subprocess_shell"}


def test_no_module_hands_text_to_a_shell():
    assert [f"{module}: {call}" for module in modules() for call in _shells(module)] == []


def _shells(module: str) -> Iterator[str]:
    if not any(word in modules()[module] for word in (*_SHELLS, "shell")):
        return
    for node in nodes(module):
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Attribute(value=ast.Name("os" | "subprocess" | "asyncio"), attr=attr) if attr in _SHELLS:
                yield ast.unparse(node)
            case _:
                pass
        shell = next((each.value for each in node.keywords if each.arg == "shell"), None)
        if isinstance(shell, ast.Constant) and shell.value is True:
            yield ast.unparse(node)
