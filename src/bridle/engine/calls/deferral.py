"""Resumes a call that a hook deferred in an earlier turn."""

import asyncio

from bridle.engine.calls.queue import CallQueue
from bridle.engine.turn import Turn
from bridle.transcripts.session import Session
from bridle.types.block import ToolUseBlock


async def resume_deferred_call(turn: Turn, call: ToolUseBlock) -> None:
    """Run the call from its first phase on; hooks are called for it again."""
    async with asyncio.TaskGroup() as group:
        calls = CallQueue(group, turn)
        calls.add(call, flaw=None, source=_source(turn.session, call["id"]))
        calls.release()
    calls.finish()


def _source(session: Session, call_id: str) -> str:
    """The entry that holds the call."""
    return next(
        entry["uuid"]
        for entry in reversed(session.entries)
        if entry["type"] == "assistant"
        and any(
            block["type"] == "tool_use" and block["id"] == call_id for block in entry["message"]["content"]
        )
    )
