"""A prompt on its way in, and how its turn ended."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from bridle.types.block import UserBlock
from bridle.types.usage import ModelSpend, Usage

TurnReason = Literal[
    "completed", "max_turns", "budget_exhausted", "aborted_streaming", "aborted_tools", "api_error",
    "prompt_too_long", "image_error", "model_error", "hook_stopped", "stop_hook_prevented", "blocking_limit",
    "structured_output_retry_exhausted", "turn_setup_failed",
]  # fmt: skip

ResultSubtype = Literal[
    "success",
    "error_during_execution",
    "error_max_turns",
    "error_max_budget_usd",
    "error_max_structured_output_retries",
]


class Prompt(Struct, frozen=True, kw_only=True):
    """What somebody asks for."""

    content: str | list[UserBlock]
    uuid: str | None = None
    """The sender's own id for it, kept in the transcript."""
    origin: Mapping[str, Any] | None = None
    meta: bool = False
    """Text that no person wrote, such as the note that a background job has ended."""
    query: bool = True
    """False: keep it for the next turn and start none."""


class Denial(Struct, frozen=True):
    """A call that the gate turned away."""

    tool_name: str
    tool_use_id: str
    tool_input: Mapping[str, Any]


class Outcome(Struct, frozen=True, kw_only=True):
    """Everything that the result of a turn reports."""

    subtype: ResultSubtype
    reason: TurnReason
    is_error: bool
    text: str = ""
    errors: tuple[str, ...] = ()
    stop_reason: str | None = None
    num_turns: int
    duration_ms: int
    duration_api_ms: int
    ttft_ms: int | None = None
    usage: Usage
    """This turn, main thread only."""
    total_cost_usd: float
    spend: Mapping[str, ModelSpend]
    """Since the session began, every model, side calls included."""
    denials: tuple[Denial, ...] = ()
    api_error_status: int | None = None
    origin: Mapping[str, Any] | None = None
    prompt_uuid: str | None = None
