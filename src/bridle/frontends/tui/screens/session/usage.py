"""What was spent: this session, by day, by model, and by what caused it."""

from collections.abc import Sequence

from msgspec import Struct

from bridle.frontends.tui.render.call import duration, tokens
from bridle.frontends.tui.render.charts import Bar, bars, day_plot
from bridle.frontends.tui.render.layout import MUTED, count, one_line, paragraph, style
from bridle.frontends.tui.render.messages import money
from bridle.frontends.tui.render.tables import Align, Cell, Table, render_table
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.page import heading, pair
from bridle.frontends.tui.widgets.pane import Pane, TextPane
from bridle.frontends.tui.widgets.tabs import TabbedView


class ModelUse(Struct, frozen=True, kw_only=True):
    """What one model was used for; a cost that is not known is None."""

    model: str
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    usd: float | None = None


class DayUse(Struct, frozen=True, kw_only=True):
    day: str
    """`2026-03-12`"""
    tokens: int = 0
    usd: float = 0.0


class Share(Struct, frozen=True, kw_only=True):
    """What a skill, an agent, a plugin or a server caused."""

    group: str
    name: str
    tokens: int = 0
    usd: float = 0.0


class Limit(Struct, frozen=True, kw_only=True):
    """A budget and how much of it is gone, from 0 to 1."""

    name: str
    used: float
    resets: str = ""


class UsageFacts(Struct, frozen=True, kw_only=True):
    session: tuple[ModelUse, ...] = ()
    seconds: float = 0.0
    api_seconds: float = 0.0
    added: int = 0
    removed: int = 0
    days: tuple[DayUse, ...] = ()
    """Oldest first."""
    models: tuple[ModelUse, ...] = ()
    """Over all those days."""
    shares: tuple[Share, ...] = ()
    limits: tuple[Limit, ...] = ()


def usage_view(facts: UsageFacts, *, tab: int = 0) -> TabbedView[UsageFacts]:
    """Tabs for the session, the days, the models and what caused the cost."""
    makers = (
        ("session", session_lines),
        ("days", day_lines),
        ("models", model_lines),
        ("what for", share_lines),
    )
    panes = [TextPane(lambda width, make=make: make(facts, width)) for _, make in makers]

    def update(now: UsageFacts) -> None:
        for pane, (_, make) in zip(panes, makers, strict=True):
            pane.replace(lambda width, make=make: make(now, width))

    named: list[tuple[str, Pane]] = [(name, pane) for (name, _), pane in zip(makers, panes, strict=True)]
    return TabbedView("Usage", named, update=update, selected=tab)


def session_lines(facts: UsageFacts, width: int) -> list[Line]:
    """Cost, time and changes of this session, a table of its models, and budgets."""
    known = [each.usd for each in facts.session if each.usd is not None]
    total = money(sum(known)) if known or not facts.session else "not known"
    if known and len(known) < len(facts.session):
        total += ", and more that has no price"
    rows = pair("cost", total, width)
    if facts.seconds:
        took = f"{duration(facts.seconds)}, {duration(facts.api_seconds)} of it in models"
        rows += pair("time", took, width)
    if facts.added or facts.removed:
        rows += pair("changes", f"+{facts.added:,} −{facts.removed:,} lines", width)
    if facts.session:
        rows += [(), *_table(facts.session, width)]
    if facts.limits:
        rows += [(), heading("limits")]
        rows += [line for limit in facts.limits for line in _limit(limit, width)]
    return rows


def day_lines(facts: UsageFacts, width: int) -> list[Line]:
    """A plot of the cost of each day and a table of the last ones."""
    if not facts.days:
        return paragraph("Nothing was recorded yet.", width, MUTED)
    has_cost = any(each.usd for each in facts.days)
    values = [(each.day[5:], each.usd if has_cost else float(each.tokens)) for each in facts.days]
    label = "dollars a day" if has_cost else "tokens a day"
    rows = [*day_plot(values, width, label=label), ()]
    rows += pair(
        "in all", f"{money(sum(each.usd for each in facts.days))} in {count(len(facts.days), 'day')}", width
    )
    last = [
        Bar(name=each.day, value=each.usd if has_cost else each.tokens, label=_spent(each.usd, each.tokens))
        for each in reversed(facts.days[-14:])
    ]
    return [*rows, (), *bars(last, width, color="chart.2")]


def model_lines(facts: UsageFacts, width: int) -> list[Line]:
    """Bars and a table by model."""
    if not facts.models:
        return paragraph("Nothing was recorded yet.", width, MUTED)
    shown = [
        Bar(name=each.model, value=each.usd or 0.0, label="no price" if each.usd is None else money(each.usd))
        for each in sorted(facts.models, key=lambda each: -(each.usd or 0.0))
    ]
    return [*bars(shown, width), (), *_table(facts.models, width)]


def share_lines(facts: UsageFacts, width: int) -> list[Line]:
    """Bars for what caused the cost, by kind."""
    if not facts.shares:
        return paragraph("No skill, agent, plugin or server has cost anything yet.", width, MUTED)
    groups = list(dict.fromkeys(each.group for each in facts.shares))
    ordered = sorted(facts.shares, key=lambda each: (groups.index(each.group), -each.usd, -each.tokens))
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
    for share, bar, before in zip(ordered, bars(values, width), (None, *ordered), strict=False):
        if before is None or before.group != share.group:
            rows += [*([()] if rows else []), heading(share.group)]
        rows.append(bar)
    return rows


def _table(uses: Sequence[ModelUse], width: int) -> list[Line]:
    names = ("model", "in", "out", "cache read", "cache write", "cost")
    aligns: tuple[Align, ...] = ("left", "right", "right", "right", "right", "right")
    rows = tuple(
        tuple(
            map(
                _cell,
                (
                    each.model,
                    *map(_short, (each.input, each.output, each.cache_read, each.cache_write)),
                    "?" if each.usd is None else money(each.usd),
                ),
            )
        )
        for each in uses
    )
    return render_table(Table(header=tuple(map(_cell, names)), rows=rows, aligns=aligns), width)


def _limit(limit: Limit, width: int) -> list[Line]:
    color = "error" if limit.used >= 0.9 else "warning" if limit.used >= 0.7 else "success"
    room = max(4, min(30, width - 30))
    full = min(room, round(limit.used * room))
    name: Line = (Span(one_line(limit.name)),)
    bar: Line = (
        Span("█" * full, style(color)),
        Span("░" * (room - full), style("chart.free")),
        Span(f" {limit.used:.0%}{', anew ' + one_line(limit.resets) if limit.resets else ''}", MUTED),
    )
    return [name, bar]


def _cell(text: str) -> Cell:
    return ((Span(one_line(text)),),)


def _short(number: int) -> str:
    return tokens(number).removesuffix(" tokens").removesuffix(" token")


def _spent(usd: float, number: int) -> str:
    return f"{money(usd)} · {_short(number)}" if number else money(usd)
