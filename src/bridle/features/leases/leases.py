"""What one thread of a session has leased, so that agents do not get in each other's way."""

import asyncio
import os
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from msgspec import Struct

from bridle.features.leases.commands import NamedPaths, Runs, look, named, shown
from bridle.host.git import repository
from bridle.host.leases import PORT_COUNT, Lease, LeaseStore
from bridle.host.lock import Locked
from bridle.host.owners import Owner, this_process
from bridle.types.errors import ToolError
from bridle.types.services.checkpoints import Changes
from bridle.types.shell import Reading

_GIT = re.compile(r"(?:^|[\s/;&|(`'\"])git(?:\s|$)")
_PATIENCE = 120.0
"""Seconds to wait for others who use git."""
_PATIENT_GIT = {"core.filesRefLockTimeout": "10000", "core.packedRefsTimeout": "10000"}
"""Where git itself can wait for another git, in milliseconds."""


class Command(Struct, frozen=True, kw_only=True):
    """A shell command that is about to run."""

    reading: Reading | None
    read_only: bool
    is_awaited: bool
    """The call ends when it has ended."""
    cwd: str
    env: Mapping[str, str]
    seen: tuple[str, ...] = ()
    """Files that the thread has read."""


class Leases:
    """The leases of the main thread or of one agent; `above` are the threads that it works for."""

    def __init__(
        self,
        broker: LeaseStore,
        owner: Owner,
        *,
        above: tuple[str, ...] = (),
        patience: float = _PATIENCE,
        runs: Runs | None = None,
    ) -> None:
        self._broker = broker
        self._patience = patience
        self.owner = owner
        self._above = above
        self._variables: dict[str, str] | None = None
        self._runs = runs or Runs()
        self._own_lines: list[str] = []

    @classmethod
    def of_session(cls, folder: str, session_id: str, *, patience: float = _PATIENCE) -> "Leases":
        """Those of a main thread; nothing is read or written before something is claimed."""
        owner = this_process(session_id, label=f"session {session_id[:8]}")
        return cls(LeaseStore(folder), owner, patience=patience)

    def for_agent(self, agent_id: str, label: str) -> "Leases":
        """The leases of an agent that this thread starts."""
        run = os.urandom(4).hex()
        owner = this_process(self.owner.session, agent=agent_id, run=run, label=f"agent {label}")
        above = (*self._above, self.owner.key)
        return Leases(self._broker, owner, above=above, patience=self._patience, runs=self._runs)

    def changes(self, watched: Changes | None, cwd: str) -> Changes:
        """Reserves each file before a tool changes it, then passes the change to `watched`."""
        return _Reserving(self, watched, cwd)

    async def reserve(self, path: str, cwd: str) -> None:
        """Claim a file; `cwd` is where the thread works.

        Raises:
            ToolError: another thread is changing it.
        """
        await self._reserve(NamedPaths((path,), ()), _work_folder(cwd))

    @asynccontextmanager
    async def command(self, command: Command) -> AsyncGenerator[None]:
        """Claim what a command says it will change, and whatever else it is seen to have changed.

        No other command that makes git write runs in the same repository meanwhile.

        Raises:
            ToolError: another thread is changing one of the files, or has been using git for too long.
        """
        reading = command.reading
        if reading is None or command.read_only:
            yield
            return
        folder = _work_folder(command.cwd)
        has_company = await self._reserve(named(reading), folder)
        async with self.serial_git(reading, command.cwd):
            if not has_company or not command.is_awaited:
                yield
                return
            began = time.time()
            before = await look(folder, command.env, (*await self._theirs(folder), *command.seen))
            with self._runs.one(folder) as run:
                yield
            await self._claim(await before.changed(), since=began, take=not run.overlapped)

    def remarks(self) -> tuple[str, ...]:
        """What this thread should know about its files, each line once."""
        try:
            lines = (*self._own_lines, *self._broker.messages(self.owner))
        except OSError:
            lines = tuple(self._own_lines)
        self._own_lines.clear()
        return lines

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
        trees = repository.worktrees(cwd) if reading is not None and _writes_with_git(reading) else []
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
                f"Another command{who} is using git in this repository. Try again later."
            ) from None
        try:
            yield
        finally:
            await turn.__aexit__(None, None, None)

    def end_turn(self) -> tuple[str, ...]:
        """Release the files that were changed. Returns the remaining remarks about them."""
        self._give_back(self._broker.release_files)
        return self.remarks()

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

    async def _reserve(self, wanted: NamedPaths, folder: str) -> bool:
        """Claim files. Returns whether another thread is running in the folder, as far as that is known."""
        try:
            held, has_company = await asyncio.to_thread(self._reserve_now, wanted, folder)
        except (OSError, Locked):
            return False  # Where no list can be kept, the checks of the tools themselves have to do.
        if held is None:
            return has_company
        ago = max(0, round(time.time() - held.since))
        raise ToolError(
            f"{held.owner.label} is changing {held.what} (last change {ago} s ago). Do other work "
            "first, or coordinate with them. It is free when their turn ends."
        )

    def _reserve_now(self, wanted: NamedPaths, folder: str) -> tuple[Lease | None, bool]:
        broker, held = self._broker, None
        if wanted.files or wanted.folders:
            held = broker.lease_all(wanted.files, self.owner, above=self._above, folders=wanted.folders)
        return held, broker.join(folder, self.owner)

    async def _theirs(self, folder: str) -> list[str]:
        """The files of a folder that others are changing."""
        found = await asyncio.to_thread(self._broker.leases_below, folder, self.owner, above=self._above)
        return [held.what for held in found]

    async def _claim(self, paths: list[str], *, since: float, take: bool) -> None:
        """Take what a command has changed. On a conflict both threads get a remark."""
        if not paths:
            return
        try:
            conflicts = await asyncio.to_thread(
                self._broker.claim_changed, paths, self.owner, since=since, above=self._above, take=take
            )
            for owner in {held.owner.key: held.owner for held in conflicts}.values():
                names = shown(held for held in conflicts if held.owner == owner)
                advice = "read it again before you continue."
                self._own_lines.append(
                    f"{names} changed while the command ran, and {owner.label} is changing it too: {advice}"
                )
                self._broker.tell(owner, f"{names} changed while {self.owner.label} ran a command: {advice}")
        except (OSError, Locked):
            pass  # As when files are claimed beforehand.

    def _give_back(self, release: Callable[[Owner], None]) -> None:
        try:
            release(self.owner)
        except (OSError, Locked):
            pass  # Leases expire, and the rest ends with the process.

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
    def __init__(self, claims: Leases, watched: Changes | None, cwd: str) -> None:
        self._claims = claims
        self._watched = watched
        self._cwd = cwd

    async def before_change(self, path: str) -> None:
        await self._claims.reserve(path, self._cwd)
        if self._watched is not None:
            await self._watched.before_change(path)

    async def before_command(self) -> Callable[[], Awaitable[None]]:
        return _nothing if self._watched is None else await self._watched.before_command()


async def _nothing() -> None:
    """Nothing to do after a command."""


def _work_folder(cwd: str) -> str:
    """The folder that threads share when they work side by side: the work tree, or where they stand."""
    return repository.find_root(cwd) or os.path.realpath(cwd)


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
