"""`bridle fleet run` and `resume`: drive a run from this terminal."""

import asyncio
import os
import re
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence

import msgspec

from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.frontends.fleet.records import MODES, RETRIES, Result, RunOptions, Task
from bridle.frontends.fleet.run import create_run, driving
from bridle.frontends.fleet.store import RunStore
from bridle.frontends.fleet.summary import closing_line, result_line
from bridle.frontends.fleet.task_files import read_tasks
from bridle.host.stdio import complain, libraries_on_stderr
from bridle.types.errors import UsageError
from bridle.types.nearest import did_you_mean
from bridle.types.text import counted

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)([KMGT]?)B?", re.IGNORECASE)
_FACTORS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
_NETWORK_NAME = re.compile(r"(\*\.)?[A-Za-z0-9.-]+(:[0-9]+)?")


def run_fleet(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Run every task of a file or folder; 0 when all are done, 1 when one is not."""
    options = options_from(given)
    tasks = read_tasks(given.one("tasks"), template=template_of(given), allowed=given.all("allow-folder"))
    tasks = chosen(tasks, given)
    return run_tasks(tasks, options, env, as_json=given.on("json"))


def run_tasks(
    tasks: Sequence[Task],
    options: RunOptions,
    env: Mapping[str, str],
    *,
    as_json: bool,
    quiet: bool = False,
) -> int:
    """Write down a run and drive it to its end."""

    async def work() -> int:
        store = await create_run(tasks, options, env)
        if not (as_json or quiet):
            count = f"{counted(len(tasks), 'task')} on {options.on}"
            tell(f"run {store.id}: {count}. Watch it with: bridle fleet show {store.id}")
        return await drive(store, env, as_json=as_json, quiet=quiet)

    return asyncio.run(work())


async def drive(store: RunStore, env: Mapping[str, str], *, as_json: bool, quiet: bool = False) -> int:
    """Drive a run; a signal stops it in order, and it can be resumed."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stopped.set)
    # Ray prints news of its nodes.
    with libraries_on_stderr():
        await _follow(store, env, stopped, as_json=as_json, quiet=quiet)
    row = store.row()
    if not (as_json or quiet):
        tell(*closing_line(row))
    if stopped.is_set():
        return 130
    return 0 if row.counts.get("done", 0) == row.total else 1


async def _follow(
    store: RunStore, env: Mapping[str, str], stopped: asyncio.Event, *, as_json: bool, quiet: bool
) -> None:
    async with driving(store, env) as driver:
        printing = asyncio.create_task(_print(driver.results(), as_json=as_json, quiet=quiet))
        stopping = asyncio.create_task(stopped.wait())
        await asyncio.wait((printing, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not printing.done():
            complain("stopping: running tasks are ended and can be resumed")
            printing.cancel()
        await asyncio.gather(printing, return_exceptions=True)
        stopping.cancel()
        if not printing.cancelled():
            printing.result()


async def _print(found: AsyncGenerator[Result], *, as_json: bool, quiet: bool) -> None:
    try:
        async for result in found:
            if as_json:
                say(msgspec.json.encode(result).decode() + "\n")
            elif not quiet:
                tell(result_line(result))
    finally:
        await found.aclose()


def options_from(given: ParsedArguments) -> RunOptions:
    """The options of a run from the command line.

    Raises:
        UsageError: one cannot be used.
    """
    mode = given.text("permission-mode") or "acceptEdits"
    if mode not in MODES:
        raise UsageError(f"unknown mode {mode!r}{did_you_mean(mode, MODES)}")
    for host in given.all("allow-host"):
        if not _NETWORK_NAME.fullmatch(host):
            raise UsageError(f"--allow-host takes a name such as pypi.org, not {host!r}")
    return RunOptions(
        name=given.text("name") or "",
        on=given.text("on") or "local",
        workers=int(given.text("workers") or 0),
        cpus=decimal(given.text("cpus")) or 1.0,
        memory=_size(given.text("memory") or "0", "--memory"),
        resources={name: _amount(value, name) for name, value in _pairs(given, "resource").items()},
        placement=_pairs(given, "place"),
        model=given.text("model") or "",
        mode=mode,
        budget=decimal(given.text("budget")) or 0.0,
        timeout=decimal(given.text("timeout")) or 3_600.0,
        retries=_retries(given),
        sandbox=not given.on("no-sandbox"),
        network=tuple(given.all("allow-host")),
        secrets=tuple(given.all("secret")),
        trust=given.on("trust"),
        settings=_settings(given.text("settings")),
        store=_store(given.text("store")),
        keep=given.on("keep"),
        most_processes=int(given.text("max-processes") or 512),
        most_disk=_size(given.text("max-disk") or "4G", "--max-disk"),
    )


def template_of(given: ParsedArguments) -> str:
    """The prompt for tasks that have none: a text, or a file as @file."""
    text = given.text("prompt") or ""
    if not text.startswith("@"):
        return text
    try:
        with open(text[1:], encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"can't read the prompt {text[1:]}: {error}") from error


def chosen(tasks: list[Task], given: ParsedArguments) -> list[Task]:
    """The tasks with the labels that were asked for, at most as many as were asked for."""
    wanted = _pairs(given, "label")
    found = [task for task in tasks if all(task.labels.get(key) == value for key, value in wanted.items())]
    if not found:
        raise UsageError(f"no task has {', '.join(f'{key}={value}' for key, value in wanted.items())}")
    return found[: int(given.text("limit") or len(found))]


def _retries(given: ParsedArguments) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, value in _pairs(given, "retries").items():
        if name not in RETRIES:
            raise UsageError(
                f"--retries takes {', '.join(RETRIES)}, not {name!r}{did_you_mean(name, RETRIES)}"
            )
        if not value.isdigit() or int(value) > 1_000:
            raise UsageError(f"--retries {name}= takes a number from 0 to 1000")
        found[name] = int(value)
    return found


def _pairs(given: ParsedArguments, name: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in given.all(name):
        key, equals, value = pair.partition("=")
        if not equals or not key or not value:
            raise UsageError(f"--{name} takes name=value, not {pair!r}")
        found[key] = value
    return found


def _settings(given: str | None) -> str:
    if not given:
        return ""
    text = given
    if not given.lstrip().startswith("{"):
        try:
            with open(given, encoding="utf-8") as file:
                text = file.read()
        except OSError as error:
            raise UsageError(f"can't read the settings {given}: {error.strerror}") from error
    try:
        if not isinstance(msgspec.json.decode(text), dict):
            raise UsageError("--settings must be a JSON object or a file with one")
    except msgspec.DecodeError as error:
        raise UsageError(f"--settings is not JSON: {error}") from error
    return text


def _store(given: str | None) -> str:
    if not given:
        return ""
    return given if "://" in given else os.path.abspath(given)


def decimal(text: str | None) -> float:
    return float(text) if text else 0.0


def _amount(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise UsageError(f"--resource {name}= takes a number, not {text!r}") from error


def _size(text: str, name: str) -> int:
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{name} takes a size such as 4G or 500M, not {text!r}")
    return int(float(found[1]) * _FACTORS[found[2].upper()])
