"""The skills of MCP servers as skills of the session: fetched when they are used, and never trusted."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from bridle.extensions.frontmatter import read_front
from bridle.extensions.skills import Skill
from bridle.types.errors import McpError, ToolError
from bridle.types.services.mcp import McpServers, ServedSkill, normalized

_HEEDED = (
    "name", "description", "when_to_use", "when-to-use", "argument-hint", "arguments",
    "disable-model-invocation", "user-invocable", "context", "agent", "background", "license",
    "compatibility", "metadata",
)  # fmt: skip
"""What a server may say of a skill: nothing that widens rights, runs something or costs more."""


class _Fetched(Skill, frozen=True, kw_only=True):
    fetch: Callable[[], Awaitable[str]]

    async def load(self) -> str:
        return await self.fetch()

    def read(self) -> str:
        raise FileNotFoundError("it is on an MCP server")


def served_skills(servers: McpServers) -> Sequence[Skill]:
    """The skills that connected servers have announced, as `server:skill`."""
    return [_skill(servers, each) for each in servers.skills()]


def _skill(servers: McpServers, served: ServedSkill) -> Skill:
    async def fetch() -> str:
        try:
            result = await servers.read_resource(served.server, served.uri)
        except McpError as error:
            raise ToolError(f"The skill {served.name} is not available: {error}") from error
        return _body(served, _text(result))

    return _Fetched(
        name=f"{normalized(served.server)}:{served.name}",
        values={key: value for key, value in served.frontmatter.items() if key in _HEEDED},
        source="mcp",
        fetch=fetch,
        file=served.uri,
    )


def _body(served: ServedSkill, text: str) -> str:
    front = read_front(text, file=served.uri)
    if msgspec.to_builtins(front.values) != served.frontmatter:
        raise ToolError(
            f"The skill {served.name} was not loaded: {served.server} announced a different header."
        )
    if len(served.files) < 2 and served.files:
        return front.body
    base = served.uri.removesuffix("SKILL.md")
    note = (
        f"Files of this skill are resources of the MCP server {served.server} below {base}; read them with "
    )
    return f"{note}ReadMcpResourceTool.\n\n{front.body.strip()}"


def _text(result: Mapping[str, Any]) -> str:
    match result.get("contents"):
        case [{"text": str() as text}]:
            return text
        case _:
            raise ToolError("The server did not send the text of the skill.")
