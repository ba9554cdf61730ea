"""The LSP tool on a language server that people use."""

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from bridle.features.language_servers.session import LanguageContext, SessionLanguages
from bridle.tools.lsp import TOOL, LspInput
from bridle.types.services.language_servers import LANGUAGES
from bridle.types.tool import ToolContext
from tests.fakes.processes import eventually
from tests.fakes.tool_context import make_context

_SERVER = os.path.join(os.path.dirname(sys.executable), "basedpyright-langserver")
_SHAPES = '''\
class Shape:
    def area(self) -> float:
        """How large it is."""
        raise NotImplementedError


class Square(Shape):
    def area(self) -> float:
        return 1.0


def total(shapes: list[Shape]) -> float:
    return sum(shape.area() for shape in shapes)
'''
_MAIN = """\
from shapes import Square, total

print(total([Square()]))
"""


@pytest.fixture
async def context(tmp_path: Path) -> AsyncIterator[ToolContext]:
    (tmp_path / "shapes.py").write_text(_SHAPES)
    (tmp_path / "main.py").write_text(_MAIN)
    entry = {"command": _SERVER, "args": ["--stdio"], "extensionToLanguage": {".py": "python"}}
    context = LanguageContext(root=lambda: str(tmp_path), env=dict(os.environ), tell=print)
    languages = SessionLanguages({"python": entry}, context)
    yield msgspec.structs.replace(make_context(tmp_path), services={LANGUAGES: languages}.get)
    await languages.close()


async def test_a_real_server_answers_every_question(context: ToolContext, tmp_path: Path):
    async def ask(operation: str, path: str, line: int = 1, character: int = 1, query: str = "") -> str:
        given = {
            "operation": operation,
            "filePath": path,
            "line": line,
            "character": character,
            "query": query,
        }
        output = await TOOL.run(msgspec.convert(given, LspInput), context)
        assert isinstance(output.content, str)
        return output.content

    assert await ask("goToDefinition", "main.py", 3, 8) == (
        "shapes.py:\n  12: def total(shapes: list[Shape]) -> float:"
    )
    assert "Square" in await ask("hover", "main.py", 3, 14)
    references = await ask("findReferences", "shapes.py", 7, 7)
    assert "main.py:\n  1: from shapes import Square, total\n  3: print(total([Square()]))" in references
    outline = await ask("documentSymbol", "shapes.py")
    assert "class Shape (line 1)\n  method area (line 2)" in outline
    assert "Square" in await ask("workspaceSymbol", "shapes.py", query="Square")
    assert "shapes.py" in await ask("goToImplementation", "shapes.py", 2, 9)
    assert "function total" in await ask("prepareCallHierarchy", "shapes.py", 12, 5)
    assert "main" in await ask("incomingCalls", "shapes.py", 12, 5)
    assert "area" in await ask("outgoingCalls", "shapes.py", 12, 5)


@pytest.mark.long
async def test_a_real_server_says_what_an_edit_broke(context: ToolContext, tmp_path: Path):
    class Conversation:
        pass

    mine, languages = Conversation(), context.need(LANGUAGES)
    assert isinstance(languages, SessionLanguages)
    (tmp_path / "main.py").write_text(_MAIN + "total(5)\n")
    languages.touch(mine, [str(tmp_path / "main.py")])
    said: list[str] = []
    await eventually(lambda: said.append(languages.news(mine) or "") or any(said))
    assert "main.py" in said[-1] and "line 4: error:" in said[-1]
