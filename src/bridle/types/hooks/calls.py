"""Hook events around tool calls."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import field

from bridle.types.hooks.base import BatchCall, Moment


class PreToolUse(Moment, frozen=True, kw_only=True):
    """A call is about to run; it may be denied, changed, asked about or deferred."""

    matched_on = "tool"
    tool: str = field(name="tool_name")
    input: Mapping[str, Any] = field(name="tool_input")
    call_id: str = field(name="tool_use_id")
    mcp_server: Mapping[str, Any] | None = None


class PermissionRequest(Moment, frozen=True, kw_only=True):
    """A person is asked about a call; a hook may answer in their place."""

    matched_on = "tool"
    tool: str = field(name="tool_name")
    input: Mapping[str, Any] = field(name="tool_input")
    suggestions: Sequence[Mapping[str, Any]] | None = field(default=None, name="permission_suggestions")
    mcp_server: Mapping[str, Any] | None = None


class PermissionDenied(Moment, frozen=True, kw_only=True):
    """A model refused a call in auto mode; a hook may let the model try again."""

    matched_on = "tool"
    tool: str = field(name="tool_name")
    input: Mapping[str, Any] = field(name="tool_input")
    call_id: str = field(name="tool_use_id")
    reason: str
    mcp_server: Mapping[str, Any] | None = None


class PostToolUse(Moment, frozen=True, kw_only=True):
    """A call has run; what the model reads of it may be changed."""

    matched_on = "tool"
    tool: str = field(name="tool_name")
    input: Mapping[str, Any] = field(name="tool_input")
    response: Any = field(name="tool_response")
    call_id: str = field(name="tool_use_id")
    duration_ms: int | None = None
    mcp_server: Mapping[str, Any] | None = None


class PostToolUseFailure(Moment, frozen=True, kw_only=True):
    """A call has failed or was interrupted."""

    matched_on = "tool"
    tool: str = field(name="tool_name")
    input: Mapping[str, Any] = field(name="tool_input")
    call_id: str = field(name="tool_use_id")
    error: str
    is_interrupt: bool | None = None
    duration_ms: int | None = None
    mcp_server: Mapping[str, Any] | None = None


class PostToolBatch(Moment, frozen=True, kw_only=True):
    """Every call of one answer is settled, and the model has not read the results yet."""

    tool_calls: Sequence[BatchCall]


ToolEvent = PreToolUse | PermissionRequest | PermissionDenied | PostToolUse | PostToolUseFailure
"""Events that are about one call."""
