"""The matrix of an evaluation: every task in every cell, as often as it is repeated."""

import itertools
import os
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bridle.frontends.fleet.records import MODES, Result, Task
from bridle.frontends.fleet.statistics import CellSummary, Difference, compare, summarize
from bridle.types.errors import UsageError
from bridle.types.nearest import did_you_mean

AXES = ("model", "prompt", "settings", "bridle", "mode")
_TASK, _CELL, _REPEAT = "eval.task", "eval.cell", "eval.repeat"
SCRIPTED = "scripted"
_MOST = 1_000_000


class Cell(Struct, frozen=True, kw_only=True):
    """One combination of the matrix."""

    name: str
    values: Mapping[str, str]


class Evaluation(Struct, frozen=True, kw_only=True):
    """What an evaluation shows."""

    cells: tuple[CellSummary, ...]
    differences: tuple[Difference, ...]
    """Of each cell to the first."""


def read_axes(given: Sequence[str]) -> list[Cell]:
    """The cells of `axis=value,value` options; one without a name if there are none.

    Raises:
        UsageError: there is no such axis.
    """
    axes: dict[str, list[str]] = {}
    for each in given:
        name, equals, values = each.partition("=")
        if name not in AXES or not equals:
            hint = did_you_mean(name, AXES)
            raise UsageError(f"--matrix takes {', '.join(AXES)} and values, such as model=a,b{hint}")
        axes.setdefault(name, []).extend(value for value in values.split(",") if value)
        if not axes[name]:
            raise UsageError(f"--matrix {name}= has no values")
    cells = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    return [Cell(name=_name(values), values=values) for values in cells]


def expand(tasks: Sequence[Task], cells: Sequence[Cell], *, repeats: int) -> list[Task]:
    """A task for each cell and repeat.

    Raises:
        UsageError: a value of the matrix cannot be used.
    """
    if len(tasks) * len(cells) * repeats > _MOST:
        raise UsageError(f"the matrix has more than {_MOST:,} sessions: take fewer tasks or repeats")
    made = [(number, cell, task, _in_cell(task, cell)) for number, cell in enumerate(cells) for task in tasks]
    return [
        replace(
            own,
            id=f"{task.id[:80]}.{number}.{repeat}",
            labels={**task.labels, _TASK: task.id, _CELL: cell.name, _REPEAT: str(repeat)},
        )
        for number, cell, task, own in made
        for repeat in range(1, repeats + 1)
    ]


def evaluate(results: Sequence[Result]) -> Evaluation:
    """Summaries of all cells in the order of the matrix, and differences to the first."""
    cells: dict[str, dict[str, list[Result]]] = {}
    for each in results:
        by_task = cells.setdefault(each.labels.get(_CELL, ""), {})
        by_task.setdefault(each.labels.get(_TASK, each.task), []).append(each)
    names = list(cells)
    return Evaluation(
        cells=tuple(summarize(name, cells[name]) for name in names),
        differences=tuple(compare(name, cells[name], names[0], cells[names[0]]) for name in names[1:]),
    )


def evaluation_lines(found: Evaluation) -> list[str]:
    """An evaluation as a table."""
    width = max(12, *(len(each.cell) for each in found.cells)) if found.cells else 12
    lines = [
        f"{'cell':<{width}}  {'passed':>7}  {'95 % interval':>15}  {'tasks':>6}  {'errors':>6}"
        f"  {'$ a task':>9}  {'steps':>6}  {'seconds':>8}"
    ]
    lines += (_cell_line(each, width) for each in found.cells)
    lines += (_difference_line(each) for each in found.differences)
    return lines


def _cell_line(cell: CellSummary, width: int) -> str:
    rate = cell.passed
    interval = f"{rate.low:.1%} to {rate.high:.1%}"
    return (
        f"{cell.cell or 'all':<{width}}  {rate.rate:>7.1%}  {interval:>15}  {rate.tasks:>6}  {cell.errors:>6}"
        f"  {cell.cost:>9.4f}  {cell.steps:>6.1f}  {cell.seconds:>8.1f}"
    )


def _difference_line(found: Difference) -> str:
    return (
        f"{found.cell} against {found.than}: {found.difference:+.1%} ({found.low:+.1%} to {found.high:+.1%}),"
        f" p = {found.p:.3f} over {found.tasks} tasks, ${found.cost:+.4f} and {found.steps:+.1f} steps a task"
    )


def _in_cell(task: Task, cell: Cell) -> Task:
    values = cell.values
    if mode := values.get("mode", ""):
        if mode not in MODES:
            raise UsageError(f"unknown mode {mode!r}{did_you_mean(mode, MODES)}")
        task = replace(task, mode=mode)
    if model := values.get("model", ""):
        if model == SCRIPTED and not task.script:
            raise UsageError(f"task {task.id} has no script for the scripted model")
        task = replace(task, model="" if model == SCRIPTED else model)
        task = task if model == SCRIPTED else replace(task, script=())
    if prompt := values.get("prompt", ""):
        task = replace(task, system=_text(prompt))
    if settings := values.get("settings", ""):
        text = settings if settings.startswith("{") else _text(f"@{settings}")
        try:
            msgspec.json.decode(text, type=dict[str, object])
        except msgspec.DecodeError as error:
            raise UsageError(f"the settings {settings} are not a JSON object: {error}") from error
        task = replace(task, settings=text)
    if program := values.get("bridle", ""):
        path = os.path.abspath(program)
        if not os.access(path, os.X_OK):
            raise UsageError(f"{program} is not a program: name the bridle of an installation")
        task = replace(task, program=path)
    return task


def _text(value: str) -> str:
    if not value.startswith("@"):
        return value
    try:
        with open(value[1:], encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"can't read {value[1:]}: {error}") from error


def _name(values: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in values.items())
