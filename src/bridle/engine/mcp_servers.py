"""The MCP servers of a session, loaded with the first one: what connects them is not imported before."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bridle.types.errors import McpError

if TYPE_CHECKING:
    from bridle.engine.permissions.relay import RelayedChannel
    from bridle.mcp.servers import Servers
    from bridle.types.services.mcp import LoginPage, Prompt, Replaced, Resource, ServedSkill, ServerState
    from bridle.types.tool import Tool


class LazyServers:
    """Passes everything on once there is a server; until then a question costs a look."""

    def __init__(self, make: "Callable[[], Servers]", *, relay: "RelayedChannel | None" = None) -> None:
        self.asking = relay
        """Asks for permission over channels as well, where the user lets some decide."""
        self._make = make
        self._made: Servers | None = None
        self._watch: Callable[[], None] | None = None
        self._first: Callable[[], Awaitable[None]] | None = None

    def open(self) -> "Servers":
        """What connects the servers, made now if it was not there yet."""
        if self._made is None:
            self._made = self._make()
            if self._watch is not None:
                self._made.watch(self._watch)
        return self._made

    def status(self) -> "tuple[ServerState, ...]":
        return () if self._made is None else self._made.status()

    def tools(self) -> "Sequence[Tool]":
        return () if self._made is None else self._made.tools()

    def resources(self, server: str | None = None) -> "tuple[Resource, ...]":
        return () if self._made is None else self._made.resources(server)

    def prompts(self) -> "tuple[Prompt, ...]":
        return () if self._made is None else self._made.prompts()

    def skills(self) -> "tuple[ServedSkill, ...]":
        return () if self._made is None else self._made.skills()

    def instructions(self) -> Mapping[str, str]:
        return {} if self._made is None else self._made.instructions()

    def news(self, conversation: object) -> str | None:
        return None if self._made is None else self._made.news(conversation)

    def input_schemas(self, server: str) -> Mapping[str, Mapping[str, Any]]:
        return {} if self._made is None else self._made.input_schemas(server)

    def watch(self, changed: Callable[[], None]) -> None:
        self._watch = changed
        if self._made is not None:
            self._made.watch(changed)

    def waiting(self) -> tuple[str, ...]:
        return () if self._made is None else self._made.waiting()

    async def settle(self) -> None:
        if self._made is not None:
            await self._made.settle()

    async def listed(self, named: Sequence[str] = ()) -> None:
        if self._made is not None:
            await self._made.listed(named)

    async def reconnect(self, name: str) -> None:
        await self._known(name).reconnect(name)

    async def toggle(self, name: str, *, enabled: bool) -> None:
        await self._known(name).toggle(name, enabled=enabled)

    async def begin_login(self, name: str, redirect_uri: str | None = None) -> "LoginPage":
        return await self._known(name).begin_login(name, redirect_uri)

    async def finish_login(self, name: str, address: str) -> None:
        await self._known(name).finish_login(name, address)

    async def log_out(self, name: str) -> None:
        await self._known(name).log_out(name)

    async def set_servers(self, configs: Mapping[str, Any]) -> "Replaced":
        return await self.open().set_servers(configs)

    async def ready(self, names: Sequence[str] | None, seconds: float) -> "tuple[ServerState, ...]":
        return () if self._made is None else await self._made.ready(names, seconds)

    def add_sdk(
        self,
        names: Sequence[str],
        *,
        configs: Mapping[str, Mapping[str, Any]] | None = None,
        manifests: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        if names:
            self.open().add_sdk(names, configs=configs, manifests=manifests)

    def message(self, name: str, message: Mapping[str, Any]) -> None:
        if self._made is not None:
            self._made.message(name, message)

    async def call(
        self, server: str, tool: str, input: Mapping[str, Any], *, call_id: str | None = None
    ) -> dict[str, Any]:
        return await self._known(server).call(server, tool, input, call_id=call_id)

    async def read_resource(self, server: str, uri: str) -> dict[str, Any]:
        return await self._known(server).read_resource(server, uri)

    async def prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        return await self._known(server).prompt(server, name, arguments)

    async def complete(
        self, server: str, reference: Mapping[str, Any], argument: tuple[str, str]
    ) -> tuple[str, ...]:
        return await self._known(server).complete(server, reference, argument)

    def relay(self, question: Mapping[str, Any], allowed: Callable[[str], bool]) -> bool:
        return self._made is not None and self._made.relay(question, allowed)

    def roots_changed(self) -> None:
        if self._made is not None:
            self._made.roots_changed()

    def before_close(self, first: Callable[[], Awaitable[None]]) -> None:
        """What has to end before the servers do."""
        self._first = first

    async def close(self) -> None:
        if self._first is not None:
            await self._first()
        if self._made is not None:
            await self._made.close()

    def _known(self, name: str) -> "Servers":
        if self._made is None:
            raise McpError(f"Server not found: {name}")
        return self._made
