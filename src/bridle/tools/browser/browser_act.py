"""Click, type and scroll in a page of the user's browser."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from bridle.tools.browser import pages
from bridle.types.errors import ToolError
from bridle.types.services.browser import BROWSER
from bridle.types.tool import UNLISTED, ToolContext, ToolOutput, tool

_DONE = {"click": "Clicked", "fill": "Filled", "press": "Pressed", "scroll": "Scrolled to"}


class BrowserActInput(Struct, frozen=True, forbid_unknown_fields=True):
    action: Annotated[Literal["click", "fill", "press", "scroll"], Meta(description="What to do.")]
    ref: Annotated[int | None, Meta(description="The element, as BrowserRead numbers it.")] = None
    text: Annotated[
        str | None,
        Meta(
            description="fill: the new value, the label of an option, or true or false for a box to check. "
            "press: a key such as Enter, Tab or ArrowDown. scroll: up, down, top or bottom, without a ref."
        ),
    ] = None
    x: Annotated[float | None, Meta(description="click without a ref: where, in pixels of the page.")] = None
    y: float | None = None
    tab: Annotated[int | None, Meta(description="The tab; the last one used by default.")] = None
    site: Annotated[str, UNLISTED] = ""


def _check(input: BrowserActInput, ctx: ToolContext) -> None:
    del ctx
    pages.require_site(input.site)
    match input.action:
        case "click" if input.ref is None and (input.x is None or input.y is None):
            raise ToolError("Say what to click: a ref, or x and y.")
        case "fill" if input.ref is None or input.text is None:
            raise ToolError("Say what to fill: a ref and a text.")
        case "press" if not input.text:
            raise ToolError("Say which key to press, as text.")
        case "scroll" if input.ref is None and not input.text:
            raise ToolError("Say where to scroll: a ref, or up, down, top or bottom as text.")
        case _:
            pass


@tool("BrowserAct", BrowserActInput, subject=lambda input: pages.subject(input.site), check=_check)
async def TOOL(input: BrowserActInput, ctx: ToolContext) -> ToolOutput:
    """Click, fill in a field, press a key or scroll in a page."""
    params: dict[str, Any] = {"tab": input.tab, "site": input.site, "settle": input.action != "scroll"}
    match input.action:
        case "click":
            params |= {"ref": input.ref, "x": input.x, "y": input.y}
        case "press":
            params["key"] = input.text
        case _:
            params |= {"ref": input.ref, "text": input.text}
    answer = await ctx.need(BROWSER).ask(input.action, params)
    what = repr(pages.one_line(answer["name"])) if answer.get("name") else "the page"
    if input.action == "press":
        what = str(input.text)
    lines = [f"{_DONE[input.action]} {what}.", *pages.dialogs(answer)]
    if params["settle"]:
        lines.append(pages.place(answer))
    data = {"action": input.action, "tab": input.tab, "site": input.site, "url": answer.get("url")}
    return ToolOutput(content="\n".join(lines), data=data)
