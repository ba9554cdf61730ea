"""The servers of the current folder, for commands that look at them without a session."""

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from bridle.config.load import Config, environment, load
from bridle.config.mcp.servers import ServerSources, find_servers
from bridle.config.state import is_trusted
from bridle.extensions.plugins.plugin import PluginRequest
from bridle.extensions.plugins.session_cache import current_plugins
from bridle.host.stdio import complain
from bridle.mcp.auth.authorizers import Authorizers
from bridle.mcp.auth.xaa import Provider, read_provider
from bridle.mcp.client_requests import RequestContext
from bridle.mcp.servers import Servers, ServersContext
from bridle.mcp.timeouts import Timeouts
from bridle.types.errors import McpError, UsageError
from bridle.types.nearest import did_you_mean
from bridle.types.question import Answer, Question, Refused
from bridle.types.services.mcp import Server


class FolderServers(Struct, frozen=True, kw_only=True):
    """What is configured for a folder."""

    cwd: str
    env: Mapping[str, str]
    config: Config
    servers: tuple[Server, ...]

    def find(self, name: str) -> Server:
        """A server by its name.

        Raises:
            UsageError: there is none.
        """
        found = next((server for server in self.servers if server.name == name), None)
        if found is None:
            names = [server.name for server in self.servers]
            hint = did_you_mean(name, names) or f"; known servers: {', '.join(names) or 'none'}"
            raise UsageError(f"unknown MCP server {name!r}{hint}")
        return found

    @property
    def provider(self) -> Provider | None:
        return read_provider(self.config.raw.get("xaaIdp"))


def look(env: Mapping[str, str], flags: Sequence[str] = ()) -> FolderServers:
    """Read what is configured here; problems are printed on standard error.

    Raises:
        ConfigError: a value of --mcp-config cannot be used.
    """
    cwd = os.getcwd()
    config = load(cwd=cwd, env=env, flag=None, setting_sources=None)
    trusted = is_trusted(env, cwd)
    merged = environment(config, env, trusted=trusted)
    wish = PluginRequest(config=config, env=merged, cwd=cwd, trusted=trusted)
    plugins, _ = current_plugins(wish)
    sources = ServerSources(
        config=config,
        env=merged,
        trusted=trusted,
        attended=True,
        flags=tuple(flags),
        plugins=plugins.servers(),
        shared=frozenset(name for each in plugins.loaded if each.shared for name, _ in each.servers()),
    )
    found = find_servers(sources)
    for problem in found.problems:
        complain(f"warning: {problem}")
    return FolderServers(cwd=cwd, env=merged, config=config, servers=found.servers)


@asynccontextmanager
async def running(
    folder: FolderServers, servers: Sequence[Server], *, timing: Timeouts | None = None
) -> AsyncGenerator[Servers, None]:
    """These servers connected, as far as they can be; their questions are refused."""

    def unset(name: str, raw: Any) -> Server:
        del raw
        raise McpError(f"can't add {name} here")

    around = ServersContext(
        cwd=folder.cwd,
        env=folder.env,
        requests=RequestContext(roots=lambda: (folder.cwd,), ask=_refuse),
        read=unset,
        authorizer=Authorizers(folder.env, provider=folder.provider),
    )
    every = Servers(servers, around, timing)
    try:
        yield every
    finally:
        await every.close()


async def _refuse(question: Question) -> Answer:
    del question
    return Refused(message="not interactive: no one can answer", by_person=False)
