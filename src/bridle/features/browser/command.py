"""`/chrome`: turn the browser on and off, choose one, and say how it stands."""

from typing import Protocol

from bridle.features.browser.connection import KnownBrowser
from bridle.features.browser.session import NONE, SessionBrowser
from bridle.types.command import CommandResult, Says


class BrowserSwitch(Protocol):
    """Whether the model has a browser."""

    is_on: bool

    def browser(self) -> SessionBrowser: ...


async def chrome(arguments: str, switch: BrowserSwitch) -> CommandResult:
    """Show the browsers, turn their tools `on` or `off`, or use the browser that is named."""
    wanted = arguments.strip().lower()
    if wanted == "off":
        switch.is_on = False
        await switch.browser().close()
        return Says("Disconnected from the browser. Its tabs stay open.")
    browser = switch.browser()
    said = ""
    if wanted not in ("", "on"):
        chosen = await browser.choose(arguments)
        said = f"This session uses {chosen.label} now.\n"
    if wanted:
        switch.is_on = True
    found = await browser.browsers()
    about = browser.about
    rows = [_row(at, each, about) for at, each in enumerate(found, 1)] or [NONE]
    state = "on: the model can use tabs that it opens, and tabs that you share" if switch.is_on else "off"
    more = "" if switch.is_on else "\nTurn it on with /chrome on."
    return Says(f"{said}The browser is {state}.{more}\n" + "\n".join(rows))


def _row(number: int, browser: KnownBrowser, used: KnownBrowser | None) -> str:
    mark = ", used by this session" if used is not None and used.profile == browser.profile else ""
    return f"{number}. {browser.label} (extension {browser.extension}{mark})"
