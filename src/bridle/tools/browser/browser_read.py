"""Read what a page in the user's browser shows, logs and loads."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from bridle.tools.browser import pages
from bridle.types.services.browser import BROWSER
from bridle.types.tool import UNLISTED, ToolContext, ToolOutput, tool

_LIMIT = {"text": 20_000, "elements": 150}
_LINES = 60


class BrowserReadInput(Struct, frozen=True, forbid_unknown_fields=True):
    what: Annotated[
        Literal["text", "elements", "screenshot", "console", "network"],
        Meta(description="elements: links, buttons and fields, each with its ref."),
    ]
    tab: Annotated[int | None, Meta(description="The tab; the last one used by default.")] = None
    filter: Annotated[str, Meta(description="Only elements, messages or requests that contain this.")] = ""
    offset: Annotated[int, Meta(ge=0, description="Where to continue a long text or list.")] = 0
    site: Annotated[str, UNLISTED] = ""


@tool(
    "BrowserRead",
    BrowserReadInput,
    subject=lambda input: pages.subject(input.site),
    read_only=True,
    parallel=lambda _: False,
    check=lambda input, _: pages.require_site(input.site),
    max_result_chars=None,
)
async def TOOL(input: BrowserReadInput, ctx: ToolContext) -> ToolOutput:
    """Read the text, elements, console or network of a page, or take a screenshot."""
    params = {"tab": input.tab, "site": input.site, "filter": input.filter, "offset": input.offset}
    answer = await ctx.need(BROWSER).ask(input.what, {**params, "limit": _LIMIT.get(input.what)})
    said = "".join(f"{line}\n" for line in pages.dialogs(answer))
    data = {"what": input.what, "tab": input.tab, "site": input.site}
    if input.what == "screenshot":
        return _picture(answer, data, said)
    text, more = _shown(input, answer)
    heading = f"{said}{input.what.capitalize()} of the page at {input.site} (tab {input.tab}){more}:"
    return ToolOutput(content=pages.fenced(text or "(nothing)", heading=heading), data=data)


def _picture(answer: Mapping[str, Any], data: dict[str, Any], said: str) -> ToolOutput:
    scale = answer.get("scale") or 1
    size = f"{answer.get('width')}x{answer.get('height')}"
    note = f"{said}Screenshot, {size} pixels; multiply by {1 / scale:.3g} for the x and y of a click."
    return ToolOutput(
        content=[
            {"type": "text", "text": note},
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/jpeg", "data": str(answer.get("data", ""))},
            },
        ],
        data=data,
    )


def _shown(input: BrowserReadInput, answer: Mapping[str, Any]) -> tuple[str, str]:
    """The text for the model, and what is left out of it."""
    match input.what:
        case "elements":
            rows = _mappings(answer.get("elements"))
            return "\n".join(map(_element, rows)), _rest(input.offset, len(rows), answer.get("total"))
        case "console":
            lines = [f"{row.get('level')}: {row.get('text')}" for row in _mappings(answer.get("lines"))]
            return _last(lines, input.filter)
        case "network":
            return _last([_request(row) for row in _mappings(answer.get("requests"))], input.filter)
        case _:
            text = str(answer.get("text", ""))
            return text, _rest(input.offset, len(text), answer.get("total"))


def _rest(offset: int, length: int, total: Any) -> str:
    end = offset + length
    if not isinstance(total, int) or (offset == 0 and end >= total):
        return ""
    return f", {offset} to {end} of {total}"


def _last(lines: Sequence[str], wanted: str) -> tuple[str, str]:
    """The newest lines that contain a text."""
    found = [line for line in lines if wanted.lower() in line.lower()]
    cut = f", the last {_LINES} of {len(found)}" if len(found) > _LINES else ""
    return "\n".join(found[-_LINES:]), cut


def _element(row: Mapping[str, Any]) -> str:
    parts = [
        f"{row.get('ref')}: {pages.one_line(row.get('kind', ''))} {pages.one_line(row.get('name', ''))!r}"
    ]
    if value := row.get("value"):
        parts.append(f"= {pages.one_line(value)!r}")
    if href := row.get("href"):
        parts.append(f"-> {pages.one_line(href)}")
    if isinstance(options := row.get("options"), list):
        parts.append(f"options: {', '.join(pages.one_line(each, 60) for each in options)}")
    if row.get("disabled"):
        parts.append("(disabled)")
    return " ".join(parts)


def _request(row: Mapping[str, Any]) -> str:
    outcome = row.get("failed") or row.get("status") or "waiting"
    size = f" {row['size']} bytes" if isinstance(row.get("size"), int) else ""
    kind = pages.one_line(row.get("type") or row.get("kind") or "", 60)
    address = pages.one_line(row.get("url", ""), 300)
    return f"{pages.one_line(row.get('method', ''), 20)} {address} {pages.one_line(outcome, 80)} {kind}{size}"


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
