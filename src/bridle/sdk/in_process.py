"""A session inside this process: the same parts as behind the command line, without a process and pipes."""

import asyncio
import os
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from bridle.features.remote.feature import joins_hub
from bridle.frontends.stdio.host_program import HostProgram
from bridle.protocol.control import ControlRequest, ControlResponse
from bridle.protocol.input_lines import Variables, read_message
from bridle.protocol.result_frame import start_failure
from bridle.sdk.callbacks import Callbacks
from bridle.sdk.errors import ClaudeSDKError, CLIConnectionError, ProcessError, ResultError
from bridle.sdk.message_parser import Frame, message_of
from bridle.sdk.messages import Message, ResultMessage
from bridle.sdk.options import Options, introduction, session_options, tool_servers, variables, working_folder
from bridle.sdk.store_mirror import StoreMirror, bring_back, mirror_for
from bridle.sdk.store_types import SessionKey
from bridle.sdk.tool_servers import ToolServers
from bridle.session import open as session
from bridle.session.host import Begun, Connection, Host
from bridle.session.prepare import set_up
from bridle.session.setup import Setup
from bridle.transcripts.session import Session
from bridle.types.errors import BridleError, SessionError
from bridle.types.ids import new_uuid
from bridle.types.origin import Origin

if TYPE_CHECKING:
    from bridle.frontends.remote.listener import SessionListener

_LAST_WORDS = 5.0
"""Seconds that a turn may take to be put in order when the session is closed in the middle of it."""


class LiveSession:
    """Opened by `open_live`; the opener closes it."""

    def __init__(self, options: Options, setup: Setup, *, mirror: StoreMirror | None = None) -> None:
        self.info: dict[str, Any] | None = None
        """What the session said when the program introduced itself."""
        self.servers = ToolServers(tool_servers(options))
        self.last_result: Frame | None = None
        self._options = options
        self._setup = setup
        self._stack = AsyncExitStack()
        self._live: session.LiveSession | None = None
        self._program: HostProgram | None = None
        self._session: Session | None = None
        self._messages: asyncio.Queue[Message | None] = asyncio.Queue()
        self._waiting: dict[str, asyncio.Future[Frame]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._serving: asyncio.Task[None] | None = None
        self._callbacks = Callbacks(options)
        self._answering: dict[str, asyncio.Task[None]] = {}
        self._mirror = mirror
        if mirror is not None:
            mirror.failed = self._lose_copy

    async def start(self) -> None:
        """Open the session and introduce the program.

        Raises:
            BridleError: it cannot be begun.
        """
        host = Host(
            setup=self._setup,
            provider=self._options.provider,
            tools=self.servers.tools if self.servers.names else None,
            warn=self.warn,
            tell=self.warn,
            follow=None if self._mirror is None else self._mirror.take,
        )
        begun = session.begin_session(self._setup.options, host)
        self._session = begun.session
        program = self._program = HostProgram(begun.setup, begun.session, self._hear)
        listener = self._listener(begun, program)
        connection = Connection(
            channel=program.channel if listener is None else listener.channel,
            work=program.work,
            rest=program.rest,
            listener=listener,
        )
        self._live = live = await self._stack.enter_async_context(session.open_session(begun, connection))
        program.attach(live.inbox, live.server, live.settings)
        if listener is not None:
            listener.attend(live.server)
        self._serving = asyncio.create_task(self._serve(live))
        self._spawn(live.settings.run())
        self._spawn(program.summaries.run())
        self.info = await self.request(**introduction(self._options, self._callbacks.registered))

    def _listener(self, begun: Begun, program: HostProgram) -> "SessionListener | None":
        """Lets the hub of this machine show the session, where the settings of the user say so."""
        if not joins_hub(begun.setup.options, begun.setup.config.settings, begun.setup.env):
            return None
        from bridle.frontends.remote.listener import SessionListener

        return SessionListener(
            begun.setup, begun.session, program.channel, here="the host program",
            origin=Origin(source="host"), show=program.show, answered=program.note_answer,
        )  # fmt: skip

    @property
    def _talking(self) -> HostProgram:
        assert self._program is not None, "the session is not open"
        return self._program

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
            self._talking.take(line)

    def end_input(self) -> None:
        """No more prompts will come: the session ends when the last is done."""
        assert self._live is not None
        self._live.inbox.close()

    async def request(self, subtype: str, **fields: Any) -> dict[str, Any]:
        """Ask something of the session that is not a prompt.

        Raises:
            ClaudeSDKError: it cannot be done.
        """
        request_id = new_uuid()
        answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        try:
            self._talking.take(ControlRequest(request_id, subtype, {"subtype": subtype, **fields}))
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
        # Later callers get the same error.
        self._messages.put_nowait(None)
        serving = self._serving
        if serving is None or not serving.done() or serving.cancelled():
            return
        if (defect := serving.exception()) is not None:
            raise ProcessError(f"internal error in bridle: {_innermost(defect)}", exit_code=1) from defect

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
        is_open, self._live = self._live is not None, None
        await self._stack.aclose()
        if is_open:
            await self._talking.leave()
            await self._talking.finish()
        if self._mirror is not None:
            await self._mirror.close()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(CLIConnectionError("The session has ended."))
        self._messages.put_nowait(None)

    def warn(self, text: str) -> None:
        """Tell the program what a process would print on standard error."""
        if self._options.stderr is not None:
            self._options.stderr(text)

    async def _serve(self, live: session.LiveSession) -> None:
        try:
            await live.serve()
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
            self._talking.take(ControlResponse(request_id, answered, error))

        task = asyncio.create_task(answer())
        self._answering[request_id] = task
        task.add_done_callback(lambda _: self._answering.pop(request_id, None))

    def _lose_copy(self, key: SessionKey, error: str) -> None:
        """Tell the program that its store has not taken some lines."""
        session_id = key["session_id"] if self._session is None else self._session.id
        frame = {"type": "system", "subtype": "mirror_error", "key": key, "error": error}
        self._tell({**frame, "session_id": session_id, "uuid": new_uuid()})

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


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
        setup = set_up(session_options(options, cwd), env, cwd=cwd)
        live = LiveSession(options, setup, mirror=mirror_for(options, setup.env))
    except CLIConnectionError:
        raise
    except BridleError as error:
        raise ProcessError(str(error), exit_code=1) from error
    try:
        await live.start()
    except BaseException as error:
        await live.close()
        if isinstance(error, SessionError):
            session_id = options.resume or options.session_id or new_uuid()
            raise result_error(start_failure(session_id, str(error))) from error
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
