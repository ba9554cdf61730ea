"""The routes that workers speak: environments with their work, and sessions with their events."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from bridle.frontends.hub import environments, sessions
from bridle.frontends.hub.feed import happens
from bridle.frontends.hub.hub import TOKEN_SECONDS, Hub, answer, body_of, number_of, text_of
from bridle.frontends.hub.identity import Machine
from bridle.frontends.hub.refusals import Refusal
from bridle.frontends.hub.sessions import Event
from bridle.frontends.hub.tokens import Claims
from bridle.frontends.hub.work_secret import work_secret

_BATCH = 500
_MOST_EVENTS = 2_000


class Wire:
    """Answers workers; everything that it says is on disk."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def routes(self) -> list[Route]:
        bridge, environment = "/v1/environments/bridge", "/v1/environments/{environment}"
        code, session = "/v1/code/sessions", "/v1/sessions/{session}"
        worker = f"{code}/{{session}}/worker"
        return [
            # Routes are tried in this order, and this one is asked for more often than all others together.
            Route(f"{worker}/events", self._upload, methods=["POST"]),
            Route(bridge, self._register, methods=["POST"]),
            Route(f"{bridge}/{{environment}}", self._deregister, methods=["DELETE"]),
            Route(f"{environment}/work/poll", self._poll, methods=["GET"]),
            Route(f"{environment}/work/{{work}}/ack", self._acknowledge, methods=["POST"]),
            Route(f"{environment}/work/{{work}}/heartbeat", self._beat, methods=["POST"]),
            Route(f"{environment}/work/{{work}}/stop", self._stop, methods=["POST"]),
            Route(f"{environment}/bridge/reconnect", self._reconnect, methods=["POST"]),
            Route("/v1/sessions", self._create, methods=["POST"]),
            Route("/v1/sessions", self._list, methods=["GET"]),
            Route(session, self._fetch, methods=["GET"]),
            Route(session, self._rename, methods=["PATCH"]),
            Route(f"{session}/archive", self._archive, methods=["POST"]),
            Route(f"{session}/events", self._send, methods=["POST"]),
            Route(f"{session}/events", self._events, methods=["GET"]),
            Route(code, self._create_code, methods=["POST"]),
            Route(f"{code}/{{session}}/bridge", self._bridge, methods=["POST"]),
            Route(f"{worker}/register", self._register_worker, methods=["POST"]),
            Route(f"{worker}/events/stream", self._stream, methods=["GET"]),
            Route(worker, self._state, methods=["PUT"]),
            Route(f"{worker}/events/{{event}}/delivery", self._delivery, methods=["POST"]),
        ]

    async def _register(self, request: Request) -> Response:
        machine, wanted = await self._hub.machine(request), await body_of(request)
        id, secret = await self._hub.write(environments.register, machine.id, wanted)
        self._hub.feed.change(machines=True)
        return answer({"environment_id": id, "environment_secret": secret})

    async def _deregister(self, request: Request) -> Response:
        environment = await self._own_environment(request)
        await self._hub.write(environments.deregister, environment)
        self._hub.feed.change(machines=True)
        return Response(status_code=204)

    async def _poll(self, request: Request) -> Response:
        """The next work, or null after a while."""
        hub, environment = self._hub, await self._hub.environment(request)
        reclaim = number_of(request, "reclaim_older_than_ms", -1)
        after = reclaim / 1000 if reclaim >= 0 else None
        mark = hub.feed.work_mark(environment.id)
        work = await hub.write(environments.take_work, environment, reclaim_after=after)
        if work is None:
            await happens(mark, hub.options.poll_seconds)
            work = await hub.write(environments.take_work, environment, reclaim_after=after)
        if work is None:
            return answer(None)
        session = await hub.read(sessions.find, work.session)
        secret = work_secret(str(request.base_url), hub.token(session.id, 0), session)
        return answer(
            {
                "id": work.id,
                "type": "work",
                "environment_id": work.environment,
                "state": work.state,
                "data": {"type": "session", "id": f"cse_{work.session}"},
                "secret": secret,
                "created_at": work.created,
            }
        )

    async def _acknowledge(self, request: Request) -> Response:
        environment, work, claims = self._work(request)
        await self._hub.write(environments.acknowledge, environment, work, claims.session_id)
        return Response(status_code=204)

    async def _beat(self, request: Request) -> Response:
        environment, work, claims = self._work(request)
        beat = await self._hub.write(environments.beat, environment, work, claims.session_id)
        return answer(beat)

    async def _stop(self, request: Request) -> Response:
        environment, body = await self._own_environment(request), await body_of(request)
        work, force = request.path_params["work"], body.get("force") is True
        session = await self._hub.write(
            environments.stop, environment.id, work, actor=environment.machine, force=force
        )
        self._hub.feed.change(session=session)
        return Response(status_code=204)

    async def _reconnect(self, request: Request) -> Response:
        """Let the environment take a session up again, with a fresh token."""
        environment, body = await self._own_environment(request), await body_of(request)
        id = sessions.plain_id(text_of(body, "session_id"))
        session = await self._hub.read(sessions.find, id)
        if session.environment != environment.id:
            raise Refusal(403, "The session belongs to another environment.")
        await self._hub.write(environments.queue_work, environment.id, id)
        self._hub.feed.offer_work(environment.id)
        return Response(status_code=204)

    async def _create(self, request: Request) -> Response:
        """A session for an environment, whose first events wait for its worker."""
        hub = self._hub
        actor, body = await hub.machine_or_device(request, "start"), await body_of(request)
        environment = text_of(body, "environment_id") or None
        owner = actor.id if isinstance(actor, Machine) else None
        if environment is not None:
            found = await hub.read(environments.find, environment)
            if owner not in (None, found.machine):
                raise Refusal(403, "The environment belongs to another machine.")
            owner = found.machine
        first = [_wrapped(each) for each in _list_of(body, "events")]
        title, mode = text_of(body, "title", longest=200), text_of(body, "permission_mode", longest=40)
        source, context = text_of(body, "source", longest=40), body.get("session_context")

        def create(base: Any) -> str:
            id = sessions.create(
                base, actor=actor.id, environment=environment, title=title, source=source, mode=mode,
                machine=owner, context=context,
            )  # fmt: skip
            sessions.append(base, id, "in", first, device=actor.id)
            if environment is not None:
                environments.queue_work(base, environment, id)
            return id

        id = await hub.write(create)
        if environment is not None:
            hub.feed.offer_work(environment)
        hub.feed.change(session=id)
        return answer({"id": f"session_{id}"})

    async def _list(self, request: Request) -> Response:
        await self._hub.machine_or_device(request, "watch")
        archived = request.query_params.get("archived") == "true"
        found = await self._hub.read(sessions.all_sessions, archived=archived)
        return answer({"data": [public(each) for each in found], "has_more": False})

    async def _fetch(self, request: Request) -> Response:
        await self._hub.machine_or_device(request, "watch")
        id = sessions.plain_id(request.path_params["session"])
        return answer(public(await self._hub.read(sessions.find, id)))

    async def _rename(self, request: Request) -> Response:
        actor, body = await self._hub.machine_or_device(request, "steer"), await body_of(request)
        id, title = sessions.plain_id(request.path_params["session"]), text_of(body, "title", longest=1_000)
        await self._hub.write(sessions.rename, id, title, actor=actor.id)
        self._hub.feed.change(session=id)
        return answer({"id": f"session_{id}", "title": title})

    async def _archive(self, request: Request) -> Response:
        id = sessions.plain_id(request.path_params["session"])
        claims = self._hub.claims(request)
        if claims is not None and claims.session_id == id:
            actor = f"session_{id}"
        else:
            actor = (await self._hub.machine_or_device(request, "start")).id
        await self._hub.write(sessions.archive, id, actor=actor)
        self._hub.feed.change(session=id, questions=True)
        return Response(status_code=204)

    async def _send(self, request: Request) -> Response:
        """Events of a worker with its token; of machines nothing else comes this way."""
        id = sessions.plain_id(request.path_params["session"])
        claims = self._hub.worker(request, id)
        return await self._add(request, id, claims)

    async def _events(self, request: Request) -> Response:
        await self._hub.machine_or_device(request, "watch")
        id, after = sessions.plain_id(request.path_params["session"]), number_of(request, "after", 0)
        await self._hub.read(sessions.find, id)
        found = await self._hub.read(sessions.events, id, "out", after=after, limit=_BATCH)
        last = found[-1].number if found else after
        return answer({"data": [each.body for each in found], "last": last, "has_more": len(found) == _BATCH})

    async def _create_code(self, request: Request) -> Response:
        machine, body = await self._hub.machine(request), await body_of(request)
        tags = [each for each in _list_of(body, "tags") if isinstance(each, str)]
        title = text_of(body, "title", longest=1_000)
        id = await self._hub.write(
            sessions.create, actor=machine.id, machine=machine.id, title=title, source="bridge", tags=tags
        )
        self._hub.feed.change(session=id)
        return answer({"session": {"id": f"cse_{id}"}})

    async def _bridge(self, request: Request) -> Response:
        """A worker takes over a session; the call itself is the registration."""
        machine, id = await self._hub.machine(request), sessions.plain_id(request.path_params["session"])
        session = await self._hub.read(sessions.find, id)
        if session.machine != machine.id:
            raise Refusal(403, "The session belongs to another machine.")
        epoch = await self._hub.write(sessions.register_worker, id)
        self._hub.feed.replace_worker(id)
        return answer(
            {
                "worker_jwt": self._hub.token(id, epoch),
                "api_base_url": str(request.base_url).rstrip("/"),
                "expires_in": TOKEN_SECONDS,
                "worker_epoch": str(epoch),
            }
        )

    async def _register_worker(self, request: Request) -> Response:
        id = sessions.plain_id(request.path_params["session"])
        self._hub.worker(request, id)
        epoch = await self._hub.write(sessions.register_worker, id)
        self._hub.feed.replace_worker(id)
        return answer({"worker_epoch": str(epoch)})

    async def _stream(self, request: Request) -> Response:
        """What is meant for the worker, from the number that it names on."""
        id = sessions.plain_id(request.path_params["session"])
        claims = self._hub.worker(request, id)
        await self._current(id, claims, request.query_params.get("worker_epoch"))
        last = request.headers.get("last-event-id") or request.query_params.get("from_sequence_num")
        fresh = last is None
        after = (
            int(last) if last is not None and last.isascii() and last.isdecimal() and len(last) < 16 else 0
        )
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(self._frames(id, after, fresh), 200, headers, media_type="text/event-stream")

    async def _frames(self, id: str, after: int, fresh: bool) -> AsyncIterator[bytes]:
        tail = self._hub.feed.tail(id, "in")
        yield b":keepalive\n\n"
        while not tail.closed:
            mark = tail.mark()
            found = None if fresh else tail.since(after)
            if not found:
                # A worker that names no number gets what none before it has finished.
                found = await self._hub.read(
                    sessions.events, id, "in", after=after, limit=_BATCH, open_only=fresh
                )
            if found:
                after = found[-1].number
                yield b"".join(_frame(each) for each in found)
                continue
            fresh = False
            if not await happens(mark, self._hub.options.beat_seconds):
                yield b":keepalive\n\n"
            if not tail.closed:
                tail = self._hub.feed.tail(id, "in")

    async def _upload(self, request: Request) -> Response:
        id = sessions.plain_id(request.path_params["session"])
        return await self._add(request, id, self._hub.worker(request, id))

    async def _add(self, request: Request, id: str, claims: Claims) -> Response:
        body = await body_of(request)
        bodies = [_wrapped(each) for each in _list_of(body, "events")]
        if len(bodies) > _MOST_EVENTS:
            raise Refusal(413, f"At most {_MOST_EVENTS} events can be sent at once.")
        epoch = _epoch(body.get("worker_epoch"), claims)

        def add(base: Any) -> tuple[list[Event], bool]:
            if epoch is not None:
                sessions.check_epoch(sessions.find(base, id), epoch)
            added = sessions.append(base, id, "out", bodies)
            return added, any(str(each.get("type")).startswith("control_") for each in bodies)

        added, asks = await self._hub.write(add)
        self._hub.feed.publish(id, "out", added)
        if asks:
            self._hub.feed.change(questions=True)
        return answer({"accepted": len(added)})

    async def _state(self, request: Request) -> Response:
        id = sessions.plain_id(request.path_params["session"])
        claims, body = self._hub.worker(request, id), await body_of(request)
        await self._current(id, claims, body.get("worker_epoch"))
        await self._hub.write(sessions.set_state, id, body)
        self._hub.feed.change(session=id)
        return Response(status_code=204)

    async def _delivery(self, request: Request) -> Response:
        id, event = sessions.plain_id(request.path_params["session"]), request.path_params["event"]
        claims, body = self._hub.worker(request, id), await body_of(request)
        await self._current(id, claims, body.get("worker_epoch"))
        status = text_of(body, "status", longest=40)
        await self._hub.write(sessions.set_delivery, id, event, status)
        return Response(status_code=204)

    async def _current(self, id: str, claims: Claims, named: Any) -> None:
        """Refuse a worker that another one has replaced."""
        session = await self._hub.read(sessions.find, id)
        epoch = _epoch(named, claims)
        if epoch is not None:
            sessions.check_epoch(session, epoch)

    async def _own_environment(self, request: Request) -> environments.Environment:
        id, actor = request.path_params["environment"], await self._hub.machine_or_device(request, "start")
        environment = await self._hub.read(environments.find, id)
        if isinstance(actor, Machine) and environment.machine != actor.id:
            raise Refusal(403, "The environment belongs to another machine.")
        return environment

    def _work(self, request: Request) -> tuple[str, str, Claims]:
        claims = self._hub.claims(request)
        if claims is None:
            raise self._hub.wrong(request, "The token of this session is wrong or has expired.")
        return request.path_params["environment"], request.path_params["work"], claims


def public(session: sessions.SessionRow) -> dict[str, Any]:
    """A session as those see it who may watch."""
    return {
        "id": f"session_{session.id}",
        "title": session.title,
        "environment_id": session.environment,
        "machine": session.machine,
        "source": session.source,
        "permission_mode": session.mode,
        "session_context": session.context,
        "tags": session.tags,
        "created_at": session.created,
        "updated_at": session.updated,
        "archived": session.archived is not None,
        "worker_status": session.status,
        "external_metadata": session.external,
        "last_event": session.sent,
    }


def _frame(event: Event) -> bytes:
    data = msgspec.json.encode({"event_id": event.uuid, "payload": event.body})
    return b"event: sdk_event\nid: %d\ndata: %b\n\n" % (event.number, data)


def _wrapped(event: Any) -> Mapping[str, Any]:
    """An event, with or without the envelope that the wire has for it.

    Raises:
        Refusal: it is none.
    """
    match event:
        case {"type": "event", "data": {"type": str()} as inner} | {"payload": {"type": str()} as inner}:
            return {"uuid": event["event_id"], **inner} if isinstance(event.get("event_id"), str) else inner
        case {"type": str()}:
            return event
        case _:
            raise Refusal(400, "Every event must be an object with a type.")


def _list_of(body: Mapping[str, Any], name: str) -> list[Any]:
    value = body.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise Refusal(400, f"{name} must be a list.")
    return value


def _epoch(named: Any, claims: Claims) -> int | None:
    """The registration that a worker names, in its token or in the body; None where it names none."""
    if named is None:
        return claims.epoch or None
    text = str(named)
    if isinstance(named, bool) or not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise Refusal(400, "worker_epoch must be a number.")
    if claims.epoch and int(text) != claims.epoch:
        raise Refusal(409, "worker_epoch is not that of the token.", "worker_epoch_mismatch")
    return int(text)
