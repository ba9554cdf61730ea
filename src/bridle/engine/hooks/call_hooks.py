"""Fires the hooks around a call and applies their answers to it."""

from collections.abc import Awaitable, Callable

from bridle.engine.calls.call import Call
from bridle.engine.calls.replaced_results import rewritten
from bridle.engine.turn import Turn
from bridle.types.block import text_of
from bridle.types.event import Noticed
from bridle.types.hooks.calls import PermissionDenied, PostToolUse, PostToolUseFailure, PreToolUse
from bridle.types.hooks.environment import CwdChanged
from bridle.types.hooks.events import TaskCompleted, TaskCreated
from bridle.types.hooks.outcome import NOTHING_SAID, HookOutcome
from bridle.types.permission import Deny
from bridle.types.tool import ListedTask, Tool, ToolOutput


async def fire_pre_tool_use(call: Call, tool: Tool, turn: Turn) -> HookOutcome:
    """The third phase: what hooks say before the call; one that stops the turn lets the call run first."""
    if not turn.runtime.hooks.listens_to("PreToolUse"):
        return NOTHING_SAID
    said = await turn.runtime.hooks.fire(
        PreToolUse(tool=tool.name, input=call.input, call_id=call.id, mcp_server=tool.server)
    )
    _stop(turn, said)
    return said


async def can_be_deferred(call: Call, turn: Turn, is_alone: Callable[[], Awaitable[bool]]) -> bool:
    """Whether a call can be deferred as a hook wants; if not, it continues as if the hook were not there."""
    if turn.runtime.host.defers and await is_alone():
        return True
    why = (
        "it is not the only call in the answer"
        if turn.runtime.host.defers
        else "the session is waiting for it"
    )
    turn.runtime.channel.emit(Noticed(f"The hook cannot defer {call.name}: {why}.", "warning"))
    return False


async def fire_post_tool_use(
    call: Call, tool: Tool, turn: Turn, output: ToolOutput, *, seconds: float
) -> tuple[ToolOutput, tuple[str, ...]]:
    """The sixth phase: the result as hooks leave it, and their words for the model."""
    if not turn.runtime.hooks.listens_to("PostToolUse"):
        return output, ()
    said = await turn.runtime.hooks.fire(
        PostToolUse(
            tool=tool.name,
            input=call.input,
            call_id=call.id,
            response=output.data,
            duration_ms=round(seconds * 1000),
            mcp_server=tool.server,
        )
    )
    _stop(turn, said)
    if said.updated_output is not None:
        output = _replace(tool, turn, output, said)
    return output, (*said.context, *((said.block,) if said.block is not None else ()))


async def fire_post_tool_use_failure(
    call: Call, tool: Tool, turn: Turn, output: ToolOutput, *, seconds: float
) -> tuple[str, ...]:
    """The sixth phase of a call that failed: what hooks want the model to know."""
    if not turn.runtime.hooks.listens_to("PostToolUseFailure"):
        return ()
    said = await turn.runtime.hooks.fire(
        _failure(call, tool, text_of(output.content), interrupted=False, seconds=seconds)
    )
    _stop(turn, said)
    return said.context


def notify_interrupted_call(call: Call, tool: Tool, turn: Turn, *, seconds: float) -> None:
    """Notify hooks of a call that was interrupted, without waiting for them."""
    if turn.runtime.hooks.listens_to("PostToolUseFailure"):
        event = _failure(call, tool, "The call was interrupted.", interrupted=True, seconds=seconds)
        turn.runtime.hooks.notify(event)


async def fire_cwd_changed(turn: Turn, before: str) -> None:
    """Tell hooks that the session stands in another folder now."""
    hooks, now = turn.runtime.hooks, turn.runtime.workspace.cwd
    if now != before and (hooks.listens_to("CwdChanged") or hooks.listens_to("FileChanged")):
        await hooks.fire(CwdChanged(old_cwd=before, new_cwd=now))


async def fire_task_event(turn: Turn, task: ListedTask) -> str | None:
    """Tell hooks of an item of a task list; why it must not be made, or is not done yet."""
    kind = TaskCreated if task.moment == "created" else TaskCompleted
    if not turn.runtime.hooks.listens_to(kind.__name__):
        return None
    # With the first task comes what only teams need.
    from bridle.types.services.teams import team_name

    said = await turn.runtime.hooks.fire(
        kind(
            task_id=task.id,
            task_subject=task.subject,
            task_description=task.description,
            teammate_name=task.owner,
            team_name=task.team or team_name(turn.runtime.env, turn.session.id),
        )
    )
    return said.block or said.stop


async def fire_permission_denied(call: Call, tool: Tool, turn: Turn, denied: Deny) -> bool:
    """Tell hooks that a model refused the call; whether one says that it may be tried again."""
    if not turn.runtime.hooks.listens_to("PermissionDenied"):
        return False
    said = await turn.runtime.hooks.fire(
        PermissionDenied(
            tool=tool.name,
            input=call.input,
            call_id=call.id,
            reason=denied.reason,
            mcp_server=tool.server,
        )
    )
    return said.retry


def _failure(call: Call, tool: Tool, error: str, *, interrupted: bool, seconds: float) -> PostToolUseFailure:
    return PostToolUseFailure(
        tool=tool.name,
        input=call.input,
        call_id=call.id,
        error=error,
        is_interrupt=interrupted,
        duration_ms=round(seconds * 1000),
        mcp_server=tool.server,
    )


def _replace(tool: Tool, turn: Turn, output: ToolOutput, said: HookOutcome) -> ToolOutput:
    if (changed := rewritten(output, said.updated_output)) is not None:
        return changed
    text = f"Ignored the output that a hook returned for {tool.name}: it has the wrong shape."
    turn.runtime.channel.emit(Noticed(text, "warning"))
    return output


def _stop(turn: Turn, said: HookOutcome) -> None:
    if said.stop is not None:
        turn.stopped_by, turn.stopped_by_hook = said.stop, True
