"""Print mode: run what was asked, print the answer, leave with a code that scripts can rely on."""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Mapping

from bridle.cli.args import Args
from bridle.cli.compose import assemble, open_session, set_up
from bridle.cli.fronts import Front, PrintFront
from bridle.cli.setup import Setup
from bridle.config.load import Config
from bridle.engine.runtime import Runtime
from bridle.engine.serve import Inbox, Server
from bridle.host.streams import Output, read_all
from bridle.sessions.session import Session
from bridle.types.channel import Channel
from bridle.types.errors import SessionError, UsageError
from bridle.types.event import Noticed
from bridle.types.ids import new_uuid
from bridle.types.task import Task
from bridle.types.text import encodable
from bridle.types.turn import Prompt

_STDIN, _STDOUT = 0, 1
_STDIN_PATIENCE = 3.0
_BACKGROUND_WAIT_MS = 600_000


def run_print(args: Args, env: Mapping[str, str]) -> int:
    """Run every prompt and return the exit code.

    Raises:
        BridleError: nothing could be begun.
    """
    setup = set_up(args, env)
    prompts = _prompts_at_hand(args)
    _warn_of(setup)
    return asyncio.run(_Run(setup).run(prompts))


class _Run:
    """One process in print mode."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._inbox = Inbox()
        self._server: Server | None = None
        self._task: asyncio.Task[None] | None = None
        self._code: int | None = None

    async def run(self, prompts: list[Prompt]) -> int:
        output = Output(_STDOUT, on_closed=self._lose_output)
        try:
            session = open_session(self._setup, warn=_complain)
        except SessionError as error:
            return await self._refuse(output, error)
        front = _front(self._setup, session, output)
        parts = await assemble(self._setup, session, front.channel, on_task=self._note_task)
        self._server = server = Server(session, parts.runtime, self._inbox, on_rest=front.rest)
        for prompt in prompts:
            self._inbox.put(prompt)
        # From here on there is garbage; what start-up made stays and is never looked at again.
        gc.freeze()
        gc.enable()
        loop = asyncio.get_running_loop()
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            loop.add_signal_handler(number, self._stop, code)
        try:
            self._task = asyncio.create_task(self._serve(session, parts.runtime, server, front))
            await asyncio.wait([self._task])
        finally:
            await parts.close()
        await front.finish()
        await output.drain()
        if not self._task.cancelled() and (fault := self._task.exception()) is not None:
            raise fault
        if self._code is not None:
            return self._code
        return 1 if front.outcome is not None and front.outcome.is_error else 0

    async def _serve(self, session: Session, runtime: Runtime, server: Server, front: Front) -> None:
        serving = asyncio.create_task(server.serve(wait_for_tasks=self._patience(), say_waiting=_complain))
        following = asyncio.create_task(self._follow_settings(session, front.channel))
        feeding = asyncio.create_task(front.feed(self._inbox, server, runtime))
        try:
            await asyncio.wait([serving, feeding], return_when=asyncio.FIRST_COMPLETED)
            if feeding.done():
                feeding.result()
            await serving
        finally:
            for task in (serving, following, feeding):
                task.cancel()
            await asyncio.gather(serving, following, feeding, return_exceptions=True)

    async def _follow_settings(self, session: Session, channel: Channel) -> None:
        from bridle.config.live import LiveConfig

        await LiveConfig(
            self._setup.config,
            changed=lambda config: self._apply(session, channel, config),
            report=lambda problem: _complain(f"warning: {problem}"),
        ).run()

    def _apply(self, session: Session, channel: Channel, config: Config) -> None:
        """Settings changed on disk: the rules count from the next decision on."""
        from bridle.cli.choices import refresh_rules

        try:
            rules, _ = refresh_rules(
                self._setup.args, config, session.state.rules, trusted=self._setup.trusted
            )
        except UsageError as error:
            _complain(f"warning: {error}")
            return
        session.swap(rules=rules)
        channel.emit(Noticed("Settings have changed and were read again."))

    def _note_task(self, task: Task) -> None:
        if self._server is not None:
            self._server.note_task(task)

    def _lose_output(self, error: OSError) -> None:
        """A reader that went away is no fault; a full disk is."""
        if isinstance(error, BrokenPipeError):
            self._stop(141)
        else:
            _complain(f"error: the output cannot be written: {error.strerror}")
            self._stop(1)

    def _stop(self, code: int) -> None:
        """End the run: the turn is settled and reported, then the process leaves with this code."""
        if self._code is None:
            self._code = code
        if self._task is not None:
            self._task.cancel()

    async def _refuse(self, output: Output, error: SessionError) -> int:
        args = self._setup.args
        if args.text("output-format") in ("json", "stream-json"):
            from bridle.protocol.frames import encode, start_failure

            session_id = args.text("resume") or args.text("session-id") or new_uuid()
            output.write(encode(start_failure(session_id, str(error))))
            await output.drain()
        _complain(str(error))
        return 1

    def _patience(self) -> float:
        """How long to wait for background jobs, in seconds."""
        text = self._setup.env.get("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS", "")
        milliseconds = int(text) if text.isdecimal() else _BACKGROUND_WAIT_MS
        return milliseconds / 1000 if milliseconds else float("inf")


def _front(setup: Setup, session: Session, output: Output) -> Front:
    """Whoever the flags say is on the other end."""
    if setup.args.text("input-format") != "stream-json":
        return PrintFront(setup, session, output)
    from bridle.cli.host_front import HostFront

    return HostFront(setup, session, output)


def _prompts_at_hand(args: Args) -> list[Prompt]:
    """The prompt from the command line and standard input.

    Raises:
        UsageError: there is none.
    """
    words = encodable(" ".join(args.words))
    if args.text("input-format") == "stream-json":
        return [Prompt(content=words)] if words.strip() else []
    piped = "" if os.isatty(_STDIN) else _piped(words)
    text = "\n\n".join(part for part in (words, piped) if part.strip())
    if not text:
        raise UsageError('there is no prompt: give one as an argument (bridle -p "…") or on standard input')
    return [Prompt(content=text)]


def _piped(words: str) -> str:
    """What stands on standard input; beside a prompt on the command line nobody waits for it long."""
    try:
        data = read_all(_STDIN, patience=_STDIN_PATIENCE if words.strip() else None)
    except OSError:
        return ""
    if data is None:
        _complain(
            f"warning: nothing came on standard input within {_STDIN_PATIENCE:g} s; going on without it"
        )
        return ""
    return data.decode(errors="replace")


def _warn_of(setup: Setup) -> None:
    """Settings that do not count are told to people, not to host programs."""
    if setup.env.get("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk-"):
        return
    for problem in setup.problems:
        _complain(f"warning: {problem}")


def _complain(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
