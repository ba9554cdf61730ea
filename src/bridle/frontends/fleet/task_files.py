"""Reads tasks from JSON lines, CSV or a folder, and refuses what cannot be run, with the line."""

import csv
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import fields, replace

from bridle.frontends.fleet.records import MODES, RunOptions, Task
from bridle.types.errors import UsageError
from bridle.types.nearest import did_you_mean

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SLOT = re.compile(r"\{\{\s*([A-Za-z_][\w.-]*)\s*\}\}")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://|[\w.-]+@[\w.-]+:")
_MOST_BYTES = 512 * 1024 * 1024
_MOST_TASKS = 1_000_000
_ONLY_EVAL = ("program", "settings")
"""What only `bridle eval` gives to tasks."""
_NAMES = tuple(each.name for each in fields(Task) if each.name not in _ONLY_EVAL)
_SPELLED = {
    "permissionMode": "mode", "permission_mode": "mode", "baseCommit": "base", "base_commit": "base",
    "repo": "repository", "set_up": "setup", "maxTurns": "turns", "max_turns": "turns",
    "checkFiles": "check_files",
}  # fmt: skip
_LISTS = frozenset({"setup", "checks", "secrets", "artifacts"})
_SECRETS_INLINE = ("env", "environment", "secret", "api_key", "apiKey", "token")


def read_tasks(path: str, *, template: str = "", allowed: Iterable[str] = ()) -> list[Task]:
    """Every task of a file or folder, checked.

    `template` is the prompt for rows that have none. Paths may lead to folders below that of the file and
    below `allowed`.

    Raises:
        UsageError: a task cannot be read or run.
    """
    if not os.path.exists(path):
        raise UsageError(f"{path} does not exist: give a .jsonl or .csv file, or a folder of tasks")
    folder = path if os.path.isdir(path) else os.path.dirname(os.path.abspath(path))
    try:
        rows = list(_rows(path))
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text") from error
    if not rows:
        raise UsageError(f"{path} has no tasks: write one JSON object with a prompt on each line")
    if len(rows) > _MOST_TASKS:
        raise UsageError(f"{path} has more than {_MOST_TASKS:,} tasks: split it")
    return tasks_of(rows, folder, template=template, allowed=allowed)


def tasks_of(
    rows: Iterable[tuple[str, Mapping[str, Any]]],
    folder: str,
    *,
    template: str = "",
    allowed: Iterable[str] = (),
    fills: bool = True,
) -> list[Task]:
    """Tasks from rows, each with the place that it comes from; paths are below a folder.

    Without `fills`, prompts are taken as they are.

    Raises:
        UsageError: a task cannot be run.
    """
    roots = (os.path.abspath(folder), *(os.path.abspath(each) for each in allowed))
    tasks: list[Task] = []
    seen: dict[str, str] = {}
    for number, (where, row) in enumerate(rows, 1):
        task = _task(
            dict(row), where, number=number, template=template, roots=roots, base=folder, fills=fills
        )
        if task.id in seen:
            raise UsageError(
                f"{where}: the id {task.id!r} is taken by {seen[task.id]}: give each task its own"
            )
        seen[task.id] = where
        tasks.append(task)
    return tasks


def narrowed(task: Task, options: RunOptions) -> Task:
    """The task as the run allows it.

    Raises:
        UsageError: it asks for more than the run allows.
    """
    mode = task.mode or options.mode
    if MODES.index(mode) > MODES.index(options.mode):
        raise UsageError(
            f"task {task.id}: the mode {mode} is wider than {options.mode}, which this run allows: "
            f"add --permission-mode {mode} if you want that"
        )
    refused = sorted(set(task.secrets) - set(options.secrets))
    if refused:
        raise UsageError(
            f"task {task.id}: the run does not allow the secret {refused[0]}: add --secret {refused[0]}"
        )
    return replace(task, mode=mode, model=task.model or options.model)


def _rows(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if os.path.isdir(path):
        yield from _of_folder(path)
    elif path.endswith((".csv", ".tsv")):
        yield from _of_csv(path)
    else:
        yield from _of_lines(path)


def _of_lines(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if os.path.getsize(path) > _MOST_BYTES:
        raise UsageError(f"{path} is larger than 512 MB: split it")
    with open(path, encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield f"{path}:{number}", _object(line, f"{path}:{number}")


def _of_csv(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        table = csv.DictReader(file, delimiter="\t" if path.endswith(".tsv") else ",", strict=True)
        try:
            for row in table:
                where = f"{path}:{table.line_num}"
                if None in row or None in row.values():
                    raise UsageError(f"{where}: the row does not have as many cells as the heading")
                yield where, _from_cells(row, where)
        except csv.Error as error:
            raise UsageError(f"{path}:{table.line_num}: not CSV: {error}") from error


def _from_cells(row: Mapping[str, str], where: str) -> dict[str, Any]:
    made: dict[str, Any] = {}
    variables: dict[str, str] = {}
    for column, cell in row.items():
        name = _SPELLED.get(column.strip(), column.strip())
        if name not in _NAMES:
            variables[name] = cell
        elif cell.strip():
            made[name] = _cell(name, cell.strip(), where)
    return {**made, "variables": variables}


def _cell(name: str, cell: str, where: str) -> Any:
    if cell[:1] in "[{" and name not in ("prompt", "system"):
        try:
            return msgspec.json.decode(cell)
        except msgspec.DecodeError as error:
            raise UsageError(f"{where}: {name} is not JSON: {error}") from error
    if name in ("budget", "timeout", "turns"):
        return _number(cell, f"{where}: {name}")
    return [cell] if name in _LISTS else cell


def _of_folder(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in ("tasks.jsonl", "tasks.csv"):
        if os.path.isfile(whole := os.path.join(path, name)):
            yield from _rows(whole)
            return
    for entry in sorted(os.scandir(path), key=lambda each: each.name):
        stem, dot, kind = entry.name.rpartition(".")
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from _of_task_folder(entry.path, entry.name)
        elif dot and kind == "json":
            with open(entry.path, encoding="utf-8") as file:
                yield entry.path, {"id": stem, **_object(file.read(), entry.path)}
        elif dot and kind in ("md", "txt"):
            with open(entry.path, encoding="utf-8") as file:
                yield entry.path, {"id": stem, "prompt": file.read().strip()}


def _of_task_folder(path: str, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """A folder with `task.json` or `prompt.md`, and `files/` to work in."""
    row: dict[str, Any] = {"id": name}
    spec, prompt = os.path.join(path, "task.json"), os.path.join(path, "prompt.md")
    if os.path.isfile(spec):
        with open(spec, encoding="utf-8") as file:
            row |= _object(file.read(), spec)
    elif not os.path.isfile(prompt):
        return
    if os.path.isfile(prompt):
        with open(prompt, encoding="utf-8") as file:
            row["prompt"] = file.read().strip()
    if os.path.isdir(own := os.path.join(path, "files")) and not row.get("repository"):
        row.setdefault("folder", os.path.abspath(own))
    yield path, row


def _object(text: str, where: str) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise UsageError(f"{where}: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError(f'{where}: a task is a JSON object, such as {{"prompt": "…"}}')
    return value


def _task(
    row: dict[str, Any],
    where: str,
    *,
    number: int,
    template: str,
    roots: tuple[str, ...],
    base: str,
    fills: bool,
) -> Task:
    row = {_SPELLED.get(key, key): value for key, value in row.items()}
    variables = row.pop("variables", {})
    if not isinstance(variables, dict):
        raise UsageError(f"{where}: variables must be an object")
    for key in row:
        if key in _SECRETS_INLINE:
            raise UsageError(
                f"{where}: {key} is not allowed in task files: name secrets instead, as in "
                '"secrets": ["NPM_TOKEN"], and allow them with --secret NPM_TOKEN'
            )
        if key not in _NAMES:
            raise UsageError(f"{where}: unknown field {key!r}{did_you_mean(key, _NAMES)}")
    row.setdefault("id", f"{number:04d}")
    row["id"] = str(row["id"])
    prompt = row.get("prompt") or template
    if not isinstance(prompt, str) or not prompt.strip():
        raise UsageError(f"{where}: the task has no prompt: add one, or give --prompt with {{{{columns}}}}")
    row["prompt"] = _filled(prompt, {**row, **variables}, where) if fills else prompt
    for key in _LISTS:
        if isinstance(row.get(key), str):
            row[key] = [row[key]]
    row["checks"] = [{"run": each} if isinstance(each, str) else each for each in row.get("checks", ())]
    try:
        task = msgspec.convert(row, Task)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {_said(error)}") from error
    _validate(task, where)
    return _rooted(task, where, roots=roots, base=base)


def _filled(prompt: str, values: Mapping[str, Any], where: str) -> str:
    def value(found: re.Match[str]) -> str:
        if found[1] not in values:
            raise UsageError(f"{where}: the prompt asks for {{{{{found[1]}}}}}, which the task does not have")
        return str(values[found[1]])

    return _SLOT.sub(value, prompt)


def _validate(task: Task, where: str) -> None:
    if not _ID.fullmatch(task.id):
        raise UsageError(
            f"{where}: the id {task.id[:60]!r} must be letters, digits, dots, dashes and underscores"
        )
    if task.mode and task.mode not in MODES:
        raise UsageError(f"{where}: unknown mode {task.mode!r}{did_you_mean(task.mode, MODES)}")
    if len([each for each in (task.repository, task.folder, task.archive) if each]) > 1:
        raise UsageError(f"{where}: give one of repository, folder and archive")
    if task.base and not task.repository:
        raise UsageError(f"{where}: base needs a repository")
    if task.base.startswith("-"):
        raise UsageError(f"{where}: base must be a commit, branch or tag")
    for name in ("budget", "timeout", "turns"):
        if not 0 <= getattr(task, name) < 1e9:
            raise UsageError(f"{where}: {name} must be 0 or more")
    for path in (*task.files, *task.check_files):
        if os.path.isabs(path) or ".." in path.split("/") or not path or "\0" in path:
            raise UsageError(f"{where}: files are named by paths inside the work folder, not {path!r}")
    for name in task.secrets:
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise UsageError(f"{where}: a secret is the name of a variable, not its value")


def _rooted(task: Task, where: str, *, roots: tuple[str, ...], base: str) -> Task:
    """The task with absolute paths, which lead only to where the user allows."""
    changes: dict[str, str] = {}
    for name in ("repository", "folder", "archive"):
        value: str = getattr(task, name)
        if not value:
            continue
        if _ADDRESS.match(value) and name == "repository":
            if value.startswith(("-", "ext::")) or "::" in value.split("://", 1)[0]:
                raise UsageError(f"{where}: {value} is not an address that git may fetch from")
            continue
        path = os.path.normpath(os.path.join(base, os.path.expanduser(value)))
        if not os.path.exists(path):
            raise UsageError(f"{where}: {name} {value} does not exist")
        real = os.path.realpath(path)
        if not any(real == root or real.startswith(root + os.sep) for root in map(os.path.realpath, roots)):
            raise UsageError(
                f"{where}: {name} {value} is outside the folder of the tasks: add --allow-folder "
                f"{os.path.dirname(path)} if you want that"
            )
        if (name == "archive") != os.path.isfile(path):
            raise UsageError(
                f"{where}: {name} {value} is not {'a file' if name == 'archive' else 'a folder'}"
            )
        changes[name] = real
    return replace(task, **changes)


def _number(text: str, where: str) -> float | int:
    try:
        value = float(text)
    except ValueError as error:
        raise UsageError(f"{where} is not a number: {text!r}") from error
    return int(value) if value.is_integer() else value


def _said(error: msgspec.ValidationError) -> str:
    text, _, place = str(error).partition(" - at ")
    name = place.strip("`").removeprefix("$.")
    return f"{name}: {text}" if name else text
