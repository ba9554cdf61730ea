"""What one server offers: lists that are fetched when it is connected, and again when they have changed."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from bridle.host.jsonrpc import Limits
from bridle.mcp.catalog import ServerTool, read_prompts, read_resources, read_tools
from bridle.mcp.client import PROMPTS, RESOURCES, TOOLS, Client
from bridle.mcp.discovery_cache import DiscoveryCache
from bridle.mcp.server_skills import EXTENSION, read_skills
from bridle.mcp.timeouts import Timeouts
from bridle.mcp.transports.base import entry_of
from bridle.types.errors import McpError
from bridle.types.services.mcp import (
    HttpServer,
    Prompt,
    Resource,
    ServedSkill,
    Server,
    SseServer,
    WebSocketServer,
)

SKILLS = "skills"
_REMOTE = HttpServer | SseServer | WebSocketServer


class ServerLists:
    """The lists of a server; `changed` is called when one changes, `noted` with what is wrong with them."""

    def __init__(
        self,
        server: Server,
        *,
        timing: Timeouts,
        changed: Callable[[], None],
        noted: Callable[[str], None],
        prefixed: bool = True,
        cache: DiscoveryCache | None = None,
    ) -> None:
        self.tools: tuple[ServerTool, ...] = ()
        self.prompts: tuple[Prompt, ...] = ()
        self.resources: tuple[Resource, ...] = ()
        self.skills: tuple[ServedSkill, ...] = ()
        self._server = server
        self._timing = timing
        self._changed = changed
        self._noted = noted
        self._prefixed = prefixed
        self._cache = cache if isinstance(server.config, _REMOTE) else None
        self._refreshing: dict[str, asyncio.Task[None]] = {}
        self._stale: set[str] = set()
        self._listed_once = False
        """Whether the resources have been asked for; what comes later is a change."""

    def recall(self) -> bool:
        """Take the tools that were there the last time; whether any are known."""
        listed = None if self._cache is None else self._cache.find(self._server)
        if listed is not None:
            self._take_tools(listed, checks_headers=False)
        return listed is not None

    async def doubt(self) -> None:
        """The server could not be reached: what is known of it may be out of date."""
        if self._cache is not None:
            await asyncio.to_thread(self._cache.strike, self._server)

    async def fetch_first(self, client: Client) -> None:
        """Fetch what the model gets from the start: tools and skills.

        Raises:
            McpError: there are no tools to be had.
        """
        self._stale.discard(TOOLS)
        await self._fetch(TOOLS, client)
        await self._fetch_skills(client)

    def fetch_rest(self, client: Client) -> None:
        """Ask for everything else, and for what has changed already, without anyone waiting."""
        for feature in (PROMPTS, RESOURCES, *self._stale):
            self.refresh(feature, client)

    def refresh(self, feature: str, client: Client | None) -> None:
        """A list is out of date; it is fetched once, however often that is said meanwhile."""
        self._stale.add(feature)
        if client is not None and feature not in self._refreshing:
            self._refreshing[feature] = asyncio.create_task(self._refresh(feature, client))

    async def complete(self) -> None:
        """Wait until nothing is being asked for."""
        if self._refreshing:
            await asyncio.wait([*self._refreshing.values()])

    async def stop(self) -> None:
        tasks = [*self._refreshing.values()]
        self._refreshing.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _refresh(self, feature: str, client: Client) -> None:
        try:
            while feature in self._stale:
                self._stale.discard(feature)
                try:
                    await self._fetch(feature, client)
                except McpError as error:
                    self._noted(f"could not list {feature}: {error}")
                if feature == RESOURCES and self._listed_once:
                    # Skills are resources under another name, and change with them.
                    await self._fetch_skills(client)
                self._listed_once = self._listed_once or feature == RESOURCES
                self._changed()
                await asyncio.sleep(self._timing.refresh_pause)
        finally:
            self._refreshing.pop(feature, None)

    async def _fetch(self, feature: str, client: Client) -> None:
        listed = await self._items(feature, client) if client.agreement.offers(feature) else []
        match feature:
            case "tools":
                in_headers = client.agreement.modern and isinstance(self._server.config, HttpServer)
                if self._cache is not None:
                    listed = [entry for each in listed if isinstance(entry := entry_of(each), dict)]
                    await asyncio.to_thread(self._cache.save, self._server, listed)
                self._take_tools(listed, checks_headers=in_headers)
            case "prompts":
                self.prompts = read_prompts(self._server.name, listed)
            case _:
                self.resources = read_resources(self._server.name, listed, await self._templates(client))

    async def _fetch_skills(self, client: Client) -> None:
        if not client.agreement.supports(EXTENSION):
            self.skills = ()
            return
        try:
            listed = await self._items(SKILLS, client)
        except McpError as error:
            self._noted(f"could not list skills: {error}")
            return
        self.skills, problems = read_skills(self._server.name, listed)
        self._note_all(problems)

    async def _templates(self, client: Client) -> list[dict[str, Any]]:
        if not client.agreement.offers(RESOURCES):
            return []
        try:
            return await client.items("resources/templates/list", "resourceTemplates", limits=self._limits)
        except McpError:
            return []  # Many servers with resources do not know templates.

    async def _items(self, feature: str, client: Client) -> list[Any]:
        return await client.items(f"{feature}/list", feature, limits=self._limits)

    def _take_tools(self, listed: list[Any], *, checks_headers: bool) -> None:
        """Read the list and use it up: there may be very many, and none is needed twice."""
        self.tools, problems = read_tools(
            self._server.name, _used_up(listed), checks_headers=checks_headers, prefixed=self._prefixed
        )
        self._note_all(problems)

    def _note_all(self, problems: tuple[str, ...]) -> None:
        for problem in problems:
            self._noted(problem)

    @property
    def _limits(self) -> Limits:
        return Limits(self._timing.connect)


def _used_up(listed: list[Any]) -> Iterator[dict[str, Any]]:
    """Every entry of a list; others run in between."""
    listed.reverse()
    while listed:
        if isinstance(entry := entry_of(listed.pop()), dict):
            yield entry
