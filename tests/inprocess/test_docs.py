import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.program import Program

_PAGE = Path(__file__).parents[2] / "docs" / "python.md"
_EXAMPLES = re.findall(r"## ([^\n]+)\n(?:(?!\n## ).)*?```python\n(.*?)```", _PAGE.read_text(), re.DOTALL)


@pytest.mark.parametrize(("title", "code"), _EXAMPLES, ids=[title for title, _ in _EXAMPLES])
async def test_examples_run(tmp_path: Path, title: str, code: str):
    program = Program(tmp_path, ANTHROPIC_MODEL="offline")
    (program.project / "README.md").write_text("# A shop\n")
    if "list_sessions" in code:
        await program.run("-p", "hello")
    script = program.project / "example.py"
    script.write_text(code)
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-W", "error", str(script)],
        cwd=program.project,
        env={**program.env, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), title
    assert done.stdout or "assert" in code


def test_there_are_examples():
    assert len(_EXAMPLES) == 7
