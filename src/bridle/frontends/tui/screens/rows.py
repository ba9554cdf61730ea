"""Turns what commands know about a session into what views show."""

from collections.abc import Mapping, Sequence

import msgspec

from bridle.commands.models import ModelChoice
from bridle.commands.queries.context_window import Breakdown
from bridle.commands.queries.doctor import Check, Health
from bridle.commands.queries.rules import FolderRow, RuleRow
from bridle.commands.queries.settings import SettingRow as Setting
from bridle.commands.queries.spending import DayCost, ModelCost
from bridle.commands.queries.status import Fact
from bridle.commands.queries.usage_causes import Cause, LimitUse
from bridle.config.explain import explain
from bridle.config.load import Config as Loaded
from bridle.frontends.tui.render.charts import Category
from bridle.frontends.tui.screens.choices.model import ModelRow
from bridle.frontends.tui.screens.session.config import SettingRow, SourceValue
from bridle.frontends.tui.screens.session.context import ContextItem, ContextUse
from bridle.frontends.tui.screens.session.doctor import CheckRow, State
from bridle.frontends.tui.screens.session.permissions import DenialRow, Permissions
from bridle.frontends.tui.screens.session.status import StatusFacts
from bridle.frontends.tui.screens.session.usage import DayUse, Limit, ModelUse, Share
from bridle.types.text import encodable_value
from bridle.types.turn import Denial

_STATES: Mapping[Health, State] = {"ok": "good", "warning": "doubtful", "fault": "bad"}
_MOST_SUBJECT = 300


def context_use(found: Breakdown) -> ContextUse:
    """The window with its categories and their largest items."""
    return ContextUse(
        model=found.model,
        window=found.size,
        categories=tuple(Category(name=each.name, tokens=each.tokens) for each in found.categories),
        items=tuple(
            ContextItem(group=each.name, name=item.name, tokens=item.tokens, note=item.note)
            for each in found.categories
            for item in each.items
        ),
        compact_at=found.compact_at if found.automatic else None,
        note="" if found.counted else "These numbers are estimates until the first answer.",
    )


def model_uses(costs: Sequence[ModelCost]) -> tuple[ModelUse, ...]:
    """What each model was used for; the same model on several days is added up."""
    found: dict[str, ModelUse] = {}
    for each in costs:
        before = found.get(each.model, ModelUse(model=each.model, usd=0.0))
        found[each.model] = ModelUse(
            model=each.model,
            input=before.input + each.usage.input,
            output=before.output + each.usage.output,
            cache_read=before.cache_read + each.usage.cache_read,
            cache_write=before.cache_write + each.usage.cache_write_5m + each.usage.cache_write_1h,
            usd=(before.usd or 0.0) + each.usd,
        )
    return tuple(found.values())


def day_uses(days: Sequence[DayCost]) -> tuple[DayUse, ...]:
    """The days, from the first on which anything was used."""
    first = next((at for at, day in enumerate(days) if day.tokens), len(days))
    return tuple(DayUse(day=day.day, tokens=day.tokens, usd=day.usd) for day in days[first:])


def shares(causes: Sequence[Cause]) -> tuple[Share, ...]:
    """What was spent for what."""
    return tuple(Share(group=each.group, name=each.name, tokens=each.tokens, usd=each.usd) for each in causes)


def limits(uses: Sequence[LimitUse]) -> tuple[Limit, ...]:
    """The budgets, with how much of each is gone."""
    return tuple(Limit(name=each.name, used=each.used) for each in uses)


def check_rows(checks: Sequence[Check]) -> tuple[CheckRow, ...]:
    """The checks; what each one found is its name too."""
    return tuple(
        CheckRow(name=check.text, state=_STATES[check.health], group=check.group, fix=check.remedy)
        for check in checks
    )


def status_of(facts: Sequence[Fact]) -> StatusFacts:
    """The state of the session; problems stand apart."""
    return StatusFacts(
        parts=(("", tuple((fact.name, fact.value) for fact in facts if fact.name != "Problems")),),
        problems=tuple(fact.value for fact in facts if fact.name == "Problems"),
    )


def setting_list(rows: Sequence[Setting], config: Loaded) -> tuple[SettingRow, ...]:
    """Every key with who sets it; what the organisation sets cannot be changed."""
    found: list[SettingRow] = []
    for row in rows:
        said = explain(config, row.key).statements if row.source else ()
        found.append(
            SettingRow(
                key=row.key,
                kind=row.kind,
                value=row.value,
                is_default=not row.source,
                choices=row.choices,
                group=row.key.partition(".")[0] if "." in row.key else "",
                said=tuple(
                    SourceValue(
                        source=each.source,
                        place=each.file if each.line is None else f"{each.file}:{each.line}",
                        value=each.value,
                        wins=each.wins,
                    )
                    for each in said
                ),
                locked="set by your organisation" if row.source == "policySettings" else "",
            )
        )
    return tuple(sorted(found, key=lambda each: (bool(each.group), each.group)))


def permission_list(
    rules: Sequence[RuleRow], folders: Sequence[FolderRow], denials: Sequence[Denial], *, mode: str
) -> Permissions:
    """Rules, folders and refusals of the session."""
    return Permissions(
        mode=mode,
        rules=tuple(rules),
        folders=tuple(folders),
        denials=tuple(
            DenialRow(tool=each.tool_name, subject=_subject(each), reason="", when="last turn")
            for each in denials
        ),
    )


def model_rows(choices: Sequence[ModelChoice]) -> tuple[ModelRow, ...]:
    """The models that are offered; a price of nothing is a price that is not known."""
    return tuple(
        ModelRow(
            id=each.value,
            name=each.value,
            description=each.model if each.model != each.value else "",
            window=each.window,
            input_price=each.input_price or None,
            output_price=each.output_price or None,
            efforts=each.efforts,
        )
        for each in choices
    )


def _subject(denial: Denial) -> str:
    return msgspec.json.encode(encodable_value(denial.tool_input)).decode()[:_MOST_SUBJECT]
