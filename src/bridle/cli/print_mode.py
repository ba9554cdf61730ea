"""Print mode: run what was asked, print the answer, leave with a code that scripts can rely on."""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Mapping

from bridle.cli.args import Args
from bridle.cli.compose import Setup, assemble, open_session, set_up
from bridle.config.load import Config
from bridle.engine.serve import Inbox, Server
from bridle.frontends.printing import JsonPresenter, LinePresenter, Presenter, PrintChannel, TextPresenter
from bridle.host.paths import config_home
from bridle.host.streams import Output, read_all, read_lines
from bridle.protocol.frames import Facts, Framer, encode, start_failure
from bridle.sessions.session import Session
from bridle.types.errors import SessionError, UsageError
from bridle.types.event import Noticed
from bridle.types.ids import new_uuid
from bridle.types.task import Task
from bridle.types.text import encodable
from bridle.types.turn import Prompt

_STDIN, _STDOUT, _STDERR = 0, 1, 2
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
        self._args = setup.args
        self._inbox = Inbox()
        self._server: Server | None = None
        self._task: asyncio.Task[None] | None = None
        self._code: int | None = None
        self._stderr = Output(_STDERR)

    async def run(self, prompts: list[Prompt]) -> int:
        output = Output(_STDOUT, on_closed=self._lose_output)
        try:
            session = open_session(self._setup, warn=_complain)
        except SessionError as error:
            return await self._refuse(output, error)
        framer = self._framer(session)
        channel = self._channel(output, framer, session)
        parts = await assemble(self._setup, session, channel, on_task=self._note_task)
        self._server = Server(session, parts.runtime, self._inbox)
        # From here on there is garbage; what start-up made stays and is never looked at again.
        gc.freeze()
        gc.enable()
        for prompt in prompts:
            self._inbox.put(prompt)
        loop = asyncio.get_running_loop()
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            loop.add_signal_handler(number, self._stop, code)
        try:
            self._task = asyncio.create_task(self._serve(session, channel, output))
            await asyncio.wait([self._task])
        finally:
            await parts.close()
        channel.finish()
        await self._stderr.drain()
        await output.drain()
        if not self._task.cancelled() and (fault := self._task.exception()) is not None:
            raise fault
        if self._code is not None:
            return self._code
        return 1 if channel.outcome is not None and channel.outcome.is_error else 0

    async def _serve(self, session: Session, channel: PrintChannel, output: Output) -> None:
        server = self._server
        assert server is not None
        serving = asyncio.create_task(server.serve(wait_for_tasks=self._patience(), say_waiting=_complain))
        following = asyncio.create_task(self._follow_settings(session, channel))
        reading = asyncio.create_task(self._read_input(output))
        try:
            await asyncio.wait([serving, reading], return_when=asyncio.FIRST_EXCEPTION)
            for task in (reading, serving):
                if task.done():
                    task.result()
        finally:
            for task in (serving, following, reading):
                task.cancel()
            await asyncio.gather(serving, following, reading, return_exceptions=True)

    async def _follow_settings(self, session: Session, channel: PrintChannel) -> None:
        from bridle.config.live import LiveConfig

        await LiveConfig(
            self._setup.config,
            changed=lambda config: self._apply(session, channel, config),
            report=lambda problem: _complain(f"warning: {problem}"),
        ).run()

    async def _read_input(self, output: Output) -> None:
        if self._args.text("input-format") != "stream-json":
            self._inbox.close()
            return
        from bridle.protocol.prompts import ControlRequest, Ignored, read_line, unsupported

        async for line in read_lines(_STDIN):
            match read_line(line):
                case Prompt() as prompt:
                    self._inbox.put(prompt)
                case ControlRequest() as request:
                    output.write(encode(unsupported(request)))
                case Ignored():
                    pass
        self._inbox.close()

    def _apply(self, session: Session, channel: PrintChannel, config: Config) -> None:
        """Settings changed on disk: rules and model hints count from the next decision on."""
        from bridle.cli.choices import choose_rules

        try:
            rules, _ = choose_rules(self._args, config, trusted=self._setup.trusted)
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
        if self._args.text("output-format") in ("json", "stream-json"):
            session_id = self._args.text("resume") or self._args.text("session-id") or new_uuid()
            output.write(encode(start_failure(session_id, str(error))))
            await output.drain()
        _complain(str(error))
        return 1

    def _framer(self, session: Session) -> Framer:
        env = self._setup.env
        facts = Facts(
            session_id=session.id,
            api_key_source="ANTHROPIC_API_KEY" if env.get("ANTHROPIC_API_KEY") else "none",
            output_style=self._setup.config.settings.output_style or "default",
            betas=tuple(self._args.many("betas") or ()),
        )
        args = self._args
        return Framer(
            facts, partial=args.on("include-partial-messages"), replay=args.on("replay-user-messages")
        )

    def _channel(self, output: Output, framer: Framer, session: Session) -> PrintChannel:
        verbose = self._args.on("verbose")
        log = self._debug_log(session)
        match self._args.text("output-format"):
            case "stream-json":
                return PrintChannel(*log, LinePresenter(output, framer))
            case "json":
                return PrintChannel(*log, JsonPresenter(output, framer, everything=verbose))
            case _:
                return PrintChannel(*log, *self._narrators(verbose), TextPresenter(output))

    def _debug_log(self, session: Session) -> tuple[Presenter, ...]:
        path = self._args.text("debug-file")
        if path is None and not (self._args.on("debug") or self._setup.env.get("DEBUG") == "1"):
            return ()
        from bridle.frontends.debug_log import DebugLog

        path = path or os.path.join(config_home(self._setup.env), "debug", f"{session.id}.txt")
        try:
            os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
            log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise UsageError(f"the debug log {path} cannot be written: {error.strerror}") from error
        return (DebugLog(log),)

    def _narrators(self, verbose: bool) -> tuple[Presenter, ...]:
        if not verbose:
            return ()
        from bridle.frontends.narrator import Narrator

        return (Narrator(self._stderr),)

    def _patience(self) -> float:
        """How long to wait for background jobs, in seconds."""
        text = self._setup.env.get("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS", "")
        milliseconds = int(text) if text.isdecimal() else _BACKGROUND_WAIT_MS
        return milliseconds / 1000 if milliseconds else float("inf")


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
