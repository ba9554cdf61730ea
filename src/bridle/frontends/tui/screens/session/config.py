"""The settings: how the session stands, every key with its source, and what was used."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bridle.commands.queries.settings import Kind, SettingRow
from bridle.config.explain import Statement
from bridle.frontends.tui.render.layout import MUTED, one_line
from bridle.frontends.tui.screens.session.status import StatusFacts, status_lines
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.terminal.keys import Key
from bridle.frontends.tui.widgets.list_pane import Command, CommandInput, ListPane
from bridle.frontends.tui.widgets.page import heading, pair
from bridle.frontends.tui.widgets.pane import Do, Lines, Pane, TextPane, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView
from bridle.types.text import encodable_value

_LONGEST_VALUE = 300
_UNSET = "(default)"


class Config(Struct, frozen=True, kw_only=True):
    status: StatusFacts
    settings: tuple[SettingRow, ...] = ()
    usage: Lines = lambda _: []


class SetSetting(Struct, frozen=True):
    """Write a value; None takes the key out, so that the default counts again."""

    key: str
    value: Any


def config_view(
    data: Config, *, do: Do = nothing, tab: Literal["status", "config", "usage"] = "config", query: str = ""
) -> TabbedView[Config]:
    """Tabs for the state, the settings and the use; a setting is changed in the way its kind asks for."""
    status = TextPane(lambda width: status_lines(data.status, width))
    settings = ListPane(
        _items(data.settings),
        details=_details,
        do=do,
        accept=(_SWITCH, _CHOOSE, _TYPE_NUMBER, _TYPE_TEXT, _TYPE_LIST),
        commands=(
            Command(
                key="backspace",
                words="default",
                when=lambda row: bool(row.source) and not row.is_locked,
                act=lambda row, _: SetSetting(row.key, None) if row else None,
            ),
        ),
        contexts=("Settings",),
    )
    usage = TextPane(data.usage)

    def update(now: Config) -> None:
        status.replace(lambda width: status_lines(now.status, width))
        settings.replace(_items(now.settings))
        usage.replace(now.usage)

    if query:
        settings.picker.press(_SLASH)
        settings.paste(query)
    panes: list[tuple[str, Pane]] = [("status", status), ("config", settings), ("usage", usage)]
    return TabbedView("Settings", panes, selected=[name for name, _ in panes].index(tab), update=update)


def shown_value(value: Any) -> str:
    """A value as people write it."""
    match value:
        case None:
            return _UNSET
        case True | False:
            return "on" if value else "off"
        case str():
            return one_line(value[:_LONGEST_VALUE])
        case _:
            return one_line(msgspec.json.encode(encodable_value(value)).decode()[:_LONGEST_VALUE])


def _items(rows: Sequence[SettingRow]) -> list[Item[SettingRow]]:
    return [
        Item(
            value=row,
            label=row.key,
            facts=(shown_value(row.value), row.source),
            group=row.group,
        )
        for row in sorted(rows, key=lambda row: (bool(row.group), row.group))
    ]


def _details(row: SettingRow, width: int) -> list[Line]:
    rows = [heading(row.key), (), ()]
    rows += pair("value", shown_value(row.value), width, column=10)
    if row.choices:
        rows += pair("one of", ", ".join(row.choices), width, column=10)
    if row.is_locked:
        rows += pair("fixed", "set by your organisation", width, column=10)
    if row.statements:
        rows += [(), heading("who says so")]
    for said in reversed(row.statements):
        mark = "✓" if said.wins else " "
        rows.append((Span(f"{mark} {one_line(said.source)}: {shown_value(said.value)}"),))
        rows.append((Span(f"  {one_line(_place(said))}", MUTED),))
    return rows


def _place(said: Statement) -> str:
    return said.file if said.line is None else f"{said.file}:{said.line}"


def _is_open(kind: Kind) -> Callable[[SettingRow], bool]:
    return lambda row: row.kind == kind and not row.is_locked


def _parsed_number(row: SettingRow | None, given: CommandInput) -> SetSetting | None:
    number = _number(given.text)
    return None if row is None or number is None else SetSetting(row.key, number)


def _number(text: str) -> int | float | None:
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return None


def _words(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


_SLASH = Key("/", text="/")
_SWITCH: Command[SettingRow] = Command(
    key="enter",
    words="switch",
    when=_is_open("switch"),
    act=lambda row, _: SetSetting(row.key, not row.value) if row else None,
)
_CHOOSE: Command[SettingRow] = Command(
    key="enter",
    words="choose",
    when=_is_open("choice"),
    choices=lambda row: [(each, each) for each in row.choices] if row else (),
    act=lambda row, given: SetSetting(row.key, given.choice) if row else None,
)
_TYPE_NUMBER: Command[SettingRow] = Command(
    key="enter",
    words="change",
    when=_is_open("number"),
    ask="A number",
    initial=lambda row: "" if row.value is None else str(row.value),
    check=lambda _, text: "" if _number(text) is not None else "that is not a number",
    act=_parsed_number,
)
_TYPE_TEXT: Command[SettingRow] = Command(
    key="enter",
    words="change",
    when=_is_open("text"),
    ask="A text",
    initial=lambda row: "" if row.value is None else str(row.value),
    act=lambda row, given: SetSetting(row.key, given.text or None) if row else None,
)
_TYPE_LIST: Command[SettingRow] = Command(
    key="enter",
    words="change",
    when=_is_open("list"),
    ask="Values with commas between them",
    initial=lambda row: ", ".join(map(str, row.value or ())),
    act=lambda row, given: SetSetting(row.key, _words(given.text)) if row else None,
)
