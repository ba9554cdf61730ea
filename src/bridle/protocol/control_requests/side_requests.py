"""What a host may ask beside the conversation: a title, a question, and what its user thinks of an answer."""

import asyncio
import os
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.host.files import make_folders
from bridle.host.paths import bridle_dir
from bridle.protocol.control import Frame
from bridle.protocol.control_requests.changes import rename_session
from bridle.protocol.control_requests.dispatcher import ControlDispatcher
from bridle.transcripts.line import timestamp
from bridle.types.errors import UsageError
from bridle.types.origin import Origin

_HOST = Origin(source="host")
_FEEDBACK_FILE = "feedback.jsonl"
_LONGEST_FEEDBACK = 20_000
_MOST_EXCHANGES = 20


async def generate_session_title(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    """A title for what a prompt describes; its first words where no model can be asked."""
    described = request.get("description")
    if not isinstance(described, str) or not described.strip():
        raise UsageError("generate_session_title needs a description.")
    from bridle.features.side_work.titles import title_for

    title = await title_for(dispatcher.session, dispatcher.runtime, described)
    if request.get("persist") is True:
        await rename_session(dispatcher, {"title": title})
    return {"title": title}


async def side_question(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    """Ask the main model about the conversation; neither question nor answer becomes part of it."""
    question = request.get("question")
    if not isinstance(question, str) or not question.strip():
        raise UsageError("side_question needs a question.")
    from bridle.commands.side_questions import ask_about

    earlier = _exchanges(request.get("history"))
    text = await ask_about(dispatcher.session, dispatcher.runtime, question, origin=_HOST, earlier=earlier)
    return {"response": text, "synthetic": False}


async def message_rated(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    """Note locally what the user thinks of an answer; it is never sent anywhere."""
    uuid, sentiment, surface = (request.get(key) for key in ("messageUuid", "sentiment", "surface"))
    fits = isinstance(uuid, str) and sentiment in ("positive", "negative") and isinstance(surface, str)
    if not fits or not isinstance(request.get("cleared", False), bool):
        raise UsageError(
            'message_rated needs messageUuid, sentiment "positive" or "negative", surface, '
            "and cleared as true or false."
        )
    row = {"uuid": uuid, "sentiment": sentiment, "surface": surface, "cleared": bool(request.get("cleared"))}
    await asyncio.to_thread(_keep, dispatcher, "rating", row)
    return {}


async def submit_feedback(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    """Keep feedback in a file of the user, and say that it goes nowhere else."""
    text = request.get("description")
    if not isinstance(text, str) or not text.strip():
        raise UsageError("submit_feedback needs a description.")
    given = ("type", "title", "area", "surface")
    row = {key: request[key] for key in given if isinstance(request.get(key), str)}
    row["description"] = text[:_LONGEST_FEEDBACK]
    path = await asyncio.to_thread(_keep, dispatcher, "feedback", row)
    return {"feedback_id": None, "unavailable_reason": f"bridle sends no feedback; it is kept in {path}"}


async def set_prompt_suggestions_paused(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> None:
    if not isinstance(paused := request.get("paused"), bool):
        raise UsageError("set_prompt_suggestions_paused needs paused: true or false.")
    host = dispatcher.runtime.host
    dispatcher.server.change(
        host=host.offering(msgspec.structs.replace(host.offer, suggestions_paused=paused))
    )


def _exchanges(history: object) -> list[tuple[str, str]]:
    """Earlier side questions of the host, with the answers that they got."""
    if history is None:
        return []
    match history:
        case list():
            found = [
                (each.get("question"), each.get("response")) for each in history if isinstance(each, dict)
            ]
            if len(found) == len(history) and all(
                isinstance(q, str) and isinstance(r, str) for q, r in found
            ):
                return [(str(asked), str(said)) for asked, said in found[-_MOST_EXCHANGES:]]
        case _:
            pass
    raise UsageError("history must be a list of {question, response}.")


def _keep(dispatcher: ControlDispatcher, kind: str, row: Mapping[str, Any]) -> str:
    """Add a line to the private file of feedback, and return its path."""
    folder = bridle_dir(dispatcher.runtime.env)
    make_folders(folder, private=True)
    path = os.path.join(folder, _FEEDBACK_FILE)
    line = {"kind": kind, "session": dispatcher.session.id, "time": timestamp(time.time()), **row}
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "ab") as out:
        out.write(msgspec.json.encode(line) + b"\n")
    return path
