"""Completion of files by a command of the user."""

import asyncio
from collections.abc import Callable, Mapping

from bridle.frontends.tui.chat.row_command import RowCommandError, ask_for_rows
from bridle.frontends.tui.completion.candidates import Hit
from bridle.types.text import printable

_MOST_FILES = 15


class FileCommand:
    """Asks the command for each new query, never twice at once; meanwhile the last answer is offered."""

    def __init__(
        self, command: str, *, root: str, env: Callable[[], Mapping[str, str]], warn: Callable[[str], None]
    ) -> None:
        self._command = command
        self.root = root
        self._env = env
        self._warn = warn
        self._query: str | None = None
        self._due = asyncio.Event()
        self._hits: list[Hit] = []
        self.on_change: Callable[[], None] = lambda: None

    async def refresh(self) -> bool:
        """The command lists files itself."""
        return False

    def search(self, query: str, *, limit: int = 20) -> list[Hit]:
        """What the command said last; it is asked again if the query is new."""
        if query != self._query:
            self._query = query
            self._due.set()
        return self._hits[:limit]

    async def run(self) -> None:
        """Answer queries until cancelled."""
        while True:
            await self._due.wait()
            self._due.clear()
            self._hits = await self._ask(self._query or "")
            self.on_change()

    async def _ask(self, query: str) -> list[Hit]:
        env = {**self._env(), "CLAUDE_PROJECT_DIR": self.root}
        try:
            said = await ask_for_rows(self._command, {"query": query}, env=env, cwd=self.root)
        except RowCommandError as fault:
            self._warn(f"fileSuggestion: {fault}")
            return []
        paths = [line.strip() for line in said.splitlines() if line.strip()]
        # A path that would steer the terminal cannot be mentioned.
        return [Hit(path, 0, ()) for path in paths if printable(path) == path][:_MOST_FILES]
