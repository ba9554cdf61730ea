"""Logins to MCP servers that a host program leads its user through."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from bridle.types.errors import McpError
from bridle.types.services.mcp import LoginPage, Server

if TYPE_CHECKING:
    from bridle.mcp.auth.oauth import OAuthAuthorizer


class _Visit(Struct, frozen=True):
    """A login that waits for a browser."""

    task: asyncio.Task[None]
    address: asyncio.Future[str]
    """Where the browser ended, when the host brings it."""


class HostLogins:
    """At most one for each server; a new one replaces one that waits."""

    def __init__(
        self,
        authorizer: Callable[[Server], object],
        reconnect: Callable[[str], Awaitable[None]],
    ) -> None:
        self._authorizer = authorizer
        self._reconnect = reconnect
        self._open: dict[str, _Visit] = {}

    async def begin(self, server: Server, redirect_uri: str | None) -> LoginPage:
        """The page that the user must visit; it ends when the browser comes back.

        Raises:
            McpError: there is no login for this server, or it cannot begin.
        """
        authorizer = self._oauth(server)
        if authorizer is None:
            raise McpError(f'Server type "{_kind(server)}" does not support OAuth authentication')
        await self._drop(server.name)
        loop = asyncio.get_running_loop()
        page: asyncio.Future[str] = loop.create_future()
        address: asyncio.Future[str] = loop.create_future()
        task = asyncio.create_task(self._run(server, authorizer, page, address, redirect_uri))
        # A login that fails later shows in the status of the server.
        task.add_done_callback(lambda done: None if done.cancelled() else done.exception())
        self._open[server.name] = _Visit(task, address)
        await asyncio.wait({task, page}, return_when=asyncio.FIRST_COMPLETED)
        if not page.done():
            page.cancel()
            await task
            raise McpError(f"The login to {server.name} ended before it had a page.")
        return _page(page.result(), own=redirect_uri is None)

    async def finish(self, name: str, address: str) -> None:
        """Hand over the address at which the browser ended, and wait until the login is done.

        Raises:
            McpError: no login waits, or it failed.
        """
        visit = self._open.get(name)
        if visit is None or visit.task.done():
            raise McpError(f"No active OAuth flow for server: {name}")
        if not visit.address.done():
            visit.address.set_result(address)
        await asyncio.shield(visit.task)

    async def leave(self, server: Server) -> None:
        """Log out.

        Raises:
            McpError: there is no login for this server, or it cannot be removed.
        """
        authorizer = self._oauth(server)
        if authorizer is None:
            raise McpError(f'Cannot clear auth for server type "{_kind(server)}"')
        await self._drop(server.name)
        await authorizer.log_out()

    async def close(self) -> None:
        for name in list(self._open):
            await self._drop(name)

    def _oauth(self, server: Server) -> "OAuthAuthorizer | None":
        from bridle.mcp.auth.oauth import OAuthAuthorizer

        found = self._authorizer(server)
        return found if isinstance(found, OAuthAuthorizer) else None

    async def _run(
        self,
        server: Server,
        authorizer: "OAuthAuthorizer",
        page: asyncio.Future[str],
        address: asyncio.Future[str],
        redirect_uri: str | None,
    ) -> None:
        from bridle.mcp.auth.browser_login import BrowserLogin

        async def show(url: str) -> None:
            page.set_result(url)

        async def pasted() -> str:
            return await asyncio.shield(address)

        await authorizer.log_in(BrowserLogin(open_page=show, pasted=pasted, redirect_uri=redirect_uri))
        await self._reconnect(server.name)

    async def _drop(self, name: str) -> None:
        if (visit := self._open.pop(name, None)) is None:
            return
        visit.address.cancel()
        visit.task.cancel()
        await asyncio.gather(visit.task, return_exceptions=True)


def _kind(server: Server) -> str:
    return str(server.config.__struct_config__.tag)


def _page(url: str, *, own: bool) -> LoginPage:
    query = parse_qs(urlsplit(url).query)
    redirect = urlsplit(query.get("redirect_uri", [""])[0])
    return LoginPage(url=url, state=query.get("state", [""])[0], port=redirect.port if own else None)
