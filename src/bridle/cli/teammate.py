"""A process that is a teammate: it asks its leader who it is, then runs in its pane like any session."""

import os
import signal
import socket
from collections.abc import Mapping

import msgspec

from bridle.cli.start import Start
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.config.options import SessionOptions
from bridle.features.teams.launch import OF_THE_PANE
from bridle.features.teams.membership import Membership
from bridle.features.teams.protocol import Hello, MemberLaunch, ToMember, Welcome
from bridle.host.jsonlines import to_line
from bridle.session.prepare import set_up
from bridle.types.errors import UsageError

_SECONDS = 30.0
_PIECE = 1 << 16


def run_teammate(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Work for a leader until it has no more need of us.

    Raises:
        BridleError: there is no leader, or nothing could be begun.
    """
    path, agent_id = given.one("socket"), given.one("agent")
    line, launch = _introduce(path, agent_id)
    own = {name: env[name] for name in OF_THE_PANE if name in env}
    os.environ.clear()
    os.environ.update({**launch.env, **own})
    os.chdir(launch.cwd)
    membership = Membership(
        launch,
        line,
        path=path,
        leave=lambda: signal.raise_signal(signal.SIGTERM),
        is_watched=_is_watched,
    )
    options = msgspec.json.decode(launch.options, type=SessionOptions)
    begins = {"resume" if launch.resumes else "session_id": launch.session_id}
    options = msgspec.structs.replace(options, **begins)
    setup = set_up(options, os.environ, cwd=launch.cwd)
    setup = msgspec.structs.replace(
        setup, agent=launch.definition, member=membership, trusted=setup.trusted and launch.trusted
    )
    from bridle.cli.terminal.session import serve_in_terminal

    return serve_in_terminal(setup, Start(None))


def _introduce(path: str, agent_id: str) -> tuple[socket.socket, MemberLaunch]:
    line = socket.socket(socket.AF_UNIX)
    line.settimeout(_SECONDS)
    try:
        line.connect(path)
        line.sendall(to_line(Hello(agent_id, os.getpid())))
        said = msgspec.json.decode(_first_line(line), type=ToMember)
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"can't reach the leader of this teammate: {error}") from error
    if not isinstance(said, Welcome) or said.launch is None:
        raise UsageError("the leader does not know this teammate")
    line.setblocking(False)
    return line, said.launch


def _first_line(line: socket.socket) -> bytes:
    """The first message; later bytes stay to be read."""
    found = b""
    while not found.endswith(b"\n"):
        waiting = line.recv(_PIECE, socket.MSG_PEEK)
        if not waiting:
            raise ConnectionError("it closed the connection")
        end = waiting.find(b"\n") + 1
        found += line.recv(end or len(waiting))
    return found


async def _is_watched() -> bool:
    """Whether a terminal shows our pane; True where that is unknown."""
    if not (pane := os.environ.get("TMUX_PANE")):
        return True
    from bridle.host.panes.tmux import TmuxPanes

    return await TmuxPanes(os.environ, name="").is_watched(pane)
