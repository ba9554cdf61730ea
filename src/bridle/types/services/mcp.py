"""MCP servers as all packages see them: how each is reached, its state, and what can be requested."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from bridle.types.tool import Tool

Scope = Literal["local", "project", "user", "plugin", "managed", "dynamic"]
"""Where a server is configured; `dynamic` is the command line or a host program."""

TURNED_OFF = "turned off"
"""The one reason for not starting a server that the user can take back while the session runs."""

Status = Literal["connected", "failed", "needs-auth", "pending", "disabled"]


def normalized(name: str) -> str:
    """A name with every character that a tool name cannot have made an underscore."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


class OAuthSettings(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a configuration fixes about logging in to a server."""

    client_id: str | None = None
    callback_port: int | None = None
    auth_server_metadata_url: str | None = None
    scopes: str | tuple[str, ...] | None = None
    xaa: bool | None = None
    grant_type: Literal["client_credentials", "jwt_bearer", "token_exchange"] | None = None
    """How a machine logs in without a person; None where a person does."""
    private_key_file: str | None = None
    """The key with which a client signs who it is (client_credentials)."""
    assertion_file: str | None = None
    assertion_variable: str | None = None
    """Where the token of a workload is: a file, or a variable."""
    dpop: bool | None = None
    """Whether tokens are bound to a key; None for where the login server offers it."""


class StdioServer(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="stdio"):
    """A program that is started and spoken to over its standard streams."""

    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    timeout: float | None = None
    """The longest a call may take, in milliseconds."""
    always_load: bool = False
    """Its tools are always part of a request, so the first request waits for them."""


class HttpServer(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="http"):
    """A server behind one address (streamable HTTP)."""

    url: str
    headers: dict[str, str] = {}
    headers_helper: str | None = None
    """A command that prints more headers as a JSON object."""
    oauth: OAuthSettings | None = None
    timeout: float | None = None
    always_load: bool = False


class SseServer(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="sse"):
    """A server with an event stream and an address for messages: the older HTTP transport."""

    url: str
    headers: dict[str, str] = {}
    headers_helper: str | None = None
    oauth: OAuthSettings | None = None
    timeout: float | None = None
    always_load: bool = False


class WebSocketServer(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="ws"):
    url: str
    headers: dict[str, str] = {}
    headers_helper: str | None = None
    oauth: OAuthSettings | None = None
    timeout: float | None = None
    always_load: bool = False


class SdkServer(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="sdk"):
    """A server inside the host program, reached over the control protocol."""

    name: str
    timeout: float | None = None
    always_load: bool = False


class IdeSseServer(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="sse-ide"):
    """An editor on this machine that lets itself be read and steered."""

    url: str
    ide_name: str = ""
    timeout: float | None = None
    always_load: bool = False


class IdeWebSocketServer(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="ws-ide"):
    url: str
    ide_name: str = ""
    auth_token: str | None = None
    timeout: float | None = None
    always_load: bool = False


ServerConfig = (
    StdioServer | HttpServer | SseServer | WebSocketServer | SdkServer | IdeSseServer | IdeWebSocketServer
)


class Server(Struct, frozen=True, kw_only=True):
    """A configured server."""

    name: str
    config: ServerConfig
    """With variables filled in."""
    scope: Scope
    file: str = ""
    """Where it is defined; empty when it is in no file."""
    off: str = ""
    """Why it is not started, when it is not: turned off, not approved, refused by policy."""
    fault: str = ""
    """Why it cannot be started: a variable that it names is not set."""

    @property
    def source(self) -> str:
        """Where it comes from, as hosts and hooks read it."""
        return "sdk" if isinstance(self.config, SdkServer) else self.scope


class ServerInfo(Struct, frozen=True, kw_only=True):
    """What a server says of itself."""

    name: str
    version: str = ""
    title: str | None = None


class ToolFacts(Struct, frozen=True, kw_only=True):
    """A tool of a server under the name that the server gave it."""

    name: str
    description: str = ""
    read_only: bool | None = None
    destructive: bool | None = None
    open_world: bool | None = None


class ServerState(Struct, frozen=True, kw_only=True):
    """How a server fares."""

    name: str
    status: Status
    scope: Scope
    source: str
    config: ServerConfig
    info: ServerInfo | None = None
    protocol: str | None = None
    """The revision that both sides agreed on."""
    error: str | None = None
    attempt: int = 0
    """How many times a lost connection has been tried again."""
    tools: tuple[ToolFacts, ...] = ()
    log: str = ""
    """The end of what the server wrote for people: standard error and log messages."""


class Replaced(Struct, frozen=True, kw_only=True):
    """What changed when a host replaced the servers that it had set."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    errors: Mapping[str, str] = {}


class LoginPage(Struct, frozen=True, kw_only=True):
    """Where a user logs in to a server."""

    url: str
    state: str
    port: int | None = None
    """Where this machine waits for the browser; None when the host brings the browser's last address."""


class Resource(Struct, frozen=True, kw_only=True):
    server: str
    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    template: bool = False
    """`uri` is a pattern (RFC 6570) and not an address."""


class SkillFile(Struct, frozen=True, kw_only=True):
    """What a file of a skill must be."""

    digest: str
    """`sha256:` and 64 hexadecimal digits."""
    size: int


class ServedSkill(Struct, frozen=True, kw_only=True):
    """A skill that a server has announced; nothing of it has been read."""

    server: str
    uri: str
    """Of its SKILL.md."""
    name: str
    frontmatter: Mapping[str, Any]
    files: Mapping[str, SkillFile] = {}
    """Every file by its address; none where the server cannot say them beforehand."""


class PromptArgument(Struct, frozen=True, kw_only=True):
    name: str
    description: str | None = None
    required: bool = False


class Prompt(Struct, frozen=True, kw_only=True):
    """A prompt that a server offers as a command."""

    server: str
    name: str
    command: str
    """`mcp__<server>__<prompt>`, without the slash."""
    title: str | None = None
    description: str | None = None
    arguments: tuple[PromptArgument, ...] = ()


class McpServers(Protocol):
    """All servers of a session."""

    def status(self) -> tuple[ServerState, ...]: ...

    def tools(self) -> Sequence[Tool]:
        """The tools of the servers that are connected, or about to be again, in the order of their names."""
        ...

    def resources(self, server: str | None = None) -> tuple[Resource, ...]: ...

    def prompts(self) -> tuple[Prompt, ...]: ...

    def skills(self) -> tuple[ServedSkill, ...]: ...

    def instructions(self) -> Mapping[str, str]:
        """What each connected server wants the model to know about using it, by name and bounded."""
        ...

    async def settle(self) -> None:
        """Wait a short while until the servers that the first request should know are connected or failed."""
        ...

    async def listed(self, named: Sequence[str] = ()) -> None:
        """Wait a short while until it is known what prompts and resources the connected servers have.

        The servers that are named are waited for as long as connecting may take.
        """
        ...

    async def ready(self, names: Sequence[str] | None, seconds: float) -> "tuple[ServerState, ...]":
        """How these servers (None for all) fare once none is being connected, or the time is over."""
        ...

    async def reconnect(self, name: str) -> None:
        """Connect again.

        Raises:
            McpError: there is no such server, or it cannot be reached.
        """
        ...

    async def toggle(self, name: str, *, enabled: bool) -> None:
        """Turn a server off, or on again.

        Raises:
            McpError: there is no such server, or it cannot be reached.
        """
        ...

    async def begin_login(self, name: str, redirect_uri: str | None = None) -> LoginPage:
        """Begin to log in; the server is connected again when the user has been at the page.

        With `redirect_uri` the browser ends there, and `finish_login` must follow.

        Raises:
            McpError: there is no such server, or no login for it.
        """
        ...

    async def finish_login(self, name: str, address: str) -> None:
        """Finish a login with the address at which the browser ended.

        Raises:
            McpError: no login waits for it, or it failed.
        """
        ...

    async def log_out(self, name: str) -> None:
        """Forget the login of a server and connect again.

        Raises:
            McpError: there is no such server, or no login for it.
        """
        ...

    async def set_servers(self, configs: Mapping[str, Any]) -> Replaced:
        """Replace the servers that a host set before; `configs` is plain JSON by name."""
        ...

    def message(self, name: str, message: Mapping[str, Any]) -> None:
        """Take a message that a server inside the host program sends on its own."""
        ...

    async def call(
        self, server: str, tool: str, input: Mapping[str, Any], *, call_id: str | None = None
    ) -> dict[str, Any]:
        """Call a tool by the name that its server gave it; the answer is the server's, verbatim.

        Raises:
            McpError: the server is not connected, refused, or did not answer in time.
        """
        ...

    async def read_resource(self, server: str, uri: str) -> dict[str, Any]:
        """Read a resource; the answer is the server's, verbatim.

        Raises:
            McpError: the server is not connected, refused, or did not answer in time.
        """
        ...

    async def prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Fill in a prompt; the answer is the server's, verbatim.

        Raises:
            McpError: the server is not connected, refused, or did not answer in time.
        """
        ...

    async def complete(
        self, server: str, reference: Mapping[str, Any], argument: tuple[str, str]
    ) -> tuple[str, ...]:
        """Values that would complete an argument (name, text so far) of a prompt or resource template.

        Raises:
            McpError: the server is not connected, refused, or did not answer in time.
        """
        ...

    def add_sdk(
        self,
        names: Sequence[str],
        *,
        configs: Mapping[str, Mapping[str, Any]] | None = None,
        manifests: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Connect servers inside the host program, besides those that are there.

        `configs` has settings of some by name, `manifests` what some would answer to `initialize` and the
        first `tools/list`.
        """
        ...

    def roots_changed(self) -> None:
        """Tell the servers that the working folders are others now."""
        ...

    async def close(self) -> None:
        """End every connection and every program that was started for one."""
        ...
