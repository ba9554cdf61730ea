"""What the engine itself offers to tools: waiting, notifying, ending the session, hooks of task lists."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bridle.engine.feature import Feature, RunningCall
from bridle.tools.catalog import traits_of
from bridle.types.services.service import Service
from bridle.types.services.session import ANNOUNCE, LEAVE, OBJECTIONS, PAUSE
from bridle.types.text import encodable

if TYPE_CHECKING:
    from bridle.engine.assignment import Assignment
    from bridle.engine.calls.call import Call
    from bridle.engine.turn import Turn
    from bridle.types.tool import ToolOutput

_TITLE = "bridle"
_MOST_TASKS = 50
_LONGEST = 200


class ToolServices(Feature):
    name = "tool_services"

    def __init__(self, context: object = None) -> None:
        del context

    def offer(self, key: Service[Any], call: "Call", turn: "Turn") -> Any:
        if key is ANNOUNCE:
            return partial(_announce, turn)
        if key is PAUSE:
            return partial(_pause, turn)
        if key is LEAVE:
            return turn.runtime.host.leave if turn.session.agent_id is None else None
        if key is OBJECTIONS:
            from bridle.engine.hooks.call_hooks import fire_task_event

            return partial(fire_task_event, turn)
        return None

    def after_call(self, running: RunningCall, output: "ToolOutput") -> "ToolOutput":
        if traits_of(running.tool.name).kind != "read":
            return output
        from bridle.engine.calls.repeated_reads import unchanged

        return unchanged(output, running.turn.session.settled)

    def restore(self, turn: "Turn") -> Sequence[str | None]:
        """The list of tasks, which the model keeps by calls that a compaction takes away."""
        from bridle.tools.tasks.stored_lists import folder_of, read_items

        items = read_items(folder_of(turn.session.id, turn.runtime.env))
        still_open = [item for item in items if item["status"] != "completed"]
        if not still_open:
            return ()
        lines = [
            f"- #{item['id']} [{item['status']}] {item['subject'][:_LONGEST]}"
            for item in still_open[:_MOST_TASKS]
        ]
        return ("# Your task list\n" + "\n".join(lines),)

    def for_agent(self, work: "Assignment") -> Feature:
        return self

    def for_hook_agent(self) -> Feature:
        return self


def _announce(turn: "Turn", text: str) -> None:
    """Show a line, ask the terminal to notify, and tell notification hooks, which may carry it further."""
    from bridle.engine.hooks.turn_hooks import fire_notification
    from bridle.types.event import Noticed, Signalled

    runtime = turn.runtime
    plain = "".join(letter for letter in encodable(text) if letter.isprintable())
    runtime.channel.emit(Noticed(plain, "notice"))
    runtime.channel.emit(Signalled(f"\x1b]9;{_TITLE}: {plain}\x07"))
    fire_notification(runtime.hooks, "agent_completed", plain, title=_TITLE)


async def _pause(turn: "Turn", seconds: float) -> float | None:
    """Wait until the time is over, or something comes in: then after how many seconds."""
    arrivals, clock = turn.runtime.host.arrivals, turn.runtime.clock
    began = clock()
    try:
        async with asyncio.timeout(seconds):
            await arrivals.stirred()
    except TimeoutError:
        return None
    return clock() - began
