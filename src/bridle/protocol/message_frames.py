"""What is said in a session, as the lines of its two sides."""

from collections.abc import Sequence
from typing import Any

from bridle.types.event import AssistantReplied, PromptFolded, ToolFinished, TurnStarted, UserTextAdded
from bridle.types.ids import new_uuid

Frame = dict[str, Any]
_DECISION = {"reasonType": "reason_type", "reasonCode": "reason_code"}
"""Keys of a decision as rows and as lines have them."""


def assistant_frame(event: AssistantReplied, session_id: str) -> Frame:
    """A block of the model's answer; how the answer ends is not known yet."""
    shown = event.message if event.fault else {**event.message, "stop_reason": None}
    frame: Frame = {
        "type": "assistant",
        "message": {**shown, "context_management": None},
        "parent_tool_use_id": None,
        "session_id": session_id,
        "uuid": event.uuid,
        "timestamp": event.timestamp,
    }
    if event.request_id is not None:
        frame["request_id"] = event.request_id
    if event.aborted:
        frame["aborted"] = True
    if event.took_ms is not None and event.message["content"][0]["type"] == "thinking":
        frame["thinking_duration_ms"] = event.took_ms
    if event.fault is not None:
        frame["error"] = event.fault.kind
        frame["is_api_error_message"] = True
        frame["api_error_status"] = event.fault.status
        frame["api_error_type"] = event.fault.type
    return frame


def user_frame(event: UserTextAdded, session_id: str) -> Frame:
    """Text on the user's side that no host has sent."""
    frame = {**_user(event.content, session_id, event.uuid), "timestamp": event.timestamp}
    if event.synthetic:
        frame["isSynthetic"] = True
    return frame


def result_frame(event: ToolFinished, session_id: str, decision: Frame | None) -> Frame:
    """The result of a call, with who decided on it where that is known."""
    frame = _user([event.result], session_id, event.uuid)
    frame |= {"tool_use_result": event.data, "timestamp": event.timestamp}
    if decision is None and event.decision is not None:
        given = ((_DECISION.get(key, key), value) for key, value in event.decision.items())
        decision = {key: value for key, value in given if key != "ruleSource"}
    if decision is not None:
        call_id = event.result["tool_use_id"]
        frame["tool_result_meta"] = [{"id": call_id, "permission_decision": decision}]
    return frame


def prompt_frame(event: TurnStarted | PromptFolded, session_id: str) -> Frame:
    """A prompt as it was taken up."""
    return _user(event.prompt, session_id, event.uuid)


def command_frame(text: str, session_id: str) -> Frame:
    """What a command has to say."""
    content = f"<local-command-stdout>{text}</local-command-stdout>"
    return {**_user(content, session_id, new_uuid()), "isReplay": True}


def _user(content: str | Sequence[Any], session_id: str, uuid: str) -> Frame:
    return {
        "type": "user",
        "message": {"role": "user", "content": content},
        "parent_tool_use_id": None,
        "session_id": session_id,
        "uuid": uuid,
    }
