"""Set-up commands and checks of a task, behind the same sandbox as its session."""

import os
import time
from collections.abc import Mapping

from bridle.config.sandbox.settings import make_sandbox
from bridle.frontends.fleet.records import Assignment, CheckResult
from bridle.frontends.fleet.session_run import session_options
from bridle.frontends.fleet.workspace import AttemptError
from bridle.host.process import run
from bridle.host.programs import find_program
from bridle.host.reaper import Reaper
from bridle.session.prepare import set_up
from bridle.types.errors import BridleError
from bridle.types.question import Answer, NetworkQuestion, Refused
from bridle.types.sandbox import Sandbox

_MOST_OUTPUT = 64 * 1024 * 1024
_SHOWN = 4_000


class Commands:
    """Opened with the first command; closed by the attempt."""

    def __init__(self, work: Assignment, folder: str, env: Mapping[str, str]) -> None:
        self._work = work
        self._folder = folder
        self._env = env
        self._sandbox: Sandbox | None = None
        self._reaper: Reaper | None = None

    async def run(self, command: str, *, seconds: float) -> CheckResult:
        """Run a shell command in the work folder to its end.

        Raises:
            AttemptError: there is no shell, or no sandbox.
        """
        began = time.monotonic()
        bash = find_program("bash", self._env, writable=(self._folder,)) or "/bin/sh"
        argv, env = (bash, "-c", command), dict(self._env)
        if self._reaper is None:
            self._reaper = Reaper()
        if self._work.options.sandbox:
            try:
                confined = (await self._walls()).confine(argv, cwd=self._folder, env=env)
            except BridleError as error:
                raise AttemptError("setup", str(error)) from error
            argv, env = confined.argv, dict(confined.env)
        done = await run(
            argv, cwd=self._folder, env=env, timeout=seconds, limit=_MOST_OUTPUT, reaper=self._reaper
        )
        output = (done.stdout + done.stderr).decode(errors="replace")
        if done.timed_out:
            output += f"\nnot finished after {seconds:g} s"
        elif done.cut:
            output += "\nstopped: more than 64 MB of output"
        return CheckResult(
            name=command,
            passed=done.code == 0 and not done.timed_out and not done.cut,
            code=124 if done.timed_out else done.code,
            seconds=round(time.monotonic() - began, 3),
            output=output[-_SHOWN:],
        )

    async def close(self) -> None:
        if self._sandbox is not None:
            await self._sandbox.close()
        if self._reaper is not None:
            self._reaper.close()

    async def _walls(self) -> Sandbox:
        if self._sandbox is None:
            setup = set_up(session_options(self._work), self._env, cwd=self._folder)
            warnings: list[str] = []
            self._sandbox = await make_sandbox(
                setup.config,
                cwd=self._folder,
                env=setup.env,
                roots=lambda: (os.path.realpath(self._folder),),
                ask=_refuse,
                warn=warnings.append,
            )
        if self._sandbox is None:
            raise AttemptError("setup", "there is no sandbox: install bubblewrap, or add --no-sandbox")
        return self._sandbox


async def _refuse(question: NetworkQuestion) -> Answer:
    return Refused(message=f"add --allow-host {question.host} to the run", by_person=False)
