"""The page of `/usage --html`: what was used and what it cost, by day, model, prompt and source."""

from collections.abc import Iterable, Sequence

from bridle.commands.pages.charts import Column, columns, curve, short
from bridle.commands.pages.html import Html, el, join
from bridle.commands.pages.page import whole_page
from bridle.commands.queries.session_usage import PromptUse, SessionUsage, forecast_text
from bridle.commands.queries.spending import DayCost, ModelCost, cost_by_model
from bridle.commands.queries.usage_causes import Cause, causes_of
from bridle.commands.queries.usage_report import UsageReport
from bridle.commands.wording import counted
from bridle.features.quality.signals import Signs

_MOST_SERIES = 5
"""Models with a color of their own; the rest is one series."""
_MOST_PROMPTS = 40
_SIGNS = {
    "frustrated": "The prompt sounds frustrated",
    "repeated": "The same prompt again",
    "interrupted": "The turn was interrupted",
    "refused": "A call was refused",
    "failed": "The turn failed",
    "pull_request": "A pull request was asked for",
}
_LONGEST_PROMPT = 120


def usage_page(report: UsageReport) -> str:
    """The whole page."""
    days = report.days
    models = sorted(cost_by_model(days), key=lambda each: -each.usd)
    parts = [
        el("h1", "Usage"),
        el("p", f"Last {counted(len(days), 'day')}, all sessions on this machine", class_="lead"),
        _cards(days, models),
        el("h2", "$ per day and model"),
        _day_chart(days, models),
        *_session(report.session),
        el("h2", "By model"),
        _model_table(models),
        el("h2", "By source"),
        _cause_table(causes_of(report.found.calls)),
        el("h2", "By day"),
        _day_table(days),
        *_signs(report.signs),
    ]
    return whole_page("bridle usage", join(parts))


def _signs(signs: Signs) -> list[Html]:
    """Signs of trouble; nothing where there were none."""
    if not signs.counts:
        return []
    rows = [
        (_SIGNS.get(name, name), f"{count:,}")
        for name, count in sorted(signs.counts.items(), key=lambda each: -each[1])
    ]
    lead = (
        f"{counted(signs.sessions, 'session')} with signs of trouble. Counted on this machine without a "
        "model, and sent nowhere; bridleQualitySignals: false turns it off."
    )
    return [el("h2", "Signs of trouble"), el("p", lead, class_="lead"), _table(("sign", "turns"), rows)]


def _cards(days: Sequence[DayCost], models: Sequence[ModelCost]) -> Html:
    read = sum(each.usage.context for each in models)
    cached = sum(each.usage.cache_read for each in models)
    facts = (
        ("Total", f"${sum(day.usd for day in days):,.2f}"),
        ("Today", f"${days[-1].usd:,.2f}" if days else "$0.00"),
        ("Tokens", short(sum(day.tokens for day in days))),
        ("Cache hit rate", f"{cached / read:.0%}" if read else "–"),
        ("Prompts", f"{sum(day.prompts for day in days):,}"),
        ("Model calls", f"{sum(each.calls for each in models):,}"),
    )
    cards = (
        el("div", el("div", name, class_="name"), el("div", value, class_="value"), class_="card")
        for name, value in facts
    )
    return el("div", *cards, class_="cards")


def _day_chart(days: Sequence[DayCost], models: Sequence[ModelCost]) -> Html:
    named = [each.model for each in models[:_MOST_SERIES]]
    series = [*named, "others"] if len(models) > _MOST_SERIES else named
    data: list[Column] = []
    for day in days:
        costs = {each.model: each.usd for each in day.models}
        own = [costs.pop(model, 0.0) for model in named]
        rest = [sum(costs.values())] if len(series) > len(named) else []
        title = "\n".join((f"{day.day}: ${day.usd:.2f}", *(f"{m.model}: ${m.usd:.2f}" for m in day.models)))
        data.append(Column(name=day.day[5:], values=(*own, *rest), title=title))
    return columns(data, series, unit="$")


def _session(used: SessionUsage) -> list[Html]:
    if not used.prompts:
        return []
    prompts = used.prompts[-_MOST_PROMPTS:]
    first = len(used.prompts) - len(prompts) + 1

    def chart(values: Sequence[float], unit: str, said: Sequence[str]) -> Html:
        data = [
            Column(name=str(first + at), values=(value,), title=f"{_line(prompt.text)}\n{words}")
            for at, (prompt, value, words) in enumerate(zip(prompts, values, said, strict=True))
        ]
        return columns(data, ("",), unit=unit)

    parts = [
        el("h2", "This session: $ per prompt"),
        chart([each.usd for each in prompts], "$", [f"${each.usd:.4f}" for each in prompts]),
        el("h2", "This session: tokens per prompt"),
        chart([float(p.tokens) for p in prompts], "", [counted(p.tokens, "token") for p in prompts]),
    ]
    if used.contexts:
        window = float(used.window) if used.window else None
        parts += [
            el("h2", "This session: context over time"),
            curve([float(each) for each in used.contexts], unit="", limit=window),
            el("p", forecast_text(used.forecast), class_="lead"),
            el("h2", "This session: cache hit rate"),
            curve(used.hit_rates, unit="%", top=1.0),
        ]
    return [*parts, el("h2", "This session: by prompt"), _prompt_table(prompts)]


def _prompt_table(prompts: Sequence[PromptUse]) -> Html:
    rows = (
        (
            _line(each.text),
            f"{each.calls:,}",
            short(each.tokens),
            _rate(each.usage.cache_read, each.usage.context),
            f"${each.usd:.4f}",
        )
        for each in prompts
    )
    return _table(("prompt", "calls", "tokens", "cached", "cost"), rows)


def _model_table(models: Sequence[ModelCost]) -> Html:
    rows = (
        (
            each.model,
            f"{each.calls:,}",
            short(each.usage.input),
            short(each.usage.output),
            short(each.usage.cache_read),
            short(each.usage.cache_write_5m + each.usage.cache_write_1h),
            _rate(each.usage.cache_read, each.usage.context),
            f"${each.usd:.2f}" if each.is_priced else "no price",
        )
        for each in models
    )
    return _table(("model", "calls", "in", "out", "cache read", "cache write", "cached", "cost"), rows)


def _cause_table(causes: Sequence[Cause]) -> Html:
    rows = ((each.group, each.name, short(each.tokens), f"${each.usd:.2f}") for each in causes)
    return _table(("kind", "source", "tokens", "cost"), rows, texts=2)


def _day_table(days: Sequence[DayCost]) -> Html:
    rows = (
        (day.day, f"{day.sessions:,}", f"{day.prompts:,}", short(day.tokens), f"${day.usd:.2f}")
        for day in reversed(days)
        if day.tokens
    )
    return _table(("day", "sessions", "prompts", "tokens", "cost"), rows)


def _table(names: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int = 1) -> Html:
    """A table whose first columns are texts and the others numbers."""
    body = [
        el("tr", *(el("td", cell, class_="number" if at >= texts else None) for at, cell in enumerate(row)))
        for row in rows
    ]
    if not body:
        return el("p", "Nothing recorded yet.", class_="lead")
    head = el("tr", *(el("th", n, class_="number" if at >= texts else None) for at, n in enumerate(names)))
    return el("div", el("table", el("thead", head), el("tbody", *body)), class_="scroll")


def _line(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST_PROMPT else f"{words[:_LONGEST_PROMPT]}…"


def _rate(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "–"
