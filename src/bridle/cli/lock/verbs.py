"""`bridle lock`: write, check and compare `bridle.lock`."""

import asyncio
import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from bridle.cli.args import parse
from bridle.cli.lock.probe import probe
from bridle.cli.options import session_options
from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.host.git.commands import run_git
from bridle.host.stdio import complain
from bridle.session.host import Host
from bridle.session.lock.file import (
    FILE,
    SECRET,
    Part,
    PromptLock,
    decoded,
    differences,
    find,
    part_of,
    read,
    write,
)
from bridle.session.lock.own_parts import own_parts, unkept
from bridle.session.lock.session_parts import session_parts
from bridle.session.open import open_session
from bridle.session.prepare import set_up
from bridle.types.errors import ConfigError, UsageError
from bridle.types.event import Event
from bridle.types.question import Answer, Question, Refused
from bridle.version import __version__

_ALONE = ("--no-session-persistence",)
_PATIENCE = 60.0
_INSTALLED = "installed"
_REQUEST = "request/"


def run_write(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Write the lock of this folder.

    Raises:
        BridleError: a session cannot be opened here, or the file cannot be written.
    """
    path = given.text("output") or find(os.getcwd()) or os.path.join(os.getcwd(), FILE)
    if os.path.exists(path):
        read_or_other(path)
    parts, notes = asyncio.run(_now(given.all("flags"), env))
    parts |= asyncio.run(probe(env, None))
    write(path, PromptLock(bridle=__version__, parts=parts))
    return tell(f"{path}: {len(parts)} parts, bridle {__version__}", *notes)


def run_check(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Name everything that is not as in the lock; 1 if anything is not.

    Raises:
        BridleError: there is no lock, or a session cannot be opened here.
    """
    path = find(os.getcwd())
    if path is None:
        raise UsageError(f"There is no {FILE} here. Write one with: bridle lock")
    lock = read(path)
    parts, notes = asyncio.run(_now(given.all("flags"), env))
    parts |= asyncio.run(probe(env, lock))
    found = [*differences(lock.parts, parts)]
    lost = unkept(lock)
    kept = [each for each in found if each.is_carried and each.name not in lost]
    requests = [each for each in found if each.name.startswith(_REQUEST)]
    refused = [each for each in found if each not in kept and each not in requests and each.name not in lost]
    lines = [f"{path}: written by bridle {lock.bridle}, installed is {__version__}", *notes]
    lines += _section("Not as in the lock; --locked refuses:", [str(each) for each in refused])
    lines += _section("Not supported by this version; --locked refuses:", lost)
    lines += _section(
        "Written by this version, so not locked:",
        [each.name.removeprefix(_REQUEST) for each in requests],
    )
    lines += _section(
        "Other in this version; --locked sends what the lock has:", [str(each) for each in kept]
    )
    if not found:
        lines.append(f"{len(parts)} parts are as in the lock")
    if given.on("json"):
        rows = {"refused": refused, "lost": lost, "written": requests, "kept": kept}
        named = {key: [getattr(each, "name", each) for each in value] for key, value in rows.items()}
        say(msgspec.json.format(msgspec.json.encode(named), indent=2).decode() + "\n")
    else:
        tell(*lines)
    return 1 if found else 0


def run_diff(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Show what changed between two locks; 1 if anything did.

    Raises:
        UsageError: one of them names no lock.
        ConfigError: one of them cannot be read.
    """
    names = (given.one("old"), given.text("new") or _INSTALLED)
    old, new = (_lock_named(name, env) for name in names)
    left, right = dict(old.parts), dict(new.parts)
    if _INSTALLED in names:
        # Only what bridle writes itself is known of an installation.
        known = {name.partition("/")[0] for name in own_parts()}
        left, right = (
            {k: v for k, v in each.items() if k.partition("/")[0] in known} for each in (left, right)
        )
    changed = list(differences(left, right))
    if not changed:
        tell(f"no difference between {names[0]} (bridle {old.bridle}) and {names[1]} (bridle {new.bridle})")
        return 0
    for each in changed:
        tell(str(each))
        for line in _unified(left.get(each.name), right.get(each.name)):
            tell(f"  {line}")
    return 1


def read_or_other(path: str) -> None:
    """Refuse to replace a file that is no lock; a damaged lock may be replaced.

    Raises:
        ConfigError: it is something else.
    """
    try:
        with open(path, "rb") as file:
            start = file.read(200)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error
    if start.strip() and b"bridleLock" not in start:
        raise ConfigError(f"{path} is not a lock of bridle, and is left alone. Choose another with --output.")


async def _now(flags: Sequence[str], env: Mapping[str, str]) -> tuple[dict[str, Part], list[str]]:
    """The parts of a session that is opened with these flags, and what could not be had."""
    options = session_options(parse([*_ALONE, "-p", *flags]))
    setup = set_up(options, env)
    for problem in setup.problems:
        complain(problem)
    host = Host(setup=setup, warn=complain, greets=False)
    async with open_session(options, _Silence(), host=host) as live:
        servers = live.server.runtime.servers
        states = await servers.ready(None, _PATIENCE)
        await servers.listed()
        absent = [state for state in states if state.status != "connected"]
        notes = [f"left out: MCP server {state.name} is {state.status}" for state in absent]
        return session_parts(live, servers=True), notes


class _Silence:
    """Shows nothing and allows nothing."""

    def emit(self, event: Event) -> None:
        """What happens is of no interest here."""

    async def ask(self, question: Question) -> Answer:
        del question
        return Refused(message="Nothing runs here.", by_person=False)


def _lock_named(name: str, env: Mapping[str, str]) -> PromptLock:
    """A lock by its file, by a commit or version that had it, or that of the installed version."""
    if name == _INSTALLED:
        parts = {key: part_of(value) for key, value in own_parts().items()}
        return PromptLock(bridle=__version__, parts=parts)
    if os.path.isfile(name):
        return read(name)
    if not name.startswith("-") and (data := _git(env, "show", f"{name}:./{FILE}")) is not None:
        return decoded(data, f"{name}:{FILE}")
    for commit in (_git(env, "log", "--format=%H", "--", FILE) or b"").decode().split():
        data = _git(env, "show", f"{commit}:./{FILE}")
        if data is not None and f'"bridle": "{name.removeprefix("v")}"'.encode() in data[:300]:
            return decoded(data, f"{commit[:12]}:{FILE}")
    raise UsageError(
        f"{name} is no lock file, no commit with a {FILE}, and no version that wrote one here. "
        f"Name a file, a commit, a version or {_INSTALLED!r}."
    )


def _git(env: Mapping[str, str], *words: str) -> bytes | None:
    done = asyncio.run(run_git(os.getcwd(), env, *words))
    return done.output.encode() if done.ok else None


def _unified(old: Part | None, new: Part | None) -> Iterator[str]:
    before, after = ([] if part is None else _lines(part.value) for part in (old, new))
    yield from list(difflib.unified_diff(before, after, lineterm="", n=1))[2:]


def _lines(value: Any) -> list[str]:
    if value == SECRET or isinstance(value, str):
        return str(value).split("\n")
    lines: list[str] = []
    if isinstance(value, dict) and isinstance(value.get("description"), str):
        # What is read as prose is shown as prose.
        lines += value["description"].split("\n")
        value = {key: each for key, each in value.items() if key != "description"}
    if isinstance(value, dict) and isinstance(value.get("text"), str):
        lines += value["text"].split("\n")
        value = {key: each for key, each in value.items() if key != "text"}
    return [*lines, *msgspec.json.format(msgspec.json.encode(value), indent=1).decode().split("\n")]


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return ["", title, *(f"  {line}" for line in lines)] if lines else []
