"""Builders of messages and entries, and what must hold for every history."""

from typing import Any

from bridle.transcripts.session import Session
from bridle.types.block import (
    AssistantBlock,
    AssistantMessage,
    SentMessage,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    UserBlock,
)
from bridle.types.entry import AssistantEntry, LinkedEntry, SystemEntry, UserEntry


def text(words: str) -> TextBlock:
    return {"type": "text", "text": words}


def thinking(words: str = "hm") -> ThinkingBlock:
    return {"type": "thinking", "thinking": words, "signature": "sig"}


def call(call_id: str) -> ToolUseBlock:
    return {"type": "tool_use", "id": call_id, "name": "Read", "input": {"file_path": "/f"}}


def message(
    message_id: str, *blocks: AssistantBlock, model: str = "m", stop: str | None = None
) -> AssistantMessage:
    return {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": list(blocks),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def link(uuid: str, parent: str | None = None) -> LinkedEntry:
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "uuid": uuid,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "sessionId": "s",
        "cwd": "/p",
        "version": "2.1.0",
        "gitBranch": "main",
        "userType": "external",
        "entrypoint": "cli",
    }


def user(
    uuid: str, content: str | list[UserBlock], *, parent: str | None = None, meta: bool = False
) -> UserEntry:
    entry: UserEntry = {**link(uuid, parent), "type": "user", "message": {"role": "user", "content": content}}
    if meta:
        entry["isMeta"] = True
    return entry


def assistant(
    uuid: str, message_id: str, *blocks: AssistantBlock, parent: str | None = None
) -> AssistantEntry:
    return {**link(uuid, parent), "type": "assistant", "message": message(message_id, *blocks)}


def system(uuid: str, subtype: str) -> SystemEntry:
    return {**link(uuid), "type": "system", "subtype": subtype}


def say(
    session: Session, message_id: str, *blocks: AssistantBlock, stop: str = "end_turn"
) -> list[AssistantEntry]:
    """A whole answer, block by block."""
    rows = [session.say_assistant(message(message_id, block)) for block in blocks]
    session.finish_message(message_id, stop_reason=stop, usage={"input_tokens": 5, "output_tokens": 7})
    return rows


def assert_sendable(messages: list[SentMessage], *, open_end: bool = True) -> None:
    """Roles alternate from the user on; each call is answered once, in order, in the next message."""
    assert [m["role"] for m in messages] == (["user", "assistant"] * len(messages))[: len(messages)]
    for place, sent in enumerate(messages):
        assert sent["content"], "a message is never empty"
        calls = _ids(sent["content"], "tool_use", "id")
        if place + 1 < len(messages):
            following = messages[place + 1]["content"]
            results = _ids(following, "tool_result", "tool_use_id")
            if place + 2 < len(messages) or not open_end:
                assert results == calls
            assert [c for c in calls if c in results] == results
            if results and isinstance(following, list):
                assert all(block["type"] == "tool_result" for block in following[: len(results)])
        elif not open_end:
            assert not calls
    if messages:
        assert not _ids(messages[0]["content"], "tool_result", "tool_use_id")


def _ids(content: str | list[Any], kind: str, key: str) -> list[str]:
    return [] if isinstance(content, str) else [block[key] for block in content if block["type"] == kind]
