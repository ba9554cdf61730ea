"""Lines of a transcript, with the field names that Claude Code uses."""

from typing import Any, Literal, NotRequired, TypedDict

from bridle.types.block import AssistantMessage, UserMessage


class LinkedEntry(TypedDict):
    """What every line of the conversation has; `parentUuid` makes the chain."""

    parentUuid: str | None
    isSidechain: bool
    uuid: str
    timestamp: str
    sessionId: str
    cwd: str
    version: str
    gitBranch: str
    userType: Literal["external"]
    entrypoint: str
    logicalParentUuid: NotRequired[str]
    agentId: NotRequired[str]
    teamName: NotRequired[str]
    agentName: NotRequired[str]
    permissionMode: NotRequired[str]


class UserEntry(LinkedEntry):
    type: Literal["user"]
    message: UserMessage
    toolUseResult: NotRequired[Any]
    sourceToolAssistantUUID: NotRequired[str]
    ranInput: NotRequired[dict[str, Any]]
    """What the call of this result ran with, where that is not what the model wrote."""
    isMeta: NotRequired[bool]
    isCompactSummary: NotRequired[bool]
    isVisibleInTranscriptOnly: NotRequired[bool]
    promptId: NotRequired[str]
    promptSource: NotRequired[str]
    turnOrigin: NotRequired[str]
    turnPosition: NotRequired[dict[str, int]]
    permissionDecision: NotRequired[dict[str, str]]
    """How the gate decided on the call of this result."""
    toolDenialKind: NotRequired[str]
    sandboxed: NotRequired[bool]
    attachment: NotRequired[dict[str, Any]]
    """What kind of attachment this is; its row in the file has the type `attachment`."""
    origin: NotRequired[dict[str, Any]]
    """Where a prompt came from; see `types.origin`. Results and reminders have none."""


class AssistantEntry(LinkedEntry):
    """One content block; rows of one answer share `message.id`."""

    type: Literal["assistant"]
    message: AssistantMessage
    requestId: NotRequired[str | None]
    costUSD: NotRequired[float]
    """What the whole answer cost, the same in each of its rows."""
    isAbortedMidStream: NotRequired[bool]
    isApiErrorMessage: NotRequired[bool]
    error: NotRequired[str]
    apiErrorStatus: NotRequired[int | None]


class SystemEntry(LinkedEntry):
    type: Literal["system"]
    subtype: str
    content: NotRequired[str]


ConversationEntry = UserEntry | AssistantEntry | SystemEntry

NoteEntry = dict[str, Any]
"""A line outside the chain: a title, a cost state, anything of a newer release."""

TAKEN_OVER = "takenOverFrom"
"""Marks a row that was copied from the transcript of a session that this agent was before."""
SIDE_CALL = "bridle-side-call"
"""The line of a model call that is not part of the conversation: what it was for, and what it used."""
