"""One attempt at a task, from its work folder to its result; the same on every worker."""

import asyncio
import os
import shutil
import socket
import time
from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from bridle.features.budgets.metered_provider import RunLedger
from bridle.frontends.fleet import limits, workspace
from bridle.frontends.fleet.artifacts import Artifacts, StoreError
from bridle.frontends.fleet.budget import TaskAccount, run_budget
from bridle.frontends.fleet.commands import Commands
from bridle.frontends.fleet.records import (
    Assignment,
    CheckResult,
    FailureKind,
    Kept,
    KeptKind,
    Progress,
    Result,
    TaskStatus,
)
from bridle.frontends.fleet.session_run import SessionEnd, run_session
from bridle.frontends.fleet.workspace import AttemptError, Workspace
from bridle.host.paths import project_dir
from bridle.host.secrets import SECRETS
from bridle.types.errors import BridleError

_MOST_ANSWER = 200_000
_MOST_TRANSCRIPT = 256 * 1024 * 1024
_LAST_WORDS = 20.0


class WorkerContext(Struct, frozen=True, kw_only=True):
    """What a worker has for all its attempts."""

    env: Mapping[str, str]
    folder: str
    """Where work folders and mirrors are."""
    artifacts: Artifacts
    ledger: RunLedger | None = None
    node: str = ""


async def run_attempt(work: Assignment, context: WorkerContext, report: Callable[[Progress], None]) -> Result:
    """Do one attempt; every failure is a result. Cancelling ends all that it started."""
    began = time.monotonic()
    task = work.task
    folder = os.path.join(context.folder, "work", f"{work.run}-{task.id}-{work.attempt}")
    attempt = _Attempt(work, context, folder, report)
    result = Result(task=task.id, status="error", attempt=work.attempt)
    try:
        async with asyncio.timeout(task.timeout or work.options.timeout):
            result = await attempt.run()
    except TimeoutError:
        seconds = task.timeout or work.options.timeout
        result = attempt.failure("timeout", f"not finished after {seconds:g} s")
    except AttemptError as error:
        result = attempt.failure(error.kind, str(error))
    except StoreError as error:
        result = attempt.failure("store", str(error))
    except BridleError as error:
        result = attempt.failure("session", str(error))
    except OSError as error:
        kind: FailureKind = "disk" if error.errno in (28, 122) else "session"
        result = attempt.failure(kind, f"{error.strerror or error}: {error.filename or folder}")
    finally:
        if not work.options.keep:
            await asyncio.shield(asyncio.to_thread(_remove, folder, context.env))
    return replace(
        result,
        seconds=round(time.monotonic() - began, 3),
        node=context.node or socket.gethostname(),
        labels=task.labels,
        message=SECRETS.hide(result.message),
    )


class _Attempt:
    """What is known of an attempt while it runs."""

    def __init__(
        self, work: Assignment, context: WorkerContext, folder: str, report: Callable[[Progress], None]
    ) -> None:
        self._work = work
        self._context = context
        self._folder = folder
        self._report = report
        self._env = _environment(work, context.env)
        self._end = SessionEnd()
        self._kept: tuple[Kept, ...] = ()
        self._account: TaskAccount | None = None
        self._base = ""

    async def run(self) -> Result:
        work, context = self._work, self._context
        self._say("preparing")
        mirrors = os.path.join(context.folder, "mirrors")
        await asyncio.to_thread(workspace.remove_workspace, self._folder)
        space = await workspace.open_workspace(
            work.task, self._folder, mirrors=mirrors, run=work.run, env=self._env
        )
        self._base = space.base
        options = work.options
        watching = asyncio.create_task(
            limits.watch(self._folder, processes=options.most_processes, disk=options.most_disk)
        )
        working = asyncio.create_task(self._work_in(space))
        try:
            await asyncio.wait((watching, working), return_when=asyncio.FIRST_COMPLETED)
            if watching.done() and not working.done():
                watching.result()
            return await working
        finally:
            for each in (working, watching):
                each.cancel()
            await asyncio.wait((working, watching), timeout=_LAST_WORDS)

    def failure(self, kind: FailureKind, message: str) -> Result:
        """The result of an attempt that could not finish."""
        status: TaskStatus = "failed" if kind == "check" else "error"
        return self._result(status, kind=kind, message=message)

    async def _work_in(self, space: Workspace) -> Result:
        task = self._work.task
        commands = Commands(self._work, space.work, self._env)
        try:
            for command in task.setup:
                self._say("setting up")
                done = await commands.run(command, seconds=task.timeout or self._work.options.timeout)
                if not done.passed:
                    raise AttemptError("setup", f"set-up failed with {done.code}: {_tail(done.output)}")
            before = await workspace.note_before(space, self._env)
            self._end = await self._session(space)
            await self._keep(space, before)
            if self._end.kind:
                return self.failure(self._end.kind, self._end.message)
            return await self._checked(space, commands)
        finally:
            await commands.close()

    async def _session(self, space: Workspace) -> SessionEnd:
        work = self._work
        if work.task.program:
            from bridle.frontends.fleet.other_program import run_program

            return await run_program(work, space.work, self._env)
        features = ()
        if self._context.ledger is not None and work.options.budget:
            self._account = TaskAccount(self._context.ledger)
            features = (
                run_budget(
                    self._account,
                    run=work.run,
                    task=f"{work.task.id}-{work.attempt}",
                    budget=work.options.budget,
                ),
            )
        end = await run_session(work, space.work, self._env, self._report, features=features)
        if end.kind and self._account is not None and self._account.is_used_up:
            return replace(end, kind="budget", message="the budget of the run is used up")
        return end

    async def _checked(self, space: Workspace, commands: Commands) -> Result:
        checks: list[CheckResult] = []
        workspace.write_check_files(space, self._work.task)
        for check in self._work.task.checks:
            self._say(f"checking: {check.title}")
            done = await commands.run(check.run, seconds=check.timeout)
            checks.append(replace(done, name=check.title, output=SECRETS.hide(done.output)))
        failed = [each for each in checks if not each.passed]
        if failed:
            message = f"{failed[0].name} ended with {failed[0].code}: {_tail(failed[0].output)}"
            return self._result("failed", kind="check", message=message, checks=tuple(checks))
        return self._result("done", checks=tuple(checks))

    async def _keep(self, space: Workspace, before: str) -> None:
        """Put the patch, the transcript and the artifacts into the store."""
        self._say("saving")
        patch = await workspace.patch_since(space, before, self._env)
        if patch:
            await self._put("patch", "changes.patch", _scrubbed(patch))
        if self._end.transcript and os.path.isfile(self._end.transcript):
            data = await asyncio.to_thread(_read, self._end.transcript)
            await self._put("transcript", "transcript.jsonl", _scrubbed(data))
        for name, path in workspace.artifacts_of(space, self._work.task.artifacts):
            await self._put("artifact", name, await asyncio.to_thread(_read, path))

    async def _put(self, kind: KeptKind, name: str, data: bytes) -> None:
        digest = await self._context.artifacts.put(data)
        kept = Kept(kind=kind, name=name, digest=digest, size=len(data))
        self._kept = (*self._kept, kept)

    def _result(
        self,
        status: TaskStatus,
        *,
        kind: FailureKind = "",
        message: str = "",
        checks: tuple[CheckResult, ...] = (),
    ) -> Result:
        end, work = self._end, self._work
        return Result(
            task=work.task.id,
            attempt=work.attempt,
            status=status,
            kind=kind,
            message=message,
            answer=SECRETS.hide(end.answer)[:_MOST_ANSWER],
            output=end.output,
            checks=checks,
            cost=end.cost,
            tokens=end.tokens,
            steps=end.steps,
            session=end.session,
            base=self._base,
            kept=self._kept,
        )

    def _say(self, text: str) -> None:
        self._report(Progress(task=self._work.task.id, text=text))


def _environment(work: Assignment, env: Mapping[str, str]) -> dict[str, str]:
    """The variables of an attempt: those of the worker, without secrets that the task did not ask for."""
    own = dict(env)
    for name in work.options.secrets:
        if name not in work.task.secrets:
            own.pop(name, None)
    for name in work.task.secrets:
        if name not in own:
            raise AttemptError("setup", f"the secret {name} is not set on this worker")
        SECRETS.learn(own[name])
    attributes = (
        f"bridle.fleet.run={work.run},bridle.fleet.task={work.task.id},bridle.fleet.attempt={work.attempt}"
    )
    given = own.get("OTEL_RESOURCE_ATTRIBUTES")
    own["OTEL_RESOURCE_ATTRIBUTES"] = f"{given},{attributes}" if given else attributes
    own["BRIDLE_FLEET_RUN"], own["BRIDLE_FLEET_TASK"] = work.run, work.task.id
    return own


def _scrubbed(data: bytes) -> bytes:
    text = data.decode("utf-8", errors="surrogateescape")
    return SECRETS.hide(text).encode("utf-8", errors="surrogateescape")


def _read(path: str) -> bytes:
    if os.path.getsize(path) > _MOST_TRANSCRIPT:
        raise AttemptError("limits", f"{os.path.basename(path)} is larger than 256 MB")
    with open(path, "rb") as file:
        return file.read()


def _remove(folder: str, env: Mapping[str, str]) -> None:
    """Remove the work folder, and what sessions keep of it: the store has the transcript."""
    workspace.remove_workspace(folder)
    shutil.rmtree(project_dir(os.path.join(folder, "work"), env), ignore_errors=True)


def _tail(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else "no output"
