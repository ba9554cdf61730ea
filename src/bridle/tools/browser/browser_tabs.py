"""List and close tabs of the user's browser."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from bridle.tools.browser.pages import fenced, one_line
from bridle.types.errors import ToolError
from bridle.types.services.browser import BROWSER, BrowserTab
from bridle.types.tool import ToolContext, ToolOutput, tool


class BrowserTabsInput(Struct, frozen=True, forbid_unknown_fields=True):
    action: Annotated[Literal["list", "select", "close"], Meta(description="select: bring it to the front.")]
    tab: Annotated[int | None, Meta(description="The number of the tab, to select or close it.")] = None


def _check(input: BrowserTabsInput, ctx: ToolContext) -> None:
    del ctx
    if input.action != "list" and input.tab is None:
        raise ToolError(f"Say which tab to {input.action}; list shows their numbers.")


@tool(
    "BrowserTabs",
    BrowserTabsInput,
    subject=lambda input: input.action,
    read_only=lambda input: input.action == "list",
    check=_check,
)
async def TOOL(input: BrowserTabsInput, ctx: ToolContext) -> ToolOutput:
    """List, select or close tabs of the browser."""
    browser = ctx.need(BROWSER)
    if input.action != "list":
        await browser.ask(input.action, {"tab": input.tab})
    tabs = await browser.tabs()
    data = {"action": input.action, "tabs": [{"id": each.id, "url": each.url} for each in tabs]}
    if not tabs:
        return ToolOutput(content="No tabs. Open one with BrowserNavigate.", data=data)
    return ToolOutput(content=fenced("\n".join(map(_row, tabs)), heading=f"{len(tabs)} tabs:"), data=data)


def _row(tab: BrowserTab) -> str:
    shared = " (shared by the user)" if tab.shared else ""
    return f"{tab.id}: {one_line(tab.url, 300)} {one_line(tab.title)!r}{shared}"
