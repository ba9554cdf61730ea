"""`bridle eval`: a suite of tasks over a matrix, with pass rates and differences."""

import os
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from bridle.cli.fleet.running import chosen, options_from, run_tasks, template_of
from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.frontends.fleet.importers import FORMATS, import_rows
from bridle.frontends.fleet.matrix import evaluate, evaluation_lines, expand, read_axes
from bridle.frontends.fleet.records import MODES, Task
from bridle.frontends.fleet.store import all_runs, find_run, runs_folder
from bridle.frontends.fleet.task_files import read_tasks, tasks_of
from bridle.types.errors import UsageError
from bridle.types.nearest import did_you_mean

_REPOSITORIES = "https://github.com/{repo}.git"
_TEST_COMMAND = "python -m pytest -q {tests}"


def run_eval(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Run a suite, or show what a run came to; 0 when it ran to its end."""
    if (shown := given.text("show")) is not None:
        return _show(shown, env, as_json=given.on("json"))
    if given.text("suite") is None:
        raise UsageError("name a suite: a file or folder of tasks, or --show RUN for one that ran")
    cells = read_axes(given.all("matrix"))
    tasks = expand(chosen(_suite(given), given), cells, repeats=int(given.text("repeats") or 1))
    options = options_from(given)
    modes = [each.mode for each in tasks if each.mode]
    widest = max((options.mode, *(cell.values.get("mode", "") or "plan" for cell in cells)), key=MODES.index)
    options = replace(options, name=options.name or "eval", mode=widest if modes else options.mode)
    as_json = given.on("json")
    code = run_tasks(tasks, options, env, as_json=False, quiet=as_json)
    store = max(all_runs(runs_folder(env)), key=lambda each: each.row().created)
    row = store.row()
    _show(store.id, env, as_json=as_json)
    return code if row.finished < row.total else 0


def _suite(given: ParsedArguments) -> list[Task]:
    path, format = given.one("suite"), given.text("format") or "bridle"
    if format not in FORMATS:
        raise UsageError(f"--format takes {', '.join(FORMATS)}{did_you_mean(format, FORMATS)}")
    if format == "bridle":
        return read_tasks(path, template=template_of(given), allowed=given.all("allow-folder"))
    rows = import_rows(
        path,
        format,
        repositories=given.text("repositories") or _REPOSITORIES,
        test_command=given.text("test-command") or _TEST_COMMAND,
    )
    if not rows:
        raise UsageError(f"{path} has no tasks in the format {format}")
    folder = path if os.path.isdir(path) else os.path.dirname(os.path.abspath(path))
    return tasks_of(rows, folder, allowed=given.all("allow-folder"))


def _show(run: str, env: Mapping[str, str], *, as_json: bool) -> int:
    store = find_run(runs_folder(env), run)
    found = evaluate(list(store.results()))
    if as_json:
        value = {"run": store.id, **msgspec.to_builtins(found)}
        return say(f"{msgspec.json.format(msgspec.json.encode(value), indent=2).decode()}\n")
    return tell(*evaluation_lines(found))
