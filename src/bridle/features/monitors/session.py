"""What a session watches: commands and web sockets whose lines reach the conversation as events."""

import asyncio
import os
from collections.abc import Callable
from math import inf

import msgspec
from msgspec import Struct

from bridle.engine.texts import monitor_event
from bridle.features.monitors.events import Lines, Throttle
from bridle.features.schedules.clock import SystemClock
from bridle.host.background import BackgroundShells, exit_code
from bridle.host.files import make_folders
from bridle.host.process import Process, start
from bridle.host.wall.enforcement import EnforcedCommand
from bridle.types.errors import ToolError
from bridle.types.origin import JOB
from bridle.types.sandbox import Refusal, beyond_words
from bridle.types.services.monitors import Watch, WatchedCommand, WatchedSocket
from bridle.types.services.schedules import Clock
from bridle.types.services.tasks import Task, Tasks
from bridle.types.turn import Prompt

MOST = 20
_GATHER = 0.2
"""Seconds in which lines that come together are gathered."""
_LAST_WORDS = 0.5
_STOP_GRACE = 1.0
_CHUNK = 64 * 1024
_MOST_OUTPUT = 64 * 1024 * 1024
_LONGEST_MESSAGE = 1024 * 1024
_CONNECT_SECONDS = 15.0
_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


class MonitorContext(Struct, frozen=True, kw_only=True):
    """What monitors need from the session."""

    wake: Callable[[Prompt], None]
    tasks: Callable[[], Tasks]
    storage: str
    longest: float
    clock: Clock = SystemClock()


class SessionMonitors:
    """See `types.monitor.Monitors`; closed with the session."""

    def __init__(self, context: MonitorContext) -> None:
        self._context = context
        self._watched: dict[str, _Watched] = {}

    @property
    def longest(self) -> float:
        return self._context.longest

    async def start(self, watch: Watch) -> Task:
        """Begin to watch, as a background job.

        Raises:
            ToolError: there are too many, or it cannot be begun.
        """
        if len(self._watched) >= MOST:
            raise ToolError(f"{MOST} monitors are running: stop one with TaskStop first.")
        tasks, clock = self._context.tasks(), self._context.clock
        task_id = "m" + "".join(_LETTERS[byte % 36] for byte in os.urandom(8))
        path = os.path.join(self._context.storage, "tasks", f"{task_id}.output")
        source = watch.source
        task = Task(
            id=task_id,
            kind="monitor",
            description=watch.description,
            call_id=watch.call_id,
            command=source.command if isinstance(source, WatchedCommand) else source.url,
            output_file=path,
            started=clock.now(),
            name=watch.name,
        )
        output = _create(path)
        watched = _Watched(task, output, clock, self._context.wake)
        try:
            if isinstance(source, WatchedCommand):
                watched.run(source, tasks)
            else:
                await watched.connect(source)
        except (OSError, ToolError) as error:
            os.close(output)
            os.unlink(path)
            raise ToolError(f"Could not start the monitor: {error}") from error
        self._watched[task_id] = watched
        tasks.begin(task, watched.stop)
        watched.attending = asyncio.create_task(self._attend(watched, watch.seconds, tasks))
        return task

    async def close(self) -> None:
        """End everything that is watched."""
        watched = list(self._watched.values())
        await asyncio.gather(*(each.stop() for each in watched))
        await asyncio.gather(*(each.attending for each in watched if each.attending is not None))

    async def _attend(self, watched: "_Watched", seconds: float | None, tasks: Tasks) -> None:
        telling = asyncio.create_task(watched.tell())
        try:
            await self._context.clock.wait(watched.over, inf if seconds is None else seconds)
            if not watched.over.is_set():
                watched.note_end(f"The time limit of {seconds:g} s is reached.")
            await watched.end()
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)
            watched.finish()
            del self._watched[watched.task.id]
            tasks.change(watched.ended())


class _Watched:
    """One thing that is watched."""

    def __init__(self, task: Task, output: int, clock: Clock, wake: Callable[[Prompt], None]) -> None:
        self.task = task
        self.over = asyncio.Event()
        """Nothing more will come, or nothing more is wanted."""
        self.attending: asyncio.Task[None] | None = None
        self._output = output
        self._written = 0
        self._clock = clock
        self._wake = wake
        self._lines = Lines()
        self._throttle = Throttle(clock.now)
        self._came = asyncio.Event()
        self._stopped = False
        self._result: str | None = None
        self._error: str | None = None
        self._code: int | None = None
        self._process: Process | None = None
        self._held: EnforcedCommand | None = None
        self._refused: Callable[[Refusal], None] = lambda _: None
        self._pipe = -1
        self._closed = asyncio.Event()
        """The output of the command has ended."""
        self._listening: asyncio.Task[None] | None = None

    def run(self, source: WatchedCommand, tasks: Tasks) -> None:
        """Start the command.

        Raises:
            OSError: it cannot be started.
        """
        outlet, inlet = os.pipe()
        shells = tasks if isinstance(tasks, BackgroundShells) else None
        held, argv, env = None, source.argv, source.env
        if shells is not None and source.view is not None:
            held = shells.holds.hold(source.view, source.command, cwd=source.cwd, env=env)
        if held is not None:
            argv, env = held.argv(argv), held.env
        self._held, self._refused = held, source.refused
        try:
            self._process = start(
                argv,
                cwd=source.cwd,
                env=env,
                stdout=inlet,
                stderr=self._output,
                pass_fds=source.pass_fds,
                reaper=None if shells is None else shells.reaper,
                spawn=None if held is None else held.spawner(inlet, self._output),
            )
        except OSError:
            os.close(outlet)
            raise
        finally:
            os.close(inlet)
        os.set_blocking(outlet, False)
        self._pipe = outlet
        asyncio.get_running_loop().add_reader(outlet, self._read)
        self._process.exited.add_done_callback(lambda _: self.over.set())

    async def connect(self, source: WatchedSocket) -> None:
        """Open the web socket.

        Raises:
            ToolError: there is no answer at this address.
        """
        from websockets.asyncio.client import connect
        from websockets.exceptions import WebSocketException
        from websockets.typing import Subprotocol

        try:
            socket = await connect(
                source.url,
                subprotocols=[Subprotocol(each) for each in source.protocols] or None,
                open_timeout=_CONNECT_SECONDS,
                max_size=_LONGEST_MESSAGE,
            )
        except (OSError, TimeoutError, ValueError, WebSocketException) as error:
            raise ToolError(f"{source.url}: {error}") from error

        async def listen() -> None:
            try:
                async for message in socket:
                    self._take((message.encode() if isinstance(message, str) else message) + b"\n")
            except (OSError, WebSocketException) as error:
                self._error = f"The connection was lost: {error}"
            finally:
                self.over.set()
                await socket.close()

        self._closed.set()
        self._listening = asyncio.create_task(listen())

    async def tell(self) -> None:
        """Make events of what comes, until cancelled."""
        while True:
            await self._came.wait()
            self._came.clear()
            await self._clock.wait(self.over, _GATHER)
            while (left := self._throttle.left()) is not None and not self.over.is_set():
                if left <= 0:
                    self._say(self._throttle.take())
                else:
                    await self._clock.wait(self.over, left)
            if self.over.is_set():
                return

    async def stop(self) -> None:
        """End it."""
        self._stopped = True
        self.over.set()

    def note_end(self, result: str) -> None:
        self._result = result

    async def end(self) -> None:
        """End what is watched, and read its last output."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        if self._process is None:
            return
        code = self._process.code
        if code is not None:
            self._code = exit_code(code)
        await self._process.end(grace=_STOP_GRACE)
        self._process.forget()
        if self._held is not None and (refusal := self._held.refusal) is not None:
            self._error = f"It was stopped: {beyond_words(refusal)}"
            self._refused(refusal)
        # What has left its group may hold the pipe open for ever.
        try:
            async with asyncio.timeout(_LAST_WORDS):
                await self._closed.wait()
        except TimeoutError:
            self._close_pipe()

    def finish(self) -> None:
        """Report the remaining lines."""
        self._close_pipe()
        self._throttle.add(self._lines.close())
        if self._throttle.left() is not None and not self._stopped:
            self._say(self._throttle.take())
        os.close(self._output)

    def ended(self) -> Task:
        """The state of the task at its end."""
        failed = self._error is not None or (self._result is None and self._code not in (None, 0))
        return msgspec.structs.replace(
            self.task,
            status="killed" if self._stopped else "failed" if failed else "completed",
            exit_code=None if self._result is not None else self._code,
            ended=self._clock.now(),
            result=self._result,
            error=self._error,
        )

    def _read(self) -> None:
        try:
            chunk = os.read(self._pipe, _CHUNK)
        except BlockingIOError:
            return
        if chunk:
            self._take(chunk)
        else:
            self._close_pipe()

    def _take(self, chunk: bytes) -> None:
        if self.over.is_set() and self._stopped:
            return
        self._write(chunk)
        self._throttle.add(self._lines.feed(chunk))
        self._came.set()
        if self._throttle.is_flooded:
            self._error = (
                "It prints too much to follow. Filter the output, for example with grep --line-buffered."
            )
            self.over.set()

    def _write(self, chunk: bytes) -> None:
        self._written += len(chunk)
        if self._written > _MOST_OUTPUT:
            return
        try:
            os.write(self._output, chunk)
        except OSError:
            pass  # A full disk is the likely reason; the events are what counts.

    def _close_pipe(self) -> None:
        if self._pipe >= 0:
            asyncio.get_running_loop().remove_reader(self._pipe)
            os.close(self._pipe)
            self._pipe = -1
        self._closed.set()

    def _say(self, text: str) -> None:
        note = monitor_event(self.task.id, self.task.call_id, self.task.description, text)
        self._wake(Prompt(content=note, origin=JOB, meta=True))


def _create(path: str) -> int:
    make_folders(os.path.dirname(path), private=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, 0o600)
