"""`bridle fleet list`, `show`, `logs`, `attach`, `diff`, `export` and `rm`."""

import asyncio
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.frontends.fleet.artifacts import open_artifacts
from bridle.frontends.fleet.branches import write_branch
from bridle.frontends.fleet.records import Result
from bridle.frontends.fleet.store import RunStore, all_runs, find_run, runs_folder
from bridle.frontends.fleet.summary import closing_line, overview, result_line, run_lines
from bridle.frontends.fleet.transcript_text import transcript_lines
from bridle.host.files import make_folders, write_atomic
from bridle.types.errors import UsageError

_LOOK_SECONDS = 0.5


def list_runs(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """List every run, the newest first."""
    rows = [each.row() for each in all_runs(runs_folder(env))]
    rows.sort(key=lambda row: -row.created)
    if given.on("json"):
        return _say_json(rows)
    return tell(*(run_lines(rows) if rows else ["No runs. Begin one with: bridle fleet run tasks.jsonl"]))


def show_run(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Show a run once, live at a terminal, or as a page."""
    store = _found(given, env)
    if file := given.text("html"):
        from bridle.frontends.fleet.report import report_page

        try:
            write_atomic(os.path.abspath(file), report_page(store).encode())
        except OSError as error:
            raise UsageError(f"can't write {file}: {error.strerror}") from error
        return tell(f"Wrote {file}.")
    if (task := given.text("task")) is not None:
        return _show_task(store, task, as_json=given.on("json"))
    if given.on("json"):
        return _say_json({"run": store.row(), "tasks": store.tasks()})
    most = 1_000_000 if given.on("all") else 40
    if store.driver() is not None and os.isatty(1) and not given.on("once"):
        from bridle.cli.fleet.live import show_live

        return show_live(store, env)
    return tell(*overview(store.row(), store.tasks(), now=time.time(), most=most))


def attach_run(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Follow what a run does until it ends."""
    store, task = _found(given, env), given.text("task")
    if task is not None:
        store.result(task)
    seen, said = 0, set[str]()
    while True:
        is_running = store.driver() is not None
        for event in store.events(seen, task=task):
            seen = event.id
            at = time.strftime("%H:%M:%S", time.localtime(event.at))
            if code := tell(f"{at}  {event.task:<24}  {event.text}"):
                return code
        for result in store.results():
            if result.task not in said and task in (None, result.task):
                said.add(result.task)
                tell(result_line(result))
        if not is_running or task in said:
            return tell(*([] if task else closing_line(store.row())))
        time.sleep(_LOOK_SECONDS)


def show_logs(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Print the conversation of a task."""
    store = _found(given, env)
    result = _finished(store, given.one("task"))
    kept = result.first("transcript")
    if kept is None:
        return tell(f"The task {result.task} has no conversation: {result.message or result.status}")
    data = asyncio.run(open_artifacts(store.options().store).get(kept.digest))
    if given.on("json"):
        return say(data.decode(errors="replace"))
    return tell(*transcript_lines(data))


def show_diff(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Print the patch of a task, or of all tasks."""
    store = _found(given, env)
    artifacts = open_artifacts(store.options().store)
    wanted = given.text("task")
    results = [_finished(store, wanted)] if wanted else list(store.results())
    printed = 0
    for result in results:
        if (kept := result.first("patch")) is not None:
            data = asyncio.run(artifacts.get(kept.digest))
            printed += 1
            if code := say(data.decode(errors="replace")):
                return code
    return 0 if printed else tell("No task has changed a file.")


def export_run(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Write results, patches, transcripts and artifacts into a folder, or branches into repositories."""
    store = _found(given, env)
    if given.on("branches"):
        return asyncio.run(_export_branches(store, env))
    folder = os.path.abspath(given.text("folder") or f"fleet-{store.id}")
    if os.path.exists(folder) and os.listdir(folder):
        raise UsageError(f"{folder} is not empty: name another folder")
    try:
        count = asyncio.run(_export_files(store, folder))
    except OSError as error:
        raise UsageError(f"can't write {folder}: {error.strerror}") from error
    return tell(f"Wrote {count} results to {folder}.")


def remove_run(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Remove a run and what only it has kept."""
    folder = runs_folder(env)
    for wanted in given.all("run"):
        store = find_run(folder, wanted)
        if store.driver() is not None:
            raise UsageError(f"the run {store.id} is running: stop it first with ctrl+c in its terminal")
        asyncio.run(_remove_kept(store, folder))
        shutil.rmtree(store.folder)
        tell(f"Removed {store.id}.")
    return 0


async def _remove_kept(store: RunStore, folder: str) -> None:
    address = store.options().store
    others = {
        kept.digest
        for other in all_runs(folder)
        if other.id != store.id and other.options().store == address
        for result in other.results()
        for kept in result.kept
    }
    artifacts = open_artifacts(address)
    for digest in {kept.digest for result in store.results() for kept in result.kept} - others:
        await artifacts.remove(digest)


async def _export_files(store: RunStore, folder: str) -> int:
    artifacts = open_artifacts(store.options().store)
    make_folders(folder, private=False)
    lines: list[bytes] = []
    for result in store.results():
        lines.append(msgspec.json.encode(result) + b"\n")
        for name, kept in _names(result):
            path = os.path.join(folder, result.task, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write_atomic(path, await artifacts.get(kept))
    write_atomic(os.path.join(folder, "results.jsonl"), b"".join(lines))
    return len(lines)


def _names(result: Result) -> Iterator[tuple[str, str]]:
    """Where each kept thing of a task goes."""
    for kept in result.kept:
        name = kept.name
        if kept.kind == "artifact":
            name = os.path.join("artifacts", os.path.normpath("/" + name).lstrip("/"))
        yield name, kept.digest


async def _export_branches(store: RunStore, env: Mapping[str, str]) -> int:
    artifacts, specs = open_artifacts(store.options().store), store.specs()
    written = 0
    for result in store.results():
        kept, task = result.first("patch"), specs[result.task]
        if kept is None or not task.repository or not result.ok:
            continue
        patch = await artifacts.get(kept.digest)
        branch = await write_branch(task, result, patch, run=store.id, env=env)
        tell(f"{result.task:<24}  {branch}  {task.repository}")
        written += 1
    return 0 if written else tell("No finished task of a repository has changed a file.")


def _show_task(store: RunStore, task: str, *, as_json: bool) -> int:
    result = store.result(task)
    attempts = store.attempts(task)
    if as_json:
        return _say_json({"task": store.specs()[task], "result": result, "attempts": attempts})
    row = next(each for each in store.tasks() if each.id == task)
    lines = [f"task {task}  {row.status}" + (f"  {row.doing or row.kind}" if row.doing or row.kind else "")]
    for attempt in attempts:
        seconds = (attempt.ended or time.time()) - attempt.started
        why = f"  {attempt.kind}: {attempt.message}" if attempt.kind else ""
        lines.append(f"  attempt {attempt.number}  {attempt.node}  {seconds:.1f} s{why}")
    if result is not None:
        lines += [f"  {'passed' if each.passed else 'failed'}  {each.name}" for each in result.checks]
        lines += [f"  {each.kind}  {each.name}  {each.size:,} bytes" for each in result.kept]
        lines += ["", *result.answer.splitlines()]
    return tell(*lines)


def _found(given: ParsedArguments, env: Mapping[str, str]) -> RunStore:
    return find_run(runs_folder(env), given.text("run") or "last")


def _finished(store: RunStore, task: str) -> Result:
    result = store.result(task)
    if result is None:
        raise UsageError(f"the task {task} is not finished: see bridle fleet show {store.id} {task}")
    return result


def _say_json(value: Any) -> int:
    return say(f"{msgspec.json.format(msgspec.json.encode(value), indent=2).decode()}\n")
