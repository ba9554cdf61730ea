"""The session of this process, shared with remote clients."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from bridle.engine.server import Server
from bridle.features.teams.inbound import Inbound, MessageRefused
from bridle.frontends.remote.channel import Pending
from bridle.frontends.remote.errors import RequestRefused
from bridle.frontends.remote.event_log import conversation_frames
from bridle.frontends.remote.questions import read_answer, shown
from bridle.frontends.remote.restrictions import check_commands
from bridle.frontends.remote.shared_session import SharedSession
from bridle.permissions.auto.grants import mode_notice
from bridle.protocol.frames import Framer
from bridle.transcripts.session import Session
from bridle.types.event import (
    AssistantReplied,
    ConversationReset,
    Event,
    ModeChanged,
    Noticed,
    SessionRenamed,
    TextDelta,
    TurnFinished,
    TurnStarted,
    Withdrawn,
)
from bridle.types.ids import new_uuid
from bridle.types.origin import Origin
from bridle.types.permission import Mode
from bridle.types.question import Answer, Permitted, Refused, Supplied
from bridle.types.turn import Prompt

_MOST_SENDERS = 1_000


class LocalSessionParts(Struct, frozen=True, kw_only=True):
    """What the program around the session adds."""

    framer: Callable[[], Framer]
    inbound: Inbound
    name: Callable[[], str]
    waits: bool = True
    """Questions that no one can answer here wait for clients."""


class LocalSession:
    """Implements `channel.Audience` for the session and `shared_session.SessionActions` for clients."""

    def __init__(self, session: Session, server: Server, means: LocalSessionParts) -> None:
        self._session = session
        self._server = server
        self._means = means
        self._framer = means.framer()
        self._senders: dict[str, str] = {}
        self._works = server.busy
        self._shared_as = means.name()
        self._renamed = ""
        self.shared_session = SharedSession(new_uuid(), self, name=self._name, state=self._state)
        self.shared_session.log.restart(conversation_frames(session.entries, session.id))

    def take(self, event: Event) -> None:
        shared_session = self.shared_session
        for frame in self._framer.frames(event):
            shared_session.publish(frame)
        match event:
            case TextDelta(text=text):
                shared_session.stream(text)
            case AssistantReplied():
                shared_session.end_stream()
            case Withdrawn(uuids=uuids):
                shared_session.end_stream()
                shared_session.log.withdraw(uuids)
            case TurnStarted() | TurnFinished():
                shared_session.end_stream()
                self._works = isinstance(event, TurnStarted)
                shared_session.look()
            case ModeChanged():
                shared_session.look()
            case SessionRenamed(title=title):
                self._renamed = title
            case ConversationReset():
                shared_session.log.restart(conversation_frames(self._session.entries, self._session.id))
            case _:
                pass

    def sender(self, prompt_uuid: str | None) -> str | None:
        return None if prompt_uuid is None else self._senders.get(prompt_uuid)

    def asked(self, pending: Pending) -> None:
        question = pending.question

        def answer(said: Mapping[str, Any], who: str) -> bool:
            return pending.claim(read_answer(question, said), who)

        self.shared_session.ask(pending.id, shown(question), answer)

    def settled(self, pending: Pending, *, by: str, answer: Answer | None) -> None:
        self.shared_session.close(pending.id, by=by, how=_told(answer))

    async def deserted(self) -> None:
        if self._means.waits:
            await self.shared_session.deserted()

    def prompt(self, text: str, *, id: str, who: str) -> Mapping[str, Any]:
        if id in self._server.waiting() or any(entry["uuid"] == id for entry in self._session.entries):
            return {"queued": False}  # It was sent again after it had long been taken up.
        prompt = Prompt(content=text, uuid=id, origin=Origin(source="remote", who=who))
        check_commands(prompt, self._server.runtime.commands)
        self._senders[id] = who
        while len(self._senders) > _MOST_SENDERS:
            del self._senders[next(iter(self._senders))]
        waits = self._server.busy
        if waits:
            self._say(f"{who} queued a prompt through remote control.")
        self._server.submit(prompt)
        return {"queued": waits}

    def interrupt(self, *, who: str) -> Mapping[str, Any]:
        interrupted = self._server.interrupt()
        if interrupted:
            self._say(f"{who} interrupted by remote control.")
        return {"interrupted": interrupted}

    def set_mode(self, mode: str, *, who: str) -> Mapping[str, Any]:
        """Only modes that the user here has made available, and never the one that asks nothing."""
        session = self._session
        wanted: Mode | None = next((each for each in self._modes() if each == mode), None)
        if wanted is None:
            raise RequestRefused(403, f"The mode {mode[:40]!r} can't be chosen remotely.")
        if (notice := mode_notice(session.state.mode, wanted, session.state.rules)) is not None:
            self._server.runtime.channel.emit(Noticed(notice, "warning"))
        session.swap(mode=wanted)
        self._server.runtime.channel.emit(ModeChanged(wanted))
        self._say(f"{who} set the mode to {wanted} by remote control.")
        return {"mode": wanted}

    async def letter(self, letter: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return {"taken": True, "new": self._means.inbound.take(letter)}
        except MessageRefused as fault:
            raise RequestRefused(503 if fault.full else 403, str(fault)) from fault

    def request(self, subtype: str, fields: Mapping[str, Any], *, who: str) -> Mapping[str, Any]:
        del fields, who
        raise RequestRefused(403, f"{subtype} can be used only where this session runs.")

    def end(self, *, who: str) -> Mapping[str, Any]:
        del who
        raise RequestRefused(403, "This session can be ended only where it runs.")

    def archive(self, *, who: str) -> Mapping[str, Any]:
        del who
        raise RequestRefused(403, "This session can be ended only where it runs.")

    def _name(self) -> str:
        """What it was called last: by `/remote-control`, or by `/rename` since."""
        if (shared_as := self._means.name()) != self._shared_as:
            self._shared_as, self._renamed = shared_as, ""
        return self._renamed or shared_as

    def _say(self, text: str) -> None:
        self._server.runtime.channel.emit(Noticed(text, "notice"))

    def _modes(self) -> tuple[Mode, ...]:
        return tuple(each for each in self._server.runtime.gate.modes if each != "bypassPermissions")

    def _state(self) -> Mapping[str, Any]:
        state, runtime = self._session.state, self._server.runtime
        return {
            "mode": state.mode,
            "modes": list(self._modes()),
            "model": state.model,
            "cwd": runtime.workspace.cwd,
            "busy": self._works,
            "waiting": self._server.owed,
        }


def _told(answer: Answer | None) -> str:
    match answer:
        case None:
            return "withdrawn"
        case Permitted():
            return "allowed"
        case Refused():
            return "refused"
        case Supplied(action=action):
            return {"accept": "accepted", "decline": "declined", "cancel": "cancelled"}[action]
        case _:
            return "answered"
