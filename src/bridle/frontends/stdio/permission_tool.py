"""A tool of an MCP server that answers permission questions in a person's place."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from bridle.frontends.stdio.channel import read_choice, read_permission
from bridle.types.channel import Channel
from bridle.types.errors import McpError
from bridle.types.event import Event
from bridle.types.question import (
    CHOICE_TOOL,
    Answer,
    ChoiceQuestion,
    ElicitationQuestion,
    NetworkQuestion,
    PermissionQuestion,
    Question,
    Refused,
)
from bridle.types.services.mcp import McpServers


class PermissionToolChannel:
    """A channel whose questions about calls go to `mcp__server__tool`."""

    def __init__(self, channel: Channel, tool: str, servers: Callable[[], McpServers]) -> None:
        self._channel = channel
        _, self._server, self._tool = tool.split("__", 2)
        self._servers = servers

    def emit(self, event: Event) -> None:
        self._channel.emit(event)

    async def ask(self, question: Question) -> Answer:
        match question:
            case PermissionQuestion():
                asked = await self._call(question.tool, question.input, question.call_id)
                return asked if isinstance(asked, Refused) else read_permission(asked)
            case ChoiceQuestion():
                input = {"questions": list(question.questions)}
                asked = await self._call(CHOICE_TOOL, input, question.call_id)
                return asked if isinstance(asked, Refused) else read_choice(asked)
            case NetworkQuestion() | ElicitationQuestion():
                return await self._channel.ask(question)

    async def _call(self, tool: str, input: Mapping[str, Any], call_id: str) -> Mapping[str, Any] | Refused:
        request = {"tool_name": tool, "input": dict(input), "tool_use_id": call_id}
        try:
            answer = await self._servers().call(self._server, self._tool, request, call_id=call_id)
        except McpError as error:
            return _unusable(str(error))
        texts = [
            block.get("text", "") for block in answer.get("content") or () if block.get("type") == "text"
        ]
        try:
            return msgspec.json.decode("".join(texts), type=dict[str, Any])
        except msgspec.DecodeError:
            return _unusable("its answer is not a JSON object")


def _unusable(reason: str) -> Refused:
    return Refused(message=f"The permission prompt tool could not be asked: {reason}.", by_person=False)
