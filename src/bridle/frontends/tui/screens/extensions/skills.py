"""The skills, what their mention costs, and which of them the model may use."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from bridle.commands.queries.extensions import SkillFacts
from bridle.frontends.tui.render.call import tokens
from bridle.frontends.tui.render.layout import count, paragraph, style
from bridle.frontends.tui.screens.actions import EditFile, RunCommand
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.list_pane import Command, CommandInput, ListPane
from bridle.frontends.tui.widgets.page import heading, pair
from bridle.frontends.tui.widgets.pane import Do, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView

Visibility = Literal["on", "name-only", "user-invocable-only", "off"]
VISIBILITIES: tuple[tuple[Visibility, str], ...] = (
    ("on", "the model sees its name and description"),
    ("name-only", "the model sees only its name"),
    ("user-invocable-only", "only you can call it"),
    ("off", "off"),
)
_SIGNS: dict[Visibility, tuple[str, str]] = {
    "on": ("✓", "success"),
    "name-only": ("◐", "info"),
    "user-invocable-only": ("○", "muted"),
    "off": ("–", "muted"),
}


class SetVisibility(Struct, frozen=True):
    name: str
    visibility: Visibility


def skills_view(skills: Sequence[SkillFacts], *, do: Do = nothing) -> TabbedView[Sequence[SkillFacts]]:
    """Every skill by source; `t` sorts by cost, space changes who may use it, enter puts it in the prompt."""
    shown: list[SkillFacts] = list(skills)
    is_by_cost = False

    def sort(_: SkillFacts | None, __: CommandInput) -> None:
        nonlocal is_by_cost
        is_by_cost = not is_by_cost
        pane.replace(_items(shown, by_cost=is_by_cost))

    pane: ListPane[SkillFacts] = ListPane(
        _items(skills, by_cost=False),
        details=_details,
        do=do,
        empty="no skills; add one in .claude/skills/NAME/SKILL.md",
        accept=(
            Command(
                key="enter",
                words="use",
                closes=True,
                when=lambda row: row.visibility != "off",
                act=lambda row, _: RunCommand(row.name) if row else None,
            ),
        ),
        commands=(
            Command(key="t", words="sort by cost", act=sort, alone=True),
            Command(
                key="space",
                words="change who can use it",
                when=lambda row: not row.locked,
                choices=lambda _: VISIBILITIES,
                act=lambda row, given: _visible(row, given.choice),
            ),
            Command(
                key="e",
                words="edit",
                when=lambda row: bool(row.own_file),
                act=lambda row, _: EditFile(row.own_file) if row else None,
            ),
        ),
    )
    sheet: TabbedView[Sequence[SkillFacts]] = TabbedView("Skills", [("", pane)], aside=_aside(skills))

    def update(now: Sequence[SkillFacts]) -> None:
        shown[:] = now
        sheet.aside = _aside(now)
        pane.replace(_items(now, by_cost=is_by_cost))

    sheet.on_update(update)
    return sheet


def _visible(row: SkillFacts | None, choice: str) -> SetVisibility | None:
    for value, _ in VISIBILITIES:
        if row is not None and value == choice:
            return SetVisibility(row.name, value)
    return None


def _aside(skills: Sequence[SkillFacts]) -> str:
    return f"{count(len(skills), 'skill')}, {tokens(sum(each.tokens for each in skills))} in every request"


def _items(skills: Sequence[SkillFacts], *, by_cost: bool) -> list[Item[SkillFacts]]:
    ordered = sorted(skills, key=lambda row: (-row.tokens,) if by_cost else (row.origin, row.name))
    return [
        Item(
            value=row,
            label=row.name,
            facts=(tokens(row.tokens) if row.tokens else "",),
            detail=row.description,
            group="" if by_cost else row.origin,
            sign=Span(_SIGNS[row.visibility][0], style(_SIGNS[row.visibility][1])),
        )
        for row in ordered
    ]


def _details(row: SkillFacts, width: int) -> list[Line]:
    rows = [heading(row.name), *paragraph(row.description, width), ()]
    rows += pair("from", row.origin, width, column=10)
    rows += pair("file", row.own_file, width, column=10) if row.own_file else []
    rows += pair("seen", dict(VISIBILITIES)[row.visibility], width, column=10)
    rows += pair("mention", tokens(row.tokens), width, column=10)
    return [*rows, *(pair("used", tokens(row.body_tokens), width, column=10) if row.body_tokens else [])]
