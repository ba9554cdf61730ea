"""`bridle mcp login` and `bridle mcp logout`."""

import asyncio
import os
import stat
import sys
import time
from collections.abc import Awaitable, Callable, Mapping

from bridle.cli.mcp.folder_servers import FolderServers, look, running
from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.host.browser import open_page
from bridle.host.stdio import complain
from bridle.mcp.auth.authorizers import Authorizers
from bridle.mcp.auth.browser_login import BrowserLogin
from bridle.mcp.auth.challenge import Challenge
from bridle.mcp.auth.http import AuthHttp
from bridle.mcp.auth.login import Account, log_in, log_out
from bridle.mcp.auth.xaa import enterprise_login, log_in_to_provider
from bridle.types.errors import UsageError
from bridle.types.services.mcp import Server


def run_login(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Log in to a server, or out of it.

    Raises:
        UsageError: there is no such server.
        McpError: it did not work.
    """
    folder = look(env)
    server = folder.find(given.one("name"))
    if given.command[-1] == "logout":
        return asyncio.run(_leave(folder, server))
    return asyncio.run(_enter(folder, server, browser=not given.on("no-browser")))


async def _enter(folder: FolderServers, server: Server, *, browser: bool) -> int:
    authorizers = Authorizers(folder.env)
    account = Account.of(server, authorizers.logins, folder.env)
    challenge = await _challenge(folder, server)
    wire = AuthHttp(folder.env)
    visit = BrowserLogin(open_page=_opener(folder.env, browser=browser), pasted=_paste())
    try:
        if account.settings.xaa:
            await _enter_by_provider(folder, account, wire, visit, challenge)
        else:
            await log_in(account, visit, wire=wire, challenge=challenge)
    finally:
        await wire.close()
    return tell(f"Logged in to {server.name}.")


async def _enter_by_provider(
    folder: FolderServers, account: Account, wire: AuthHttp, visit: BrowserLogin, challenge: Challenge | None
) -> None:
    provider = folder.provider
    if provider is None:
        raise UsageError(f"{account.name} uses your organization's login: set xaaIdp in the settings")
    await log_in_to_provider(account.logins, provider, wire=wire, visit=visit, now=time.time())
    await enterprise_login(account, provider, wire=wire, challenge=challenge, visit=visit)


async def _leave(folder: FolderServers, server: Server) -> int:
    account = Account.of(server, Authorizers(folder.env).logins, folder.env)
    wire = AuthHttp(folder.env)
    try:
        problem = await log_out(account, wire=wire)
    finally:
        await wire.close()
    if problem is not None:
        complain(f"warning: {problem}")
    return tell(f"Logged out of {server.name}.")


async def _challenge(folder: FolderServers, server: Server) -> Challenge | None:
    """What the server says about the login that it wants; a server that cannot be asked says nothing."""
    async with running(folder, (server,)) as every:
        await every.settle()
        return every.challenge(server.name)


def _opener(env: Mapping[str, str], *, browser: bool) -> Callable[[str], Awaitable[None]]:
    async def open_page(url: str) -> None:
        tell("Log in at this address:", "", f"  {url}", "")
        opened = browser and await _open_in_browser(url, env)
        if not opened:
            say("If the browser ends on a page that doesn't load, paste its address here.\n")

    return open_page


async def _open_in_browser(url: str, env: Mapping[str, str]) -> bool:
    """Start the browser of the desktop; a text browser would take the terminal away."""
    if sys.platform != "darwin" and not (
        env.get("DISPLAY") or env.get("WAYLAND_DISPLAY") or env.get("BROWSER")
    ):
        return False
    return open_page(url, env)


def _paste() -> Callable[[], Awaitable[str]] | None:
    """A line from standard input, where there can be one."""
    mode = os.fstat(0).st_mode
    if not (os.isatty(0) or stat.S_ISFIFO(mode)):
        return None

    async def pasted() -> str:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(0), "rb", buffering=0)
        )
        try:
            while True:
                line = await reader.readline()
                if not line:
                    await asyncio.Event().wait()  # Standard input is closed; the browser may still come back.
                if line.strip():
                    return line.decode("utf-8", "replace")
        finally:
            transport.close()

    return pasted
