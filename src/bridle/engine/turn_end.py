"""Completes the conversation when a turn ends early: every call gets a result."""

from bridle.engine.texts import CALL_INTERRUPTED, CALL_LOST, INTERRUPTED, INTERRUPTED_IN_TOOLS
from bridle.engine.turn import Ending, Turn, api_ending
from bridle.transcripts.answers import entry_of_call
from bridle.transcripts.deferred_calls import note_deferred
from bridle.types.block import AssistantMessage, UserBlock, result_block, text_block
from bridle.types.errors import ProviderError
from bridle.types.event import ApiFault, AssistantReplied, ToolFinished, UserTextAdded
from bridle.types.ids import new_uuid
from bridle.types.origin import PROGRAM
from bridle.types.usage import Usage


def settle_stop(turn: Turn) -> Ending:
    """A hook or a refusal that also interrupts ended the turn after its calls were settled."""
    if turn.stopped_by_hook:
        return Ending("hook_stopped")
    _say_marker(turn, INTERRUPTED_IN_TOOLS)
    return Ending.failed(
        "aborted_tools", "error_during_execution", turn.stopped_by or "The turn was stopped."
    )


def settle_deferral(turn: Turn) -> Ending:
    """A hook deferred the only call: it has no result, and a later run resumes it."""
    if turn.deferred is not None:
        note_deferred(turn.session, turn.deferred.id)
    return Ending("tool_deferred")


def settle_fault(turn: Turn, error: ProviderError) -> Ending:
    """The last word of a turn whose model call failed: shown and kept, never sent to a model."""
    ending = api_ending(error)
    message: AssistantMessage = {
        "id": new_uuid(),
        "type": "message",
        "role": "assistant",
        "model": "<synthetic>",
        "content": [text_block(ending.text)],
        "stop_reason": "stop_sequence",
        "stop_sequence": "",
        "usage": Usage().to_api(),
    }
    entry = turn.session.say_assistant(
        message, request_id=error.request_id, error=error.kind, status=error.status, api_error=True
    )
    turn.runtime.channel.emit(
        AssistantReplied(
            uuid=entry["uuid"],
            timestamp=entry["timestamp"],
            message=message,
            request_id=error.request_id,
            fault=ApiFault(error.kind, error.status, error.error_type),
        )
    )
    return ending


def settle_interrupt(turn: Turn) -> Ending:
    """Answer every open call and leave a marker, so that the next prompt finds a valid conversation."""
    answered = _answer_open_calls(turn, CALL_INTERRUPTED)
    _say_marker(turn, INTERRUPTED_IN_TOOLS if answered else INTERRUPTED)
    reason = "aborted_tools" if answered or not turn.streaming else "aborted_streaming"
    return Ending.failed(reason, "error_during_execution", "The user interrupted the turn.")


def settle_defect(turn: Turn, defect: BaseException) -> Ending:
    _answer_open_calls(turn, CALL_LOST)
    return Ending.failed("model_error", "error_during_execution", f"internal error in bridle: {defect!r}")


def _answer_open_calls(turn: Turn, text: str) -> int:
    """Give every call that has no result an error, and return how many there were."""
    open_calls = turn.session.open_calls()
    for call in open_calls:
        result = result_block(call["id"], text, is_error=True)
        denied = {"toolDenialKind": "user-rejected"} if text is CALL_INTERRUPTED else {}
        entry = turn.session.say_user(
            [result],
            data=f"Error: {text}",
            source=entry_of_call(turn.session.entries, call["id"]),
            facts=denied,
        )
        turn.user_lines += 1
        turn.runtime.channel.emit(
            ToolFinished(
                uuid=entry["uuid"],
                timestamp=entry["timestamp"],
                tool=call["name"],
                result=result,
                data=f"Error: {text}",
                seconds=0.0,
            )
        )
    return len(open_calls)


def _say_marker(turn: Turn, text: str) -> None:
    content: list[UserBlock] = [text_block(text)]
    entry = turn.session.say_user(content, origin=PROGRAM)
    turn.user_lines += 1
    turn.runtime.channel.emit(
        UserTextAdded(uuid=entry["uuid"], timestamp=entry["timestamp"], content=content, synthetic=False)
    )
