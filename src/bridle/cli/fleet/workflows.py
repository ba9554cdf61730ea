"""`bridle fleet map`, `review`, `best-of`, `migrate` and `workflow`: agents of scripts as tasks."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any

import msgspec
from msgspec.structs import replace

from bridle.cli.fleet.running import options_from
from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.frontends.fleet.drive import Driver
from bridle.frontends.fleet.run import create_run, driving
from bridle.frontends.fleet.store import RunStore
from bridle.frontends.fleet.summary import closing_line, result_line
from bridle.frontends.fleet.workflow import FleetWorkflow, bundled
from bridle.host.stdio import complain, libraries_on_stderr
from bridle.types.errors import UsageError

_MOST_FILE = 1_000_000


def run_map(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """One prompt over many repositories, folders or files."""
    items = [_item(path) for path in given.all("source")]
    return _run(
        given, env, "map", {"prompt": given.one("prompt"), "items": items, "options": _options(given)}
    )


def run_migrate(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Make one change in many repositories."""
    items = [_item(path) for path in given.all("repository")]
    if not all("repository" in item["source"] for item in items):
        raise UsageError("bridle fleet migrate takes git repositories")
    prompt = given.one("prompt")
    return _run(given, env, "migrate", {"prompt": prompt, "items": items, "options": _options(given)})


def run_review(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Several reviewers on one change."""
    repository = _item(given.text("repository") or ".")["source"].get("repository")
    if repository is None:
        raise UsageError("bridle fleet review takes a git repository")
    arguments = {
        "repository": repository,
        "base": given.text("base") or "main",
        "head": given.text("head") or "HEAD",
        "reviewers": int(given.text("reviewers") or 3),
        "options": _options(given),
    }
    return _run(given, env, "review", arguments)


def run_best_of(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Several attempts at one task; one is chosen."""
    count = given.one("count")
    if not count.isdigit() or not 2 <= int(count) <= 100:
        raise UsageError(f"bridle fleet best-of takes a number from 2 to 100, not {count!r}")
    options = _options(given)
    if (path := given.text("repository")) is not None:
        options |= _item(path)["source"]
    arguments = {"prompt": given.one("prompt"), "count": int(count), "options": options}
    return _run(given, env, "best-of", arguments)


def run_workflow(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """A workflow file of the user's own."""
    path, text = given.one("file"), given.text("args")
    try:
        with open(path, encoding="utf-8") as file:
            source = file.read()
        arguments = msgspec.json.decode(text) if text else None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"can't read {path}: {error}") from error
    except msgspec.DecodeError as error:
        raise UsageError(f"--args is not JSON: {error}") from error
    return _drive(given, env, source, arguments, folder=os.path.dirname(os.path.abspath(path)))


def resume_workflow(store: RunStore, env: Mapping[str, str]) -> int:
    """Run the script of a run again; finished tasks are answered at once."""
    return asyncio.run(_follow(store, env))


def _run(given: ParsedArguments, env: Mapping[str, str], name: str, arguments: Any) -> int:
    return _drive(given, env, bundled(name), arguments, folder=os.getcwd(), name=name)


def _drive(
    given: ParsedArguments,
    env: Mapping[str, str],
    source: str,
    arguments: Any,
    *,
    folder: str,
    name: str = "",
) -> int:
    options = options_from(given)
    options = replace(
        options,
        name=options.name or name,
        workflow=source,
        arguments=msgspec.json.encode(arguments).decode(),
        folder=folder,
        # What the command line names may be used.
        roots=(*map(os.path.abspath, given.all("allow-folder")), *_roots(arguments)),
    )
    store = asyncio.run(create_run((), options, env))
    named = options.name or "workflow"
    tell(f"run {store.id}: {named} on {options.on}. Watch it with: bridle fleet show {store.id}")
    return asyncio.run(_follow(store, env))


async def _follow(store: RunStore, env: Mapping[str, str]) -> int:
    with libraries_on_stderr():
        async with driving(store, env, lasting=True) as driver:
            printing = asyncio.create_task(_print(driver))
            try:
                value = await FleetWorkflow(driver, store, store.options(), complain).run()
            finally:
                await printing
    tell(*closing_line(store.row()))
    return say(f"{msgspec.json.format(msgspec.json.encode(value), indent=2).decode()}\n")


async def _print(driver: Driver) -> None:
    async with aclosing(driver.results()) as results:
        async for result in results:
            complain(result_line(result))


def _item(path: str) -> dict[str, Any]:
    """A source by what it is: a repository, a folder, or a file with text."""
    if "://" in path:
        return {
            "name": path.rstrip("/").rpartition("/")[2].removesuffix(".git"),
            "source": {"repository": path},
        }
    whole = os.path.realpath(path)
    name = os.path.basename(whole)
    if os.path.isdir(os.path.join(whole, ".git")) or os.path.isfile(os.path.join(whole, "HEAD")):
        return {"name": name, "source": {"repository": whole}}
    if os.path.isdir(whole):
        return {"name": name, "source": {"folder": whole}}
    try:
        if os.path.getsize(whole) > _MOST_FILE:
            raise UsageError(f"{path} is larger than 1 MB: name its folder")
        with open(whole, encoding="utf-8") as file:
            return {"name": path, "source": {"files": {name: file.read()}}}
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not text: name its folder") from error


def _options(given: ParsedArguments) -> dict[str, Any]:
    """What every task of the workflow gets."""
    checks = given.all("check")
    return {"checks": checks} if checks else {}


def _roots(arguments: Any) -> Sequence[str]:
    if not isinstance(arguments, dict):
        return ()
    items: list[Any] = [item["source"] for item in arguments.get("items", ())]
    items += [arguments, arguments.get("options") or {}]
    named = (item.get(key) for item in items for key in ("repository", "folder"))
    return [path for path in named if isinstance(path, str) and os.path.isabs(path)]
