"""Replays an earlier conversation to the editor."""

from collections.abc import Iterator

from bridle.frontends.acp.calls import call_finished, call_started
from bridle.frontends.acp.content import Json, text_content
from bridle.transcripts.listing import prompt_in
from bridle.transcripts.session import Session
from bridle.types.block import text_of
from bridle.types.entry import AssistantEntry, UserEntry
from bridle.types.event import ToolFinished
from bridle.types.workspace import Workspace


def replayed(session: Session, workspace: Workspace) -> Iterator[Json]:
    """The updates that the conversation amounts to: what was asked, thought, said and done."""
    names: dict[str, str] = {}
    for entry in session.entries:
        match entry["type"]:
            case "user":
                yield from _user(entry, names, workspace)
            case "assistant":
                yield from _assistant(entry, names, workspace)
            case _:
                pass  # What bridle noted for itself.


def _user(entry: UserEntry, names: dict[str, str], workspace: Workspace) -> Iterator[Json]:
    content = entry["message"]["content"]
    blocks = [] if isinstance(content, str) else content
    for block in blocks:
        if block["type"] == "tool_result":
            name = names.get(block["tool_use_id"], "")
            finished = ToolFinished(
                uuid=entry["uuid"],
                timestamp=entry["timestamp"],
                tool=name,
                result=block,
                data=entry.get("toolUseResult"),
                seconds=0,
            )
            yield call_finished(finished, workspace, terminal=None)
    if entry.get("isMeta") or entry.get("isCompactSummary") or prompt_in(entry) == (None, None):
        return
    yield _chunk("user_message_chunk", text_content(text_of(content)), entry["uuid"])
    for block in blocks:
        match block:
            case {"type": "image", "source": {"type": "base64", "media_type": str() as kind, "data": data}}:
                yield _chunk(
                    "user_message_chunk", {"type": "image", "mimeType": kind, "data": data}, entry["uuid"]
                )
            case _:
                pass  # The text is shown already.


def _assistant(entry: AssistantEntry, names: dict[str, str], workspace: Workspace) -> Iterator[Json]:
    message = entry["message"]
    for block in message["content"]:
        match block:
            case {"type": "text", "text": str() as text} if text.strip():
                yield _chunk("agent_message_chunk", text_content(text), message["id"])
            case {"type": "thinking", "thinking": str() as text} if text.strip():
                yield _chunk("agent_thought_chunk", text_content(text), message["id"])
            case {
                "type": "tool_use",
                "id": str() as call_id,
                "name": str() as name,
                "input": dict() as input,
            }:
                names[call_id] = name
                yield call_started(call_id, name, input, workspace)
            case _:
                pass  # Nothing that an editor shows.


def _chunk(kind: str, content: Json, message_id: str) -> Json:
    return {"sessionUpdate": kind, "content": content, "messageId": message_id}
