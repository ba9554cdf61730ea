"""`bridle remote-control`: one process that starts sessions on demand for remote clients."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from time import strftime
from typing import Any, Literal

from msgspec import Struct

from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.cli.subcommands.sessions import MOST_REMOTE
from bridle.config.load import load
from bridle.config.state import is_trusted
from bridle.features.teams.peers import socket_path
from bridle.frontends.remote.access import listen_address, new_token
from bridle.frontends.remote.child_session import ChildOptions, ChildSession
from bridle.frontends.remote.errors import RequestRefused
from bridle.frontends.remote.server import RemoteServer
from bridle.frontends.remote.shared_session import SharedSession, is_action_id
from bridle.host.stdio import complain
from bridle.transcripts.reader import Loaded
from bridle.transcripts.reader import load as load_transcript
from bridle.transcripts.resume import find, newest
from bridle.types.errors import BridleError, UsageError
from bridle.types.ids import new_uuid

Spawn = Literal["same-dir", "worktree", "session"]

STREAMS = (
    "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
    "--permission-prompt-tool", "stdio", "--include-partial-messages", "--replay-user-messages",
)  # fmt: skip
"""Flags of a session that is controlled by its standard streams."""
_MOST_WISHES = 1_000
_MOST_OVER = 32
_SOCKET = "CLAUDE_CODE_MESSAGING_SOCKET"


class ServerOptions(Struct, frozen=True, kw_only=True):
    """What the command line asks for."""

    name: str
    spawn: Spawn = "same-dir"
    capacity: int = MOST_REMOTE
    first: tuple[str, ...] | None = ()
    """Flags of the session to begin with; None for no session."""
    flags: tuple[str, ...] = ()
    """Flags of every session."""
    verbose: bool = False


def run_remote_control(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Serve until interrupted; returns the exit code.

    Raises:
        BridleError: it cannot be begun.
    """
    options = read_options(given, env)
    cwd = os.getcwd()
    if not is_trusted(env, cwd):
        raise UsageError(f"{cwd} is not trusted yet: run bridle trust")
    if load(cwd=cwd, env=env, flag=None, setting_sources=None).settings.disable_remote_control:
        raise UsageError("remote control is turned off by the setting disableRemoteControl")
    return asyncio.run(_serve(options, env, cwd))


def read_options(given: ParsedArguments, env: Mapping[str, str]) -> ServerOptions:
    """What the command line asks for.

    Raises:
        UsageError: options contradict each other.
    """
    spawn: Spawn
    match given.text("spawn"):
        case "worktree" | "session" as chosen:
            spawn = chosen
        case _:
            spawn = "same-dir"
    first: tuple[str, ...] | None = None if given.on("no-create-session-in-dir") else ()
    if (session := given.text("session-id")) is not None:
        first = ("--resume", session)
    elif given.on("continue"):
        first = ("--continue",)
    prefix = given.text("remote-control-session-name-prefix")
    prefix = prefix or env.get("CLAUDE_REMOTE_CONTROL_SESSION_NAME_PREFIX") or os.uname().nodename
    return ServerOptions(
        name=given.text("name") or f"{prefix}-{os.path.basename(os.getcwd()) or 'session'}",
        spawn=spawn,
        capacity=1 if spawn == "session" else given.whole("capacity") or MOST_REMOTE,
        first=first,
        flags=_sandbox(on=given.on("sandbox"), off=given.on("no-sandbox")),
        verbose=given.on("verbose"),
    )


class Hosted:
    """Implements `server.SharedSessions`: sessions in processes of their own."""

    def __init__(self, options: ServerOptions, env: Mapping[str, str], cwd: str) -> None:
        self._options = options
        self._env = env
        self._cwd = cwd
        self._running: dict[ChildSession, asyncio.Task[None]] = {}
        self._count = 0
        self._starting = 0
        self._wished: dict[str, asyncio.Task[SharedSession]] = {}
        """Sessions that clients asked for, by the id of the request."""
        self._over: dict[str, ChildSession] = {}
        """Sessions that ended, which can be looked at and resumed."""
        self.ended = asyncio.Event()
        """The only session there may be is over."""
        self.failed = False
        """It ended with an error."""

    @property
    def opens(self) -> bool:
        return self._options.spawn != "session"

    def all(self) -> Sequence[SharedSession]:
        return [child.shared_session for child in (*self._running, *self._over.values())]

    def find(self, id: str) -> SharedSession | None:
        return next((shared_session for shared_session in self.all() if shared_session.id == id), None)

    async def open(self, wish: Mapping[str, Any], who: str) -> SharedSession:
        if not self.opens:
            raise RequestRefused(405, "This server runs a single session (--spawn session).")
        id = wish.get("id", "")
        if not isinstance(id, str) or (id and not is_action_id(id)):
            raise RequestRefused(400, "The id of a request is a UUID in lower case.")
        # A request that is repeated waits for the session of the first one.
        starting = self._wished.get(id) or asyncio.create_task(self._open(wish.get("resume"), who))
        if id:
            self._wished[id] = starting
            while len(self._wished) > _MOST_WISHES:
                del self._wished[next(iter(self._wished))]
        try:
            return await asyncio.shield(starting)
        except BridleError as error:
            self._wished.pop(id, None)
            raise RequestRefused(503, str(error)) from error

    async def _open(self, over: Any, who: str) -> SharedSession:
        """Start a session for a client, or continue one that ended."""
        if over is None:
            made = await self.start(())
            _report(f"{who} started {made.name}")
            return made
        child = self._over.get(over) if isinstance(over, str) else None
        if child is None or not child.session_id:
            raise BridleError("No conversation to resume.")
        made = await self.start(("--resume", child.session_id), name=child.name)
        self._over.pop(child.shared_session.id, None)
        _report(f"{who} resumed {made.name}")
        return made

    async def start(self, flags: Sequence[str], *, name: str = "") -> SharedSession:
        """Start one more session.

        Raises:
            BridleError: there are too many, it cannot be started, or there is nothing to continue.
        """
        options = self._options
        if len(self._running) + self._starting >= options.capacity:
            raise BridleError(f"Reached the limit of {options.capacity} sessions.")
        self._starting += 1
        try:
            child = await self._start(flags, name)
        finally:
            self._starting -= 1
        self._running[child] = asyncio.create_task(self._run(child))
        return child.shared_session

    async def _start(self, flags: Sequence[str], name: str) -> ChildSession:
        options = self._options
        past = await asyncio.to_thread(_conversation, flags, self._cwd, self._env)
        if past is not None:
            flags = ("--resume", past.session_id)
        self._count += 1
        tree = (
            ("--worktree", f"remote-{os.getpid()}-{self._count}")
            if options.spawn == "worktree" and not flags
            else ()
        )
        socket = socket_path(self._env, new_uuid())
        child = ChildSession(
            ChildOptions(
                argv=(sys.executable, "-P", "-m", "bridle", *STREAMS, *options.flags, *flags, *tree),
                cwd=self._cwd,
                env={**self._env, _SOCKET: socket},
                socket=socket,
                name=name or (options.name if self._count == 1 else f"{options.name} {self._count}"),
                log=_complain if options.verbose else lambda _: None,
                report=_report,
                forget=self._forget,
            )
        )
        if past is not None:
            child.restore(past.entries, past.session_id)
        await child.start()
        return child

    def finish(self) -> None:
        """Tell those who follow that the server ends."""
        for each in self.all():
            each.finish("The server has stopped.")

    def _forget(self, id: str) -> None:
        self._over.pop(id, None)

    async def close(self) -> None:
        """End every session."""
        children, tasks = tuple(self._running), tuple(self._running.values())
        await asyncio.gather(*(child.close() for child in children))
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, child: ChildSession) -> None:
        try:
            await child.run()
        finally:
            del self._running[child]
            self._over[child.shared_session.id] = child
            while len(self._over) > _MOST_OVER:
                del self._over[next(iter(self._over))]
            self.failed = child.failed
            if not self.opens:
                self.ended.set()


async def _serve(options: ServerOptions, env: Mapping[str, str], cwd: str) -> int:
    hosted, token = Hosted(options, env, cwd), new_token()
    host, port = listen_address(env)
    server = RemoteServer(hosted, token, listen=host, port=port, names=env.get("BRIDLE_REMOTE_HOSTS", ""))
    try:
        await server.open()
    except OSError as error:
        raise UsageError(f"can't listen on {host}:{port}: {error.strerror or error}") from error
    loop, stopped = asyncio.get_running_loop(), hosted.ended
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stopped.set)
    try:
        if options.first is not None:
            await hosted.start(options.first)
        say(
            f"Serving {cwd} as {options.name}. Anyone with this address can start and control "
            "sessions:\n"
            f"{server.address}#{token}\n"
            "Stop all of them with ctrl+c.\n"
        )
        await stopped.wait()
    finally:
        hosted.finish()
        await server.close()
        await hosted.close()
    return 1 if hosted.failed and not hosted.opens else 0


def _conversation(flags: Sequence[str], cwd: str, env: Mapping[str, str]) -> Loaded | None:
    """The conversation that flags name; None where they name none.

    Raises:
        BridleError: it does not exist.
    """
    match tuple(flags):
        case ("--resume", wanted):
            path = find(wanted, cwd, env)
        case ("--continue",):
            path = newest(cwd, env)
        case _:
            return None
    if path is None:
        raise UsageError("no conversation to continue here: leave out -c")
    try:
        loaded = load_transcript(path)
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror}") from error
    if not loaded.entries:
        raise UsageError(f"{path} holds no conversation: name another one")
    return loaded


def _report(text: str) -> None:
    tell(f"{strftime('%H:%M')}  {text}")


def _sandbox(*, on: bool, off: bool) -> tuple[str, ...]:
    if on and off:
        raise UsageError("--sandbox and --no-sandbox can't be used together")
    return ("--settings", f'{{"sandbox":{{"enabled":{"true" if on else "false"}}}}}') if on or off else ()


def _complain(text: str) -> None:
    complain(text, end="")
