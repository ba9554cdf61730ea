"""The MCP servers: how they fare, their tools, and what these cost."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from bridle.frontends.tui.render.call import tokens
from bridle.frontends.tui.render.collapse import fold_output
from bridle.frontends.tui.render.layout import MUTED, count, one_line, paragraph, style
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.list_pane import Command, ListPane
from bridle.frontends.tui.widgets.page import heading, pair
from bridle.frontends.tui.widgets.pane import Do, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView
from bridle.types.services.mcp import ServerState, Status, StdioServer

_SIGNS: Mapping[Status, tuple[str, str, str]] = {
    "connected": ("✓", "success", "connected"),
    "failed": ("✗", "error", "failed"),
    "needs-auth": ("!", "warning", "needs login"),
    "pending": ("○", "muted", "connecting"),
    "disabled": ("–", "muted", "off"),
}
_SCOPES = {
    "user": "Yours",
    "project": "Project",
    "local": "Yours, in this project",
    "dynamic": "This session",
    "enterprise": "Managed by your organization",
    "managed": "Managed by your organization",
}


class ServerRow(Struct, frozen=True, kw_only=True):
    state: ServerState
    costs: Mapping[str, int] = {}
    """Tokens of each tool's definition in a request, by the server's own name for it."""

    @property
    def tokens(self) -> int:
        return sum(self.costs.values())


class ReconnectServer(Struct, frozen=True):
    name: str


class ToggleServer(Struct, frozen=True):
    name: str
    enabled: bool


class LogIn(Struct, frozen=True):
    name: str


class LogOut(Struct, frozen=True):
    name: str


def mcp_view(servers: Sequence[ServerRow], *, do: Do = nothing) -> TabbedView[Sequence[ServerRow]]:
    """Every server with its state; enter shows its tools and what it wrote."""
    pane = ListPane(
        _items(servers),
        details=_details,
        do=do,
        empty="no servers; add one with `bridle mcp add` or in .mcp.json",
        commands=(
            Command(
                key="r",
                words="reconnect",
                when=lambda row: row.state.status != "disabled",
                act=lambda row, _: ReconnectServer(row.state.name) if row else None,
            ),
            Command(
                key="l",
                words="log in",
                when=lambda row: row.state.status == "needs-auth",
                act=lambda row, _: LogIn(row.state.name) if row else None,
            ),
            Command(
                key="o",
                words="log out",
                confirm="Log out of this server?",
                when=lambda row: row.state.status == "connected" and not _is_program(row),
                act=lambda row, _: LogOut(row.state.name) if row else None,
            ),
            Command(
                key="e",
                words="turn on",
                when=lambda row: row.state.status == "disabled",
                act=lambda row, _: ToggleServer(row.state.name, enabled=True) if row else None,
            ),
            Command(
                key="d",
                words="turn off",
                when=lambda row: row.state.status != "disabled",
                act=lambda row, _: ToggleServer(row.state.name, enabled=False) if row else None,
            ),
        ),
    )
    return TabbedView("MCP servers", [("", pane)], update=lambda now: pane.replace(_items(now)), refresh=1.0)


def _items(servers: Sequence[ServerRow]) -> list[Item[ServerRow]]:
    ordered = sorted(servers, key=_scope)
    return [_item(row) for row in ordered]


def _item(row: ServerRow) -> Item[ServerRow]:
    sign, color, words = _SIGNS[row.state.status]
    state = f"{words}, attempt {row.state.attempt}" if row.state.attempt else words
    tools = count(len(row.state.tools), "tool") if row.state.tools else ""
    return Item(
        value=row,
        label=row.state.name,
        facts=(state, tools, tokens(row.tokens) if row.tokens else ""),
        detail=row.state.error or "",
        group=_scope(row),
        words=" ".join(tool.name for tool in row.state.tools),
        sign=Span(sign, style(color)),
    )


def _details(row: ServerRow, width: int) -> list[Line]:
    state = row.state
    rows = [heading(state.name), *pair("state", _SIGNS[state.status][2], width, column=10)]
    rows += pair("from", _scope(row), width, column=10)
    rows += pair("reached", _address(row), width, column=10)
    if state.info is not None:
        rows += pair("says", f"{state.info.title or state.info.name} {state.info.version}", width, column=10)
    if state.error:
        rows += [(), *paragraph(state.error, width, style("error"))]
    if state.tools:
        rows += [(), heading(f"{count(len(state.tools), 'tool')}, {tokens(row.tokens)} in every request")]
    for tool in state.tools:
        marks = "".join((" read-only" if tool.read_only else "", " destroys" if tool.destructive else ""))
        cost = f"  {tokens(row.costs[tool.name])}" if tool.name in row.costs else ""
        rows.append(cells.truncate((Span(one_line(tool.name)), Span(cost + marks, MUTED)), width))
    if state.log.strip():
        rows += [(), heading("error output"), *fold_output(state.log, width, head=0, tail=20)]
    return rows


def _scope(row: ServerRow) -> str:
    return _SCOPES.get(row.state.scope, row.state.scope)


def _is_program(row: ServerRow) -> bool:
    return isinstance(row.state.config, StdioServer)


def _address(row: ServerRow) -> str:
    config = row.state.config
    if isinstance(config, StdioServer):
        return " ".join((config.command, *config.args))
    return str(getattr(config, "url", "the host program"))
