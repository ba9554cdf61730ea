"""Run JavaScript in a page of the user's browser."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from bridle.tools.browser import pages
from bridle.types.services.browser import BROWSER
from bridle.types.tool import UNLISTED, ToolContext, ToolOutput, tool

_LONGEST = 20_000


class BrowserScriptInput(Struct, frozen=True, forbid_unknown_fields=True):
    script: Annotated[
        str,
        Meta(min_length=1, max_length=50_000, description="The body of an async function; end with return."),
    ]
    tab: Annotated[int | None, Meta(description="The tab; the last one used by default.")] = None
    site: Annotated[str, UNLISTED] = ""


@tool(
    "BrowserScript",
    BrowserScriptInput,
    subject=lambda input: pages.subject(input.site),
    check=lambda input, _: pages.require_site(input.site),
)
async def TOOL(input: BrowserScriptInput, ctx: ToolContext) -> ToolOutput:
    """Run JavaScript in a page."""
    params = {"tab": input.tab, "site": input.site, "script": input.script, "settle": True}
    answer = await ctx.need(BROWSER).ask("script", params)
    value = answer.get("value")
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    cut = f", the first {_LONGEST} of {len(text)} characters" if len(text) > _LONGEST else ""
    result = pages.fenced(text[:_LONGEST], heading=f"It returned{cut}:")
    lines = [result, *pages.dialogs(answer), pages.place(answer)]
    return ToolOutput(
        content="\n".join(lines), data={"tab": input.tab, "site": input.site, "script": input.script}
    )
