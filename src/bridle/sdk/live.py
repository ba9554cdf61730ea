"""A session inside this process: the same parts as behind the command line, without a process and pipes."""

import asyncio
import os
from collections.abc import AsyncIterator, Coroutine, Mapping
from typing import Any

from bridle.cli.args import parse
from bridle.cli.options import session_options
from bridle.engine.serve import Inbox, Server
from bridle.frontends.host_program import HostFront
from bridle.protocol.control import ControlRequest, ControlResponse
from bridle.protocol.prompts import Variables, read_message
from bridle.protocol.result import start_failure
from bridle.sdk.callbacks import Callbacks
from bridle.sdk.errors import ClaudeSDKError, CLIConnectionError, ProcessError, ResultError
from bridle.sdk.frames import Frame, message_of
from bridle.sdk.messages import Message, ResultMessage
from bridle.sdk.options import Options, flags, introduction, tool_servers, variables, working_folder
from bridle.sdk.store_mirror import StoreMirror, bring_back, mirror_for
from bridle.sdk.store_types import SessionKey
from bridle.sdk.tool_servers import ToolServers
from bridle.session.assembly import Brought, Parts, assemble
from bridle.session.commands import SessionCommands
from bridle.session.conversation import open_session, place_of
from bridle.session.prepare import set_up
from bridle.session.settings import SessionSettings
from bridle.session.setup import Setup
from bridle.sessions.session import Session
from bridle.sessions.store import Place
from bridle.types.errors import BridleError, SessionError
from bridle.types.ids import new_uuid
from bridle.types.task import Task

_BACKGROUND_WAIT_MS = 600_000
_LAST_WORDS = 5.0
"""Seconds that a turn may take to be put in order when the session is closed in the middle of it."""


class LiveSession:
    """Opened by `open_live`; whoever opens it closes it."""

    def __init__(
        self, options: Options, setup: Setup, session: Session, *, mirror: StoreMirror | None = None
    ) -> None:
        self.info: dict[str, Any] | None = None
        """What the session said when the program introduced itself."""
        self.servers = ToolServers(tool_servers(options))
        self.last_result: Frame | None = None
        self._options = options
        self._setup = setup
        self._session = session
        self._inbox = Inbox()
        self._server: Server | None = None
        self._parts: Parts | None = None
        self._messages: asyncio.Queue[Message | None] = asyncio.Queue()
        self._waiting: dict[str, asyncio.Future[Frame]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._serving: asyncio.Task[None] | None = None
        self._callbacks = Callbacks(options)
        self._answering: dict[str, asyncio.Task[None]] = {}
        self._mirror = mirror
        if mirror is not None:
            mirror.failed = self._lose_copy
        self._front = HostFront(setup, session, self._hear)

    async def start(self) -> None:
        """Put the parts together and introduce the program."""
        brought = Brought(
            provider=self._options.provider,
            tools=self.servers.tools if self.servers.names else None,
            warn=self.warn,
        )
        self._parts = parts = await assemble(
            self._setup,
            self._session,
            self._front.channel,
            on_task=self._note_task,
            wake=self._inbox.put,
            brought=brought,
        )
        server = Server(
            self._session, parts.runtime, self._inbox, on_work=self._front.work, on_rest=self._front.rest
        )
        self._server = server
        settings = SessionSettings(self._setup, self._session, server, parts.hooks, warn=self.warn)
        SessionCommands(
            self._setup, self._session, server, parts, settings, inbox=self._inbox, place=self._place
        ).attend()
        self._front.attach(self._inbox, server, settings)
        self._serving = asyncio.create_task(self._serve(server))
        self._spawn(settings.run())
        self._spawn(self._front.summaries.run())
        self.info = await self.request(**introduction(self._options, self._callbacks.registered))

    def put(self, message: Mapping[str, Any]) -> None:
        """Send a prompt, in the form of the stream that hosts write.

        Raises:
            UsageError: it is a user message of another role.
        """
        marked = {"client_composed": True} if self._options.verbatim_prompts else {}
        line = read_message({**message, **marked})
        if isinstance(line, Variables):
            # Those of the process belong to the program and its other sessions.
            self._setup.env.update(line.values)
        else:
            self._front.take(line)

    def end_input(self) -> None:
        """No more prompts will come: the session ends when the last is done."""
        self._inbox.close()

    async def request(self, subtype: str, **fields: Any) -> dict[str, Any]:
        """Ask something of the session that is not a prompt.

        Raises:
            ClaudeSDKError: it cannot be done.
        """
        request_id = new_uuid()
        answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        try:
            self._front.take(ControlRequest(request_id, subtype, {"subtype": subtype, **fields}))
            response = await answer
        finally:
            self._waiting.pop(request_id, None)
        if response["subtype"] == "error":
            raise ClaudeSDKError(response["error"])
        return response.get("response") or {}

    async def messages(self) -> AsyncIterator[Message]:
        """What the session says, until it is over."""
        while (message := await self._messages.get()) is not None:
            if self._mirror is not None and isinstance(message, ResultMessage):
                await self._mirror.flush()
            yield message
        # Whoever asks again is told the same.
        self._messages.put_nowait(None)
        serving = self._serving
        if serving is None or not serving.done() or serving.cancelled():
            return
        if (defect := serving.exception()) is not None:
            raise ProcessError(f"bridle has a defect: {_innermost(defect)}", exit_code=1) from defect

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something beside the session; it ends with it."""
        self._spawn(work)

    async def close(self) -> None:
        """End the session and everything that it has started."""
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.wait([self._serving], timeout=_LAST_WORDS)
        for task in (*self._tasks, *self._answering.values()):
            task.cancel()
        await asyncio.gather(*self._tasks, *self._answering.values(), return_exceptions=True)
        if self._parts is not None:
            parts, self._parts = self._parts, None
            await parts.close()
            await self._front.leave()
            await self._front.finish()
        else:
            self._session.close()
        if self._mirror is not None:
            await self._mirror.close()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(CLIConnectionError("The session is over."))
        self._messages.put_nowait(None)

    def warn(self, text: str) -> None:
        """Tell the program what a process would print on standard error."""
        if self._options.stderr is not None:
            self._options.stderr(text)

    async def _serve(self, server: Server) -> None:
        try:
            await server.serve(wait_for_tasks=self._patience(), say_waiting=self.warn)
        finally:
            self._messages.put_nowait(None)

    def _hear(self, frame: Frame) -> None:
        """Take what the session has to say; never waits."""
        match frame["type"]:
            case "control_response":
                response = frame["response"]
                waiting = self._waiting.get(response["request_id"])
                if waiting is not None and not waiting.done():
                    waiting.set_result(response)
            case "control_request":
                self._answer(frame["request_id"], frame["request"])
            case "control_cancel_request":
                if (task := self._answering.pop(frame["request_id"], None)) is not None:
                    task.cancel()
            case _:
                self._tell(frame)

    def _tell(self, frame: Frame) -> None:
        if frame["type"] == "result":
            self.last_result = frame
        elif frame["type"] == "system" and frame["subtype"] == "init":
            frame["mcp_servers"] = [*frame["mcp_servers"], *self.servers.listed()]
        if (message := message_of(frame)) is not None:
            self._messages.put_nowait(message)

    def _answer(self, request_id: str, request: Frame) -> None:
        async def answer() -> None:
            answered, error = await self._callbacks.answer(request)
            self._front.take(ControlResponse(request_id, answered, error))

        task = asyncio.create_task(answer())
        self._answering[request_id] = task
        task.add_done_callback(lambda _: self._answering.pop(request_id, None))

    def _lose_copy(self, key: SessionKey, error: str) -> None:
        """Tell the program that its store has not taken some lines."""
        told = {"type": "system", "subtype": "mirror_error", "key": key, "error": error}
        self._tell({**told, "session_id": self._session.id, "uuid": new_uuid()})

    def _place(self) -> Place:
        follow = None if self._mirror is None else self._mirror.take
        return place_of(self._setup, warn=self.warn, follow=follow)

    def _note_task(self, task: Task) -> None:
        if self._server is not None:
            self._server.note_task(task)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _patience(self) -> float:
        """How long to wait for background jobs, in seconds."""
        text = self._setup.env.get("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS", "")
        milliseconds = int(text) if text.isdecimal() else _BACKGROUND_WAIT_MS
        return milliseconds / 1000 if milliseconds else float("inf")


async def open_live(options: Options) -> LiveSession:
    """Begin a session.

    Raises:
        ProcessError: it cannot be begun like this.
        CLIConnectionError: an option cannot be had inside a process.
    """
    cwd = working_folder(options)
    env = variables(options, os.environ, cwd)
    try:
        if options.session_store is not None:
            options = await bring_back(options, cwd, env)
        setup = set_up(session_options(parse(flags(options, cwd))), env, cwd=cwd)
        mirror = mirror_for(options, setup.env)
        follow = None if mirror is None else mirror.take
        session = open_session(setup, warn=options.stderr or _drop, follow=follow)
        live = LiveSession(options, setup, session, mirror=mirror)
    except SessionError as error:
        session_id = options.resume or options.session_id or new_uuid()
        raise result_error(start_failure(session_id, str(error))) from error
    except CLIConnectionError:
        raise
    except BridleError as error:
        raise ProcessError(str(error), exit_code=1) from error
    try:
        await live.start()
    except BaseException as error:
        await live.close()
        if isinstance(error, BridleError) and not isinstance(error, ClaudeSDKError):
            raise ProcessError(str(error), exit_code=1) from error
        raise
    return live


def result_error(frame: Frame) -> ResultError:
    """The error that a run ends with whose last result is one."""
    text = "; ".join(frame.get("errors") or ()) or frame.get("result") or frame["subtype"]
    return ResultError(f"The session returned an error result: {text}", data=frame, exit_code=1)


def _innermost(error: BaseException) -> str:
    """The fault inside the groups that concurrent work wraps it in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


def _drop(text: str) -> None:
    """Nobody asked to be told."""
    del text
