"""How requests carry tools that were loaded in the course of a conversation."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from bridle.types.block import SentMessage
from bridle.types.model import ModelRequest, ToolDefinition
from bridle.types.on_demand import CALL, SEARCH, is_deferred

BETA = "advanced-tool-use-2025-11-20"
_OLD = ("claude-2", "claude-3", "claude-instant", "haiku-4")
"""Parts of the names of models that take no references to tools."""


class CallForm(Struct, frozen=True):
    """The form of calls and results in one request.

    It depends on the tools of the request alone: as long as those stay, every message is written as before.
    """

    listed: frozenset[str]
    """The tools that the request lists."""
    loaded: frozenset[str] = frozenset()
    """Those that it can refer to."""
    form: str = ""
    """Tells encodings apart, for those who remember them."""

    @classmethod
    def of(cls, request: ModelRequest, *, references: bool = False) -> "CallForm":
        """The form for a service, which may know references to tools."""
        listed = frozenset(tool["name"] for tool in request.tools if not is_deferred(tool))
        if references:
            loaded = frozenset(tool["name"] for tool in request.tools if is_deferred(tool))
            return cls(listed - {CALL}, loaded, _form("references", loaded))
        return cls(listed, form=_form("calls", listed) if CALL in listed else "")

    def message(self, message: SentMessage) -> SentMessage:
        """The message with calls and results in this form; itself where nothing in it depends on that."""
        content: Any = message["content"]
        if isinstance(content, str):
            return message
        write = self._call if message["role"] == "assistant" else self._result
        blocks = [write(block) for block in content]
        same = all(one is other for one, other in zip(blocks, content, strict=True))
        return message if same else {"role": message["role"], "content": blocks}

    def name(self, tool: str) -> str:
        """What the service knows a call of this tool by."""
        return CALL if self._is_wrapped(tool) else tool

    def _is_wrapped(self, tool: str) -> bool:
        return CALL in self.listed and tool not in self.listed

    def _call(self, block: Any) -> Any:
        if block["type"] != "tool_use" or not self._is_wrapped(block["name"]):
            return block
        return {**block, "name": CALL, "input": {"name": block["name"], "input": block["input"]}}

    def _result(self, block: Any) -> Any:
        content = block.get("content") if block["type"] == "tool_result" else None
        if not isinstance(content, list) or not any(_is_reference(each) for each in content):
            return block
        references = [each for each in content if _is_reference(each)]
        known = [each for each in references if each["tool_name"] in self.loaded]
        if known:
            # Services take references in a result of their own, with nothing else in it.
            return {**block, "content": known}
        rest = [each for each in content if not _is_reference(each)]
        return {**block, "content": rest or f"Loaded: {_names(references)}."}


def sent_tools(tools: tuple[ToolDefinition, ...], *, references: bool) -> list[ToolDefinition]:
    """The tools as a request of the Messages API lists them."""
    if references:
        return [tool for tool in tools if tool["name"] != CALL]
    return [tool for tool in tools if not is_deferred(tool)]


def takes_references(request: ModelRequest) -> bool:
    """Whether a request has any use for references, and its model can read them."""
    searches = any(tool["name"] == SEARCH for tool in request.tools)
    return searches and not any(old in request.model for old in _OLD)


def _is_reference(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_reference"


def _names(references: Iterable[Any]) -> str:
    return ", ".join(str(each.get("tool_name")) for each in references)


def _form(kind: str, names: frozenset[str]) -> str:
    return f" {kind} {hash(names)}"
