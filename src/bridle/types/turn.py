"""A prompt on its way in, and how its turn ended."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import UNSET, Struct

from bridle.types.block import UserBlock
from bridle.types.origin import Origin
from bridle.types.permission import Rule
from bridle.types.usage import ModelSpend, Usage

TurnReason = Literal[
    "completed", "max_turns", "budget_exhausted", "aborted_streaming", "aborted_tools", "api_error",
    "prompt_too_long", "image_error", "model_error", "hook_stopped", "stop_hook_prevented", "blocking_limit",
    "structured_output_retry_exhausted", "turn_setup_failed", "tool_deferred", "command",
    "repeated_calls",
]  # fmt: skip
"""`command`: a slash command did it all, and no model was asked."""

ResultSubtype = Literal[
    "success",
    "error_during_execution",
    "error_max_turns",
    "error_max_budget_usd",
    "error_max_structured_output_retries",
    "error_repeated_calls",
]
"""`error_repeated_calls`: the model made the same failing call too often; only bridle has this one."""

Priority = Literal["now", "next", "later"]
"""`now` goes before all that wait, `later` never joins a turn that runs already."""


class Prompt(Struct, frozen=True, kw_only=True):
    """A request to the session."""

    content: str | list[UserBlock]
    origin: Origin
    """Where it comes from: decides what it may do, and is kept with it."""
    uuid: str | None = None
    """The sender's own id for it, kept in the transcript."""
    meta: bool = False
    """Text that no person wrote, such as the note that a background job has ended."""
    query: bool = True
    """False: keep it for the next turn and start none."""
    priority: Priority = "next"
    verbatim: bool = False
    """A program composed it: nothing in it is a command or a mention."""
    beside: tuple[UserBlock, ...] = ()
    """What the model reads with it and no person typed: the text of a command, files that it mentions."""
    rules: tuple[Rule, ...] = ()
    """What is allowed for the length of its turn."""
    model: str | None = None
    """The model of its turn, where it is not that of the session."""
    effort: str | None = None


class Denial(Struct, frozen=True):
    """A call that the gate denied."""

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
    deferred: Mapping[str, Any] | None = None
    """The call that a hook deferred to a later run: id, name and input."""
    api_error_status: int | None = None
    origin: Mapping[str, Any] | None = None
    prompt_uuid: str | None = None
    prompt_uuids: tuple[str, ...] = ()
    """The senders' ids of every prompt that the turn has taken in, in order."""
    structured_output: Any = UNSET
    """The answer in the shape that was asked for, when it was given."""
