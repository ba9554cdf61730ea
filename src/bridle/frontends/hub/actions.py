"""What a device may ask of a session, and the events that this becomes for its worker.

The machine checks everything again by its own settings: nothing here widens what it allows.
"""

import sqlite3
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from bridle.frontends.hub import environments, sessions
from bridle.frontends.hub.hub import text_of
from bridle.frontends.hub.identity import Device, Role, record
from bridle.frontends.hub.refusals import Refusal
from bridle.frontends.hub.sessions import Event
from bridle.frontends.remote.restrictions import EFFORT_LEVELS, MODES
from bridle.frontends.remote.shared_session import is_action_id
from bridle.types.ids import new_uuid
from bridle.types.text import encodable

_RIGHTS: Mapping[str, Role] = {
    "answer": "answer",
    "prompt": "steer",
    "interrupt": "steer",
    "mode": "steer",
    "model": "steer",
    "thinking": "steer",
    "effort": "steer",
    "compact": "steer",
    "rewind": "steer",
    "rename": "steer",
    "end": "start",
    "archive": "start",
    "resume": "start",
}
_LONGEST_PROMPT = 400_000
_LONGEST_SEALED = 2_000_000
_MOST_FILES = 20
_DONE_SECONDS = 86_400.0


_SEALED = ("answer", "prompt", "mode", "model", "thinking", "effort", "compact", "rewind", "rename")
"""Actions that can be encrypted; the others say nothing that a hub must not know."""


class StartRequest(Struct, frozen=True):
    """A session that a device wants."""

    id: str
    environment: str
    prompt: str
    title: str
    mode: str
    context: dict[str, Any]
    files: list[dict[str, str]]


class ActionResult(Struct, frozen=True):
    """What an action did."""

    answer: dict[str, Any]
    events: Sequence[Event] = ()
    """New events for the worker."""
    environment: str = ""
    """Where work waits now."""
    settles: bool = False
    """A question was settled."""


def right_for(action: str) -> Role:
    """What a device must be allowed to do.

    Raises:
        Refusal: there is no such action.
    """
    if action not in _RIGHTS:
        raise Refusal(400, f"Unknown action. Use one of: {', '.join(_RIGHTS)}.")
    return _RIGHTS[action]


def request_id(body: Mapping[str, Any]) -> str:
    """The id of a request, which is done once however often it comes.

    Raises:
        Refusal: it has none.
    """
    id = text_of(body, "id", longest=100)
    if not is_action_id(id):
        raise Refusal(400, "Every action needs a unique id, a UUID in lower case.")
    return id


def read_start(body: Mapping[str, Any]) -> StartRequest:
    """What a device wants started.

    Raises:
        Refusal: a field is missing or wrong.
    """
    mode = text_of(body, "mode", longest=40)
    if mode and mode not in MODES:
        raise Refusal(403, f"The mode {mode!r} can't be chosen remotely.")
    environment, prompt = text_of(body, "environment"), text_of(body, "prompt", longest=_LONGEST_PROMPT)
    if not environment:
        raise Refusal(400, "environment is missing.")
    context: dict[str, Any] = {
        name: text
        for name in ("model", "branch", "effort", "directory")
        if (text := text_of(body, name, longest=1_000))
    }
    if body.get("worktree") is True:
        context["worktree"] = True
    if (sealed := _sealed(body)) is not None:
        # What is wanted can be read by the machine alone.
        return StartRequest(
            request_id(body), environment, "", "", "", {**sealed, "start": request_id(body)}, []
        )
    title = text_of(body, "title", longest=200) or encodable(prompt).strip().partition("\n")[0][:80]
    return StartRequest(request_id(body), environment, prompt, title, mode, context, _files(body))


def start(base: sqlite3.Connection, wanted: StartRequest, device: Device) -> dict[str, Any]:
    """Create a session and let its environment run it."""
    environment = environments.find(base, wanted.environment)
    id = sessions.create(
        base, actor=device.id, environment=environment.id, machine=environment.machine, title=wanted.title,
        source="hub", mode=wanted.mode, context=wanted.context,
    )  # fmt: skip
    if wanted.prompt.strip():
        sessions.append(
            base, id, "in", [_prompt(wanted.id, wanted.prompt, wanted.files, device)], device=device.id
        )
    environments.queue_work(base, environment.id, id)
    return _remember(base, device.id, wanted.id, {"id": f"session_{id}"})


def done(base: sqlite3.Connection, device: str, id: str) -> dict[str, Any] | None:
    """The answer to a request that was done already."""
    row = base.execute("SELECT answer FROM done WHERE device = ? AND id = ?", (device, id)).fetchone()
    return None if row is None else msgspec.json.decode(row[0])


def perform(
    base: sqlite3.Connection, id: str, body: Mapping[str, Any], device: Device, request: str
) -> ActionResult:
    """Do what a device asks of a session.

    Raises:
        Refusal: nothing was done.
    """
    session = sessions.find(base, id)
    action = str(body["do"])
    if session.archived is not None and action != "resume":
        raise Refusal(410, "The session is archived.")
    result = _perform(base, session, body, device, request=request)
    record(base, actor=device.id, action=action, session=id, detail=_audited(action, body))
    _remember(base, device.id, request, result.answer)
    return result


def _perform(
    base: sqlite3.Connection,
    session: sessions.SessionRow,
    body: Mapping[str, Any],
    device: Device,
    *,
    request: str,
) -> ActionResult:
    id = session.id

    def send(*frames: Mapping[str, Any]) -> list[Event]:
        return sessions.append(base, id, "in", frames, device=device.id)

    if (sealed := _sealed(body)) is not None and body["do"] in _SEALED:
        return _pass_on(base, session, body, device, sealed=sealed, request=request)
    match body["do"]:
        case "answer":
            return _answer(base, session, body, device)
        case "prompt":
            text = text_of(body, "text", longest=_LONGEST_PROMPT)
            if not text.strip():
                raise Refusal(400, "The prompt is empty.")
            return ActionResult({"sent": True}, send(_prompt(request, text, _files(body), device)))
        case "interrupt":
            return ActionResult({"sent": True}, send(_request("interrupt", device)))
        case "mode":
            mode = text_of(body, "mode", longest=40)
            if mode not in MODES:
                raise Refusal(403, f"The mode {mode!r} can't be chosen remotely.")
            return ActionResult({"mode": mode}, send(_request("set_permission_mode", device, mode=mode)))
        case "model":
            model = text_of(body, "model", longest=200)
            return ActionResult({"model": model}, send(_request("set_model", device, model=model or None)))
        case "thinking":
            tokens = body.get("tokens")
            if tokens is not None and (not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0):
                raise Refusal(400, "tokens must be a number or null.")
            frame = _request("set_max_thinking_tokens", device, max_thinking_tokens=tokens)
            return ActionResult({"tokens": tokens}, send(frame))
        case "effort":
            level = text_of(body, "level", longest=20)
            if level not in EFFORT_LEVELS:
                raise Refusal(400, f"level must be one of {', '.join(EFFORT_LEVELS)}.")
            return ActionResult({"level": level}, send(_request("set_effort", device, level=level)))
        case "compact":
            return ActionResult({"sent": True}, send(_prompt(request, "/compact", [], device)))
        case "rewind":
            message = text_of(body, "message", longest=100)
            frame = _request("rewind_files", device, user_message_id=message)
            return ActionResult({"sent": True}, send(frame))
        case "rename":
            title = text_of(body, "title", longest=200)
            sessions.rename(base, id, title, actor=device.id)
            return ActionResult({"title": title}, send(_request("rename_session", device, title=title)))
        case "end":
            return ActionResult({"sent": True}, send(_request("end_session", device)))
        case "archive":
            sessions.archive(base, id, actor=device.id)
            return ActionResult({"archived": True}, settles=True)
        case _:
            return _resume(base, session)


def _pass_on(
    base: sqlite3.Connection,
    session: sessions.SessionRow,
    body: Mapping[str, Any],
    device: Device,
    *,
    sealed: Mapping[str, str],
    request: str,
) -> ActionResult:
    """Pass on what only the machine can read; for an answer, the question must still be what was shown."""
    frame: dict[str, Any] = {"type": "sealed", "uuid": request, "do": body["do"], **sealed}
    settles = body["do"] == "answer"
    if settles:
        asked = _open_question(base, session, body)
        sessions.close_question(base, session.id, asked.id, by=device.name, answer=sealed)
        frame["request_id"] = asked.id
    frame["origin"] = _origin(device)
    events = sessions.append(base, session.id, "in", [frame], device=device.id)
    return ActionResult({"counted": True} if settles else {"sent": True}, events, settles=settles)


def _open_question(
    base: sqlite3.Connection, session: sessions.SessionRow, body: Mapping[str, Any]
) -> sessions.QuestionRow:
    question = sessions.question(base, session.id, text_of(body, "request_id", longest=200))
    if text_of(body, "digest", longest=100) != question.digest:
        raise Refusal(409, "The question has changed: review it again.")
    return question


def _sealed(body: Mapping[str, Any]) -> dict[str, str] | None:
    """What a device has encrypted for a machine; None where it has not."""
    text = text_of(body, "sealed", longest=_LONGEST_SEALED)
    return {"key": text_of(body, "key", longest=100), "sealed": text} if text else None


def _answer(
    base: sqlite3.Connection, session: sessions.SessionRow, body: Mapping[str, Any], device: Device
) -> ActionResult:
    """The first answer counts, and only for exactly what was shown."""
    question = _open_question(base, session, body)
    asked = question.id
    said = {
        name: body[name]
        for name in ("behavior", "message", "answers", "suggestion", "action", "content")
        if name in body
    }
    if said.get("behavior") not in ("allow", "deny") and said.get("action") not in (
        "accept",
        "decline",
        "cancel",
    ):
        raise Refusal(400, "The answer must be allow or deny, or accept, decline or cancel.")
    sessions.close_question(base, session.id, asked, by=device.name, answer=said)
    frame = {
        "type": "control_response",
        "uuid": new_uuid(),
        "digest": question.digest,
        "response": {"subtype": "success", "request_id": asked, "response": said},
        "origin": _origin(device),
    }
    return ActionResult(
        {"counted": True}, sessions.append(base, session.id, "in", [frame], device=device.id), settles=True
    )


def _resume(base: sqlite3.Connection, session: sessions.SessionRow) -> ActionResult:
    """Let the environment run a session again whose worker has gone."""
    if session.environment is None:
        raise Refusal(409, "This session was started on its machine: resume it there.")
    environment = environments.find(base, session.environment)
    base.execute("UPDATE sessions SET archived = NULL WHERE id = ?", (session.id,))
    environments.queue_work(base, environment.id, session.id)
    return ActionResult({"queued": True}, environment=environment.id)


def _prompt(id: str, text: str, files: Sequence[Mapping[str, str]], device: Device) -> dict[str, Any]:
    frame: dict[str, Any] = {
        "type": "user",
        "uuid": id,
        "message": {"role": "user", "content": encodable(text)},
        "origin": _origin(device),
    }
    return {**frame, "file_attachments": list(files)} if files else frame


def _request(subtype: str, device: Device, **fields: Any) -> dict[str, Any]:
    request = {"subtype": subtype, **fields}
    id, origin = new_uuid(), _origin(device)
    return {"type": "control_request", "uuid": id, "request_id": id, "request": request, "origin": origin}


def _origin(device: Device) -> dict[str, str]:
    return {"kind": "remote", "who": device.name}


def _files(body: Mapping[str, Any]) -> list[dict[str, str]]:
    given = body.get("files")
    if given is None:
        return []
    if not isinstance(given, list) or len(given) > _MOST_FILES:
        raise Refusal(400, f"files must be a list of at most {_MOST_FILES}.")
    found = list[dict[str, str]]()
    for each in given:
        match each:
            case {"file_uuid": str(id), "file_name": str(name)}:
                found.append({"file_uuid": id[:100], "file_name": name[:200]})
            case _:
                raise Refusal(400, "Every file needs file_uuid and file_name.")
    return found


def _audited(action: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """What the audit table says of an action: what was decided, never what was written."""
    named = ("request_id", "digest", "behavior", "action", "mode", "model", "title")
    return {name: body[name] for name in named if isinstance(body.get(name), str)}


def _remember(base: sqlite3.Connection, device: str, id: str, answer: dict[str, Any]) -> dict[str, Any]:
    now = time.time()
    base.execute("DELETE FROM done WHERE at < ?", (now - _DONE_SECONDS,))
    base.execute(
        "INSERT INTO done VALUES (?, ?, ?, ?)", (device, id, msgspec.json.encode(answer).decode(), now)
    )
    return answer
