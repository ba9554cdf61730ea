"""The settings: how the session stands, every key with its source, and what was used."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bridle.frontends.tui.render.layout import MUTED, one_line, paragraph
from bridle.frontends.tui.screens.session.status import StatusFacts, status_lines
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.terminal.keys import Key
from bridle.frontends.tui.widgets.list_pane import Command, CommandInput, ListPane
from bridle.frontends.tui.widgets.page import heading, pair
from bridle.frontends.tui.widgets.pane import Do, Lines, Pane, TextPane, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView
from bridle.types.text import encodable_value

Kind = Literal["switch", "choice", "number", "text", "list", "table"]

_LONGEST_VALUE = 300
_UNSET = "(default)"


class SourceValue(Struct, frozen=True, kw_only=True):
    """What one source says about a key."""

    source: str
    place: str
    """The file, with the line where it is known."""
    value: Any
    wins: bool = False


class SettingRow(Struct, frozen=True, kw_only=True):
    """A key that can be set."""

    key: str
    kind: Kind
    value: Any = None
    """What counts now; None where nothing does."""
    is_default: bool = True
    choices: tuple[str, ...] = ()
    description: str = ""
    group: str = ""
    said: tuple[SourceValue, ...] = ()
    locked: str = ""
    """Why it cannot be changed here; empty when it can."""


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
                when=lambda row: not row.is_default and not row.locked,
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
            facts=(shown_value(row.value), _source(row)),
            detail=row.description,
            group=row.group,
        )
        for row in rows
    ]


def _source(row: SettingRow) -> str:
    if row.is_default:
        return ""
    return next((said.source for said in reversed(row.said) if said.wins), "")


def _details(row: SettingRow, width: int) -> list[Line]:
    rows = [heading(row.key), *paragraph(row.description, width), ()]
    rows += pair("value", shown_value(row.value), width, column=10)
    if row.choices:
        rows += pair("one of", ", ".join(row.choices), width, column=10)
    if row.locked:
        rows += pair("fixed", row.locked, width, column=10)
    if row.said:
        rows += [(), heading("who says so")]
    for said in reversed(row.said):
        mark = "✓" if said.wins else " "
        rows.append((Span(f"{mark} {one_line(said.source)}: {shown_value(said.value)}"),))
        rows.append((Span(f"  {one_line(said.place)}", MUTED),))
    return rows


def _is_open(kind: Kind) -> Callable[[SettingRow], bool]:
    return lambda row: row.kind == kind and not row.locked


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
