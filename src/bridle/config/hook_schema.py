"""Hooks as settings files write them: events to groups, groups to what is run."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

Seconds = Annotated[float, Meta(gt=0)]


class CommandHook(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="command"):
    command: str
    args: tuple[str, ...] | None = None
    """Run without a shell, with exactly these arguments."""
    run_async: bool | None = field(default=None, name="async")
    async_rewake: bool | None = None
    shell: Literal["bash", "powershell"] | None = None
    condition: str | None = field(default=None, name="if")
    timeout: Seconds | None = None
    status_message: str | None = None
    once: bool | None = None
    on_failure: str | None = None


class HttpHook(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="http"):
    url: str
    headers: dict[str, str] | None = None
    allowed_env_vars: tuple[str, ...] | None = None
    condition: str | None = field(default=None, name="if")
    timeout: Seconds | None = None
    status_message: str | None = None
    once: bool | None = None
    on_failure: str | None = None


class McpToolHook(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="mcp_tool"):
    server: str
    tool: str
    input: dict[str, Any] | None = None
    condition: str | None = field(default=None, name="if")
    timeout: Seconds | None = None
    status_message: str | None = None
    once: bool | None = None


class PromptHook(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="prompt"):
    prompt: str
    model: str | None = None
    continue_on_block: bool | None = None
    condition: str | None = field(default=None, name="if")
    timeout: Seconds | None = None
    status_message: str | None = None
    once: bool | None = None


class AgentHook(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="agent"):
    prompt: str
    model: str | None = None
    continue_on_block: bool | None = None
    condition: str | None = field(default=None, name="if")
    timeout: Seconds | None = None
    status_message: str | None = None
    once: bool | None = None


Hook = CommandHook | HttpHook | McpToolHook | PromptHook | AgentHook


class HookGroup(Struct, frozen=True, kw_only=True):
    matcher: str | None = None
    hooks: tuple[Hook, ...]


HookTable = dict[str, tuple[HookGroup, ...]]
"""Event names to groups; events of newer releases are kept."""
