"""A file that is read again unchanged, while its text still stands in the conversation, is not sent again."""

from collections.abc import Sequence

from msgspec.structs import replace

from bridle.types.block import SentMessage
from bridle.types.tool import ToolOutput

_LEAST = 2_000
"""Characters: what is shorter costs less than it would confuse."""
_UNCHANGED = (
    "The file is unchanged: this part of it stands word for word in an earlier result in this conversation. "
    "Use that."
)


def unchanged(output: ToolOutput, messages: Sequence[SentMessage]) -> ToolOutput:
    """The output of a call that reads a text file, or a note in its place."""
    content = output.content
    if output.is_error or not isinstance(content, str) or len(content) < _LEAST:
        return output
    match output.data:
        case {"type": "text", "file": {"filePath": path}}:
            if not _stands_in(content, messages):
                return output
            data = {"type": "file_unchanged", "file": {"filePath": path}}
            return replace(output, content=_UNCHANGED, data=data)
        case _:
            return output


def _stands_in(content: str, messages: Sequence[SentMessage]) -> bool:
    for message in reversed(messages):
        if message["role"] != "user" or isinstance(message["content"], str):
            continue
        for block in message["content"]:
            if block["type"] == "tool_result" and block.get("content") == content:
                return True
    return False
