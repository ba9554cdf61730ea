"""What the official SDKs are seen to do with bridle; run it to write the table in docs/sdk.md."""

import ast
import re
from pathlib import Path

_HERE = Path(__file__).parent
DOCUMENT = _HERE.parent.parent / "docs" / "sdk.md"
NOT_OF_AN_SDK = ("test_older_release.py", "test_node.py", "test_faults.py", "test_behaviors.py")
NOT_UNDER_THE_OLDER = (*NOT_OF_AN_SDK, "test_mcp.py", "test_workflows.py")
"""Its MCP servers need an older `mcp` than the one installed here, and it knows nothing of workflows."""
_BEGIN, _END = "<!-- behaviors -->", "<!-- end of behaviors -->"


def table() -> str:
    """One row for each behavior, with the SDKs that show it."""
    rows = ["| | Behavior | PyPI 0.2 | PyPI 0.1 | npm |", "|---|---|---|---|---|"]
    for path in sorted(_HERE.glob("test_*.py")):
        if path.name not in NOT_OF_AN_SDK:
            area, older = path.stem.removeprefix("test_"), "" if path.name in NOT_UNDER_THE_OLDER else "✓"
            rows += (f"| {area} | {name} | ✓ | {older} | |" for name in python_behaviors(path))
    rows += (f"| node | {name} | | | ✓ |" for name in node_behaviors())
    return "\n".join(rows)


def python_behaviors(path: Path) -> list[str]:
    """The tests of a file, as the sentences that their names are."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tests = [node.name for node in tree.body if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef)]
    return [name.removeprefix("test_").replace("_", " ") for name in tests if name.startswith("test_")]


def node_behaviors() -> list[str]:
    text = (_HERE / "node" / "behaviors.mjs").read_text(encoding="utf-8")
    return [name.replace("_", " ") for name in re.findall(r"^  async (\w+)\(\) \{", text, re.MULTILINE)]


def written() -> str:
    """The table as the document has it."""
    return DOCUMENT.read_text(encoding="utf-8").partition(_BEGIN)[2].partition(_END)[0].strip()


if __name__ == "__main__":
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(_BEGIN)
    DOCUMENT.write_text(f"{before}{_BEGIN}\n{table()}\n{_END}{rest.partition(_END)[2]}", encoding="utf-8")
