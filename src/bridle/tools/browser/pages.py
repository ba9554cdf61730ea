"""What the tools for a browser share: which site a call is about, and how pages are put before a model."""

import re
import secrets
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from bridle.host.web_address import is_link_local
from bridle.tools.web import addresses
from bridle.types.errors import ToolError
from bridle.types.visible import HIDDEN

NO_TAB = "No tab with a web page is open. Open a page with BrowserNavigate, or list tabs with BrowserTabs."
_SAFE = "/%:@!$&'()*+,;=~?"
_LONGEST_ADDRESS = 500


def subject(site: str) -> str:
    """What permission rules see of a call about a page."""
    return f"domain:{site}" if site else "input:no page"


def require_site(site: str) -> None:
    """A page must be there for a call about one.

    Raises:
        ToolError: there is none.
    """
    if not site:
        raise ToolError(NO_TAB)


def read_address(text: str) -> tuple[str, str]:
    """The address to open, put together again, and its host.

    Raises:
        ToolError: it is no address that may be opened.
    """
    found = addresses.read_url(text)
    if is_link_local(found.host):
        raise ToolError(f"{found.host} belongs to the services of a machine or cloud; it is never opened.")
    parts = urlsplit(text.strip())
    # Unlike a fetch, a browser is not sent to https where http was asked for.
    port = "" if parts.port is None else f":{parts.port}"
    host = f"[{found.host}]" if ":" in found.host else found.host
    fragment = f"#{quote(parts.fragment, safe=_SAFE)}" if parts.fragment else ""
    return f"{parts.scheme}://{host}{port}{found.path}{fragment}", found.host


def fenced(text: str, *, heading: str) -> str:
    """Text of a page, in marks that the page cannot guess."""
    fence = f"page-{secrets.token_hex(8)}"
    return f"{heading}\n<{fence}>\n{plain(text)}\n</{fence}>"


def plain(text: str) -> str:
    """Text without what steers a terminal or hides from its reader."""
    return re.sub(f"[{HIDDEN}]", "", text)


def one_line(text: Any, limit: int = 200) -> str:
    """A short text of a page in one line."""
    return " ".join(plain(str(text)).split())[:limit]


def place(answer: Mapping[str, Any]) -> str:
    """Where a tab is after a call."""
    if answer.get("closed"):
        return "The tab is closed now."
    return f"The tab is at {one_line(answer.get('url', ''), _LONGEST_ADDRESS)} now."


def dialogs(answer: Mapping[str, Any]) -> Iterator[str]:
    """What a page wanted to say in dialogs, which were dismissed."""
    for each in answer.get("dialogs") or ():
        if isinstance(each, dict):
            kind, message = one_line(each.get("type", "")), one_line(each.get("message", ""), 500)
            yield f"The page showed a dialog ({kind}), which was dismissed: {message!r}"
