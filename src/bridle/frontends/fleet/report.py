"""The page of a run: one file with plots of time, cost and throughput, and every task."""

import time
from collections import Counter
from collections.abc import Sequence

from bridle.commands.pages.charts import Column, columns, curve, short
from bridle.commands.pages.html import Html, el, join
from bridle.commands.pages.page import whole_page
from bridle.frontends.fleet.store import RunRow, RunStore, TaskRow
from bridle.frontends.fleet.summary import bin_counts, counts_of, money
from bridle.types.text import duration, one_line

_BINS = 24
_POINTS = 200
_MOST_TASKS = 5_000


def report_page(store: RunStore) -> str:
    """The whole page."""
    row, tasks = store.row(), store.tasks()
    messages = {
        result.task: result.message or one_line(" ".join(result.answer.split()), 160)
        for result in store.results()
    }
    title = f"Run {row.id}" + (f": {row.options.name}" if row.options.name else "")
    begun = time.strftime("%Y-%m-%d %H:%M", time.localtime(row.created))
    parts: list[Html | None] = [
        el("h1", title),
        el("p", f"{row.state}, begun {begun} on {row.options.on}: {counts_of(row)}", class_="lead"),
        _cards(row, tasks),
        *_plots(row, tasks),
        *_failures(tasks),
        el("h2", "Tasks"),
        _tasks(tasks, messages),
    ]
    return whole_page(f"bridle fleet: {title}", join(each for each in parts if each is not None))


def _cards(row: RunRow, tasks: Sequence[TaskRow]) -> Html:
    done = row.counts.get("done", 0)
    ended = [task.ended for task in tasks if task.ended is not None]
    begun = [task.started for task in tasks if task.started is not None]
    span = max(ended) - min(begun) if ended and begun else 0.0
    facts = (
        ("Tasks", f"{row.finished:,} of {row.total:,}"),
        ("Done", f"{done / row.finished:.0%}" if row.finished else "–"),
        ("Cost", money(row.cost) + (f" of {money(row.options.budget)}" if row.options.budget else "")),
        ("Tokens", short(row.tokens)),
        ("Time", duration(span)),
        ("Tasks a minute", f"{len(ended) / span * 60:.1f}" if span else "–"),
    )
    cards = (
        el("div", el("div", name, class_="name"), el("div", value, class_="value"), class_="card")
        for name, value in facts
    )
    return el("div", *cards, class_="cards")


def _plots(row: RunRow, tasks: Sequence[TaskRow]) -> list[Html]:
    finished = sorted((task for task in tasks if task.ended is not None), key=lambda each: each.ended or 0)
    if len(finished) < 2:
        return []
    plots = [
        el("h2", "Finished tasks over time"),
        curve(_over_time(finished, row, [1.0] * len(finished)), unit=""),
        el("h2", "Seconds of a task"),
        _spread([task.seconds for task in finished], unit="s"),
    ]
    if row.cost:
        costs = [task.cost for task in finished]
        plots += [
            el("h2", "Cost over time"),
            curve(_over_time(finished, row, costs), unit="$", limit=row.options.budget or None),
            el("h2", "Dollars of a task"),
            _spread(costs, unit="$"),
        ]
    return plots


def _over_time(finished: Sequence[TaskRow], row: RunRow, amounts: Sequence[float]) -> list[float]:
    """The sum of amounts at equal steps of time."""
    begun, last = row.created, finished[-1].ended or row.created
    step = (last - begun) / _POINTS or 1.0
    values = [0.0] * (_POINTS + 1)
    for task, amount in zip(finished, amounts, strict=True):
        values[min(_POINTS, int(((task.ended or begun) - begun) / step) + 1)] += amount
    total = 0.0
    for at, value in enumerate(values):
        total += value
        values[at] = total
    return values


def _spread(values: Sequence[float], *, unit: str) -> Html:
    low = min(values)
    width = (max(values) - low) / _BINS
    data: list[Column] = []
    for at, count in enumerate(bin_counts(values, bins=_BINS)):
        ends = (low + at * width, low + (at + 1) * width)
        named = [money(end) if unit == "$" else f"{end:.1f}" for end in ends]
        data.append(
            Column(name=named[0], values=(float(count),), title=f"{named[0]} to {named[1]}: {count} tasks")
        )
    return columns(data, ("tasks",), unit="")


def _failures(tasks: Sequence[TaskRow]) -> list[Html]:
    kinds = Counter(task.kind for task in tasks if task.kind and task.status in ("failed", "error"))
    if not kinds:
        return []
    rows = [(kind, f"{count:,}") for kind, count in kinds.most_common()]
    return [el("h2", "Failures by kind"), _table(("kind", "tasks"), rows)]


def _tasks(tasks: Sequence[TaskRow], messages: dict[str, str]) -> Html:
    rows = [
        (
            task.id, task.status, task.kind, str(task.attempts), str(task.steps), money(task.cost),
            duration(task.seconds), task.node, messages.get(task.id, ""),
        )
        for task in tasks[:_MOST_TASKS]
    ]  # fmt: skip
    return _table(("task", "status", "kind", "tries", "steps", "cost", "time", "node", "answer"), rows)


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> Html:
    # Those between the first and the last column stay on one line.
    last = len(heading) - 1
    classes = ["number" if 0 < at < last else None for at in range(len(heading))]
    head = el("tr", *(el("th", each, class_=name) for each, name in zip(heading, classes, strict=True)))
    body = [
        el("tr", *(el("td", cell, class_=name) for cell, name in zip(row, classes, strict=True)))
        for row in rows
    ]
    return el("table", el("thead", head), el("tbody", *body))
