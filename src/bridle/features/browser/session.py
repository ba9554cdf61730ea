"""The browser of one session: which one, its tabs, and which sites the user has let it see."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from bridle.features.browser.connection import (
    BrowserConnection,
    BrowserFault,
    KnownBrowser,
    find_browsers,
    usable_tabs,
)
from bridle.types.errors import ToolError, UsageError
from bridle.types.services.browser import BrowserTab

NONE = (
    "No browser is connected. Start Chrome, Chromium, Edge or Brave with the extension of bridle; "
    "`bridle chrome install` says how to set it up, `bridle chrome status` what is missing."
)


class SessionBrowser:
    """Implements `Browser`; connects with the first request."""

    def __init__(self, session: Callable[[], str], env: Mapping[str, str]) -> None:
        self._session = session
        self._env = env
        self._connection: BrowserConnection | None = None
        self._connecting = asyncio.Lock()
        self._wanted = ""
        """The profile that the user chose; empty for the newest browser."""
        self._last: int | None = None
        """The tab of the last call."""
        self._seen: set[str] = set()
        """Sites that the session was let to open."""

    @property
    def about(self) -> KnownBrowser | None:
        """The browser that is connected."""
        connection = self._connection
        return connection.about if connection is not None and connection.is_open else None

    async def tabs(self) -> Sequence[BrowserTab]:
        await self._fresh()
        return self._tabs()

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        try:
            connection = await self._connected()
            answer = await connection.ask(self._session(), method, params)
        except BrowserFault as error:
            raise ToolError(f"{str(error)[:1].upper()}{str(error)[1:]}") from error
        used = answer.get("tab", params.get("tab"))
        if method != "close" and isinstance(used, int):
            self._last = used
        return answer

    async def browsers(self) -> tuple[KnownBrowser, ...]:
        """Every browser with the extension that runs now."""
        return await find_browsers(self._env)

    async def choose(self, name: str) -> KnownBrowser:
        """Use a browser, by its profile, its number in the list or a part of its name.

        Raises:
            UsageError: there is no such browser.
        """
        found = await self.browsers()
        chosen = next((each for at, each in enumerate(found, 1) if _is(each, at, name)), None)
        if chosen is None:
            listed = ", ".join(each.label for each in found) or "none"
            raise UsageError(f"No browser {name!r} is connected. Connected: {listed}.")
        self._wanted = chosen.profile
        await self.close()
        return chosen

    def place(self, tab: int | None) -> tuple[int | None, str]:
        """The tab that a call is about, and the host of its page; empty for no page."""
        known = self._tabs()
        wanted = tab if tab is not None else self._last
        found = next((each for each in known if each.id == wanted), None)
        if found is None and tab is None:
            found = known[-1] if known else None
        return (None, "") if found is None else (found.id, site_of(found.url))

    def note_site(self, site: str) -> None:
        """The user let a page of this site be opened."""
        self._seen.add(site)

    def may_see(self, site: str) -> bool:
        """Whether pages of a site may be read unasked: it was opened, or the user shares one of them."""
        shared = (site_of(each.url) for each in self._tabs() if each.shared)
        return bool(site) and (site in self._seen or site in shared)

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    def _tabs(self) -> tuple[BrowserTab, ...]:
        connection = self._connection
        return () if connection is None else usable_tabs(connection.tabs, self._session())

    async def _fresh(self) -> None:
        try:
            connection = await self._connected()
            await connection.ask(self._session(), "list", {})
        except BrowserFault as error:
            raise ToolError(str(error)) from error

    async def _connected(self) -> BrowserConnection:
        async with self._connecting:
            if self._connection is not None and self._connection.is_open:
                return self._connection
            await self.close()
            found = await self.browsers()
            chosen = next((each for each in found if each.profile == self._wanted), None)
            if chosen is None and self._wanted:
                raise BrowserFault("the chosen browser is closed; choose another with /chrome")
            if not found:
                raise BrowserFault(NONE)
            self._connection = await BrowserConnection.open((chosen or found[0]).socket, lambda: None)
            return self._connection


def site_of(url: str) -> str:
    """The host of a page of the web, as rules name it; empty for anything else."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").removesuffix(".")
    except ValueError:
        return ""
    return host if parts.scheme in ("http", "https") else ""


def _is(browser: KnownBrowser, number: int, name: str) -> bool:
    wanted = name.strip().lower()
    return wanted in (browser.profile.lower(), str(number)) or (
        len(wanted) > 2 and wanted in browser.label.lower()
    )
