"""The front end of print mode: plain output for a reader, or a host program that answers."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from bridle.engine.server import Inbox, Server
from bridle.frontends.print.channel import DenialPresenter, Presenter, PrintChannel, TextPresenter
from bridle.host.files import make_folders
from bridle.host.paths import config_home
from bridle.host.secrets import SECRETS
from bridle.host.streams import Output
from bridle.session.setup import Setup
from bridle.transcripts.session import Session
from bridle.types.channel import Channel
from bridle.types.errors import UsageError
from bridle.types.turn import Outcome
from bridle.types.variables import is_on

if TYPE_CHECKING:
    from bridle.engine.runtime import Runtime
    from bridle.session.host import Exchange
    from bridle.session.settings import SessionSettings
    from bridle.types.question import Answer, Question

STDERR = 2


class FrontEnd(Protocol):
    """What a run needs of its front end."""

    @property
    def channel(self) -> Channel: ...

    @property
    def outcome(self) -> Outcome | None:
        """How the last turn ended."""
        ...

    @property
    def exchange(self) -> "Exchange | None":
        """The way to MCP servers inside the program on the other end, where there is one."""
        ...

    async def feed(self, inbox: Inbox, server: Server, settings: "SessionSettings") -> None:
        """Put prompts into the inbox until there are no more, then close it.

        Raises:
            UsageError: what came cannot be understood.
        """
        ...

    def work(self) -> None:
        """A turn is about to begin."""
        ...

    def rest(self) -> None:
        """No turn is owed for now."""
        ...

    def show(self, text: str) -> None:
        """Show the user a text that must not be recorded."""
        ...

    def note_answer(self, question: "Question", answer: "Answer") -> None:
        """A remote client has answered a question."""
        ...

    async def finish(self) -> None:
        """The run is over; show what is left to show."""
        ...


class PrintFrontEnd:
    """Prints the answer; takes no further input."""

    def __init__(self, setup: Setup, session: Session, output: Output) -> None:
        self._stderr = Output(STDERR)
        self._server: Server | None = None
        self.channel = PrintChannel(
            *debug_logs(setup, session),
            DenialPresenter(self._stderr),
            *_narrators(setup, self._stderr),
            _presenter(setup, session, output, runtime=self._runtime),
        )

    @property
    def outcome(self) -> Outcome | None:
        return self.channel.outcome

    @property
    def exchange(self) -> "Exchange | None":
        return None

    async def feed(self, inbox: Inbox, server: Server, settings: "SessionSettings") -> None:
        del settings
        self._server = server
        inbox.close()

    def _runtime(self) -> "Runtime | None":
        return None if self._server is None else self._server.runtime

    def work(self) -> None:
        """Print mode does not report this."""

    def rest(self) -> None:
        """Print mode does not report this."""

    def show(self, text: str) -> None:
        self._stderr.write(f"{SECRETS.hide(text)}\n".encode())

    def note_answer(self, question: "Question", answer: "Answer") -> None:
        """Results do not name who decided."""

    async def finish(self) -> None:
        self.channel.finish()
        await self._stderr.drain()


def debug_logs(setup: Setup, session: Session) -> tuple[Presenter, ...]:
    """The log file, if one is wanted.

    Raises:
        UsageError: it cannot be written.
    """
    path = setup.options.debug_file or setup.env.get("CLAUDE_CODE_DEBUG_LOGS_DIR") or None
    if path is None and not (setup.options.debug or is_on(setup.env, "DEBUG")):
        return ()
    from bridle.frontends.print.debug_log import DebugLog

    path = path or os.path.join(config_home(setup.env), "debug", f"{session.id}.txt")
    try:
        make_folders(os.path.dirname(os.path.abspath(path)), private=True)
        log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise UsageError(f"can't write the debug log {path}: {error.strerror}") from error
    return (DebugLog(log),)


def _presenter(
    setup: Setup, session: Session, output: Output, *, runtime: "Callable[[], Runtime | None]"
) -> Presenter:
    options = setup.options
    form = options.output_format or "text"
    if form == "text":
        return TextPresenter(output)
    from bridle.frontends.print.json_output import JsonPresenter, LinePresenter
    from bridle.frontends.session_facts import facts_of, inventory_of, tells_agent_text
    from bridle.protocol.frames import Framer

    framer = Framer(
        facts_of(setup, session),
        partial=options.include_partial_messages,
        replay=options.replay_user_messages,
        hooks=options.include_hook_events,
        inventory=lambda: inventory_of(runtime()),
        agent_text=lambda: tells_agent_text(setup, runtime()),
    )
    if form == "json":
        return JsonPresenter(output, framer, everything=options.verbose)
    return LinePresenter(output, framer)


def _narrators(setup: Setup, stderr: Output) -> tuple[Presenter, ...]:
    if not setup.options.verbose or setup.options.output_format not in (None, "text"):
        return ()
    from bridle.frontends.print.narrator import Narrator

    return (Narrator(stderr),)
