"""Runs and results as lines of text."""

import time
from collections import Counter
from collections.abc import Sequence

from bridle.frontends.fleet.records import Result
from bridle.frontends.fleet.store import RunRow, TaskRow
from bridle.types.text import duration, one_line

_BAR = 30
_MOST_ROWS = 40
_BLOCKS = " ▁▂▃▄▅▆▇█"
_ORDER = ("done", "failed", "error", "cancelled", "running", "waiting")


def result_line(result: Result) -> str:
    """One result as one line."""
    why = f"  {result.kind}: {one_line(' '.join(result.message.split()), 100)}" if result.kind else ""
    return (
        f"{result.status:<9}  {result.task:<24}  {money(result.cost):>8}  {duration(result.seconds):>7}"
        f"  {result.steps:>3} steps{why}"
    )


def closing_line(row: RunRow) -> list[str]:
    """What a run came to, and what can be done next."""
    lines = [f"run {row.id} is {row.state}: {counts_of(row)}, {money(row.cost)}"]
    if row.note:
        lines.append(row.note)
    if row.finished < row.total:
        lines.append(f"Continue with: bridle fleet resume {row.id}")
    elif row.counts.get("done", 0) < row.total:
        lines.append(f"See why with: bridle fleet show {row.id}")
    return lines


def counts_of(row: RunRow) -> str:
    return ", ".join(f"{row.counts[name]} {name}" for name in _ORDER if row.counts.get(name))


def run_lines(rows: Sequence[RunRow]) -> list[str]:
    """Runs as a table."""
    lines = [f"{'run':<20}  {'state':<11}  {'tasks':>11}  {'failed':>6}  {'cost':>9}  begun"]
    for row in rows:
        failed = sum(row.counts.get(each, 0) for each in ("failed", "error"))
        begun = time.strftime("%Y-%m-%d %H:%M", time.localtime(row.created))
        name = f"  {row.options.name}" if row.options.name else ""
        lines.append(
            f"{row.id:<20}  {row.state:<11}  {f'{row.finished}/{row.total}':>11}  {failed:>6}"
            f"  {money(row.cost):>9}  {begun}{name}"
        )
    return lines


def overview(row: RunRow, tasks: Sequence[TaskRow], *, now: float, most: int = _MOST_ROWS) -> list[str]:
    """A run as a page: progress, cost, failures, throughput, histograms and its tasks."""
    options, done = row.options, row.finished
    until = row.ended or now
    share = done / row.total if row.total else 1.0
    filled = round(share * _BAR)
    limit = f" of {money(options.budget)}" if options.budget else ""
    lines = [
        f"run {row.id}  {row.state}  on {options.on}" + (f"  {options.name}" if options.name else ""),
        f"{'█' * filled}{'░' * (_BAR - filled)}  {done}/{row.total}  {counts_of(row)}",
        f"cost {money(row.cost)}{limit}  tokens {row.tokens:,}  time {duration(until - row.created)}"
        f"  {_throughput(row, tasks, until)}",
    ]
    if row.note:
        lines.append(row.note)
    kinds = Counter(task.kind for task in tasks if task.kind and task.status in ("failed", "error"))
    if kinds:
        lines.append("failures  " + ", ".join(f"{name} {count}" for name, count in kinds.most_common()))
    again = sum(max(0, task.attempts - 1) for task in tasks)
    if again:
        lines.append(f"repeated attempts  {again}")
    finished = [task for task in tasks if task.ended is not None]
    if len(finished) > 1:
        lines.append(f"seconds  {histogram([task.seconds for task in finished], 's')}")
        if row.cost:
            lines.append(f"dollars  {histogram([task.cost for task in finished], '$')}")
    lines += ["", *task_lines(tasks, most=most)]
    return lines


def task_lines(tasks: Sequence[TaskRow], *, most: int) -> list[str]:
    """Tasks as a table: what runs and what failed come first where there are many."""
    heading = f"{'task':<24}  {'status':<9}  {'tries':>5}  {'steps':>5}  {'cost':>8}  {'time':>7}  node"
    rank = {"running": 0, "failed": 1, "error": 1, "cancelled": 2, "waiting": 3, "done": 4}
    shown = tasks if len(tasks) <= most else sorted(tasks, key=lambda each: rank.get(each.status, 5))[:most]
    lines = [heading]
    for task in shown:
        more = task.doing if task.status == "running" else task.kind
        place = f"{task.node[:20]}  {more}" if more else task.node[:20]
        lines.append(
            f"{task.id[:24]:<24}  {task.status:<9}  {task.attempts:>5}  {task.steps:>5}"
            f"  {money(task.cost):>8}  {duration(task.seconds):>7}  {place}"
        )
    if len(shown) < len(tasks):
        lines.append(f"… and {len(tasks) - len(shown)} more (use --all, or --json)")
    return lines


def histogram(values: Sequence[float], unit: str, *, bins: int = 24) -> str:
    """How values are spread, as one line of blocks."""
    low, high = min(values), max(values)
    counts = bin_counts(values, bins=bins)
    most = max(counts)
    blocks = "".join(_BLOCKS[-(-count * 8 // most)] for count in counts)
    ends = (f"${low:.2f}", f"${high:.2f}") if unit == "$" else (duration(low), duration(high))
    return f"{ends[0]} {blocks} {ends[1]}"


def bin_counts(values: Sequence[float], *, bins: int) -> list[int]:
    """How many values are in each of some equal parts of their range."""
    low, high = min(values), max(values)
    width = (high - low) / bins or 1.0
    counts = [0] * bins
    for value in values:
        counts[min(bins - 1, int((value - low) / width))] += 1
    return counts


def money(dollars: float) -> str:
    return f"${dollars:.4f}" if 0 < dollars < 0.01 else f"${dollars:.2f}"


def _throughput(row: RunRow, tasks: Sequence[TaskRow], until: float) -> str:
    ends = sorted(task.ended for task in tasks if task.ended is not None)
    if len(ends) < 2:
        return ""
    begun = min(task.started for task in tasks if task.started is not None)
    span = max(0.001, (ends[-1] if row.state != "running" else until) - begun)
    return f"{len(ends) / span * 60:.1f} tasks a minute"
