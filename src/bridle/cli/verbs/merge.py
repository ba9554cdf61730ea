"""`bridle merge`: bring the branches of agents into one, each tested on top of the others."""

import asyncio
import os
import re
import signal
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from bridle.cli.say import say, tell
from bridle.host.git import repository as git
from bridle.host.git.merge import Repository, names_of
from bridle.host.git.merge_queue import MergeQueue, Plan, Result
from bridle.host.lock import Locked
from bridle.host.stdio import complain
from bridle.types.errors import UsageError
from bridle.types.visible import visible_line

_HELP = """\
Usage: bridle merge [options] [branch ...]

Merges branches into the one that is checked out here, one after the other. Each merge is made aside, the
tests run on it there, and only a merge that passes moves the branch. What conflicts or fails is left as it
is. Without names: every branch of a work tree (worktree-*) that holds something new, the oldest first.

  --test CMD      the command that must succeed; unless given, what the project seems to use
  --no-test       merge what does not conflict, without tests
  --into BRANCH   another branch to merge into
  --dry-run       only say what would conflict; nothing is changed and no test runs
  --delete        remove merged branches, and their work trees if they hold nothing else
  --timeout SEC   the longest that the tests of one merge may take (1800)
  --json          one JSON object for each branch

Exit codes: 0 everything is merged, 1 the queue could not run or go on, 3 something conflicts, 4 tests failed.
After an interruption or a fault, run the same command again: what is merged stays merged, and a merge that
passed its tests before is not tested again.
"""
_CONFLICTS, _FAILED = 3, 4
_TEXTS = ("test", "into", "timeout")
_SWITCHES = ("no-test", "dry-run", "delete", "json")
_SAID_LINES = 15


class Wish(Struct, frozen=True, kw_only=True):
    """The command line."""

    texts: Mapping[str, str]
    switches: frozenset[str]
    branches: tuple[str, ...]


def run_merge(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Merge, and return the exit code.

    Raises:
        UsageError: the words are off, or there is nothing to work on.
        MergeFault: the queue cannot go on.
    """
    if any(word in ("-h", "--help") for word in argv):
        return say(_HELP)
    wish = read_wish(argv)
    trees = git.worktrees(os.getcwd())
    if not trees:
        raise UsageError("there is no git repository here to merge in")
    try:
        return asyncio.run(_merge(wish, trees[0], env))
    except Locked as busy:
        raise UsageError(f"another merge, or an agent that uses git, is at work here: {busy}") from busy


def read_wish(argv: Sequence[str]) -> Wish:
    """Read the words behind `bridle merge`.

    Raises:
        UsageError: there is one that means nothing.
    """
    texts: dict[str, str] = {}
    switches: set[str] = set()
    branches: list[str] = []
    words = list(argv)
    while words:
        word = words.pop(0)
        key, _, value = word.removeprefix("--").partition("=")
        if not word.startswith("-"):
            branches.append(word)
        elif word.startswith("--") and key in _SWITCHES and "=" not in word:
            switches.add(key)
        elif word.startswith("--") and key in _TEXTS and ("=" in word or words):
            texts[key] = value if "=" in word else words.pop(0)
        else:
            raise UsageError(f"cannot understand 'bridle merge {word}': see bridle merge --help")
    if "test" in texts and "no-test" in switches:
        raise UsageError("--test and --no-test exclude each other")
    return Wish(texts=texts, switches=frozenset(switches), branches=tuple(branches))


async def _merge(wish: Wish, root: str, env: Mapping[str, str]) -> int:
    repository = Repository(root=root, env=env)
    target = wish.texts.get("into") or git.current_branch(os.getcwd())
    if target in ("", "HEAD"):
        raise UsageError("no branch is checked out here: name the one to merge into with --into")
    for name in (target, *wish.branches):  # A wrong name is told before anything else is asked for.
        await repository.branch(name, f"refs/heads/{target}")
    branches = wish.branches or tuple(await repository.leftovers(f"refs/heads/{target}"))
    if not branches:
        return tell(f"nothing to merge into {target}")
    plan = Plan(
        target=target,
        branches=tuple(dict.fromkeys(branches)),
        test=None if {"no-test", "dry-run"} & wish.switches else wish.texts.get("test") or _usual_tests(root),
        seconds=_seconds(wish.texts.get("timeout")),
        dry_run="dry-run" in wish.switches,
        delete="delete" in wish.switches,
    )
    as_json = "json" in wish.switches
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
        complain(f"interrupted: {done} done; run it again to go on")
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
            said = f"conflicts in {names_of(result.conflicts)}; left as it is"
        case "failed":
            how = "took too long" if result.code is None else f"failed with code {result.code}"
            said = f"tests {how}{took}; left as it is. Log: {result.log}"
    notes = [result.note] if result.note else []
    if result.uncommitted:
        notes.append(f"{result.uncommitted} change(s) in its work tree are not committed and stay there")
    lines = [f"{number}/{len(plan.branches)} {result.branch}: {'; '.join((said, *notes))}"]
    lines += (f"    {line}" for line in result.said.splitlines()[-_SAID_LINES:])
    return "".join(f"{visible_line(line)}\n" for line in lines)


def _as_json(result: Result) -> str:
    return f"{msgspec.json.encode(result).decode()}\n"


def _seconds(text: str | None) -> float:
    if text is None:
        return 1800.0
    if not re.fullmatch(r"\d{1,6}(\.\d+)?", text) or not float(text):
        raise UsageError(f"--timeout takes seconds, not {text!r}")
    return float(text)


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
    raise UsageError("it cannot be told how this project runs its tests: give --test CMD, or --no-test")


def _text(root: str, name: str) -> str:
    try:
        with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
            return file.read(200_000)
    except OSError:
        return ""
