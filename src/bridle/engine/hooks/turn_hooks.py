"""Fires the hooks of a turn and applies their answers to it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from bridle.engine.turn import Ending, Turn
from bridle.types.block import text_of
from bridle.types.errors import ApiErrorKind, ProviderError
from bridle.types.event import Noticed
from bridle.types.hooks.outcome import NO_STOP_REASON, NOTHING_SAID, HookOutcome, Hooks
from bridle.types.services.tasks import Task
from bridle.types.turn import Prompt

if TYPE_CHECKING:
    from bridle.types.hooks.base import BackgroundTask, BatchCall, SessionCron

_MOST_STOP_BLOCKS = 8


async def fire_user_prompt_submit(turn: Turn, prompt: Prompt) -> HookOutcome:
    """What hooks say to a prompt; they are not called for text that no person wrote."""
    if prompt.meta or not turn.runtime.hooks.listens_to("UserPromptSubmit"):
        return NOTHING_SAID
    from bridle.types.hooks.events import UserPromptSubmit

    return await turn.runtime.hooks.fire(UserPromptSubmit(prompt=text_of(prompt.content)))


async def fire_user_prompt_expansion(
    hooks: Hooks,
    *,
    name: str,
    arguments: str,
    prompt: str,
    source: str | None = None,
    kind: Literal["slash_command", "mcp_prompt"] = "slash_command",
) -> HookOutcome:
    """What hooks say before a command turns into a prompt: `block` refuses it, `context` goes beside it."""
    if not hooks.listens_to("UserPromptExpansion"):
        return NOTHING_SAID
    from bridle.types.hooks.events import UserPromptExpansion

    return await hooks.fire(
        UserPromptExpansion(
            expansion_type=kind,
            command_name=name,
            command_args=arguments,
            command_source=source,
            prompt=prompt,
        )
    )


def fire_notification(hooks: Hooks, kind: str, message: str, *, title: str | None = None) -> None:
    """Let hooks call the user to the session, without waiting for them."""
    if hooks.listens_to("Notification"):
        from bridle.types.hooks.events import Notification

        hooks.notify(Notification(message=message, title=title, kind=kind))


def refusal(prompt: Prompt, said: HookOutcome) -> str:
    """What the sender of a refused prompt reads, with the prompt itself unless hooks object to that."""
    words = "" if said.suppress_original_prompt else f"\n\nThe prompt was: {text_of(prompt.content)}"
    return f"A hook blocked the prompt: {said.block}{words}"


def stop_words(reason: str) -> str:
    """What the sender of a prompt reads that a hook stopped, in the words that programs look for."""
    words = "Operation stopped by hook"
    return words if reason == NO_STOP_REASON else f"{words}: {reason}"


def add_hook_messages(turn: Turn) -> None:
    """Add messages of hooks since the last step to the conversation."""
    turn.session.attach_hook_context("Notification", turn.runtime.hooks.collect())


async def fire_post_tool_batch(turn: Turn, calls: "Sequence[BatchCall]") -> None:
    """Tell hooks that all calls of an answer are settled, before the model reads the results."""
    from bridle.types.hooks.calls import PostToolBatch

    said = await turn.runtime.hooks.fire(PostToolBatch(tool_calls=calls))
    turn.session.attach_hook_context("PostToolBatch", said.context)
    if said.stop is not None:
        turn.stopped_by, turn.stopped_by_hook = said.stop, True


async def late_words(turn: Turn, blocks: int) -> str | None:
    """Where no other prompt can come: what hooks in the background say to the work, or nothing."""
    if not turn.runtime.host.is_last() or ((most := _most_blocks(turn)) and blocks >= most):
        return None
    return await turn.runtime.hooks.late_words()


async def fire_stop(turn: Turn, text: str, blocks: int) -> str | Ending | None:
    """What hooks say to the end of a turn: why it continues, how it ends, or nothing."""
    if not turn.runtime.hooks.listens_to("Stop"):
        return None
    from bridle.types.hooks.events import Stop

    jobs, crons = _running(turn), _crons(turn)
    said = await turn.runtime.hooks.fire(
        Stop(active=blocks > 0, last_message=text, background_tasks=jobs, session_crons=crons)
    )
    if said.stop is not None:
        return Ending("stop_hook_prevented", text=text)
    words = "\n".join((*((said.block,) if said.block is not None else ()), *said.context))
    if not words:
        return None
    most = _most_blocks(turn)
    if most and blocks >= most:
        notice = f"Stop hooks continued the turn {most} times, the limit. The turn ends."
        turn.runtime.channel.emit(Noticed(notice, "warning"))
        return None
    return words


async def fire_stop_failure(turn: Turn, kind: ApiErrorKind, details: str) -> None:
    """Tell hooks that the turn ends because the model could not answer."""
    if not turn.runtime.hooks.listens_to("StopFailure"):
        return
    from bridle.types.hooks.events import StopFailure

    await turn.runtime.hooks.fire(
        StopFailure(error=kind, error_details=details, last_message=_last_words(turn))
    )


async def fire_model_fallback(turn: Turn, fallback: str) -> None:
    """Ask hooks before another model takes over, and tell them when it has.

    Raises:
        ProviderError: a hook refuses; then no model answers.
    """
    hooks = turn.runtime.hooks
    if not hooks.listens_to("PreModelSwitch") and not hooks.listens_to("PostModelSwitch"):
        return
    from bridle.engine.model_switch import fire_model_switch

    def switch() -> None:
        turn.model = fallback

    refused = await fire_model_switch(turn.session, turn.runtime, turn.model, fallback, switch=switch)
    if refused is not None:
        raise ProviderError(
            f"{turn.model} is overloaded, and a hook blocked the switch to {fallback}: {refused}",
            kind="overloaded",
        )


async def fire_message_display(turn: Turn, message_id: str, index: int, text: str) -> str:
    """The text as people are shown it; what is recorded and sent stays as the model wrote it."""
    from bridle.types.hooks.events import MessageDisplay

    said = await turn.runtime.hooks.fire(
        MessageDisplay(turn_id=turn.id, message_id=message_id, index=index, final=True, delta=text)
    )
    return text if said.display_content is None else said.display_content


def _crons(turn: Turn) -> list["SessionCron"]:
    from bridle.types.services.schedules import SCHEDULES

    schedules = turn.runtime.features.find(SCHEDULES)
    return [
        {"id": each.id, "schedule": each.cron, "recurring": each.recurring, "prompt": each.prompt}
        for each in (() if schedules is None else schedules.all())
    ]


def _running(turn: Turn) -> "list[BackgroundTask]":
    jobs = turn.runtime.workspace.jobs()
    return [_row(task) for task in jobs if task.status == "running" and task.backgrounded]


def _row(task: Task) -> "BackgroundTask":
    row: BackgroundTask = {
        "id": task.id,
        "type": task.kind,
        "status": task.status,
        "description": task.description,
    }
    if task.agent_type is None:
        row["command"] = task.command
    else:
        row["agent_type"] = task.agent_type
    if task.name is not None:
        row["name"] = task.name
    return row


def _most_blocks(turn: Turn) -> int:
    """How often hooks may keep one turn going; 0 for as often as they like."""
    text = turn.runtime.env.get("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "").strip()
    return int(text) if text.isdecimal() else _MOST_STOP_BLOCKS


def _last_words(turn: Turn) -> str | None:
    for entry in reversed(turn.session.entries):
        if entry["type"] == "assistant" and not entry.get("isApiErrorMessage"):
            return text_of(entry["message"]["content"]) or None
    return None
