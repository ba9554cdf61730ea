"""Open a page in the user's browser."""

from typing import Annotated

from msgspec import Meta, Struct

from bridle.tools.browser import pages
from bridle.types.errors import ToolError
from bridle.types.services.browser import BROWSER
from bridle.types.tool import ToolContext, ToolOutput, tool


class BrowserNavigateInput(Struct, frozen=True, forbid_unknown_fields=True):
    url: Annotated[str, Meta(min_length=1, description="Complete address, http or https.")]
    tab: Annotated[int | None, Meta(description="The tab to use; a new one by default.")] = None


def _subject(input: BrowserNavigateInput) -> str:
    try:
        return pages.subject(pages.read_address(input.url)[1])
    except ToolError:
        return f"input:{input.url}"


def _check(input: BrowserNavigateInput, ctx: ToolContext) -> None:
    del ctx
    pages.read_address(input.url)


@tool("BrowserNavigate", BrowserNavigateInput, subject=_subject, check=_check)
async def TOOL(input: BrowserNavigateInput, ctx: ToolContext) -> ToolOutput:
    """Open a page in the browser."""
    url, site = pages.read_address(input.url)
    answer = await ctx.need(BROWSER).ask("navigate", {"tab": input.tab, "url": url, "site": site})
    data = {"tab": answer.get("tab"), "url": answer.get("url"), "moved": answer.get("moved")}
    if (moved := answer.get("moved")) is not None:
        return ToolOutput(
            content=f"The page redirects to another host and was not opened: {pages.one_line(moved, 500)}\n"
            "To open it, call BrowserNavigate again with that address.",
            data=data,
        )
    title = pages.fenced(pages.one_line(answer.get("title", "")), heading="Its title:")
    state = "The page is loaded" if answer.get("loaded") else "The page is still loading"
    head = f"{state} in tab {answer.get('tab')}. {pages.place(answer)}"
    return ToolOutput(content=f"{head}\n{title}", data=data)
