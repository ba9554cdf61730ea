"""Print mode: run what was asked, print the answer, leave with a code that scripts can rely on."""

import asyncio
import gc
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from bridle.cli.headless.signals import call_on_signals
from bridle.config.options import SessionOptions
from bridle.engine.null_parts import NO_SERVERS
from bridle.features.remote.feature import joins_hub
from bridle.frontends.print.output import FrontEnd, PrintFrontEnd
from bridle.host.stdio import complain
from bridle.host.streams import Output, read_all
from bridle.session.host import Begun, Connection, Host
from bridle.session.open import LiveSession, begin_session, open_session
from bridle.session.prepare import set_up
from bridle.session.setup import Setup, may_leave_out
from bridle.transcripts.deferred_calls import deferred_call
from bridle.transcripts.session import Session
from bridle.transcripts.transcript import Follow
from bridle.types.channel import Channel
from bridle.types.errors import SessionError, UsageError
from bridle.types.ids import new_uuid
from bridle.types.model import Provider
from bridle.types.origin import PROGRAM, Origin
from bridle.types.text import encodable
from bridle.types.turn import Prompt
from bridle.types.variables import is_hosted

if TYPE_CHECKING:
    from bridle.engine.structured_output import AnswerShape
    from bridle.frontends.remote.listener import SessionListener
    from bridle.types.services.mcp import McpServers

_STDIN, _STDOUT = 0, 1
_STDIN_PATIENCE = 3.0
_LAST_WORDS = 2.0
"""Seconds for the reader to take the rest after a stop signal."""
_ARGUMENT = Origin(source="argument")
_NO_PROMPT = 'no prompt: pass one as an argument (bridle -p "…") or on standard input'


def run_print(
    options: SessionOptions, env: Mapping[str, str], *, around: Callable[[Provider], Provider] | None = None
) -> int:
    """Run every prompt and return the exit code; `around` wraps the channel.

    Raises:
        BridleError: nothing could be begun.
    """
    # Without an open session, a signal ends the program at once.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    options, read = _introduced(options)
    setup = set_up(options, env)
    prompts = _prompts_at_hand(options)
    _warn_of(setup)
    work = _Run(setup, _shape(options), around, read=read).run(prompts)
    try:
        return asyncio.run(work)
    finally:
        work.close()  # An interrupt may come before the loop has begun with it.


class _Run:
    """One process in print mode."""

    def __init__(
        self,
        setup: Setup,
        shape: "AnswerShape | None",
        around: Callable[[Provider], Provider] | None = None,
        *,
        read: bytes = b"",
    ) -> None:
        self._setup = setup
        self._read = read
        """What the host has said before anything was begun."""
        self._shape = shape
        self._around = around
        self._output = Output(_STDOUT, on_closed=self._lose_output)
        self._listener: SessionListener | None = None
        self._live: LiveSession | None = None
        self._task: asyncio.Task[None] | None = None
        self._code: int | None = None
        self._stopped = asyncio.Event()

    async def run(self, prompts: list[Prompt]) -> int:
        options = self._setup.options
        host = Host(
            setup=self._setup,
            around=self._around,
            follow=_follow(options, self._output),
        )
        try:
            begun = begin_session(options, host)
        except SessionError as error:
            return await self._refuse(error)
        front = _front(begun.setup, begun.session, self._output, read=self._read)
        async with open_session(begun, self._connect(begun, front)) as live:
            if not options.init_only:
                await self._work(live, front, prompts)
        return await self._finish(front)

    def _connect(self, begun: Begun, front: FrontEnd) -> Connection:
        channel = _channel(begun.setup.options, front, self._servers)
        self._listener = listener = _listener(begun.setup, begun.session, channel, front)
        return Connection(
            channel=channel if listener is None else listener.channel,
            exchange=front.exchange,
            work=front.work,
            rest=front.rest,
            listener=listener,
        )

    async def _work(self, live: LiveSession, front: FrontEnd, prompts: list[Prompt]) -> None:
        """Run the prompts until all are done or a signal stops the run."""
        session, options = live.session, self._setup.options
        self._live = live
        if self._shape is not None:
            live.server.shape_answers(self._shape)
        prompts = prompts or _continuation(session, options, self._setup.env)
        if (agent := self._setup.agent) is not None:
            from bridle.features.agents.main_agent import with_initial

            prompts = with_initial(agent, prompts, session)
        for prompt in prompts:
            live.inbox.put(prompt)
        # From here on there is garbage; what start-up made stays and is never looked at again.
        gc.freeze()
        gc.enable()
        codes = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
        call_on_signals({number: partial(self._stop, code) for number, code in codes.items()})
        self._task = asyncio.create_task(self._serve(live, front))
        await asyncio.wait([self._task])

    async def _serve(self, live: LiveSession, front: FrontEnd) -> None:
        if self._listener is not None:
            self._listener.attend(live.server)
        serving = asyncio.create_task(live.serve())
        following = asyncio.create_task(live.settings.run())
        feeding = asyncio.create_task(front.feed(live.inbox, live.server, live.settings))
        try:
            await asyncio.wait([serving, feeding], return_when=asyncio.FIRST_COMPLETED)
            if feeding.done():
                feeding.result()
            await serving
        finally:
            for task in (serving, following, feeding):
                task.cancel()
            await asyncio.gather(serving, following, feeding, return_exceptions=True)

    async def _finish(self, front: FrontEnd) -> int:
        """Show what is left to show; the exit code of the run."""
        await front.finish()
        if self._task is None:
            return 0
        await self._drain(self._output)
        if not self._task.cancelled() and (fault := self._task.exception()) is not None:
            raise fault
        if self._code is not None:
            return self._code
        outcome = front.outcome
        return 1 if outcome is not None and outcome.is_error else 0

    def _lose_output(self, error: OSError) -> None:
        """A reader that went away is no fault; a full disk is."""
        if isinstance(error, BrokenPipeError):
            self._stop(141)
        else:
            complain(f"error: can't write the output: {error.strerror}")
            self._stop(1)

    def _stop(self, code: int) -> None:
        """End the run: the turn is settled and reported, then the process leaves with this code."""
        if self._code is None:
            self._code = code
        self._stopped.set()
        if self._task is not None:
            self._task.cancel()

    async def _refuse(self, error: SessionError) -> int:
        options = self._setup.options
        if options.output_format in ("json", "stream-json"):
            from bridle.protocol.frames import encode
            from bridle.protocol.result_frame import start_failure

            session_id = options.resumed_id or options.session_id or new_uuid()
            self._output.write(encode(start_failure(session_id, str(error))))
            await self._output.drain()
        complain(str(error))
        return 1

    def _servers(self) -> "McpServers":
        return NO_SERVERS if self._live is None else self._live.server.runtime.servers

    async def _drain(self, output: Output) -> None:
        """Wait until the reader has everything; one that stalls is left behind after a signal."""
        draining = asyncio.create_task(output.drain())
        stopping = asyncio.create_task(self._stopped.wait())
        await asyncio.wait([draining, stopping], return_when=asyncio.FIRST_COMPLETED)
        if not draining.done():
            await asyncio.wait([draining], timeout=_LAST_WORDS)
        for task in (draining, stopping):
            task.cancel()
        await asyncio.gather(draining, stopping, return_exceptions=True)


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def _introduced(options: SessionOptions) -> tuple[SessionOptions, bytes]:
    """The options with what a host adds to them, and what was read of its input for that."""
    if not options.await_initialize:
        return options, b""
    from bridle.cli.headless.initialize import await_introduction

    introduced = await_introduction(options)
    return introduced.options, introduced.read


def _front(setup: Setup, session: Session, output: Output, *, read: bytes = b"") -> FrontEnd:
    """The front end that the flags choose."""
    if not setup.options.is_hosted:
        return PrintFrontEnd(setup, session, output)
    from bridle.frontends.stdio.host_program import HostProgram
    from bridle.protocol.frames import encode

    return HostProgram(setup, session, lambda frame: output.write(encode(frame)), read=read)


def _channel(options: SessionOptions, front: FrontEnd, servers: "Callable[[], McpServers]") -> Channel:
    """Where events and questions go."""
    tool = options.permission_prompt_tool
    if tool in (None, "stdio") or not options.is_attended:
        return front.channel
    from bridle.frontends.stdio.permission_tool import PermissionToolChannel

    return PermissionToolChannel(front.channel, tool, servers)


def _listener(setup: Setup, session: Session, channel: Channel, front: FrontEnd) -> "SessionListener | None":
    """Remote control: with every host, otherwise only on request."""
    options, settings = setup.options, setup.config.settings
    asked = options.remote_control is not None or settings.remote_control_at_startup
    if not options.is_hosted and not asked and not joins_hub(options, settings, setup.env):
        return None
    from bridle.frontends.remote.listener import SessionListener

    return SessionListener(
        setup,
        session,
        channel,
        here="the host program",
        origin=Origin(source="host"),
        show=front.show,
        answered=front.note_answer,
    )


def _follow(options: SessionOptions, output: Output) -> Follow | None:
    """The receiver of every transcript line."""
    if not options.session_mirror:
        return None
    from bridle.protocol.frames import encode
    from bridle.protocol.transcript_mirror import mirror_frames

    def follow(path: str, entries: Sequence[Mapping[str, object]]) -> None:
        for frame in mirror_frames(path, entries):
            output.write(encode(frame))

    return follow


def _shape(options: SessionOptions) -> "AnswerShape | None":
    """The shape that answers must have.

    Raises:
        UsageError: it is not a JSON Schema.
    """
    if (text := options.json_schema) is None:
        return None
    try:
        schema = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise UsageError(f"--json-schema is not JSON: {error}") from error
    from bridle.engine.structured_output import AnswerShape

    return AnswerShape(schema)


def _prompts_at_hand(options: SessionOptions) -> list[Prompt]:
    """The prompt from the command line and standard input.

    Raises:
        UsageError: there is none.
    """
    words = encodable(options.prompt)
    if options.is_hosted:
        return [Prompt(content=words, origin=_ARGUMENT)] if words.strip() else []
    piped = "" if os.isatty(_STDIN) else _piped(words)
    text = "\n\n".join(part for part in (words, piped) if part.strip())
    # A conversation with a deferred call continues without a prompt; which one is not known yet.
    if not text and not (options.continues or options.init_only):
        raise UsageError(_NO_PROMPT)
    # What is piped in behind a prompt is what the prompt is about: anyone may have written it.
    both = bool(words.strip() and piped.strip())
    origin = Origin(source="argument", words=(0, len(words))) if both else _ARGUMENT
    return [Prompt(content=text, origin=origin)] if text else []


def _continuation(session: Session, options: SessionOptions, env: Mapping[str, str]) -> list[Prompt]:
    """The prompt of a run that continues a deferred call, or a turn that was cut off.

    Raises:
        UsageError: there is none.
    """
    if options.init_only:
        return []
    if deferred_call(session) is None and (words := _cut_off(session, env)) is not None:
        return [Prompt(content=words, origin=PROGRAM, meta=True)]
    if options.is_hosted:
        return []
    if deferred_call(session) is None:
        raise UsageError(_NO_PROMPT)
    return [Prompt(content="", origin=PROGRAM, meta=True)]


def _cut_off(session: Session, env: Mapping[str, str]) -> str | None:
    """What continues a turn that was cut off, where the user wants that."""
    if not env.get("CLAUDE_CODE_RESUME_INTERRUPTED_TURN"):
        return None
    from bridle.transcripts.interrupted_turns import continuing_prompt

    return continuing_prompt(session, env, now=time.time())


def _piped(words: str) -> str:
    """The text of standard input; with a prompt on the command line the wait is short."""
    try:
        data = read_all(_STDIN, patience=_STDIN_PATIENCE if words.strip() else None)
    except OSError:
        return ""
    if data is None:
        complain(f"warning: no input on stdin after {_STDIN_PATIENCE:g} s; continuing without it")
        return ""
    return data.decode(errors="replace")


def _warn_of(setup: Setup) -> None:
    """Ignored settings are reported to people, not to host programs."""
    if is_hosted(setup.env):
        return
    left_out = {str(each) for each in setup.left_out}
    for problem in setup.problems:
        if problem not in left_out:
            complain(f"warning: {problem}")
    if not setup.trusted and may_leave_out(setup):
        from bridle.session.untrusted import notice

        if (line := notice(setup)) is not None:
            complain(f"warning: {line}")
