"""Answers sampling requests of MCP servers that the user allowed: text only, limited and charged."""

from collections.abc import Mapping
from typing import Any

from bridle.engine.runtime import Runtime
from bridle.engine.side_calls import consult_beside
from bridle.transcripts.session import Session
from bridle.types.block import text_of
from bridle.types.errors import McpError, ToolError
from bridle.types.history import SentMessage
from bridle.types.tool import Consultation

_INVALID_PARAMS = -32602
_INTERNAL = -32603
_MOST_TOKENS = 16_000
_MOST_CHARS = 400_000
_STOPS = {"end_turn": "endTurn", "max_tokens": "maxTokens", "stop_sequence": "stopSequence"}


async def sample_for(
    server: str, params: Mapping[str, Any], session: Session, runtime: Runtime
) -> Mapping[str, Any]:
    """What a model says to the messages of a server.

    Raises:
        McpError: the messages cannot be put to a model, or it does not answer.
    """
    messages = _messages(params.get("messages"))
    system, most = params.get("systemPrompt"), params.get("maxTokens")
    question = Consultation(
        purpose="MCP sampling",
        prompt=messages[-1][1],
        system=system[:_MOST_CHARS] if isinstance(system, str) else "",
        max_tokens=min(most, _MOST_TOKENS) if isinstance(most, int) and most > 0 else 1_024,
    )
    before: list[SentMessage] = [_said(role, text) for role, text in messages[:-1]]
    try:
        answer = await consult_beside(
            session, runtime, question, model=_model(params, session, runtime), before=before
        )
    except ToolError as error:
        raise McpError(f"{server}: {error}", code=_INTERNAL) from error
    return {
        "role": "assistant",
        "content": {"type": "text", "text": text_of(answer["content"])},
        "model": answer["model"],
        "stopReason": _STOPS.get(answer["stop_reason"] or "", "endTurn"),
    }


def _messages(listed: Any) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for each in listed if isinstance(listed, list) else ():
        match each:
            case {"role": "user" | "assistant" as role, "content": {"type": "text", "text": str() as text}}:
                found.append((role, text))
            case {"role": "user" | "assistant" as role, "content": [{"type": "text", "text": str() as text}]}:
                found.append((role, text))
            case _:
                raise McpError(
                    "messages may only contain text from the user or the assistant", code=_INVALID_PARAMS
                )
    if not found or found[-1][0] != "user" or sum(len(text) for _, text in found) > _MOST_CHARS:
        raise McpError(
            "the last message must be from the user, and the messages not too long", code=_INVALID_PARAMS
        )
    return found


def _said(role: str, text: str) -> SentMessage:
    return (
        {"role": "assistant", "content": [{"type": "text", "text": text}]}
        if role == "assistant"
        else {"role": "user", "content": text}
    )


def _model(params: Mapping[str, Any], session: Session, runtime: Runtime) -> str:
    """The model of the session, or the small one where the server would rather have it quick and cheap."""
    wishes = params.get("modelPreferences")
    wanted: Mapping[str, Any] = wishes if isinstance(wishes, dict) else {}
    cheap = max(_number(wanted.get("costPriority")), _number(wanted.get("speedPriority")))
    return (
        runtime.asking.small_model
        if cheap > _number(wanted.get("intelligencePriority"))
        else session.state.model
    )


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
