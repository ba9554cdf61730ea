"""`bridle usage`: what model calls have cost, by day, model, agent, tool or project."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.commands.queries.usage_records import CallRecord, WorkRecord, usage_records
from bridle.config.load import load
from bridle.features.budgets.ledger import UsageRow
from bridle.host.files import write_atomic
from bridle.providers import catalog
from bridle.transcripts.cost import Work
from bridle.types.errors import ConfigError, UsageError
from bridle.types.text import duration

_MOST_ROWS = 60
_PAGE_DAYS = 30
_WORK_KEYS = ("day", "project")
"""Time and lines are kept for turns, which may use several models, agents and tools."""


def run_usage(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Print the table and return the exit code."""
    by = given.text("by") or "day"
    if file := given.text("html"):
        return _write_page(file, env)
    found = usage_records(env, own_models=own_models(env))
    rows = _with_work(by, _rows(by, found.calls), found.work)
    if given.on("json"):
        return say(f"{msgspec.json.format(msgspec.json.encode(rows), indent=2).decode()}\n")
    return say(_table(by, rows, sum((each.work for each in found.work), Work())))


def _table(by: str, rows: Sequence[UsageRow], work: Work) -> str:
    if not rows:
        return "Nothing recorded yet.\n"
    width = max(len(by), *(len(_shown(row.key)) for row in rows[:_MOST_ROWS]))
    has_work = by in _WORK_KEYS and work != Work()
    titles = f"  {'time':>12}  {'in models':>12}  {'lines':>15}" if has_work else ""
    lines = [f"{by:<{width}}  {'cost':>10}  {'tokens':>14}  {'calls':>7}{titles}"]
    for row in rows[:_MOST_ROWS]:
        money, tokens = f"${row.usd:.2f}", f"{row.tokens:,}"
        more = _work_columns(row) if has_work else ""
        lines.append(f"{_shown(row.key):<{width}}  {money:>10}  {tokens:>14}  {row.calls:>7}{more}")
    if len(rows) > _MOST_ROWS:
        lines.append(f"… and {len(rows) - _MOST_ROWS} more (use --json)")
    total = sum(row.usd for row in rows)
    lines.append(f"{'total':<{width}}  {f'${total:.2f}':>10}")
    if work != Work():
        times = f"{duration(work.open_ms / 1000)} open, {duration(work.api_ms / 1000)} in models"
        lines.append(f"{times}, +{work.lines_added:,} −{work.lines_removed:,} lines")
    return "\n".join(lines) + "\n"


def _work_columns(row: UsageRow) -> str:
    if row.seconds is UNSET or row.api_seconds is UNSET:
        return ""
    lines = f"+{row.lines_added:,} −{row.lines_removed:,}"
    return f"  {duration(row.seconds):>12}  {duration(row.api_seconds):>12}  {lines:>15}"


def _with_work(by: str, rows: Sequence[UsageRow], records: Sequence[WorkRecord]) -> list[UsageRow]:
    """The rows with time and changed lines, where those are known for the key."""
    if by not in _WORK_KEYS:
        return list(rows)
    sums: dict[str, Work] = {}
    for each in records:
        key = each.day.isoformat() if by == "day" else each.project
        sums[key] = sums.get(key, Work()) + each.work
    return [_added(row, sums[row.key]) if row.key in sums else row for row in rows]


def _added(row: UsageRow, work: Work) -> UsageRow:
    return msgspec.structs.replace(
        row,
        seconds=work.open_ms / 1000,
        api_seconds=work.api_ms / 1000,
        lines_added=work.lines_added,
        lines_removed=work.lines_removed,
    )


def _shown(key: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in key)[:60]


def _write_page(file: str, env: Mapping[str, str]) -> int:
    """Write the last days as one page for a browser."""
    from bridle.commands.pages.usage_page import usage_page
    from bridle.commands.queries.spending import days_of_usage, last_days
    from bridle.commands.queries.usage_report import UsageReport

    found = usage_records(env, own_models=own_models(env))
    page = usage_page(UsageReport(days=days_of_usage(found, last_days(_PAGE_DAYS)), found=found))
    path = os.path.abspath(os.path.expanduser(file))
    try:
        write_atomic(path, page.encode(errors="replace"), mode=0o600)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    return tell(f"Wrote the usage of {_PAGE_DAYS} days to {path}")


def _rows(by: str, calls: Iterable[CallRecord]) -> list[UsageRow]:
    sums: dict[str, UsageRow] = {}
    for call in calls:
        key = {
            "day": call.day.isoformat(),
            "model": call.model,
            "project": call.project,
            "agent": call.agent,
            "tool": call.source,
        }[by]
        known = sums.get(key) or UsageRow(key=key, usd=0.0, tokens=0, output=0, calls=0)
        sums[key] = UsageRow(
            key=key,
            usd=known.usd + call.usd,
            tokens=known.tokens + call.usage.context + call.usage.output,
            output=known.output + call.usage.output,
            calls=known.calls + 1,
        )
    if by == "day":
        return sorted(sums.values(), key=lambda each: each.key, reverse=True)
    return sorted(sums.values(), key=lambda each: (-each.usd, -each.tokens))


def own_models(env: Mapping[str, str]) -> Mapping[str, Any]:
    """The user's models with their prices; settings that cannot be read have none."""
    try:
        own = load(cwd=os.getcwd(), env=env, flag=None, setting_sources=None).raw.get("bridleModels")
    except ConfigError:
        return {}
    return catalog.with_declared(own if isinstance(own, dict) else {}, env)
