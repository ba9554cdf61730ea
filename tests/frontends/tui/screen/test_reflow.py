import shutil
import sys
from pathlib import Path

import pytest

from tests.fakes.tmux import tmux_with

_ROOT = Path(__file__).parents[4]
_BOX = (sys.executable, "-c", "from tests.frontends.tui.programs import box; box()")
pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


async def test_a_terminal_that_reflows_shows_no_traces_of_the_old_box(tmp_path: Path):
    above = [f"finished {number}" for number in range(20)]
    env = {"PYTHONPATH": f"{_ROOT}/src:{_ROOT}"}
    async with tmux_with(tmp_path, _BOX, size=(60, 12), env=env) as tmux:
        await tmux.until(lambda rows: rows == [*above, "-" * 60, ">", "-" * 60])
        await tmux.type("hi")
        await tmux.until(lambda rows: rows == [*above, "-" * 60, "> hi", "-" * 60])
        for columns in (25, 50, 40, 60):
            await tmux.resize(columns, 12)
            edge = "-" * columns
            await tmux.until(lambda rows, edge=edge: rows == [*above, edge, "> hi", edge])
