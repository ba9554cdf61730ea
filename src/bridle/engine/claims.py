"""What one thread of a session claims for itself alone, so that agents do not get in each other's way."""

import asyncio
import os
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from bridle.host import git
from bridle.host.broker import PORT_COUNT, Broker
from bridle.host.lock import Locked
from bridle.host.owners import Owner, this_process
from bridle.types.checkpoint import Changes
from bridle.types.errors import ToolError
from bridle.types.shell import Reading

_GIT = re.compile(r"(?:^|[\s/;&|(`'\"])git(?:\s|$)")
_PATIENCE = 120.0
"""Seconds to wait for others who use git."""
_PATIENT_GIT = {"core.filesRefLockTimeout": "10000", "core.packedRefsTimeout": "10000"}
"""Where git itself can wait for another git, in milliseconds."""


class Claims:
    """The claims of the main thread or of one agent; `above` are the threads that it works for."""

    def __init__(
        self, broker: Broker, owner: Owner, *, above: tuple[str, ...] = (), patience: float = _PATIENCE
    ) -> None:
        self._broker = broker
        self._patience = patience
        self.owner = owner
        self._above = above
        self._variables: dict[str, str] | None = None

    @classmethod
    def of_session(cls, folder: str, session_id: str, *, patience: float = _PATIENCE) -> "Claims":
        """Those of a main thread; nothing is read or written before something is claimed."""
        owner = this_process(session_id, label=f"session {session_id[:8]}")
        return cls(Broker(folder), owner, patience=patience)

    def for_agent(self, agent_id: str, label: str) -> "Claims":
        """The same for an agent that this thread starts."""
        run = os.urandom(4).hex()
        owner = this_process(self.owner.session, agent=agent_id, run=run, label=f"agent {label}")
        return Claims(self._broker, owner, above=(*self._above, self.owner.key), patience=self._patience)

    def changes(self, watched: Changes | None) -> Changes:
        """Has each file reserved before a tool changes it, then tells whoever else wants to know."""
        return _Reserving(self, watched)

    async def reserve(self, path: str) -> None:
        """Claim a file.

        Raises:
            ToolError: somebody else is changing it.
        """
        try:
            held = await asyncio.to_thread(self._broker.lease, path, self.owner, above=self._above)
        except (OSError, Locked):
            return  # Where no list can be kept, the checks of the tools themselves have to do.
        if held is None:
            return
        ago = max(0, round(time.time() - held.since))
        raise ToolError(
            f"{path} is being changed by {held.owner.label}, last {ago} s ago: do something else first, or "
            "agree with them; it is free when they end their turn."
        )

    async def environment(self, env: Mapping[str, str]) -> Mapping[str, str]:
        """The environment for commands: ports, and for agents a scratch folder, for this thread alone."""
        if self._variables is None:
            self._variables = await asyncio.to_thread(self._claim_variables, env)
        return {**env, **self._variables}

    @asynccontextmanager
    async def serial_git(self, reading: Reading | None, cwd: str) -> AsyncGenerator[None]:
        """While a command that makes git write runs, no other does so in the same repository.

        Raises:
            ToolError: another one takes too long.
        """
        trees = git.worktrees(cwd) if reading is not None and _writes_with_git(reading) else []
        if not trees:
            yield
            return
        turn = self._broker.git(trees[0], seconds=self._patience)
        try:
            await turn.__aenter__()
        except OSError:
            yield  # Where no lock can be kept, git's own have to do.
            return
        except Locked as busy:
            who = "" if busy.holder is None else f" (process {busy.holder})"
            raise ToolError(
                f"Another command{who} has been using git in this repository for long: try again later."
            ) from None
        try:
            yield
        finally:
            await turn.__aexit__(None, None, None)

    def end_turn(self) -> None:
        """Give back the files that were changed."""
        self._give_back(self._broker.release_files)

    def end(self) -> None:
        """Give back everything."""
        self._variables = None
        self._give_back(self._broker.release)

    def close(self) -> None:
        """Give back what the whole session has, and what dead ones have left."""
        try:
            if self._broker.used:
                self._broker.close()
                self._broker.sweep()
        except (OSError, Locked):
            pass  # What the process held is free as soon as it is gone.

    def _give_back(self, release: Callable[[Owner], None]) -> None:
        try:
            release(self.owner)
        except (OSError, Locked):
            pass  # Leases end by themselves, and the rest with the process.

    def _claim_variables(self, env: Mapping[str, str]) -> dict[str, str]:
        found: dict[str, str] = {}
        try:
            if (first := self._broker.ports(self.owner)) is not None:
                found |= {"BRIDLE_PORT_BASE": str(first), "BRIDLE_PORT_COUNT": str(PORT_COUNT)}
            if self.owner.agent is not None:
                base = os.path.realpath(env.get("CLAUDE_CODE_TMPDIR") or env.get("TMPDIR") or "/tmp")
                found |= dict.fromkeys(("TMPDIR", "TMP", "TEMP"), self._broker.scratch(self.owner, base))
        except (OSError, Locked):
            pass  # Commands run as they would without a broker.
        if self.owner.agent is not None:
            found |= {"BRIDLE_AGENT_ID": self.owner.agent, **_patience(env)}
        return found


class _Reserving:
    def __init__(self, claims: Claims, watched: Changes | None) -> None:
        self._claims = claims
        self._watched = watched

    async def before_change(self, path: str) -> None:
        await self._claims.reserve(path)
        if self._watched is not None:
            await self._watched.before_change(path)

    async def before_command(self) -> Callable[[], Awaitable[None]]:
        return _nothing if self._watched is None else await self._watched.before_command()


async def _nothing() -> None:
    """A command has ended, and nobody wanted to know."""


def _writes_with_git(reading: Reading) -> bool:
    """Whether a command may make git write; a false alarm only costs a little waiting."""
    return any(not part.harmless and _GIT.search(part.text) for part in reading.parts)


def _patience(env: Mapping[str, str]) -> dict[str, str]:
    """Variables that let git wait for other gits, after those that are set already."""
    text = env.get("GIT_CONFIG_COUNT", "")
    first = int(text) if text.isdecimal() else 0
    pairs = list(enumerate(_PATIENT_GIT.items(), first))
    keys = {f"GIT_CONFIG_KEY_{number}": key for number, (key, _) in pairs}
    values = {f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in pairs}
    return {"GIT_CONFIG_COUNT": str(first + len(pairs)), **keys, **values}
