"""Commands about what was used: money, tokens, days."""

import asyncio
import os
from collections.abc import Sequence
from datetime import datetime

from bridle.commands.context import CommandContext
from bridle.commands.queries.session_usage import session_usage
from bridle.commands.queries.spending import DayCost, cost_by_day, days_of_usage, last_days, session_cost
from bridle.commands.queries.usage_records import usage_records
from bridle.commands.queries.usage_report import UsageReport
from bridle.commands.wording import counted
from bridle.context.compaction_report import dropped
from bridle.context.tokens import ratio_of
from bridle.features.quality.signals import read_signs
from bridle.host.files import make_folders, write_atomic
from bridle.host.paths import config_home
from bridle.transcripts.cost import Work
from bridle.transcripts.session import Session
from bridle.types.command import CommandResult, Says, Shows
from bridle.types.errors import UsageError
from bridle.types.text import duration

_USUAL_DAYS = 7
_REPORT_DAYS = 30
_MOST_DAYS = 365
_BAR = 30
_MOST_TOOLS = 10


async def cost(arguments: str, context: CommandContext) -> CommandResult:
    """What this session has cost, and the last days of all sessions; `--html` writes them as a page."""
    if (page := html_file(arguments)) is not None:
        return await _write_page(context, page[1], _days(page[0], usual=_REPORT_DAYS))
    days = _days(arguments, usual=_USUAL_DAYS)
    found = await days_of(context, days)
    text = "\n\n".join(part for part in (session_text(context.session), days_text(found)) if part)
    return Shows(view="usage", arguments=arguments, text=text)


async def days_of(context: CommandContext, days: int) -> tuple[DayCost, ...]:
    """The last days of all conversations on this machine."""
    own = context.settings.config().raw.get("bridleModels")
    return await asyncio.to_thread(cost_by_day, context.env, days=days, own_models=own)


async def usage_report(context: CommandContext, days: int) -> UsageReport:
    """What all conversations on this machine have used lately, and how this one went."""
    own = context.settings.config().raw.get("bridleModels")
    wanted = last_days(days)
    begin = datetime.combine(wanted[0], datetime.min.time()).timestamp()
    session, runtime = context.session, context.runtime
    window = runtime.facts(session.state.model).context_window
    found = await asyncio.to_thread(usage_records, context.env, since=begin, own_models=own)
    used = await asyncio.to_thread(
        session_usage, session, transcript=runtime.records.transcript, window=window, own_models=own
    )
    signs = await asyncio.to_thread(read_signs, context.env, since=begin)
    return UsageReport(days=days_of_usage(found, wanted), found=found, session=used, signs=signs)


async def insights(arguments: str, context: CommandContext) -> CommandResult:
    return await _write_page(context, "", _days(arguments, usual=_REPORT_DAYS))


async def _write_page(context: CommandContext, file: str, days: int) -> CommandResult:
    """Write the page about the last days, to a file of the user's choice or among bridle's own."""
    from bridle.commands.pages.usage_page import usage_page

    page = usage_page(await usage_report(context, days))
    path = os.path.join(config_home(context.env), "usage-data", "report.html")
    if file:
        path = context.workspace.resolve(file.strip("\"'"))
    else:
        make_folders(os.path.dirname(path), private=True)
    await asyncio.to_thread(write_atomic, path, page.encode(errors="replace"), mode=0o600)
    return Says(f"Wrote the usage of {counted(days, 'day')} to {path}")


def session_text(session: Session) -> str:
    """The cost of a session by model, and what its tools have put into the window."""
    lines = [f"This session: ${session.total_cost_usd:.4f}", *_work_lines(session.work)]
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


def _work_lines(work: Work) -> list[str]:
    lines: list[str] = []
    if work.api_ms:
        lines.append(f"  {duration(work.open_ms / 1000)} open, {duration(work.api_ms / 1000)} in models")
    if work.lines_added or work.lines_removed:
        lines.append(f"  +{work.lines_added:,} −{work.lines_removed:,} lines")
    return lines


def days_text(found: Sequence[DayCost]) -> str:
    """One line a day with a bar, and the sum."""
    most = max((day.usd for day in found), default=0.0)
    tokens = max((day.tokens for day in found), default=0)
    if not tokens:
        return ""
    lines = [f"Last {counted(len(found), 'day')}, all sessions: ${sum(day.usd for day in found):.2f}"]
    for day in found:
        share = day.usd / most if most else day.tokens / tokens
        lines.append(
            f"  {day.day}  {'█' * round(_BAR * share):<{_BAR}}  ${day.usd:.2f}  {day.tokens:,} tokens"
        )
    return "\n".join(lines)


def html_file(arguments: str) -> tuple[str, str] | None:
    """The file behind `--html` and the words before it; None where no page is wanted."""
    before, flag, file = arguments.partition("--html")
    if not flag or (file and file[0] not in " =") or (before and not before[-1].isspace()):
        return None
    return before.strip(), file.lstrip("= ").strip()


def _days(arguments: str, *, usual: int) -> int:
    text = arguments.strip().removesuffix("d")
    if not text:
        return usual
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_DAYS:
        raise UsageError(f"Use a number of days from 1 to {_MOST_DAYS}.")
    return int(text)
