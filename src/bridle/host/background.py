"""Shell commands that run beside the conversation, and the care for what commands leave running."""

import asyncio
import os
import os.path
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from math import inf
from typing import Any, Literal

import msgspec

from bridle.host.liveness import birth
from bridle.host.process import UNKNOWN_END, Process, start, take_over
from bridle.host.reaper import Reaper
from bridle.host.task_list import TaskList, tail
from bridle.host.wall.enforcement import EnforcedCommand, Enforcement
from bridle.types.sandbox import Refusal, View, beyond_words
from bridle.types.services.tasks import Task

MOST_OUTPUT = 5 * 1024**3
_LOOK = 0.5
_STOP_GRACE = 1.0
_CLOSE_GRACE = 0.5
_CLOSE_REPORTS = 0.3
_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"

Ending = Literal["ended", "timeout", "flooded", "moved"]

__all__ = ["BackgroundShells", "Ending", "HandedOverCommand", "Shell", "exit_code", "remove", "tail"]


class Shell:
    """A running command and the file that holds what it prints."""

    def __init__(self, process: Process, output_file: str) -> None:
        self.process = process
        self.output_file = output_file
        self.started = time.time()
        self.is_let_go = False
        """The caller that waits for the command should let it continue as a job."""
        self.call_id = ""
        """The call that waits for it; empty when none does."""
        self.held: EnforcedCommand | None = None
        """What holds a command that only judgment allowed to that."""
        self.refused: Callable[[Refusal], None] = lambda _: None
        """Called with what it was kept from, once it is a job."""

    def size(self) -> int:
        """Bytes printed so far; none when the file was removed."""
        try:
            return os.stat(self.output_file).st_size
        except FileNotFoundError:
            return 0


class HandedOverCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command that runs on while another program of bridle takes its session over."""

    task: Task
    pid: int
    birth: str


class BackgroundShells:
    """The background jobs of one session, and the commands among them; closed with it.

    `on_change` is called with every job when it starts and when it ends.
    """

    def __init__(
        self, storage: str, *, on_change: Callable[[Task], None], most_output: int = MOST_OUTPUT
    ) -> None:
        self.reaper = Reaper()
        self.holds = Enforcement()
        self._storage = storage
        self._list = TaskList(on_change)
        self._most_output = most_output
        self._jobs: dict[str, _Job] = {}
        """The jobs that are commands."""
        self._shells: set[Shell] = set()
        self._watches: set[asyncio.Task[None]] = set()
        self._handed: tuple[HandedOverCommand, ...] = ()

    def find(self, task_id: str) -> Task | None:
        return self._list.find(task_id)

    def all(self) -> tuple[Task, ...]:
        return self._list.all()

    def begin(self, task: Task, stop: Callable[[], Awaitable[None]]) -> None:
        """List a job that is no command; the code that runs it also ends it when the session closes."""
        self._list.begin(task, stop)

    def change(self, task: Task) -> None:
        self._list.change(task)

    def read(self, task_id: str, limit: int) -> str:
        """The newest output of a job, at most `limit` characters.

        Raises:
            KeyError: there is no such job.
        """
        return self._list.read(task_id, limit)

    def tell(self, task_id: str) -> None:
        """The model knows of the end of a job, or has brought it about: it need not be reported."""
        self._list.tell(task_id)

    def is_told(self, task_id: str) -> bool:
        """Whether the model knows of the end of a job already."""
        return self._list.is_told(task_id)

    async def wait(self, task_id: str, timeout: float) -> Task:
        """The job once it has ended, or as it stands when `timeout` seconds are over.

        Raises:
            KeyError: there is no such job.
        """
        return await self._list.wait(task_id, timeout)

    async def stop(self, task_id: str) -> Task:
        """End a job and all its children; a job that has ended stays as it is.

        Raises:
            KeyError: there is no such job.
        """
        return await self._list.stop(task_id)

    async def start(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        command: str,
        description: str,
        call_id: str,
        view: View | None = None,
        refused: Callable[[Refusal], None] = lambda _: None,
    ) -> Task:
        """Start a command as a job; `refused` is called with what a view kept it from.

        Raises:
            OSError: the program, the directory or the output file cannot be used.
        """
        task_id = self._new_id()
        path = os.path.join(self._storage, "tasks", f"{task_id}.output")
        shell = self.launch(argv, cwd=cwd, env=env, output_file=path, view=view, command=command)
        shell.refused = refused
        return self.adopt(shell, command=command, description=description, call_id=call_id, task_id=task_id)

    def launch(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        output_file: str,
        pass_fds: tuple[int, ...] = (),
        view: View | None = None,
        command: str = "",
    ) -> Shell:
        """Start a command that the caller waits for; hand it to `adopt` or `release` afterwards.

        With a view, the command is held to it where the kernel can do that.

        Raises:
            OSError: the program, the directory or the output file cannot be used; FileExistsError when the
                file is there already.
        """
        output = _create(output_file)
        held: EnforcedCommand | None = None
        try:
            if view is not None and (held := self.holds.hold(view, command, cwd=cwd, env=env)) is not None:
                argv, env = held.argv(argv), held.env
            process = start(
                argv,
                cwd=cwd,
                env=env,
                stdout=output,
                pass_fds=pass_fds,
                reaper=self.reaper,
                spawn=None if held is None else held.spawner(output),
            )
        except OSError:
            os.unlink(output_file)
            raise
        finally:
            os.close(output)
        shell = Shell(process, output_file)
        shell.held = held
        self._shells.add(shell)
        return shell

    def adopt(
        self, shell: Shell, *, command: str, description: str, call_id: str, task_id: str | None = None
    ) -> Task:
        """Let a running command continue as a job."""
        task = Task(
            id=task_id or self._new_id(),
            kind="local_bash",
            description=description,
            call_id=call_id,
            command=command,
            output_file=shell.output_file,
            started=shell.started,
        )
        shell.call_id = ""
        job = self._jobs[task.id] = _Job(task, shell)
        self._watch(self._attend(job))
        self._list.begin(task, lambda: self._end(job))
        return task

    def move_waited(self, call_id: str | None = None) -> int:
        """Let commands that calls wait for, or that of one call, continue as jobs; how many there are."""
        waited = [each for each in self._shells if each.call_id and call_id in (None, each.call_id)]
        for shell in waited:
            shell.is_let_go = True
        return len(waited)

    def release(self, shell: Shell, *, keep_output: bool) -> None:
        """Note that a command is over; what it left running is ended when the session closes."""
        if shell.process.has_members():
            self._watch(self._attend_leftovers(shell, keep_output=keep_output))
            return
        self._drop(shell, keep_output=keep_output)

    async def follow(
        self, shell: Shell, *, timeout: float = inf, on_output: Callable[[], None] = lambda: None
    ) -> Ending:
        """Wait until a command ends, is out of time, has printed too much, or is to continue as a job."""
        deadline = time.monotonic() + timeout
        seen = 0
        while True:
            left = deadline - time.monotonic()
            if await shell.process.ends_within(max(0, min(left, _LOOK))):
                return "ended"
            if shell.call_id and shell.is_let_go:
                return "moved"
            if (size := shell.size()) > self._most_output:
                return "flooded"
            if left <= 0:
                return "timeout"
            if size != seen:
                seen = size
                on_output()

    def hand_over(self) -> tuple[HandedOverCommand, ...]:
        """Let the commands that are jobs outlive `close`, until `part` says what becomes of them."""
        handed = tuple(
            HandedOverCommand(task=job.task, pid=job.shell.process.pid, birth=birth(job.shell.process.pid))
            for job in self._jobs.values()
            if job.shell.process.code is None and not job.stopped
        )
        for each in handed:
            self._shells.discard(self._jobs.pop(each.task.id).shell)
        self._handed = handed
        return handed

    def take_over(self, handed: HandedOverCommand) -> Task | None:
        """Take over a command of another program as a job; None when it has ended meanwhile."""
        process = take_over(handed.pid, handed.birth, self.reaper)
        if process is None:
            return None
        task = handed.task
        shell = Shell(process, task.output_file)
        shell.started = task.started
        self._shells.add(shell)
        return self.adopt(
            shell,
            command=task.command,
            description=task.description,
            call_id=task.call_id,
            task_id=task.id,
        )

    def part(self, *, taken: bool) -> None:
        """After `close`: another process has taken over what was handed over, or it ends now."""
        for each in self._handed if taken else ():
            self.reaper.forget(each.pid)
        self._handed = ()
        self.reaper.close()

    async def close(self) -> None:
        """End everything that still runs; takes two seconds at most."""
        for job in self._jobs.values():
            job.stopped = True
        await asyncio.gather(*(shell.process.end(grace=_CLOSE_GRACE) for shell in self._shells))
        await asyncio.gather(*(self._list.wait(task_id, _CLOSE_REPORTS) for task_id in self._jobs))
        watches = tuple(self._watches)
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)
        self.holds.close()
        if not self._handed:
            await asyncio.to_thread(self.reaper.close)

    def _watch(self, coroutine: Coroutine[Any, Any, None]) -> None:
        watch = asyncio.create_task(coroutine)
        self._watches.add(watch)
        watch.add_done_callback(self._watches.discard)

    async def _end(self, job: "_Job") -> None:
        job.stopped = True
        await job.shell.process.end(grace=_STOP_GRACE)

    async def _attend(self, job: "_Job") -> None:
        flooded = await self.follow(job.shell) == "flooded"
        if flooded:
            await job.shell.process.end(grace=_STOP_GRACE)
            _append(job.shell.output_file, f"\n[stopped: more than {self._most_output:,} bytes of output]\n")
        code = await job.shell.process.wait()
        refusal = None if job.shell.held is None else job.shell.held.refusal
        if refusal is not None:
            _append(job.shell.output_file, f"\n[stopped: {beyond_words(refusal)}]\n")
            job.shell.refused(refusal)
        is_well = code in (0, UNKNOWN_END) and not flooded
        ended = msgspec.structs.replace(
            job.task,
            status="killed" if job.stopped else "completed" if is_well else "failed",
            exit_code=None if code == UNKNOWN_END else exit_code(code),
            ended=time.time(),
        )
        self.release(job.shell, keep_output=True)
        self._list.change(ended)

    async def _attend_leftovers(self, shell: Shell, *, keep_output: bool) -> None:
        try:
            while shell.process.has_members():
                await asyncio.sleep(_LOOK)
                if shell.size() > self._most_output:
                    await shell.process.end(grace=_STOP_GRACE)
        finally:
            self._drop(shell, keep_output=keep_output)

    def _drop(self, shell: Shell, *, keep_output: bool) -> None:
        shell.process.forget()
        self._shells.discard(shell)
        if shell.held is not None and not any(other.held is not None for other in self._shells):
            self.holds.tidy()
        if not keep_output:
            remove(shell.output_file)

    def _new_id(self) -> str:
        while (task_id := "b" + "".join(_LETTERS[byte % 36] for byte in os.urandom(8))) in self._jobs:
            pass
        return task_id


class _Job:
    def __init__(self, task: Task, shell: Shell) -> None:
        self.task = task
        self.shell = shell
        self.stopped = False


def exit_code(code: int) -> int:
    """The number that a shell reports for a program ended by a signal."""
    return 128 - code if code < 0 else code


def remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass  # The command may have cleaned up after itself.


def _create(path: str) -> int:
    _make_private(os.path.dirname(path))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, 0o600)


def _make_private(folder: str) -> None:
    if os.path.isdir(folder):
        return
    _make_private(os.path.dirname(folder))
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass  # Another command was quicker.


def _append(path: str, text: str) -> None:
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        pass  # A full disk is the likely reason; the status says that the job failed.
