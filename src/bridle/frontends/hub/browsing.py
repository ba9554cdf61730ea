"""The routes of the page and of other clients of people: lists, one stream for everything, and actions."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from bridle.frontends.hub import actions, environments, identity, sessions
from bridle.frontends.hub.feed import Watch
from bridle.frontends.hub.hub import Hub, answer, body_of, number_of, text_of
from bridle.frontends.hub.identity import Device
from bridle.frontends.hub.refusals import Refusal
from bridle.frontends.hub.sessions import Event
from bridle.frontends.hub.wire import public

_MOST_FOLLOWED = 20
_PAGE = 200
_BATCH = 500
_GATHER_SECONDS = 0.05
"""How long changes of the lists are collected before they are sent."""


class Browsing:
    """Answers the devices of people."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def routes(self) -> list[Route]:
        return [
            Route("/api/state", self._state, methods=["GET"]),
            Route("/api/stream", self._stream, methods=["GET"]),
            Route("/api/search", self._search, methods=["GET"]),
            Route("/api/sessions", self._start, methods=["POST"]),
            Route("/api/sessions/{session}/events", self._history, methods=["GET"]),
            Route("/api/sessions/{session}/act", self._act, methods=["POST"]),
        ]

    async def _state(self, request: Request) -> Response:
        device = await self._hub.device(request, "watch")
        archived = request.query_params.get("archived") == "true"
        state = await self._hub.read(_everything, archived=archived)
        return answer({"me": device, **state})

    async def _stream(self, request: Request) -> Response:
        """Changes of the lists, and the events of the sessions that are followed, in one stream."""
        await self._hub.device(request, "watch")
        followed = _followed(request.query_params.get("follow", ""))
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(self._news(request, followed), 200, headers, media_type="text/event-stream")

    async def _news(self, request: Request, followed: dict[str, int]) -> AsyncIterator[bytes]:
        watch = self._hub.feed.watch()
        try:
            # The device may have been revoked meanwhile; its stream ends with the next beat.
            yield _message("state", await self._hub.read(_everything, archived=False))
            watch.sessions |= followed.keys()
            while True:
                async for part in self._changes(watch, followed):
                    yield part
                if await watch.news(self._hub.options.beat_seconds):
                    await asyncio.sleep(_GATHER_SECONDS)
                    continue
                await self._hub.device(request, "watch")
                yield b":keepalive\n\n"
        except Refusal:
            return
        finally:
            self._hub.feed.leave(watch)

    async def _changes(self, watch: Watch, followed: dict[str, int]) -> AsyncIterator[bytes]:
        changed, asks, moved = set(watch.sessions), watch.questions, watch.machines
        watch.sessions.clear()
        watch.questions = watch.machines = False
        for id in changed & followed.keys():
            async for events in self._behind(id, followed[id]):
                followed[id] = events[-1].number
                yield _message("events", {"session": f"session_{id}", "events": _numbered(events)})
        if changed or asks or moved:
            yield _message("state", await self._hub.read(_changed, changed, asks, moved))

    async def _behind(self, id: str, after: int) -> AsyncIterator[Sequence[Event]]:
        """What a reader does not have yet."""
        while True:
            found = self._hub.feed.tail(id, "out").since(after)
            if found is None:
                start = after
                found = await self._hub.read(sessions.events, id, "out", after=start, limit=_BATCH)
            if not found:
                return
            yield found
            after = found[-1].number

    async def _history(self, request: Request) -> Response:
        await self._hub.device(request, "watch")
        id, before = sessions.plain_id(request.path_params["session"]), number_of(request, "before", 2**50)
        limit = min(number_of(request, "limit", _PAGE), _BATCH)
        session, events = await self._hub.read(
            lambda base: (sessions.find(base, id), sessions.history(base, id, before=before, limit=limit))
        )
        return answer({"events": _numbered(events), "more": len(events) == limit, "last": session.sent})

    async def _search(self, request: Request) -> Response:
        await self._hub.device(request, "watch")
        text = request.query_params.get("q", "").strip()
        if not 2 <= len(text) <= 200:
            raise Refusal(400, "Search for 2 to 200 characters.")
        rows = await self._hub.read(sessions.search, text, limit=_PAGE)
        return answer({"found": [{**row, "session": f"session_{row['session']}"} for row in rows]})

    async def _start(self, request: Request) -> Response:
        """Start a session on a machine; a request that is repeated starts no second one."""
        device, body = await self._hub.device(request, "start"), await body_of(request)
        wanted = actions.read_start(body)

        def start(base: Any) -> dict[str, Any]:
            done = actions.done(base, device.id, wanted.id)
            return done if done is not None else actions.start(base, wanted, device)

        started = await self._hub.write(start)
        self._hub.feed.offer_work(wanted.environment)
        self._hub.feed.change(session=sessions.plain_id(started["id"]))
        return answer(started)

    async def _act(self, request: Request) -> Response:
        body = await body_of(request)
        action = text_of(body, "do", longest=40)
        device = await self._hub.device(request, actions.right_for(action))
        id = sessions.plain_id(request.path_params["session"])
        result = await self._perform(id, body, device)
        return answer(result)

    async def _perform(self, id: str, body: Mapping[str, Any], device: Device) -> dict[str, Any]:
        id_of_request = actions.request_id(body)

        def act(base: Any) -> actions.ActionResult:
            known = actions.done(base, device.id, id_of_request)
            if known is not None:
                return actions.ActionResult(known)
            return actions.perform(base, id, body, device, id_of_request)

        result = await self._hub.write(act)
        feed = self._hub.feed
        if result.events:
            feed.publish(id, "in", result.events)
        if result.environment:
            feed.offer_work(result.environment)
        feed.change(session=id, questions=result.settles)
        return result.answer


def _everything(base: Any, *, archived: bool) -> dict[str, Any]:
    return {
        "machines": identity.machines(base),
        "environments": environments.all_environments(base),
        "sessions": [public(each) for each in sessions.all_sessions(base, archived=archived)],
        "questions": [_public_question(each) for each in sessions.questions(base)],
    }


def _changed(base: Any, ids: set[str], asks: bool, moved: bool) -> dict[str, Any]:
    news: dict[str, Any] = {"changed": [public(sessions.find(base, id)) for id in sorted(ids)]}
    if asks:
        news["questions"] = [_public_question(each) for each in sessions.questions(base)]
    if moved:
        news["machines"] = identity.machines(base)
        news["environments"] = environments.all_environments(base)
    return news


def _public_question(question: sessions.QuestionRow) -> dict[str, Any]:
    return {
        "session": f"session_{question.session}",
        "request_id": question.id,
        "digest": question.digest,
        "request": question.request,
        "opened": question.opened,
    }


class _Numbered(Struct, frozen=True):
    n: int
    frame: Raw


def _numbered(events: Sequence[Event]) -> list[_Numbered]:
    return [_Numbered(each.number, each.body) for each in events]


def _message(kind: str, value: Any) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), msgspec.json.encode(value))


def _followed(text: str) -> dict[str, int]:
    """Sessions with the number of the last event that the reader has: `session_1:12,session_2:0`."""
    found: dict[str, int] = {}
    for part in text.split(",") if text else ():
        id, _, after = part.partition(":")
        if not after.isascii() or not after.isdecimal() or len(after) > 15:
            raise Refusal(400, "follow must be a list of session:number.")
        found[sessions.plain_id(id)] = int(after)
    if len(found) > _MOST_FOLLOWED:
        raise Refusal(400, f"At most {_MOST_FOLLOWED} sessions can be followed at once.")
    return found
