"""Panes of iTerm2, through its command line program `it2`."""

import re
import shlex
from collections.abc import Mapping, Sequence

from bridle.host.panes.pane import Pane, PaneFault
from bridle.host.process import Captured, run
from bridle.host.programs import require_program

_SECONDS = 10.0
_MOST_OUTPUT = 64 * 1024


class ItermPanes:
    """Splits the session that we run in; `it2` types the command into the new one."""

    hint = None

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        _, _, self._own = env.get("ITERM_SESSION_ID", "").rpartition(":")
        self._opened: list[str] = []

    async def open(self, argv: Sequence[str], *, cwd: str, title: str, color: str) -> Pane:
        """Start a program in a pane of its own, which closes when the program ends.

        Raises:
            PaneFault: there can be none.
        """
        del title, color
        beside = (self._opened or [self._own])[-1]
        target = ("-s", beside) if beside else ()
        # The first stands to the right of us, the others below it.
        across = () if self._opened else ("-v",)
        said = await self._it2("session", "split", *across, *target)
        found = re.search(rb"([0-9A-Fa-f]{8}-[0-9A-Fa-f-]{27}|\S+)\s*$", said.stdout)
        if said.code != 0 or found is None:
            raise PaneFault(f"it2 opened no pane ({said.stderr.decode(errors='replace').strip()[:200]})")
        pane = Pane(id=found[1].decode())
        command = f"cd {shlex.quote(cwd)} && exec {shlex.join(argv)}"
        if (await self._it2("session", "run", "-s", pane.id, command)).code != 0:
            await self._it2("session", "close", "-f", "-s", pane.id)
            raise PaneFault("it2 started no program in its pane")
        self._opened.append(pane.id)
        return pane

    async def close(self, pane: Pane) -> None:
        if pane.id in self._opened:
            self._opened.remove(pane.id)
            try:
                await self._it2("session", "close", "-f", "-s", pane.id)
            except PaneFault:
                pass  # A program that is gone can close nothing, and the process was ended anyway.

    async def finish(self) -> None:
        """Nothing was changed for the panes."""

    async def _it2(self, *words: str) -> Captured:
        try:
            return await run(
                (require_program("it2", self._env), *words),
                cwd="/",
                env=self._env,
                timeout=_SECONDS,
                limit=_MOST_OUTPUT,
            )
        except OSError as error:
            raise PaneFault(f"it2 cannot be started ({error.strerror})") from error
