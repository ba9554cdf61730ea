"""`bridle merge`: bring the branches of agents into one, each tested on top of the others."""

import asyncio
import os
import re
import signal
from collections.abc import Mapping, Sequence

import msgspec

from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.host.git import repository as git
from bridle.host.git.merge import Repository, names_of
from bridle.host.git.merge_queue import MergeQueue, Plan, Result
from bridle.host.lock import Locked
from bridle.host.stdio import complain
from bridle.types.errors import UsageError
from bridle.types.visible import visible_line

_CONFLICTS, _FAILED = 3, 4
_SAID_LINES = 15
_TEST_SECONDS = 1800.0


def run_merge(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Merge, and return the exit code.

    Raises:
        UsageError: options contradict each other, or there is nothing to work on.
        MergeFault: the queue cannot continue.
    """
    if given.has("test") and given.on("no-test"):
        raise UsageError("--test and --no-test can't be used together")
    trees = git.worktrees(os.getcwd())
    if not trees:
        raise UsageError("not in a git repository")
    try:
        return asyncio.run(_merge(given, trees[0], env))
    except Locked as busy:
        raise UsageError(f"another merge or an agent is using git here: {busy}") from busy


async def _merge(given: ParsedArguments, root: str, env: Mapping[str, str]) -> int:
    repository = Repository(root=root, env=env)
    target = given.text("into") or git.current_branch(os.getcwd())
    if target in ("", "HEAD"):
        raise UsageError("no branch is checked out: pass --into BRANCH")
    named = given.all("branches")
    for name in (target, *named):  # A wrong name is reported before anything else is needed.
        await repository.branch(name, f"refs/heads/{target}")
    branches = named or tuple(await repository.leftovers(f"refs/heads/{target}"))
    if not branches:
        return tell(f"nothing to merge into {target}")
    untested = given.on("no-test") or given.on("dry-run")
    plan = Plan(
        target=target,
        branches=tuple(dict.fromkeys(branches)),
        test=None if untested else given.text("test") or _usual_tests(root),
        seconds=float(given.text("timeout") or _TEST_SECONDS),
        dry_run=given.on("dry-run"),
        delete=given.on("delete"),
    )
    as_json = given.on("json")
    if not as_json:
        tests = "none" if plan.test is None else plan.test
        tell(f"into {target}: {len(plan.branches)} branch(es), tests: {tests}")
    folder = os.path.join(await repository.git_folder(), "bridle-merge")
    return await _work(MergeQueue(repository, folder, env), plan, as_json=as_json)


async def _work(queue: MergeQueue, plan: Plan, *, as_json: bool) -> int:
    own = asyncio.current_task()
    assert own is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, own.cancel)
    results: list[Result] = []
    try:
        async for result in queue.run(plan, _announce):
            results.append(result)
            say(_as_json(result) if as_json else _line(len(results), plan, result))
    except asyncio.CancelledError:
        done = f"{_count(results)} of {len(plan.branches)}"
        complain(f"interrupted: {done} done; run it again to continue")
        return 130
    verdicts = {result.verdict for result in results}
    if not as_json:
        how = "can be" if plan.dry_run else "are"
        tell(f"{_count(results)} of {len(plan.branches)} {how} in {plan.target}")
    return _FAILED if "failed" in verdicts else _CONFLICTS if "conflicts" in verdicts else 0


def _announce(branch: str) -> None:
    if os.isatty(2):
        complain(f"testing {branch} …")


def _count(results: Sequence[Result]) -> int:
    return sum(result.verdict in ("merged", "present", "clean") for result in results)


def _line(number: int, plan: Plan, result: Result) -> str:
    took = "" if result.seconds is None else f" ({result.seconds:.1f} s)"
    match result.verdict:
        case "merged":
            tests = f"tests passed{took}, " if result.seconds is not None else ""
            said = f"{result.commits} commit(s), {tests}merged as {result.commit[:12]}"
        case "clean":
            said = f"{result.commits} commit(s), no conflict"
        case "present":
            said = f"already in {plan.target}"
        case "conflicts":
            said = f"conflicts in {names_of(result.conflicts)}; not merged"
        case "failed":
            how = "took too long" if result.code is None else f"failed with code {result.code}"
            said = f"tests {how}{took}; not merged. Log: {result.log}"
    notes = [result.note] if result.note else []
    if result.uncommitted:
        notes.append(f"{result.uncommitted} change(s) in its worktree are not committed and stay there")
    lines = [f"{number}/{len(plan.branches)} {result.branch}: {'; '.join((said, *notes))}"]
    lines += (f"    {line}" for line in result.said.splitlines()[-_SAID_LINES:])
    return "".join(f"{visible_line(line)}\n" for line in lines)


def _as_json(result: Result) -> str:
    return f"{msgspec.json.encode(result).decode()}\n"


def _usual_tests(root: str) -> str:
    """How the project seems to run its tests.

    Raises:
        UsageError: it does not seem to have any.
    """
    if re.search(r"^test\s*:", _text(root, "Makefile"), re.MULTILINE):
        return "make test"
    if '"test"' in _text(root, "package.json"):
        return "npm test"
    for file, command in (("Cargo.toml", "cargo test"), ("go.mod", "go test ./...")):
        if os.path.exists(os.path.join(root, file)):
            return command
    if any(os.path.exists(os.path.join(root, name)) for name in ("tests", "pytest.ini", "conftest.py")):
        return "python3 -m pytest -q"
    raise UsageError("cannot detect how this project runs its tests: pass --test CMD or --no-test")


def _text(root: str, name: str) -> str:
    try:
        with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
            return file.read(200_000)
    except OSError:
        return ""
