"""A queue of branches: each is merged onto the one before it, tested, and only then part of the target."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from bridle.host.files import make_folders
from bridle.host.git.merge import Branch, Merged, MergeFault, Repository, TestWorktree
from bridle.host.leases import LeaseStore
from bridle.host.lock import FileLock
from bridle.host.paths import bridle_dir, project_slug
from bridle.host.process import Process, start
from bridle.host.task_list import tail

Verdict = Literal["merged", "present", "clean", "conflicts", "failed"]
"""`clean` is what a dry run calls a branch that could be merged."""

_MOST_TRIES = 3
_TAIL = 3_000
_MOST_PASSED = 1_000


class Plan(Struct, frozen=True, kw_only=True):
    """What is wanted."""

    target: str
    branches: tuple[str, ...]
    test: str | None
    """The command that must succeed; None for no tests."""
    seconds: float = 1800.0
    dry_run: bool = False
    delete: bool = False


class Result(Struct, frozen=True, kw_only=True):
    """What became of one branch."""

    branch: str
    verdict: Verdict
    commits: int = 0
    commit: str = ""
    seconds: float | None = None
    """How long the tests took; None when they did not run."""
    conflicts: tuple[str, ...] = ()
    code: int | None = None
    """How the tests ended; None when they took too long."""
    log: str = ""
    said: str = ""
    """The end of what the tests said."""
    uncommitted: int = 0
    """Changes in its work tree that no commit holds, and that stay there."""
    note: str = ""


class MergeQueue:
    """Works on one repository; only one queue does so at a time."""

    def __init__(self, repository: Repository, folder: str, env: Mapping[str, str]) -> None:
        self._repository = repository
        self._env = env
        self._folder = folder
        """Where logs are, and what is known of earlier runs."""
        place = os.path.join(bridle_dir(env), "merge", project_slug(repository.root))
        self._bench = TestWorktree(repository, place)
        self._broker = LeaseStore(os.path.join(bridle_dir(env), "broker"))

    async def run(self, plan: Plan, on_test: Callable[[str], None]) -> AsyncGenerator[Result]:
        """Take one branch after the other; `on_test` is called with the one being tested.

        Whatever happens, branches are as they were or merged: the next run takes up one that was cut short.

        Raises:
            MergeFault: the queue cannot continue.
            Locked: another queue is running here.
        """
        make_folders(self._folder, private=True)
        with FileLock(os.path.join(self._folder, "lock"), seconds=0.5):
            try:
                tip = await self._tip(plan)
                for name in plan.branches:
                    tip, result = await self._take(plan, name, tip, on_test)
                    yield result
            finally:
                await asyncio.shield(self._bench.close())

    async def _take(
        self, plan: Plan, name: str, tip: str, on_test: Callable[[str], None]
    ) -> tuple[str, Result]:
        for _ in range(_MOST_TRIES):
            if not plan.dry_run:
                tip = await self._tip(plan)
            branch = await self._repository.branch(name, tip)
            uncommitted = await self._uncommitted(branch)
            if await self._repository.contains(tip, branch.tip):
                note = await self._forget(plan, branch)
                return tip, Result(branch=branch.name, verdict="present", uncommitted=uncommitted, note=note)
            merged = await self._repository.merge(tip, branch)
            if merged.commit is None:
                return tip, Result(
                    branch=branch.name,
                    verdict="conflicts",
                    commits=branch.commits,
                    conflicts=merged.conflicts,
                    uncommitted=uncommitted,
                )
            facts = Result(
                branch=branch.name,
                verdict="clean",
                commits=branch.commits,
                commit=merged.commit,
                uncommitted=uncommitted,
            )
            if plan.dry_run:
                return merged.commit, facts
            tested = await self._test(plan, branch, merged, on_test, facts)
            if tested.verdict == "failed":
                return tip, tested
            if await self._advance(plan, tip, merged.commit):
                return merged.commit, replace(
                    tested, verdict="merged", note=_both(tested.note, await self._forget(plan, branch))
                )
        raise MergeFault(f"{plan.target} keeps changing: try again when there are no new commits")

    async def _tip(self, plan: Plan) -> str:
        tip = await self._repository.resolve(f"refs/heads/{plan.target}")
        if tip is None:
            raise MergeFault(f"no branch {plan.target!r}; pass --into BRANCH")
        return tip

    async def _advance(self, plan: Plan, before: str, commit: str) -> bool:
        """Move the target; False when another process moved it meanwhile."""
        async with self._broker.git(self._repository.root):
            why = await self._repository.advance(plan.target, before, commit)
        if why is None:
            return True
        if await self._repository.resolve(f"refs/heads/{plan.target}") != before:
            return False
        await self._repository.remember(f"merged/{plan.target}", commit)
        raise MergeFault(
            f"{plan.target} could not be moved to the tested merge {commit[:12]}: {why}. "
            "Commit or stash the changes there, then run the same command again"
        )

    async def _test(
        self, plan: Plan, branch: Branch, merged: Merged, on_test: Callable[[str], None], facts: Result
    ) -> Result:
        if plan.test is None or merged.commit is None:
            return facts
        passed = f"{merged.tree} {plan.test}"
        if passed in self._passed():
            return replace(facts, note="the same files passed the tests before")
        on_test(branch.name)
        await self._bench.check_out(merged.commit)
        log = os.path.join(self._folder, f"{project_slug(branch.name)}.log")
        began = time.monotonic()
        code = await _run_tests(plan.test, cwd=self._bench.path, env=self._env, log=log, seconds=plan.seconds)
        tested = replace(facts, seconds=time.monotonic() - began, code=code, log=log)
        if code != 0:
            return replace(tested, verdict="failed", said=tail(log, _TAIL))
        self._note_passed(passed)
        return tested

    async def _uncommitted(self, branch: Branch) -> int:
        for checkout in await self._repository.checkouts():
            if checkout.branch == branch.name:
                return len(await self._repository.changes(checkout.path))
        return 0

    async def _forget(self, plan: Plan, branch: Branch) -> str:
        if not plan.delete or plan.dry_run or branch.name == plan.target:
            return ""
        async with self._broker.git(self._repository.root):
            why = await self._repository.forget_branch(branch)
        return "branch removed" if why is None else f"branch kept: {why}"

    def _passed(self) -> Sequence[str]:
        try:
            with open(os.path.join(self._folder, "passed"), encoding="utf-8") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return ()

    def _note_passed(self, line: str) -> None:
        if "\n" in line:
            return
        lines = [*self._passed(), line][-_MOST_PASSED:]
        with open(os.path.join(self._folder, "passed"), "w", encoding="utf-8") as file:
            file.write("".join(f"{each}\n" for each in lines))


async def _run_tests(
    command: str, *, cwd: str, env: Mapping[str, str], log: str, seconds: float
) -> int | None:
    """How a command ends whose words go to a file; None when it took too long and was ended."""
    kept = {name: value for name, value in env.items() if not name.startswith("GIT_")}
    with open(log, "wb") as file:
        try:
            process: Process = start(["/bin/sh", "-c", command], cwd=cwd, env=kept, stdout=file.fileno())
        except OSError as error:
            raise MergeFault(f"the tests could not be started: {error}") from error
        try:
            ended = await process.ends_within(seconds)
        finally:
            if process.has_members():
                await process.end(grace=1.0)
            process.forget()
    return process.code if ended else None


def _both(*notes: str) -> str:
    return "; ".join(note for note in notes if note)
