"""What was spent: this session, by day, by model, and by what caused it."""

from collections.abc import Sequence

from msgspec import Struct

from bridle.commands.queries.session_usage import PromptUse, SessionUsage, forecast_text
from bridle.commands.queries.spending import DayCost, ModelCost
from bridle.commands.queries.usage_causes import Cause, LimitUse
from bridle.frontends.tui.render.call import duration, tokens
from bridle.frontends.tui.render.charts import Bar, bars
from bridle.frontends.tui.render.layout import MUTED, count, one_line, paragraph, style
from bridle.frontends.tui.render.messages import money
from bridle.frontends.tui.render.tables import Align, Cell, Table, render_table
from bridle.frontends.tui.screens.session.usage_plots import curve, legend, sparkline, stacked_days
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.page import heading, pair
from bridle.frontends.tui.widgets.pane import Pane, TextPane
from bridle.frontends.tui.widgets.tabs import TabbedView
from bridle.transcripts.cost import Work

_COSTLIEST = 5
_LEAST_SHARE = 5
"""The window is the top of its plot when a fifth of it has been full, otherwise what was most."""
_LONGEST_PROMPT = 60


class UsageFacts(Struct, frozen=True, kw_only=True):
    session: tuple[ModelCost, ...] = ()
    work: Work = Work()
    days: tuple[DayCost, ...] = ()
    """Oldest first."""
    models: tuple[ModelCost, ...] = ()
    """Over all those days."""
    causes: tuple[Cause, ...] = ()
    limits: tuple[LimitUse, ...] = ()
    timeline: SessionUsage = SessionUsage()
    """How the session went, prompt by prompt."""


def usage_view(facts: UsageFacts, *, tab: int = 0) -> TabbedView[UsageFacts]:
    """Tabs for the session, the days, the models and what caused the cost."""
    makers = (
        ("session", session_lines),
        ("days", day_lines),
        ("models", model_lines),
        ("by source", cause_lines),
    )
    panes = [TextPane(lambda width, make=make: make(facts, width)) for _, make in makers]

    def update(now: UsageFacts) -> None:
        for pane, (_, make) in zip(panes, makers, strict=True):
            pane.replace(lambda width, make=make: make(now, width))

    named: list[tuple[str, Pane]] = [(name, pane) for (name, _), pane in zip(makers, panes, strict=True)]
    return TabbedView("Usage", named, update=update, selected=tab)


def session_lines(facts: UsageFacts, width: int) -> list[Line]:
    """Cost, time and changes of this session, a table of its models, and budgets."""
    known = [each.usd for each in facts.session if each.is_priced]
    total = money(sum(known)) if known or not facts.session else "unknown price"
    if known and len(known) < len(facts.session):
        total += " plus models without a known price"
    rows = pair("cost", total, width)
    work = facts.work
    if work.api_ms:
        took = f"{duration(work.open_ms / 1000)}, {duration(work.api_ms / 1000)} in models"
        rows += pair("time", took, width)
    if work.lines_added or work.lines_removed:
        rows += pair("changes", f"+{work.lines_added:,} −{work.lines_removed:,} lines", width)
    if facts.session:
        rows += [(), *_table(facts.session, width)]
    if facts.limits:
        rows += [(), heading("limits")]
        rows += [line for limit in facts.limits for line in _limit(limit, width)]
    return rows + _timeline(facts.timeline, width)


def _timeline(used: SessionUsage, width: int) -> list[Line]:
    """How the window fills, what came from the cache, and what each prompt took."""
    rows: list[Line] = []
    if used.contexts and used.window:
        highest = max(used.contexts)
        # A window that is nearly empty would show a flat line.
        most = max(used.window, highest) if highest * _LEAST_SHARE >= used.window else highest
        labels = (_short(most), "0")
        rows += [(), heading("context over time")]
        if len(used.contexts) > 1:
            rows += curve([float(each) for each in used.contexts], width, top=float(most), labels=labels)
        rows += paragraph(forecast_text(used.forecast), width, MUTED)
    if (rate := used.hit_rate) is not None and used.hit_rates:
        rows += [(), heading(f"cache hit rate {rate:.0%}")]
        if len(used.hit_rates) > 1:
            rows += curve(used.hit_rates, width, top=1.0, labels=("100%", "0%"), height=2)
    if used.prompts:
        most_tokens, most_usd = max(p.tokens for p in used.prompts), max(p.usd for p in used.prompts)
        rows += [(), heading(f"tokens per prompt, peak {_short(most_tokens)}")]
        rows += [_spark([float(p.tokens) for p in used.prompts], width)]
        rows += [(), heading(f"$ per prompt, peak {money(most_usd)}")]
        rows += [_spark([each.usd for each in used.prompts], width), *_costliest(used.prompts, width)]
    return rows


def _spark(values: Sequence[float], width: int) -> Line:
    return (sparkline(values, width),)


def _costliest(prompts: Sequence[PromptUse], width: int) -> list[Line]:
    """The prompts that cost most, with their words."""
    found = sorted(prompts, key=lambda each: (-each.usd, -each.tokens))[:_COSTLIEST]
    has_cost = any(each.usd for each in found)
    values = [
        Bar(
            name=one_line(each.text)[:_LONGEST_PROMPT] or "prompt",
            value=each.usd if has_cost else float(each.tokens),
            label=_spent(each.usd, each.tokens),
        )
        for each in found
    ]
    return bars(values, width, color="chart.3")


def day_lines(facts: UsageFacts, width: int) -> list[Line]:
    """A plot of each day by model and a table of the last ones."""
    first = next((at for at, day in enumerate(facts.days) if day.tokens), len(facts.days))
    days = facts.days[first:]
    if not days:
        return paragraph("Nothing recorded yet.", width, MUTED)
    has_cost = any(each.usd for each in days)
    models = _by_cost(days)
    values = [(each.day[5:], _shares(each, models, has_cost=has_cost)) for each in days]
    rows = stacked_days(values, width, label="$ per day" if has_cost else "tokens per day")
    rows += [*legend(models, width), ()]
    rows += pair("total", f"{money(sum(each.usd for each in days))} in {count(len(days), 'day')}", width)
    prompts, calls = sum(each.prompts for each in days), sum(m.calls for each in days for m in each.models)
    if prompts:
        rows += pair("activity", f"{count(prompts, 'prompt')}, {count(calls, 'answer')}", width)
    last = [
        Bar(name=each.day, value=each.usd if has_cost else each.tokens, label=_spent(each.usd, each.tokens))
        for each in reversed(days[-14:])
    ]
    return [*rows, (), *bars(last, width, color="chart.2")]


def _by_cost(days: Sequence[DayCost]) -> list[str]:
    """The models of these days, the costliest first."""
    sums: dict[str, tuple[float, int]] = {}
    for each in (model for day in days for model in day.models):
        usd, used = sums.get(each.model, (0.0, 0))
        sums[each.model] = (usd + each.usd, used + each.usage.context + each.usage.output)
    return sorted(sums, key=lambda name: (-sums[name][0], -sums[name][1]))


def _shares(day: DayCost, models: Sequence[str], *, has_cost: bool) -> list[float]:
    """What each of these models has of a day."""
    found = {each.model: each for each in day.models}
    return [
        0.0 if (each := found.get(name)) is None
        else each.usd if has_cost
        else float(each.usage.context + each.usage.output)
        for name in models
    ]  # fmt: skip


def model_lines(facts: UsageFacts, width: int) -> list[Line]:
    """Bars and a table by model."""
    if not facts.models:
        return paragraph("Nothing recorded yet.", width, MUTED)
    shown = [
        Bar(name=each.model, value=each.usd, label=money(each.usd) if each.is_priced else "no price")
        for each in sorted(facts.models, key=lambda each: -each.usd)
    ]
    return [*bars(shown, width), (), *_table(facts.models, width)]


def cause_lines(facts: UsageFacts, width: int) -> list[Line]:
    """Bars for what caused the cost, by kind."""
    if not facts.causes:
        return paragraph("Nothing recorded yet.", width, MUTED)
    groups = list(dict.fromkeys(each.group for each in facts.causes))
    ordered = sorted(facts.causes, key=lambda each: (groups.index(each.group), -each.usd, -each.tokens))
    has_cost = any(each.usd for each in ordered)
    values = [
        Bar(
            name=each.name,
            value=each.usd if has_cost else float(each.tokens),
            label=_spent(each.usd, each.tokens),
        )
        for each in ordered
    ]
    rows: list[Line] = []
    # All bars have one scale, so that they can be compared across groups.
    for cause, bar, before in zip(ordered, bars(values, width), (None, *ordered), strict=False):
        if before is None or before.group != cause.group:
            rows += [*([()] if rows else []), heading(cause.group)]
        rows.append(bar)
    return rows


def _table(uses: Sequence[ModelCost], width: int) -> list[Line]:
    names = ("model", "in", "out", "cache read", "cache write", "cost")
    aligns: tuple[Align, ...] = ("left", "right", "right", "right", "right", "right")
    rows = tuple(tuple(map(_cell, _columns(each))) for each in uses)
    return render_table(Table(header=tuple(map(_cell, names)), rows=rows, aligns=aligns), width)


def _columns(cost: ModelCost) -> tuple[str, ...]:
    used = cost.usage
    counts = (used.input, used.output, used.cache_read, used.cache_write_5m + used.cache_write_1h)
    return (cost.model, *map(_short, counts), money(cost.usd) if cost.is_priced else "?")


def _limit(limit: LimitUse, width: int) -> list[Line]:
    color = "error" if limit.used >= 0.9 else "warning" if limit.used >= 0.7 else "success"
    room = max(4, min(30, width - 30))
    full = min(room, round(limit.used * room))
    name: Line = (Span(one_line(limit.name)),)
    bar: Line = (
        Span("█" * full, style(color)),
        Span("░" * (room - full), style("chart.free")),
        Span(f" {limit.used:.0%}", MUTED),
    )
    return [name, bar]


def _cell(text: str) -> Cell:
    return ((Span(one_line(text)),),)


def _short(number: int) -> str:
    return tokens(number).removesuffix(" tokens").removesuffix(" token")


def _spent(usd: float, number: int) -> str:
    return f"{money(usd)} · {tokens(number)}" if number else money(usd)
