import asyncio
import shutil
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


class _Tmux:
    """A tmux server of our own: a terminal that breaks rows anew when it becomes narrower."""

    def __init__(self, folder: Path) -> None:
        self._socket = str(folder / "tmux")

    async def run(self, *words: str) -> str:
        process = await asyncio.create_subprocess_exec(
            "tmux", "-S", self._socket, "-f", "/dev/null", *words,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        out, _ = await process.communicate()
        return out.decode()

    async def until(self, wanted: list[str]) -> None:
        """Wait until scrollback and window hold exactly these rows."""
        rows: list[str] = []
        try:
            async with asyncio.timeout(10):
                while rows != wanted:
                    text = await self.run("capture-pane", "-p", "-S", "-")
                    rows = [row.rstrip() for row in text.rstrip().splitlines()]
        except TimeoutError:
            raise AssertionError(f"{rows} instead of {wanted}") from None


@asynccontextmanager
async def _echo(tmp_path: Path) -> AsyncGenerator[_Tmux]:
    tmux = _Tmux(tmp_path)
    program = (
        f"PYTHONPATH={_ROOT}/src:{_ROOT} {sys.executable} -c 'from tests.tui.programs import box; box()'"
    )
    await tmux.run("new-session", "-d", "-x", "60", "-y", "12", program)
    try:
        yield tmux
    finally:
        await tmux.run("kill-server")


async def test_a_terminal_that_reflows_shows_no_traces_of_the_old_box(tmp_path: Path):
    above = [f"finished {number}" for number in range(20)]
    async with _echo(tmp_path) as tmux:
        await tmux.until([*above, "-" * 60, ">", "-" * 60])
        await tmux.run("send-keys", "hi")
        await tmux.until([*above, "-" * 60, "> hi", "-" * 60])
        for columns in (25, 50, 40, 60):
            await tmux.run("resize-window", "-x", str(columns), "-y", "12")
            await tmux.until([*above, "-" * columns, "> hi", "-" * columns])
