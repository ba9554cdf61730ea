"""Hooks that are code: of an SDK program at the other end of the wire, or of this very process."""

from collections.abc import Awaitable, Mapping
from typing import Any

import msgspec

from bridle.hooks.handler import Answered, CallbackHook, Failed, FunctionHook, Handler, HookCall, Reply
from bridle.types.errors import BridleError
from bridle.types.hooks.outcome import AskHost

_LONGEST_SHOWN = 10_000


def callback_handler(ask: AskHost) -> Handler:
    """Call back into the program that hosts the session."""

    async def run(call: HookCall) -> Reply:
        assert isinstance(call.hook, CallbackHook)
        # Events without a tool call still need an id on the wire, and any will do.
        tool_use_id = str(call.payload.get("tool_use_id") or call.id)
        try:
            output = await ask(
                call.hook.callback_id, call.payload, tool_use_id=tool_use_id, timeout=call.timeout
            )
        except BridleError as error:
            return Failed(reason=f"failed in the host: {str(error)[:_LONGEST_SHOWN]}")
        return _read(output)

    return run


async def run_function(call: HookCall) -> Reply:
    """Call a function of this process; one that is not async must be quick, as everything waits for it."""
    assert isinstance(call.hook, FunctionHook)
    # Each function gets an object of its own: what one changes is no business of the others.
    output = call.hook.function(msgspec.json.decode(call.data))
    if isinstance(output, Awaitable):
        output = await output
    return _read(output)


def _read(output: object) -> Reply:
    if output is None:
        return Answered(output={})
    if not isinstance(output, Mapping):
        return Failed(reason=f"must return an object or nothing, not a {type(output).__name__}")
    try:
        # The round trip leaves plain JSON, whatever mapping the code made it from.
        data = msgspec.json.encode(output)
        return Answered(output=msgspec.json.decode(data, type=dict[str, Any]), text=_shown(data))
    except (TypeError, ValueError, RecursionError) as error:
        return Failed(reason=f"returned something that is not JSON: {error}")


def _shown(data: bytes) -> str:
    return data[: 4 * _LONGEST_SHOWN].decode("utf-8", "replace")[:_LONGEST_SHOWN]
