"""A tmux server of a test's own: a real terminal with scrollback that breaks rows anew when it is resized."""

import asyncio
import shlex
import shutil
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


class Tmux:
    """One window, seen as its user would see and copy it."""

    def __init__(self, folder: Path) -> None:
        self._socket = str(folder / "tmux")

    async def run(self, *words: str) -> str:
        process = await asyncio.create_subprocess_exec(
            "tmux", "-S", self._socket, "-f", "/dev/null", *words,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        out, _ = await process.communicate()
        return out.decode()

    async def rows(self) -> list[str]:
        """Scrollback and window, without blank rows at the end."""
        text = await self.run("capture-pane", "-p", "-S", "-")
        return [row.rstrip() for row in text.rstrip().splitlines()]

    async def copied(self) -> list[str]:
        """All of it as copy mode gives it: rows that the terminal broke are one line again."""
        text = await self.run("capture-pane", "-p", "-J", "-S", "-")
        return [row.rstrip() for row in text.rstrip().splitlines()]

    async def type(self, text: str) -> None:
        await self.run("send-keys", "-l", text)

    async def press(self, *keys: str) -> None:
        """Keys by the names that tmux has for them."""
        await self.run("send-keys", *keys)

    async def resize(self, columns: int, lines: int) -> None:
        await self.run("resize-window", "-x", str(columns), "-y", str(lines))

    async def until(self, holds: Callable[[list[str]], object], seconds: float = 60) -> list[str]:
        """Wait until scrollback and window satisfy a condition; the failure shows them."""
        rows: list[str] = []
        try:
            async with asyncio.timeout(seconds):
                while not holds(rows := await self.rows()):
                    pass
        except TimeoutError:
            shown = "\n".join(rows[-60:])
            raise AssertionError(f"the screen never got there; it ends with:\n{shown}") from None
        return rows


@asynccontextmanager
async def tmux_with(
    folder: Path,
    argv: Sequence[str],
    *,
    size: tuple[int, int],
    env: Mapping[str, str],
    cwd: Path | None = None,
) -> AsyncGenerator[Tmux]:
    """A window with a program in it; it ends with the test."""
    tmux = Tmux(folder)
    given = [word for name, value in env.items() for word in ("-e", f"{name}={value}")]
    place = () if cwd is None else ("-c", str(cwd))
    columns, lines = map(str, size)
    await tmux.run("new-session", "-d", "-x", columns, "-y", lines, *given, *place, shlex.join(argv))
    try:
        yield tmux
    finally:
        await tmux.run("kill-server")
