"""The moments at which the user's own code may speak, and what it may say."""

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct

from bridle.types.permission import Decision


class UserPromptSubmit(Struct, frozen=True, kw_only=True):
    prompt: str


class PreToolUse(Struct, frozen=True, kw_only=True):
    tool: str
    input: Mapping[str, Any]
    call_id: str


class PostToolUse(Struct, frozen=True, kw_only=True):
    tool: str
    input: Mapping[str, Any]
    call_id: str
    response: Any
    duration_ms: int


class PostToolUseFailure(Struct, frozen=True, kw_only=True):
    tool: str
    input: Mapping[str, Any]
    call_id: str
    error: str
    is_interrupt: bool
    duration_ms: int


class Stop(Struct, frozen=True, kw_only=True):
    active: bool
    """A stop hook has already kept this turn going."""
    last_message: str


HookEvent = UserPromptSubmit | PreToolUse | PostToolUse | PostToolUseFailure | Stop


class HookOutcome(Struct, frozen=True, kw_only=True):
    """What all hooks of one event said, folded into one."""

    decision: Decision | None = None
    updated_input: Mapping[str, Any] | None = None
    updated_output: Any = None
    context: tuple[str, ...] = ()
    """Text for the model, beside the prompt or the result."""
    block: str | None = None
    """Why the prompt, the result or the stop is refused."""
    stop: str | None = None
    """Why the turn must end after this call."""


class Hooks(Protocol):
    async def fire(self, event: HookEvent) -> HookOutcome: ...


class NoHooks:
    """Nobody listens."""

    async def fire(self, event: HookEvent) -> HookOutcome:
        del event
        return HookOutcome()
