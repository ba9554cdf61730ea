"""A session as remote clients see it: events, open questions and actions."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from bridle.frontends.remote.errors import RequestRefused
from bridle.frontends.remote.event_log import EventLog, digest
from bridle.frontends.remote.restrictions import EFFORT_LEVELS
from bridle.types.text import encodable

Frame = dict[str, Any]

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MOST_DONE = 4_096
_MOST_CLOSED = 500
_MOST_PARTIAL = 100_000
_LONGEST_PROMPT = 400_000
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_GRACE = 90.0
"""Seconds without a client after which none is expected to return."""


class SessionActions(Protocol):
    """What remote clients may do to a session."""

    def prompt(self, text: str, *, id: str, who: str) -> Mapping[str, Any]:
        """Queue a prompt.

        Raises:
            RequestRefused: remote clients may not send it.
        """
        ...

    def interrupt(self, *, who: str) -> Mapping[str, Any]:
        """End the turn that runs."""
        ...

    def set_mode(self, mode: str, *, who: str) -> Mapping[str, Any]:
        """Choose another permission mode.

        Raises:
            RequestRefused: remote clients may not choose it.
        """
        ...

    def request(self, subtype: str, fields: Mapping[str, Any], *, who: str) -> Mapping[str, Any]:
        """Change the model, the title or how much it thinks, or take files back.

        Raises:
            RequestRefused: remote clients may not.
        """
        ...

    def end(self, *, who: str) -> Mapping[str, Any]:
        """End the session.

        Raises:
            RequestRefused: remote clients may not.
        """
        ...

    def archive(self, *, who: str) -> Mapping[str, Any]:
        """Take a session that has ended out of the list.

        Raises:
            RequestRefused: it has not ended, or is not in a list.
        """
        ...

    async def letter(self, letter: Mapping[str, Any]) -> Mapping[str, Any]:
        """Take in a message of another session.

        Raises:
            RequestRefused: none are taken, or not this one.
        """
        ...


class OpenQuestion(Struct, frozen=True, kw_only=True):
    """A question that is open."""

    id: str
    request: Frame
    digest: str
    """Names exactly what was shown."""
    answer: Callable[[Mapping[str, Any], str], bool]
    """Takes an answer and who gives it; False when it was answered already."""

    @property
    def frame(self) -> Frame:
        return {
            "type": "control_request",
            "request_id": self.id,
            "request": self.request,
            "digest": self.digest,
        }


class SharedSession:
    """One session, its numbered events, and the clients that follow them."""

    def __init__(
        self,
        id: str,
        actions: SessionActions,
        *,
        name: Callable[[], str],
        state: Callable[[], Mapping[str, Any]],
        grace: float = _GRACE,
    ) -> None:
        self.id = id
        self._grace = grace
        self.log = EventLog()
        self._actions = actions
        self._name = name
        self._state = state
        self._told: Mapping[str, Any] = {}
        self._partial = ""
        self._inquiries: dict[str, OpenQuestion] = {}
        self._closed: dict[str, Mapping[str, Any]] = {}
        self._done: dict[str, Mapping[str, Any]] = {}
        self._here: dict[int, str] = {}
        self._moved = asyncio.Event()
        self.ended: str | None = None
        """Why nothing more will come."""
        self.failed = False
        """It ended with an error."""
        self.on_people: Callable[[str | None], None] = lambda _: None
        """Called when a client connects, with its name, or disconnects."""

    @property
    def name(self) -> str:
        return self._name()

    @property
    def people(self) -> list[str]:
        """Who follows, by name."""
        return list(self._here.values())

    def listing(self) -> Mapping[str, Any]:
        asks = [str(each.request.get("tool_name", "")) for each in self._inquiries.values()]
        state = {**self._state(), "asks": asks, "ended": self.ended}
        return {"id": self.id, "name": self.name, "people": len(self._here), **state}

    def finish(self, why: str, *, failed: bool = False) -> None:
        """Nothing more will come; clients learn why when they have everything."""
        if self.ended is None:
            self.failed = failed
            for id in tuple(self._inquiries):
                self.close(id, by="the session", how="withdrawn")
            self.ended = why
            self.log.end()

    def publish(self, frame: Frame) -> None:
        """Send to every client."""
        self.log.append(frame)

    def stream(self, text: str) -> None:
        """Some of an answer came that is not whole yet; those who come now must see it too."""
        self._partial = (self._partial + text)[-_MOST_PARTIAL:]

    def end_stream(self) -> None:
        self._partial = ""

    def look(self) -> None:
        """Tell how the session stands, if that has changed."""
        state = self._state()
        if state != self._told:
            self._told = dict(state)
            self.publish({"type": "system", "subtype": "remote_state", **state})

    def snapshot(self) -> bytes:
        """Everything that a new client must know, as one line."""
        self._told = dict(self._state())
        return self.log.snapshot(
            session={"id": self.id, "name": self.name},
            partial=self._partial,
            questions=[each.frame for each in self._inquiries.values()],
            state=self._told,
        )

    def ask(self, id: str, request: Frame, answer: Callable[[Mapping[str, Any], str], bool]) -> None:
        """Send a question to every client, once."""
        if id in self._inquiries:
            return
        inquiry = OpenQuestion(id=id, request=request, digest=digest([id, request]), answer=answer)
        self._inquiries[id] = inquiry
        self.publish(inquiry.frame)

    def close(self, id: str, *, by: str, how: str) -> None:
        """A question is settled."""
        if self._inquiries.pop(id, None) is None:
            return
        decided = {"by": by, "how": how}
        self._closed[id] = decided
        _shorten(self._closed, _MOST_CLOSED)
        self.publish({"type": "control_cancel_request", "request_id": id, "decided": decided})

    def act(self, wish: Mapping[str, Any], who: str) -> Mapping[str, Any]:
        """Do what a remote client asks, once even if the request is repeated.

        Raises:
            RequestRefused: nothing was done.
        """
        id = wish.get("id")
        if not isinstance(id, str) or not is_action_id(id):
            raise RequestRefused(400, "Every action needs a unique id, a UUID in lower case.")
        if (done := self._done.get(id)) is not None:
            return done
        done = self._done[id] = self._perform(id, wish, who)
        _shorten(self._done, _MOST_DONE)
        return done

    async def take_letter(self, letter: Mapping[str, Any]) -> Mapping[str, Any]:
        """Take in a message of another session.

        Raises:
            RequestRefused: it was not taken.
        """
        return await self._actions.letter(letter)

    def come(self, who: str) -> Callable[[], None]:
        """A client follows from now on; call the returned function when it is gone."""
        number = max(self._here, default=0) + 1
        self._here[number] = who
        self._move(who)

        def go() -> None:
            self._here.pop(number, None)
            self._move(None)

        return go

    def visit(self) -> None:
        """A client that does not follow looks in: it could still answer."""
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    async def deserted(self) -> None:
        """Return when no client has been connected for a while."""
        while True:
            moved = self._moved
            if self._here:
                await moved.wait()
                continue
            try:
                async with asyncio.timeout(self._grace):
                    await moved.wait()
            except TimeoutError:
                return

    def _move(self, who: str | None) -> None:
        self.visit()
        self.on_people(who)

    def _perform(self, id: str, wish: Mapping[str, Any], who: str) -> Mapping[str, Any]:
        match wish:
            case {"do": "prompt", "text": str(text)}:
                text = _UNSEEN.sub("", encodable(text).replace("\r\n", "\n").replace("\r", "\n"))
                if not text.strip():
                    raise RequestRefused(400, "The prompt is empty.")
                if len(text) > _LONGEST_PROMPT:
                    raise RequestRefused(413, f"The prompt is longer than {_LONGEST_PROMPT:,} characters.")
                return self._actions.prompt(text, id=id, who=who)
            case {"do": "interrupt"}:
                return self._actions.interrupt(who=who)
            case {"do": "mode", "mode": str(mode)}:
                done = self._actions.set_mode(mode, who=who)
                self.look()
                return done
            case {"do": "model", "model": str() | None as model}:
                return self._actions.request("set_model", {"model": model}, who=who)
            case {"do": "thinking", "max_thinking_tokens": int() | None as tokens}:
                fields = {"max_thinking_tokens": tokens}
                return self._actions.request("set_max_thinking_tokens", fields, who=who)
            case {"do": "effort", "level": str(level)} if level in EFFORT_LEVELS:
                return self._actions.request("set_effort", {"level": level}, who=who)
            case {"do": "compact"}:
                return self._actions.prompt("/compact", id=id, who=who)
            case {"do": "rename", "title": str(title)} if title.strip():
                return self._actions.request("rename_session", {"title": title[:200]}, who=who)
            case {"do": "rewind", "user_message_id": str(message)} | {
                "do": "rewind",
                "message": str(message),
            }:
                return self._actions.request("rewind_files", {"user_message_id": message}, who=who)
            case {"do": "end"}:
                return self._actions.end(who=who)
            case {"do": "archive"}:
                return self._actions.archive(who=who)
            case {"do": "answer", "request_id": str(asked), "digest": str(seen)}:
                return self._answer(asked, seen, wish, who)
            case _:
                raise RequestRefused(400, "Unknown action.")

    def _answer(self, asked: str, seen: str, wish: Mapping[str, Any], who: str) -> Mapping[str, Any]:
        """The first answer counts, and only for what was shown."""
        if (inquiry := self._inquiries.get(asked)) is None:
            decided = self._closed.get(asked)
            if decided is None:
                raise RequestRefused(404, "Question not found.")
            raise RequestRefused(409, f"{decided['by']} was first: {decided['how']}.", decided=decided)
        if seen != inquiry.digest:
            raise RequestRefused(409, "The question has changed: review it again.")
        if not inquiry.answer(wish, who):
            raise RequestRefused(
                409, "Someone else answered first.", decided={"by": "someone else", "how": "settled"}
            )
        return {"counted": True}


def is_action_id(id: str) -> bool:
    """Whether a text can name a request, so that it is done once however often it comes."""
    return _ID.fullmatch(id) is not None


def _shorten(known: dict[str, Any], most: int) -> None:
    while len(known) > most:
        del known[next(iter(known))]


class SingleSession:
    """Implements `server.SharedSessions`."""

    opens = False

    def __init__(self, shared_session: SharedSession) -> None:
        self._shared_session = shared_session

    def all(self) -> Sequence[SharedSession]:
        return (self._shared_session,)

    def find(self, id: str) -> SharedSession | None:
        return self._shared_session if id == self._shared_session.id else None

    async def open(self, wish: Mapping[str, Any], who: str) -> SharedSession:
        del wish, who
        raise RequestRefused(405, "This is a single session: use bridle remote-control to start more.")
