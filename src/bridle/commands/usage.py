"""Commands about what was used: money, tokens, days."""

import asyncio
import html
import os
from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime

from bridle.commands.context import CommandContext
from bridle.commands.queries.spending import DayCost, cost_by_day, session_cost
from bridle.commands.queries.usage_records import UsageRecords, usage_records
from bridle.context.compaction_report import dropped
from bridle.context.tokens import ratio_of
from bridle.host.files import make_folders, write_atomic
from bridle.host.paths import config_home
from bridle.transcripts.session import Session
from bridle.types.command import CommandResult, Says, Shows
from bridle.types.errors import UsageError

_USUAL_DAYS = 7
_REPORT_DAYS = 30
_MOST_DAYS = 365
_BAR = 30
_MOST_TOOLS = 10


async def cost(arguments: str, context: CommandContext) -> CommandResult:
    """What this session has cost, and the last days of all sessions."""
    days = _days(arguments, usual=_USUAL_DAYS)
    found = await days_of(context, days)
    text = "\n\n".join(part for part in (session_text(context.session), days_text(found)) if part)
    return Shows(view="usage", arguments=arguments, text=text)


async def days_of(context: CommandContext, days: int) -> tuple[DayCost, ...]:
    """The last days of all conversations on this machine."""
    own = context.settings.config().raw.get("bridleModels")
    return await asyncio.to_thread(cost_by_day, context.env, days=days, own_models=own)


async def usage_since(context: CommandContext, first: date) -> UsageRecords:
    """What all conversations on this machine have used since a day."""
    own = context.settings.config().raw.get("bridleModels")
    begin = datetime.combine(first, datetime.min.time()).timestamp()
    return await asyncio.to_thread(usage_records, context.env, since=begin, own_models=own)


async def insights(arguments: str, context: CommandContext) -> CommandResult:
    days = _days(arguments, usual=_REPORT_DAYS)
    found = await days_of(context, days)
    path = os.path.join(config_home(context.env), "usage-data", "report.html")
    make_folders(os.path.dirname(path), private=True)
    await asyncio.to_thread(write_atomic, path, report(found).encode(), mode=0o600)
    return Says(f"The report on {_counted(days, 'day')} is in {path}.")


def session_text(session: Session) -> str:
    """The cost of a session by model, and what its tools have put into the window."""
    lines = [f"This session: ${session.total_cost_usd:.4f}"]
    for each in session_cost(session):
        usage = each.usage
        lines.append(
            f"  {each.model}: {usage.input:,} in, {usage.output:,} out, {usage.cache_read:,} from cache, "
            f"{usage.cache_write_5m + usage.cache_write_1h:,} written to it, ${each.usd:.4f}"
        )
    ratio = ratio_of(session.state.measured)
    parts = [row for row in dropped(session.entries, ratio) if row.kind.startswith("results of ")]
    lines += [f"  {row.kind}: {row.count}, {row.tokens:,} tokens" for row in parts[:_MOST_TOOLS]]
    return "\n".join(lines)


def days_text(found: Sequence[DayCost]) -> str:
    """One line a day with a bar, and the sum."""
    most = max((day.usd for day in found), default=0.0)
    tokens = max((day.tokens for day in found), default=0)
    if not tokens:
        return ""
    lines = [f"Last {_counted(len(found), 'day')}, all sessions: ${sum(day.usd for day in found):.2f}"]
    for day in found:
        share = day.usd / most if most else day.tokens / tokens
        lines.append(
            f"  {day.day}  {'█' * round(_BAR * share):<{_BAR}}  ${day.usd:.2f}  {day.tokens:,} tokens"
        )
    return "\n".join(lines)


def report(found: Sequence[DayCost]) -> str:
    """A page about the days that needs nothing but itself."""
    models: Counter[str] = Counter()
    for day in found:
        for each in day.models:
            models[each.model] += round(each.usd * 1_000_000)
    most = max((day.usd for day in found), default=0.0) or 1.0
    bars = "".join(
        f'<tr><td>{day.day}<td><div style="width:{round(300 * day.usd / most)}px"></div>'
        f"<td>${day.usd:.2f}<td>{day.tokens:,}<td>{day.sessions}<td>{day.prompts}"
        for day in found
    )
    rows = "".join(f"<tr><td>{html.escape(name)}<td>${usd / 1e6:.2f}" for name, usd in models.most_common())
    return (
        "<!doctype html><meta charset=utf-8><title>bridle: your sessions</title>"
        "<style>body{font:15px system-ui;margin:2em}td{padding:2px 12px}"
        "div{background:#4a7;height:12px}</style>"
        f"<h1>Last {_counted(len(found), 'day')}</h1>"
        f"<table><tr><th>Day<th><th>Cost<th>Tokens<th>Sessions<th>Prompts{bars}</table>"
        f"<h2>Models</h2><table>{rows}</table>"
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"


def _days(arguments: str, *, usual: int) -> int:
    text = arguments.strip().removesuffix("d")
    if not text:
        return usual
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_DAYS:
        raise UsageError(f"Give a number of days from 1 to {_MOST_DAYS}.")
    return int(text)
