"""Turns a call of `CallTool` into a call of the tool that it names."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bridle.types.block import ToolUseBlock
from bridle.types.model import (
    BlockClosed,
    BlockOpened,
    Completed,
    ModelEvent,
    ModelRequest,
    PieceArrived,
    Restarted,
    Started,
)
from bridle.types.on_demand import CALL

_NAMES = ("name", "tool_name", "tool")
_INPUTS = ("input", "arguments", "args", "parameters", "params", "tool_input")
_DEEPEST = 3
"""Calls of calls that are followed."""


class Unwrapping:
    """Everything that follows sees the tool that is meant: gate, hooks, people, and the transcript.

    Events of one answer pass through here in their order; such a call is held until it is whole, because
    only then it is known what it calls.
    """

    def __init__(self, request: ModelRequest) -> None:
        self._offered = any(tool["name"] == CALL for tool in request.tools)
        self._held: BlockOpened | None = None
        self._meant: dict[str, ToolUseBlock] = {}
        """The calls that were turned into others, by their ids."""

    def events(self, event: ModelEvent) -> Iterator[ModelEvent]:
        """What becomes of one event: nothing yet, itself, or a whole call."""
        held = self._held
        match event:
            case BlockOpened(block={"type": "tool_use", "name": name}) if name == CALL and self._offered:
                self._held = event
            case PieceArrived(index=index) if held is not None and index == held.index:
                pass
            case BlockClosed(index=index) if held is not None and index == held.index:
                self._held = None
                yield from self._whole(held, event)
            case Completed() if self._meant:
                content = [self._replaced(block) for block in event.message["content"]]
                message: Any = {**event.message, "content": content}
                yield msgspec.structs.replace(event, message=message)
            case Started() | Restarted():
                self._held, self._meant = None, {}
                yield event
            case _:
                yield event

    def _whole(self, opened: BlockOpened, closed: BlockClosed) -> Iterator[ModelEvent]:
        """A call as if it had come under its own name; one that cannot be read stays as it is."""
        block: Any = closed.block
        meant = None if closed.flaw is not None else meant_call(block["input"])
        if meant is not None:
            name, given = meant
            block = {**block, "name": name, "input": given}
            self._meant[block["id"]] = block
        begun: Any = {**block, "input": {}}
        start: dict[str, Any] = {"type": "content_block_start", "index": opened.index, "content_block": begun}
        delta = {"type": "input_json_delta", "partial_json": msgspec.json.encode(block["input"]).decode()}
        piece = {"type": "content_block_delta", "index": opened.index, "delta": delta}
        yield BlockOpened(opened.index, begun, msgspec.json.encode(start))
        yield PieceArrived(opened.index, msgspec.json.encode(piece))
        yield msgspec.structs.replace(closed, block=block)

    def _replaced(self, block: Any) -> Any:
        return self._meant.get(block["id"], block) if block["type"] == "tool_use" else block


def meant_call(given: Mapping[str, Any], *, depth: int = 0) -> tuple[str, dict[str, Any]] | None:
    """The tool and the input that `CallTool` was given; None when that is not clear.

    The input may be an object, its text, or stand beside the name.
    """
    named = [key for key in _NAMES if isinstance(given.get(key), str) and given[key].strip()]
    if not named:
        return None
    name = given[named[0]].strip()
    rest = {key: value for key, value in given.items() if key != named[0]}
    held = [key for key in _INPUTS if key in rest]
    if len(rest) == 1 and held:
        inner = _object(rest[held[0]])
        if inner is None:
            return None
    else:
        inner = rest
    if name == CALL:
        return meant_call(inner, depth=depth + 1) if depth < _DEEPEST else None
    return name, inner


def _object(value: Any) -> dict[str, Any] | None:
    """An object, or the one that a text holds; nothing at all is an empty one."""
    if isinstance(value, str):
        if not value.strip():
            return {}
        try:
            value = msgspec.json.decode(value)
        except msgspec.DecodeError:
            return None
    if value is None:
        return {}
    return value if isinstance(value, dict) else None
