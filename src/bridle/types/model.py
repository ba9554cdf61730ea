"""A request to a model, what comes back, and who answers it."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal, NotRequired, Protocol, TypedDict

from msgspec import Struct

from bridle.types.block import AssistantBlock, AssistantMessage, TextBlock
from bridle.types.errors import ApiErrorKind
from bridle.types.history import History


class ToolDefinition(TypedDict):
    """A tool as the model sees it; server tools carry `type` and their own fields instead."""

    name: str
    description: NotRequired[str]
    input_schema: NotRequired[dict[str, Any]]
    type: NotRequired[str]
    defer_loading: NotRequired[bool]
    """It was loaded in the course of the conversation, and the list of tools stays as it is without it."""


class Thinking(Struct, frozen=True):
    mode: Literal["adaptive", "enabled", "disabled"]
    budget: int | None = None
    display: Literal["summarized", "omitted"] | None = None
    sent: bool = True
    """False: the request says nothing of thinking, for services that do not know the word."""


class ModelRequest(Struct, frozen=True, kw_only=True):
    """Everything that one model call needs, in no dialect yet."""

    model: str
    system: tuple[TextBlock, ...] = ()
    history: History
    tools: tuple[ToolDefinition, ...] = ()
    max_tokens: int
    thinking: Thinking | None = None
    effort: str | None = None
    task_budget: int | None = None
    betas: tuple[str, ...] = ()
    user_id: str | None = None
    session_id: str | None = None
    stream: bool = True
    cache: bool = True
    """Whether cache marks are set; a one-off question to a small model wants none."""
    extra: Mapping[str, Any] = {}
    """Fields merged into the body as they are (`CLAUDE_CODE_EXTRA_BODY`)."""
    headers: Mapping[str, str] = {}
    """More headers, in lower case."""


class Started(Struct, frozen=True):
    """The service accepted the request; `message` has its id, model and first usage."""

    message: AssistantMessage
    wire: bytes
    request_id: str | None = None


class BlockOpened(Struct, frozen=True):
    index: int
    block: AssistantBlock
    wire: bytes


class TextArrived(Struct, frozen=True):
    index: int
    text: str
    wire: bytes


class ThinkingArrived(Struct, frozen=True):
    index: int
    text: str
    wire: bytes


class PieceArrived(Struct, frozen=True):
    """A part of a block that is not shown as it grows: tool input, a signature, a citation."""

    index: int
    wire: bytes


class BlockClosed(Struct, frozen=True):
    """A block is whole."""

    index: int
    block: AssistantBlock
    wire: bytes
    flaw: str | None = None
    """Why the input of this tool call could not be read, when it could not."""


class Noted(Struct, frozen=True):
    """Something on the wire that adds nothing to the answer: message_delta, a newer event."""

    wire: bytes
    message: AssistantMessage | None = None
    """The answer without its content, where the service has just said how it ends and what it used."""


class Completed(Struct, frozen=True):
    """The last event of every stream that was not broken: the whole answer."""

    message: AssistantMessage
    wire: bytes
    request_id: str | None = None


class Waiting(Struct, frozen=True):
    """The call failed and will be tried again after a pause."""

    attempt: int
    max_retries: int
    delay: float
    error: ApiErrorKind
    status: int | None
    cause: str = ""
    """What happened, in a few words."""


class Restarted(Struct, frozen=True):
    """What has arrived since the last `Started` is void: the same request starts over."""

    reason: str


class FallbackStarted(Struct, frozen=True):
    """Another model answers from here on, in this turn."""

    original: str
    fallback: str
    reason: str


class LimitReported(Struct, frozen=True):
    """The service said how much of a limit is used up, and it is not what it said before."""

    info: Mapping[str, Any]
    """`status`, and where known `resetsAt`, `rateLimitType`, `utilization`, `overageStatus`."""


class Repaired(Struct, frozen=True):
    """The request was not in order and was put in order before it was sent."""

    faults: tuple[str, ...]


ModelEvent = (
    Started
    | BlockOpened
    | TextArrived
    | ThinkingArrived
    | PieceArrived
    | BlockClosed
    | Noted
    | Completed
    | Waiting
    | Restarted
    | FallbackStarted
    | LimitReported
    | Repaired
)
"""`wire` is the event as a Messages API stream would carry it, for hosts that want the raw stream."""


class Provider(Protocol):
    """Answers requests. Wrappers (retry, recording, metering) are providers too."""

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Yield the answer as it comes and end with exactly one `Completed`.

        Raises:
            ProviderError: the service refused or failed.
            StreamBroken: the answer stopped in the middle.
        """
        ...

    async def close(self) -> None:
        """Close connections."""
        ...
