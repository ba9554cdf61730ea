"""A shared session in a child process, connected by its standard streams."""

import asyncio
import os.path
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from bridle.commands.registry import Registry
from bridle.features.teams.inbound import MessageRefused, read_letter
from bridle.features.teams.peers import send_to_socket
from bridle.frontends.remote.errors import RequestRefused
from bridle.frontends.remote.event_log import conversation_frames
from bridle.frontends.remote.restrictions import MODES, check_commands, check_model
from bridle.frontends.remote.shared_session import SharedSession
from bridle.protocol.frames import Frame, encode
from bridle.types.entry import ConversationEntry
from bridle.types.errors import BridleError, ToolError
from bridle.types.ids import new_uuid
from bridle.types.origin import Origin
from bridle.types.question import CHOICE_TOOL
from bridle.types.turn import Prompt

_LONGEST_LINE = 64 * 1024 * 1024
_LAST_WORDS = 2_000
_PATIENCE = 5.0
_MOST_LETTERS = 1_000
_MOST_MET = 50
_QUESTIONS = ("can_use_tool", "elicitation")
_NOT_TOLD = ("control_response", "keep_alive", "session_state_changed")


class ChildOptions(Struct, frozen=True, kw_only=True):
    """How a session is started."""

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    name: str
    socket: str
    """Where the session takes messages of others."""
    log: Callable[[str], None] = lambda _: None
    """Takes what the process says on standard error."""
    report: Callable[[str], None] = lambda _: None
    """Takes what the user of the server should know."""
    forget: Callable[[str], None] = lambda _: None
    """Takes the session out of the list, by its id."""


class ChildSession:
    """Runs one process and implements `shared_session.SessionActions` for it."""

    def __init__(self, options: ChildOptions) -> None:
        self._options = options
        self._process: asyncio.subprocess.Process | None = None
        self._state: dict[str, Any] = {"mode": "default", "model": "", "cwd": options.cwd, "busy": False}
        self._said = ""
        self._letters: dict[str, None] = {}
        self._waiting: set[str] = set()
        self._met: set[str] = set()
        self._closing: asyncio.Task[None] | None = None
        self.name = options.name
        self.session_id = ""
        """Under which the conversation is kept, as soon as there is one."""
        self.failed = False
        """Whether the process ended with an error."""
        self.shared_session = SharedSession(new_uuid(), self, name=lambda: self.name, state=self._standing)
        self.shared_session.on_people = self._meet

    async def start(self) -> None:
        """Begin.

        Raises:
            BridleError: the process cannot be started.
        """
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._options.argv,
                cwd=self._options.cwd,
                env=dict(self._options.env),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=_LONGEST_LINE,
                start_new_session=True,
            )
        except OSError as error:
            raise BridleError(f"Can't start the session: {error.strerror}.") from error

    async def run(self) -> None:
        """Pass on what the process says until it ends."""
        process = self._process
        assert process is not None and process.stdout is not None
        listening = asyncio.create_task(self._listen())
        try:
            while line := await process.stdout.readline():
                self._take(line)
            code = await process.wait()
            await listening
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
        why = f": {self._said.strip().splitlines()[-1]}" if code and self._said.strip() else ""
        self.failed = code != 0
        ended = f"The session has ended{why}"
        self._tell(ended, level="warning" if code else "info")
        self.shared_session.finish(ended, failed=self.failed)
        self._options.report(f"{self.name} has ended{why}")

    async def close(self) -> None:
        """Wait for the process to end, then end it."""
        process = self._process
        if process is None or process.returncode is not None or process.stdin is None:
            return
        for ask in (process.stdin.close, process.terminate, process.kill):
            with suppress(ProcessLookupError):
                ask()
            try:
                async with asyncio.timeout(_PATIENCE):
                    await process.wait()
                    return
            except TimeoutError:
                continue  # The next way of asking is less polite.

    def restore(self, entries: Sequence[ConversationEntry], session_id: str) -> None:
        """Show a conversation that the process continues."""
        self.session_id = session_id
        self.shared_session.log.restart(conversation_frames(entries, session_id))

    def end(self, *, who: str) -> Mapping[str, Any]:
        self._check_runs()
        self._options.report(f"{who} ended {self.name}")
        if self._closing is None:
            self._closing = asyncio.create_task(self.close())
        return {"ended": True}

    def archive(self, *, who: str) -> Mapping[str, Any]:
        if self.shared_session.ended is None:
            raise RequestRefused(409, "The session is running: stop it first.")
        self._options.report(f"{who} archived {self.name}")
        self._options.forget(self.shared_session.id)
        return {"archived": True}

    def prompt(self, text: str, *, id: str, who: str) -> Mapping[str, Any]:
        origin = Origin(source="remote", who=who)
        # The session itself refuses them too, by the origin; here the sender learns of it at once.
        check_commands(Prompt(content=text, origin=origin), _builtin())
        waits = self._state["busy"]
        message = {"role": "user", "content": text}
        self._send({"type": "user", "message": message, "uuid": id, "origin": origin.to_entry()})
        if waits:
            self._waiting.add(id)
        return {"queued": waits}

    def interrupt(self, *, who: str) -> Mapping[str, Any]:
        del who
        self._request("interrupt")
        return {"interrupted": self._state["busy"]}

    def set_mode(self, mode: str, *, who: str) -> Mapping[str, Any]:
        del who
        if mode not in MODES:
            raise RequestRefused(403, f"The mode {mode[:40]!r} can't be chosen remotely.")
        self._request("set_permission_mode", mode=mode)
        return {"mode": mode}

    def request(self, subtype: str, fields: Mapping[str, Any], *, who: str) -> Mapping[str, Any]:
        self._check_runs()
        if subtype == "set_model":
            check_model(fields.get("model"))
        self._options.report(f"{who}: {subtype.replace('_', ' ')} in {self.name}")
        if subtype == "set_effort":
            self._request("apply_flag_settings", settings={"effortLevel": fields["level"]})
        else:
            self._request(subtype, **fields)
        return {"sent": True}

    async def letter(self, letter: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._process is None or not os.path.exists(self._options.socket):
            raise RequestRefused(503, "it has not started yet")
        try:
            read = read_letter(letter, self._options.env)
            if read.id in self._letters:
                return {"taken": True, "new": False}
            self._letters[read.id] = None
            await send_to_socket(self._options.socket, read, pid=self._process.pid)
        except MessageRefused as fault:
            raise RequestRefused(403, str(fault)) from fault
        except ToolError as fault:
            self._letters.pop(str(letter.get("id")), None)
            raise RequestRefused(403, str(fault)) from fault
        while len(self._letters) > _MOST_LETTERS:
            del self._letters[next(iter(self._letters))]
        return {"taken": True, "new": True}

    def _take(self, line: bytes) -> None:
        try:
            frame = msgspec.json.decode(line, type=dict[str, Any])
        except msgspec.MsgspecError:
            return  # Something that the session let a program print.
        match frame:
            case {
                "type": "control_request",
                "request_id": str(id),
                "request": {"subtype": str(kind)} as request,
            }:
                if kind in _QUESTIONS:
                    self._ask(id, request)
            case {"type": "control_cancel_request", "request_id": str(id)}:
                self.shared_session.close(id, by="the session", how="withdrawn")
            case {"type": "control_response", "response": {"subtype": "error", "error": str(error)}}:
                self._tell_all(f"That could not be done: {error}", level="warning")
            case {"type": "conversation_reset"}:
                self.shared_session.log.restart(())
            case {"type": kind} if kind in _NOT_TOLD or frame.get("subtype") in _NOT_TOLD:
                self._note(frame)
            case _:
                self._note(frame)
                self.shared_session.publish(frame)
        self.shared_session.look()

    def _ask(self, id: str, request: Frame) -> None:
        offered = [
            each
            for each in request.get("permission_suggestions") or ()
            if each.get("mode") != "bypassPermissions"
        ]
        shown = {**request, "permission_suggestions": offered}

        def answer(said: Mapping[str, Any], who: str) -> bool:
            response = {**_response(shown, said), "origin": Origin(source="remote", who=who).to_entry()}
            inner = {"subtype": "success", "request_id": id, "response": response}
            self._send({"type": "control_response", "response": inner})
            self.shared_session.close(id, by=who, how=_told(response))
            return True

        self.shared_session.ask(id, shown, answer)
        self._options.report(f"{self.name} asks: {shown.get('tool_name', 'a question of an MCP server')}")

    def _note(self, frame: Frame) -> None:
        """Keep what says how the session stands."""
        state = self._state
        if isinstance(session_id := frame.get("session_id"), str):
            self.session_id = session_id
        match frame:
            case {"type": "system", "subtype": "session_title_changed", "title": str(title)} if title:
                self.name = title
            case {"type": "system", "subtype": "session_state_changed", "state": "idle"}:
                self._waiting.clear()
            case {"type": "user", "uuid": str(uuid)}:
                self._waiting.discard(uuid)
            case {"type": "system", "subtype": "init"}:
                state |= {"model": frame.get("model", ""), "cwd": frame.get("cwd", ""), "busy": True}
                state["mode"] = frame.get("permissionMode", state["mode"])
                self.shared_session.end_stream()
            case {"type": "system", "subtype": "status", "permissionMode": str(mode)}:
                state["mode"] = mode
            case {"type": "stream_event", "event": {"delta": {"type": "text_delta", "text": str(text)}}}:
                self.shared_session.stream(text)
            case {"type": "assistant"}:
                self.shared_session.end_stream()
            case {"type": "result"}:
                state["busy"] = False
                if isinstance(cost := frame.get("total_cost_usd"), int | float):
                    state["cost"] = cost
                self.shared_session.end_stream()
            case {"type": "system", "subtype": "withdrawn", "uuids": list(uuids)}:
                self.shared_session.log.withdraw(tuple(uuids))
            case _:
                pass

    def _standing(self) -> Mapping[str, Any]:
        return {**self._state, "modes": list(MODES), "waiting": len(self._waiting), "ends": True}

    def _meet(self, who: str | None) -> None:
        """Say who connects, each once: connections break and come back."""
        if who is not None and who not in self._met and len(self._met) < _MOST_MET:
            self._met.add(who)
            self._options.report(f"{who} is connected to {self.name}")

    def _check_runs(self) -> None:
        process = self._process
        if process is None or process.returncode is not None:
            raise RequestRefused(410, "The session has ended.")

    def _request(self, subtype: str, **fields: Any) -> None:
        request = {"subtype": subtype, **fields}
        self._send({"type": "control_request", "request_id": new_uuid(), "request": request})

    def _send(self, frame: Frame) -> None:
        self._check_runs()
        process = self._process
        if process is None or process.stdin is None or process.stdin.is_closing():
            raise RequestRefused(410, "The session has ended.")
        process.stdin.write(encode(frame))

    def _tell(self, text: str, *, level: str) -> None:
        self._state["busy"] = False
        self._tell_all(text, level=level)
        self.shared_session.look()

    def _tell_all(self, text: str, *, level: str) -> None:
        frame = {"type": "system", "subtype": "informational", "content": text, "level": level}
        self.shared_session.publish({**frame, "uuid": new_uuid()})

    async def _listen(self) -> None:
        process = self._process
        assert process is not None and process.stderr is not None
        while data := await process.stderr.read(4_096):
            text = data.decode(errors="replace")
            self._said = (self._said + text)[-_LAST_WORDS:]
            self._options.log(text)


@cache
def _builtin() -> Registry:
    return Registry()


def _response(request: Frame, said: Mapping[str, Any]) -> Frame:
    """A host's answer, built from a remote client's; the input stays the one that was shown.

    Raises:
        RequestRefused: it is no answer to this question.
    """
    message = said.get("message")
    words = message.strip()[:20_000] if isinstance(message, str) else ""
    if request["subtype"] == "elicitation":
        if said.get("action") not in ("accept", "decline", "cancel"):
            raise RequestRefused(400, "The answer must be accept, decline or cancel.")
        content = said.get("content")
        return {"action": said["action"], "content": content if isinstance(content, dict) else {}}
    match said.get("behavior"):
        case "deny":
            return {"behavior": "deny", "message": words or "The user declined."}
        case "allow":
            pass
        case _:
            raise RequestRefused(400, "The answer must be allow or deny.")
    if request.get("tool_name") == CHOICE_TOOL:
        answers = said.get("answers")
        asked = [str(each.get("question")) for each in request["input"].get("questions") or ()]
        if not isinstance(answers, dict) or sorted(answers) != sorted(asked):
            raise RequestRefused(400, "Every question needs an answer.")
        return {"behavior": "allow", "updatedInput": {**request["input"], "answers": answers}}
    offered, index = request["permission_suggestions"], said.get("suggestion")
    if index is None:
        return {"behavior": "allow", "updatedInput": request["input"]}
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(offered):
        raise RequestRefused(400, "The answer names an unknown suggestion.")
    return {"behavior": "allow", "updatedInput": request["input"], "updatedPermissions": [offered[index]]}


def _told(response: Frame) -> str:
    if "action" in response:
        return {"accept": "accepted", "decline": "declined", "cancel": "cancelled"}[response["action"]]
    return "allowed" if response["behavior"] == "allow" else "refused"
