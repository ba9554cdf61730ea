"""The settings: how the session stands, every key with its source, and what was used."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bridle.commands.queries.settings import Kind, Scope, SettingRow
from bridle.config.explain import Statement
from bridle.frontends.tui.render.call import short_path
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

_LONGEST_VALUE = 300
_UNSET = "not set"
_KINDS: Mapping[Kind, str] = {
    "switch": "on or off",
    "choice": "",
    "number": "a number",
    "text": "text",
    "list": "a list",
    "table": "an object",
}
_SOURCES = {
    "": "default",
    "userSettings": "user",
    "projectSettings": "project",
    "localSettings": "local",
    "flagSettings": "command line",
    "policySettings": "organization",
}


class Config(Struct, frozen=True, kw_only=True):
    status: StatusFacts
    settings: tuple[SettingRow, ...] = ()
    usage: Lines = lambda _: []


class SetSetting(Struct, frozen=True):
    """Write a value; None takes the key out, so that the default counts again."""

    key: str
    value: Any
    scope: Scope = "user"


def config_view(
    data: Config, *, do: Do = nothing, tab: Literal["status", "config", "usage"] = "config", query: str = ""
) -> TabbedView[Config]:
    """Tabs for the state, the settings and the use; a setting is changed in the way its kind asks for."""
    status = TextPane(lambda width: status_lines(data.status, width))
    changes = _Changes(data.settings, do)
    settings = ListPane(
        _items(data.settings),
        details=_details,
        do=changes.make,
        accept=(_SWITCH, _CHOOSE, _TYPE_NUMBER, _TYPE_TEXT, _TYPE_LIST),
        commands=(
            Command(
                key="backspace",
                words="default",
                when=lambda row: row.said_in(row.scope) is not None and not row.is_locked,
                act=lambda row, _: SetSetting(row.key, None, row.scope) if row else None,
            ),
            Command(key="u", words="undo", when=lambda _: changes.can_undo, act=lambda _, __: changes.undo()),
        ),
        contexts=("Settings",),
    )
    usage = TextPane(data.usage)

    def update(now: Config) -> None:
        status.replace(lambda width: status_lines(now.status, width))
        settings.replace(_items(now.settings))
        changes.rows = now.settings
        usage.replace(now.usage)

    if query:
        settings.picker.press(_SLASH)
        settings.paste(query)
    panes: list[tuple[str, Pane]] = [("status", status), ("config", settings), ("usage", usage)]
    return TabbedView("Settings", panes, selected=[name for name, _ in panes].index(tab), update=update)


class _Changes:
    """What was changed in this view, to be undone."""

    def __init__(self, rows: Sequence[SettingRow], do: Do) -> None:
        self.rows = rows
        self._do = do
        self._before: list[SetSetting] = []
        """What would undo each change, the newest last."""

    @property
    def can_undo(self) -> bool:
        return bool(self._before)

    def make(self, change: Any) -> None:
        row = next(
            (row for row in self.rows if isinstance(change, SetSetting) and row.key == change.key), None
        )
        if row is not None:
            self._before.append(SetSetting(row.key, row.said_in(change.scope), change.scope))
        self._do(change)

    def undo(self) -> None:
        """Write what was there before the last change."""
        if self._before:
            self._do(self._before.pop())


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
            facts=(shown_value(row.value), source_name(row.source)),
            detail=row.meaning,
            group=row.group,
            words=" ".join(row.choices),
        )
        for row in sorted(rows, key=lambda row: row.rank)
    ]


def _details(row: SettingRow, width: int) -> list[Line]:
    rows = [heading(row.key), *(paragraph(f"{row.meaning}.", width) if row.meaning else []), ()]
    for name, value in (
        ("value", shown_value(row.value)),
        ("values", ", ".join(row.choices) or _KINDS[row.kind]),
        ("default", shown_value(row.default)),
        ("source", source_name(row.source)),
        ("no effect", row.no_effect),
        ("locked", "set by your organization" if row.is_locked else ""),
        ("change", f"bridle config set {row.key} '<JSON>'" if row.kind == "table" else ""),
    ):
        rows += pair(name, value, width, column=11) if value else []
    if row.statements:
        rows += [(), heading("set in")]
    for said in reversed(row.statements):
        mark = "✓" if said.wins else " "
        rows.append((Span(f"{mark} {source_name(said.source)}: {shown_value(said.value)}"),))
        rows.append((Span(f"  {one_line(_place(said))}", MUTED),))
    return rows


def source_name(source: str) -> str:
    """Where a value comes from, in words."""
    return _SOURCES.get(source, one_line(source))


def _place(said: Statement) -> str:
    file = short_path(said.file, "")
    return file if said.line is None else f"{file}:{said.line}"


def _is_open(kind: Kind) -> Callable[[SettingRow], bool]:
    return lambda row: row.kind == kind and not row.is_locked


def _parsed_number(row: SettingRow | None, given: CommandInput) -> SetSetting | None:
    number = _number(given.text)
    return None if row is None or number is None else SetSetting(row.key, number, row.scope)


def _number(text: str) -> int | float | None:
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return None


def _words(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _choices(row: SettingRow) -> list[tuple[str, str]]:
    default = "default" if row.default is None else f"default ({shown_value(row.default)})"
    return [("", default), *((each, each) for each in row.choices)]


_SLASH = Key("/", text="/")
_SWITCH: Command[SettingRow] = Command(
    key="enter",
    words="switch",
    when=_is_open("switch"),
    act=lambda row, _: SetSetting(row.key, not row.value, row.scope) if row else None,
)
_CHOOSE: Command[SettingRow] = Command(
    key="enter",
    words="choose",
    when=_is_open("choice"),
    choices=lambda row: _choices(row) if row else (),
    chosen=lambda row: str(row.value) if row.source else "",
    act=lambda row, given: SetSetting(row.key, given.choice or None, row.scope) if row else None,
)
_TYPE_NUMBER: Command[SettingRow] = Command(
    key="enter",
    words="change",
    when=_is_open("number"),
    ask="Number",
    initial=lambda row: "" if row.value is None else str(row.value),
    check=lambda _, text: "" if _number(text) is not None else "not a number",
    act=_parsed_number,
)
_TYPE_TEXT: Command[SettingRow] = Command(
    key="enter",
    words="change",
    when=_is_open("text"),
    ask="Text (empty for the default)",
    initial=lambda row: "" if row.value is None else str(row.value),
    act=lambda row, given: SetSetting(row.key, given.text or None, row.scope) if row else None,
)
_TYPE_LIST: Command[SettingRow] = Command(
    key="enter",
    words="change",
    when=_is_open("list"),
    ask="Values, separated by commas",
    initial=lambda row: ", ".join(map(str, row.value or ())),
    act=lambda row, given: SetSetting(row.key, _words(given.text), row.scope) if row else None,
)
