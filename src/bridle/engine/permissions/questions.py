"""Asks about a call that the gate is unsure of: a person, a host program, or a hook in their place."""

import asyncio

from bridle.engine.calls.call import Call
from bridle.engine.hooks.turn_hooks import fire_notification
from bridle.engine.turn import Turn
from bridle.host.first_answer import first_answer
from bridle.types.hooks.calls import PermissionRequest
from bridle.types.origin import HOOK
from bridle.types.permission import Allow, Ask, Deny
from bridle.types.question import Answer, PermissionQuestion, Permitted, Refused
from bridle.types.tool import Tool
from bridle.types.variables import is_on

_QUIET = "CLAUDE_CODE_DISABLE_PERMISSION_PROMPT_NOTIFY_HOOKS"


async def answer_to(call: Call, tool: Tool, turn: Turn, doubt: Ask) -> Answer:
    """The first answer that counts, the other side's or that of a hook; both are asked at once.

    When both have answered, the hook's counts.
    """
    hooks = turn.runtime.hooks
    question = _question(call, tool, turn, doubt)
    if not hooks.listens_to("PermissionRequest") and not hooks.listens_to("Notification"):
        return await turn.runtime.channel.ask(question)
    # The question goes out before hooks are notified of it.
    asked = asyncio.ensure_future(turn.runtime.channel.ask(question))

    async def stand_in() -> Answer | None:
        if not asked.done():
            _tell_of_question(turn, tool)
        return await _hear(call, tool, turn, doubt)

    return await first_answer(stand_in(), asked, counts=lambda answer: not _is_nobodys(answer))


async def _hear(call: Call, tool: Tool, turn: Turn, doubt: Ask) -> Answer | None:
    """What hooks answer in a person's place; where no stand-in will do, only a refusal counts."""
    event = PermissionRequest(
        tool=tool.name, input=call.input, suggestions=doubt.suggestions, mcp_server=tool.server
    )
    said = await turn.runtime.hooks.fire(event)
    match said.decision:
        case Deny(reason=reason):
            return Refused(message=reason, interrupt=said.interrupt, origin=HOOK)
        case Allow() if doubt.reason_type != "safetyCheck":
            return Permitted(
                input=said.updated_input, updates=said.updated_permissions, by_hook=True, origin=HOOK
            )
        case _:
            return None


def _tell_of_question(turn: Turn, tool: Tool) -> None:
    if not is_on(turn.runtime.env, _QUIET):
        message = f"{tool.name} needs your approval."
        fire_notification(turn.runtime.hooks, "permission_prompt", message)


def _is_nobodys(answer: Answer) -> bool:
    return isinstance(answer, Refused) and not answer.by_person


def _reason(call: Call, tool: Tool, turn: Turn, doubt: Ask) -> str:
    """Why it is asked about, and what a feature knows that the input does not say."""
    if (words := turn.runtime.features.describe_call(tool.name, call, turn)) is None:
        return doubt.reason
    return f"{doubt.reason}. It would run {words}"


def _question(call: Call, tool: Tool, turn: Turn, doubt: Ask) -> PermissionQuestion:
    question = PermissionQuestion(
        call_id=call.id,
        tool=tool.name,
        input=call.input,
        reason=_reason(call, tool, turn, doubt),
        reason_type=doubt.reason_type,
        suggestions=doubt.suggestions,
        lasting=doubt.lasting,
        blocked_path=doubt.blocked_path,
        parts=doubt.parts,
        server=tool.server,
    )
    return turn.runtime.features.question(turn, tool, question)
