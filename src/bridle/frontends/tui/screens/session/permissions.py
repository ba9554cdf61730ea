"""The permission rules, the folders and what was denied lately."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from bridle.commands.queries.rules import DenialRow, FolderRow, RuleRow
from bridle.frontends.tui.render.layout import paragraph
from bridle.frontends.tui.style.text import Line
from bridle.frontends.tui.widgets.list_pane import Command, ListPane
from bridle.frontends.tui.widgets.page import heading, pair
from bridle.frontends.tui.widgets.pane import Do, Pane, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView

Effect = Literal["allow", "ask", "deny"]
EFFECTS: tuple[Effect, ...] = ("allow", "ask", "deny")
DESTINATIONS = (
    ("localSettings", "this project, only for you"),
    ("projectSettings", "this project, for everyone"),
    ("userSettings", "all your projects"),
    ("session", "this session"),
)
_SOURCES = {
    "policySettings": "set by your organization",
    "flagSettings": "from the command line",
    "cliArg": "from the command line",
    "command": "from a command",
    **dict(DESTINATIONS),
}
_WRITABLE = frozenset(value for value, _ in DESTINATIONS)


class Permissions(Struct, frozen=True, kw_only=True):
    mode: str = "default"
    rules: tuple[RuleRow, ...] = ()
    folders: tuple[FolderRow, ...] = ()
    denials: tuple[DenialRow, ...] = ()


class AddRule(Struct, frozen=True):
    effect: Effect
    text: str
    destination: str


class RemoveRule(Struct, frozen=True):
    effect: Effect
    text: str
    source: str


class AddFolder(Struct, frozen=True):
    path: str
    destination: str


class RemoveFolder(Struct, frozen=True):
    path: str
    source: str


def permissions_view(data: Permissions, *, do: Do = nothing, tab: int = 0) -> TabbedView[Permissions]:
    """Tabs of rules by what they do, of folders, and of recent denials; a new one may be added to each."""
    rules: dict[Effect, ListPane[RuleRow]] = {each: _rules_pane(each, data, do) for each in EFFECTS}
    folders = _folders_pane(data, do)
    denials = _denials_pane(data, do)

    def update(now: Permissions) -> None:
        for effect, pane in rules.items():
            pane.replace(_rule_items(now, effect))
        folders.replace(_folder_items(now))
        denials.replace(_denial_items(now))

    panes: list[tuple[str, Pane]] = [*rules.items(), ("folders", folders), ("recent denials", denials)]
    return TabbedView("Permissions", panes, aside=f"mode: {data.mode}", update=update, selected=tab)


_MEANING: dict[Effect, str] = {
    "allow": "These calls run without approval.",
    "ask": "These calls always need approval, in every mode.",
    "deny": "These calls are always blocked. Deny rules override ask and allow rules.",
}


def _rules_pane(effect: Effect, data: Permissions, do: Do) -> ListPane[RuleRow]:
    def add(_: RuleRow | None, text: str, destination: str) -> AddRule:
        return AddRule(effect, text, destination)

    return ListPane(
        _rule_items(data, effect),
        do=do,
        details=_rule_details,
        intro=lambda width: [*paragraph(_MEANING[effect], width), ()],
        empty="no rules yet; press a to add one",
        commands=(
            Command(
                key="a",
                words="add",
                ask="Rule, such as Bash(git push *) or WebFetch(domain:example.org)",
                check=lambda _, text: "" if text else "type a rule",
                choices=lambda _: DESTINATIONS,
                act=lambda row, given: add(row, given.text, given.choice),
                alone=True,
            ),
            Command(
                key="d",
                words="remove",
                confirm="Remove this rule?",
                when=lambda row: row.source in _WRITABLE,
                act=lambda row, _: RemoveRule(row.effect.value, row.text, row.source) if row else None,
            ),
        ),
    )


def _folders_pane(data: Permissions, do: Do) -> ListPane[FolderRow]:
    return ListPane(
        _folder_items(data),
        do=do,
        intro=lambda width: [*paragraph("bridle can read and edit files in these folders.", width), ()],
        commands=(
            Command(
                key="a",
                words="add",
                ask="Folder",
                check=lambda _, text: "" if text else "type the path of a folder",
                choices=lambda _: DESTINATIONS,
                act=lambda _, given: AddFolder(given.text, given.choice),
                alone=True,
            ),
            Command(
                key="d",
                words="remove",
                confirm="Remove this folder?",
                when=lambda row: row.source in _WRITABLE,
                act=lambda row, _: RemoveFolder(row.path, row.source) if row else None,
            ),
        ),
    )


def _denials_pane(data: Permissions, do: Do) -> ListPane[DenialRow]:
    return ListPane(
        _denial_items(data),
        do=do,
        details=_denial_details,
        empty="no recent denials",
        commands=(
            Command(
                key="a",
                words="always allow",
                ask="Rule that allows it",
                initial=lambda row: row.rule,
                check=lambda _, text: "" if text else "type a rule",
                choices=lambda _: DESTINATIONS,
                act=lambda _, given: AddRule("allow", given.text, given.choice),
            ),
        ),
    )


def _rule_items(data: Permissions, effect: Effect) -> Sequence[Item[RuleRow]]:
    return [
        Item(value=row, label=row.text, facts=(_SOURCES.get(row.source, row.source),), detail=_note(row))
        for row in data.rules
        if row.effect.value == effect
    ]


def _note(row: RuleRow) -> str:
    return f"no effect: {row.fault}" if row.fault else ""


def _folder_items(data: Permissions) -> Sequence[Item[FolderRow]]:
    return [
        Item(value=row, label=row.path, facts=(_SOURCES.get(row.source, row.source or "working directory"),))
        for row in data.folders
    ]


def _denial_items(data: Permissions) -> Sequence[Item[DenialRow]]:
    return [Item(value=row, label=f"{row.tool} {row.subject}", facts=("last turn",)) for row in data.denials]


def _rule_details(row: RuleRow, width: int) -> list[Line]:
    rows = [heading(row.text), (), *pair("effect", row.effect.value, width, column=10)]
    rows += pair("source", _SOURCES.get(row.source, row.source), width, column=10)
    rows += pair("file", row.file, width, column=10) if row.file else []
    return [*rows, *([(), *paragraph(note, width)] if (note := _note(row)) else [])]


def _denial_details(row: DenialRow, width: int) -> list[Line]:
    return [heading(row.tool), *paragraph(row.subject, width), (), ()]
