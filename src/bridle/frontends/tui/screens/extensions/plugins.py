"""The plugins: what is installed, what marketplaces offer, and what went wrong."""

from collections.abc import Sequence

from msgspec import Struct

from bridle.extensions.plugins.report import MarketplaceReport, PluginReport
from bridle.frontends.tui.render.layout import count, paragraph, style
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.list_pane import Command, ListPane
from bridle.frontends.tui.widgets.page import heading, pair
from bridle.frontends.tui.widgets.pane import Do, Pane, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView

_SCOPES = (
    ("user", "for all your projects"),
    ("project", "for everyone in this project"),
    ("local", "for you in this project"),
)


class Plugins(Struct, frozen=True, kw_only=True):
    plugins: tuple[PluginReport, ...] = ()
    marketplaces: tuple[MarketplaceReport, ...] = ()


class InstallPlugin(Struct, frozen=True):
    id: str
    scope: str


class RemovePlugin(Struct, frozen=True):
    id: str


class UpdatePlugin(Struct, frozen=True):
    id: str


class TogglePlugin(Struct, frozen=True):
    id: str
    enabled: bool


class FavorPlugin(Struct, frozen=True):
    id: str
    favorite: bool


class AddMarketplace(Struct, frozen=True):
    source: str


class RemoveMarketplace(Struct, frozen=True):
    name: str


class UpdateMarketplace(Struct, frozen=True):
    name: str


def plugins_view(data: Plugins, *, do: Do = nothing, tab: int = 0) -> TabbedView[Plugins]:
    """Tabs for what is installed, what can be, the marketplaces, and problems."""
    installed = ListPane(
        _installed(data),
        details=_details,
        do=do,
        commands=_INSTALLED,
        contexts=("Plugin", "Select"),
        empty="no plugins are installed",
    )
    offered = ListPane(
        _offered(data),
        details=_details,
        do=do,
        commands=_OFFERED,
        contexts=("Plugin", "Select"),
        empty="no plugins available; add a marketplace",
    )
    markets = ListPane(_markets(data), do=do, commands=_MARKETS, empty="no marketplaces; press a to add one")
    problems = ListPane(_problems(data), details=_details, empty="no errors")

    def update(now: Plugins) -> None:
        installed.replace(_installed(now))
        offered.replace(_offered(now))
        markets.replace(_markets(now))
        problems.replace(_problems(now))

    panes: list[tuple[str, Pane]] = [
        ("installed", installed),
        ("discover", offered),
        ("marketplaces", markets),
        ("problems", problems),
    ]
    return TabbedView("Plugins", panes, update=update, selected=tab)


def _installed(data: Plugins) -> Sequence[Item[PluginReport]]:
    rows = sorted((row for row in data.plugins if row.installed), key=lambda row: (not row.favorite, row.id))
    return [
        Item(
            value=row,
            label=("★ " if row.favorite else "") + row.name,
            facts=(row.shown_version, row.marketplace, row.scope),
            detail=row.description,
            sign=Span("✓", style("success")) if row.enabled else Span("–", style("muted")),
        )
        for row in rows
    ]


def _offered(data: Plugins) -> Sequence[Item[PluginReport]]:
    return [
        Item(
            value=row,
            label=row.name,
            facts=("installed" if row.installed else "",),
            detail=row.description,
            group=row.marketplace,
            words=" ".join(row.brings),
        )
        for row in sorted(data.plugins, key=lambda row: (row.marketplace, row.name))
    ]


def _markets(data: Plugins) -> Sequence[Item[MarketplaceReport]]:
    return [
        Item(
            value=row,
            label=row.name,
            facts=(count(row.plugins, "plugin"), row.updated[:10]),
            detail=row.problem or row.source,
            sign=Span("✗", style("error")) if row.problem else None,
        )
        for row in data.marketplaces
    ]


def _problems(data: Plugins) -> Sequence[Item[PluginReport]]:
    return [
        Item(value=row, label=row.name, detail=row.problems[0], sign=Span("!", style("warning")))
        for row in data.plugins
        if row.problems
    ]


def _details(row: PluginReport, width: int) -> list[Line]:
    rows = [heading(row.name), *paragraph(row.description, width), ()]
    for name, value in (
        ("version", row.shown_version),
        ("author", row.author),
        ("from", row.marketplace),
        ("brings", ", ".join(row.brings)),
        ("set", "by your organization" if row.managed else row.scope),
    ):
        rows += pair(name, value, width, column=10) if value else []
    for problem in row.problems:
        rows += paragraph(f"! {problem}", width, style("warning"))
    return rows


_INSTALLED: tuple[Command[PluginReport], ...] = (
    Command(
        key="plugin:toggle",
        words="on or off",
        when=lambda row: not row.managed,
        act=lambda row, _: TogglePlugin(row.id, not row.enabled) if row else None,
    ),
    Command(
        key="plugin:favorite",
        words="favorite",
        act=lambda row, _: FavorPlugin(row.id, not row.favorite) if row else None,
    ),
    Command(key="u", words="update", act=lambda row, _: UpdatePlugin(row.id) if row else None),
    Command(
        key="d",
        words="remove",
        confirm="Remove this plugin?",
        when=lambda row: not row.managed,
        act=lambda row, _: RemovePlugin(row.id) if row else None,
    ),
)
_OFFERED: tuple[Command[PluginReport], ...] = (
    Command(
        key="plugin:install",
        words="install",
        when=lambda row: not row.installed,
        choices=lambda _: _SCOPES,
        act=lambda row, given: InstallPlugin(row.id, given.choice) if row else None,
    ),
)
_MARKETS: tuple[Command[MarketplaceReport], ...] = (
    Command(
        key="a",
        words="add",
        ask="owner/repository, an address, or a folder",
        check=lambda _, text: "" if text else "type its location",
        act=lambda _, given: AddMarketplace(given.text),
        alone=True,
    ),
    Command(key="u", words="update", act=lambda row, _: UpdateMarketplace(row.name) if row else None),
    Command(
        key="d",
        words="remove",
        confirm="Remove this marketplace and its plugins?",
        act=lambda row, _: RemoveMarketplace(row.name) if row else None,
    ),
)
