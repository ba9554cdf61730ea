"""The hooks, by event, matcher and hook, with where each was written."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from bridle.frontends.tui.render.layout import count, one_line, paragraph, style
from bridle.frontends.tui.screens.actions import EditFile
from bridle.frontends.tui.screens.session.config import SetSetting
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.list_pane import Command, CommandInput, ListPane
from bridle.frontends.tui.widgets.nested_lists import NestedLists
from bridle.frontends.tui.widgets.page import heading, pair
from bridle.frontends.tui.widgets.pane import Do, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView
from bridle.hooks.table import Entry, Table
from bridle.types.hooks.events import EVENTS


class HookRow(Struct, frozen=True, kw_only=True):
    event: str
    matcher: str
    kind: str
    what: str
    """The command, address, prompt or tool."""
    source: str
    owner: str = ""
    file: str = ""
    line: int | None = None
    timeout: float | None = None
    condition: str = ""
    objection: str = ""
    """Why it does not count; empty when it does."""


def hook_rows(table: Table) -> tuple[HookRow, ...]:
    """Every hook of a table, those that do not count included."""
    return tuple(_row(entry, table.policy.objection(entry) or "") for entry in table.entries)


def hooks_view(rows: Sequence[HookRow], *, disabled: bool = False, do: Do = nothing) -> TabbedView[None]:
    """Events first; enter leads to their matchers and on to the hooks; space turns all off or on again."""
    drill = NestedLists()
    drill.push("", _events(rows, drill, do, disabled=disabled))
    idle = sum(bool(row.objection) for row in rows)
    aside = count(len(rows), "hook") + (f", {idle} idle" if idle else "")
    return TabbedView("Hooks", [("", drill)], aside=aside)


def _events(rows: Sequence[HookRow], drill: NestedLists, do: Do, *, disabled: bool) -> ListPane[str]:
    names = list(dict.fromkeys((*(row.event for row in rows), *EVENTS)))

    def enter(event: str | None, _: CommandInput) -> None:
        of_event = [row for row in rows if row.event == event]
        if event is not None and of_event:
            drill.push(event, _matchers(of_event, drill, do))

    items = [
        Item(
            value=name,
            label=name,
            facts=(count(number, "hook"),) if (number := sum(row.event == name for row in rows)) else ("",),
            detail=_about(name),
            words=" ".join(row.what for row in rows if row.event == name),
        )
        for name in names
    ]
    has_hooks = {row.event for row in rows}
    switch: Command[str] = Command(
        key="space",
        words="all on" if disabled else "all off",
        closes=True,
        alone=True,
        act=lambda _, __: SetSetting("disableAllHooks", None if disabled else True),
    )
    return ListPane(
        items,
        do=do,
        commands=(switch,),
        accept=(Command(key="enter", words="matchers", act=enter, when=lambda name: name in has_hooks),),
    )


def _about(event: str) -> str:
    """When an event comes, in a sentence."""
    kind = EVENTS.get(event)
    return "" if kind is None else (kind.__doc__ or "").partition("\n")[0]


def _matchers(rows: Sequence[HookRow], drill: NestedLists, do: Do) -> ListPane[str]:
    names = list(dict.fromkeys(row.matcher for row in rows))

    def enter(matcher: str | None, _: CommandInput) -> None:
        drill.push(matcher or "all", _hooks([row for row in rows if row.matcher == matcher], do))

    items = [
        Item(value=name, label=name or "(all)", facts=(count(number, "hook"),))
        for name in names
        if (number := sum(row.matcher == name for row in rows))
    ]
    return ListPane(items, accept=(Command(key="enter", words="hooks", act=enter),))


def _hooks(rows: Sequence[HookRow], do: Do) -> ListPane[HookRow]:
    items = [
        Item(
            value=row,
            label=one_line(row.what[:300]),
            facts=(row.kind, row.source),
            detail=row.objection,
            sign=Span("–", style("warning")) if row.objection else Span("✓", style("success")),
        )
        for row in rows
    ]
    edit: Command[HookRow] = Command(
        key="e",
        words="open the file",
        when=lambda row: bool(row.file),
        act=lambda row, _: EditFile(row.file, row.line) if row else None,
    )
    return ListPane(items, details=_details, do=do, commands=(edit,))


def _details(row: HookRow, width: int) -> list[Line]:
    rows = [*paragraph(row.what, width, style("code")), ()]
    place = row.file if row.line is None else f"{row.file}:{row.line}"
    for name, value in (
        ("kind", row.kind),
        ("source", row.source),
        ("owner", row.owner),
        ("file", place),
        ("only if", row.condition),
        ("timeout", "" if row.timeout is None else f"{row.timeout:g} s"),
    ):
        rows += pair(name, value, width, column=10) if value else []
    if row.objection:
        rows += [(), heading("ignored"), *paragraph(row.objection, width, style("warning"))]
    return rows


def _row(entry: Entry, objection: str) -> HookRow:
    hook: Any = entry.hook
    names = ("command", "url", "prompt", "tool", "callback_id", "label")
    what = next((str(value) for name in names if (value := getattr(hook, name, None))), entry.kind)
    return HookRow(
        event=entry.event,
        matcher=entry.matcher_text or "",
        kind=entry.kind,
        what=what,
        source=entry.origin.source,
        owner=entry.origin.owner,
        file=entry.origin.file,
        line=entry.origin.line,
        timeout=hook.timeout,
        condition=hook.condition or "",
        objection=objection,
    )
