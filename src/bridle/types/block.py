"""Content blocks and messages, exactly as the Messages API writes them."""

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypedDict


class CacheControl(TypedDict):
    type: Literal["ephemeral"]
    ttl: NotRequired[Literal["5m", "1h"]]


class TextBlock(TypedDict):
    type: Literal["text"]
    text: str
    citations: NotRequired[list[Any]]
    cache_control: NotRequired[CacheControl]


class ThinkingBlock(TypedDict):
    type: Literal["thinking"]
    thinking: str
    signature: str


class RedactedThinkingBlock(TypedDict):
    type: Literal["redacted_thinking"]
    data: str


class ToolUseBlock(TypedDict):
    type: Literal["tool_use"]
    id: str
    name: str
    input: dict[str, Any]


class ServerToolUseBlock(TypedDict):
    type: Literal["server_tool_use"]
    id: str
    name: str
    input: dict[str, Any]


class WebSearchToolResultBlock(TypedDict):
    type: Literal["web_search_tool_result"]
    tool_use_id: str
    content: Any


class Base64Source(TypedDict):
    type: Literal["base64"]
    media_type: str
    data: str


class UrlSource(TypedDict):
    type: Literal["url"]
    url: str


class ImageBlock(TypedDict):
    type: Literal["image"]
    source: Base64Source | UrlSource
    cache_control: NotRequired[CacheControl]


class DocumentBlock(TypedDict):
    type: Literal["document"]
    source: Mapping[str, Any]
    title: NotRequired[str]
    cache_control: NotRequired[CacheControl]


class ToolReferenceBlock(TypedDict):
    """Stands for the definition of a tool, at services that know such references."""

    type: Literal["tool_reference"]
    tool_name: str


ResultContent = TextBlock | ImageBlock | DocumentBlock | ToolReferenceBlock
"""What a tool result may hold."""


class ToolResultBlock(TypedDict):
    type: Literal["tool_result"]
    tool_use_id: str
    content: str | list[ResultContent]
    is_error: NotRequired[bool]
    cache_control: NotRequired[CacheControl]


UserBlock = TextBlock | ImageBlock | DocumentBlock | ToolResultBlock
AssistantBlock = (
    TextBlock
    | ThinkingBlock
    | RedactedThinkingBlock
    | ToolUseBlock
    | ServerToolUseBlock
    | WebSearchToolResultBlock
)
Block = UserBlock | AssistantBlock


class UserMessage(TypedDict):
    role: Literal["user"]
    content: str | list[UserBlock]


class AssistantMessage(TypedDict):
    """An answer as the API returns it; only `role` and `content` are ever sent back."""

    id: str
    type: Literal["message"]
    role: Literal["assistant"]
    model: str
    content: list[AssistantBlock]
    stop_reason: str | None
    stop_sequence: str | None
    usage: dict[str, Any]


class SentMessage(TypedDict):
    """One message of a request."""

    role: Literal["user", "assistant"]
    content: str | list[Block]


def text_block(text: str) -> TextBlock:
    return {"type": "text", "text": text}


def result_block(
    call_id: str, content: "str | list[ResultContent]", *, is_error: bool = False
) -> ToolResultBlock:
    block: ToolResultBlock = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    if is_error:
        block["is_error"] = True
    return block


def text_of(blocks: "str | list[Any]") -> str:
    """The visible text of some content, blocks joined without a separator."""
    if isinstance(blocks, str):
        return blocks
    return "".join(block["text"] for block in blocks if block.get("type") == "text")
