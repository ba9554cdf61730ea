"""The gateway as an ASGI application."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

import msgspec
from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from bridle.config.merge import merge
from bridle.frontends.gateway.chat_form import BadRequest, ChatChunks, completion, to_messages
from bridle.frontends.gateway.config import Dialect, GatewayConfig, User, hash_of
from bridle.frontends.gateway.messages_form import event_of, to_request
from bridle.frontends.gateway.usage_ledger import UsageLedger
from bridle.frontends.gateway.usage_reader import StreamUsage, UsageReader, WholeUsage
from bridle.host.http.client import HttpClient, HttpFault, Limits
from bridle.host.http.client import Request as Sent
from bridle.host.secrets import SECRETS
from bridle.providers.connect import Providers
from bridle.providers.facts import Model, cost
from bridle.types.block import AssistantMessage
from bridle.types.errors import BridleError, ProviderError
from bridle.types.ids import new_uuid
from bridle.types.model import Completed, ModelEvent, ModelRequest
from bridle.types.usage import Usage

_LIMITS = Limits(idle=600.0)
_PATHS: Mapping[Dialect, str] = {"anthropic": "/v1/messages", "chat": "/chat/completions"}
_PASSED_ON = ("anthropic-version", "anthropic-beta", "accept")
_RETURNED = ("content-type", "request-id", "x-request-id", "retry-after")
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
}
_SYNC_SECONDS = 1.0


class Refusal(Exception):
    """An answer that is an error, in the form of the client's dialect."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Asking(Struct, frozen=True):
    """One request that was let in."""

    name: str
    user: User
    model: str
    body: dict[str, Any]
    entrance: Dialect
    headers: Mapping[str, str]

    @property
    def streams(self) -> bool:
        return self.body.get("stream") is True


class Gateway:
    """Lets requests in, passes them on and counts them; nothing of their content is kept or logged."""

    def __init__(self, config: GatewayConfig, env: Mapping[str, str]) -> None:
        self._config = config
        self._users = config.by_hash()
        self._client = HttpClient(env, kept=256)
        self._ledger = UsageLedger(config.usage)
        keys = {f"GATEWAY_KEY_{at}": place.key for at, place in enumerate(config.upstreams.values())}
        variables = dict(zip(config.upstreams, keys, strict=True))
        own = {name: _entry(config, name, variables) for name in config.models}
        self._providers = Providers({**env, **keys}, own)
        self._models: dict[str, Model] = {}

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/messages", self._messages, methods=["POST"]),
                Route("/v1/chat/completions", self._chat, methods=["POST"]),
                Route("/v1/models", self._list_models),
                Route("/v1/policy", self._policy),
                Route("/v1/usage", self._usage),
                Route("/healthz", _healthy),
            ],
            lifespan=self._living,
            exception_handlers={Exception: _defect},
        )

    @asynccontextmanager
    async def _living(self, app: Starlette) -> AsyncGenerator[None]:
        del app
        syncing = asyncio.create_task(self._sync())
        try:
            yield
        finally:
            syncing.cancel()
            await asyncio.gather(syncing, return_exceptions=True)
            await asyncio.to_thread(self._ledger.close)
            await self._client.close()
            await self._providers.close()

    async def _sync(self) -> None:
        while True:
            await asyncio.sleep(_SYNC_SECONDS)
            await asyncio.to_thread(self._ledger.sync)

    async def _messages(self, request: Request) -> Response:
        return await self._answer(request, "anthropic")

    async def _chat(self, request: Request) -> Response:
        return await self._answer(request, "chat")

    async def _answer(self, request: Request, entrance: Dialect) -> Response:
        try:
            asking = await self._let_in(request, entrance)
            place = self._config.upstreams[self._config.models[asking.model].upstream]
            if place.dialect == entrance:
                return await self._pass_through(asking)
            return await self._translate(asking)
        except Refusal as refusal:
            return _error(refusal.status, str(refusal), entrance)
        except BadRequest as error:
            return _error(400, str(error), entrance)
        except ClientDisconnect:
            return Response(status_code=499)

    async def _let_in(self, request: Request, entrance: Dialect) -> Asking:
        name, user = self._who(request)
        body = await self._body(request)
        model = body.get("model")
        if not isinstance(model, str) or model not in self._config.models:
            raise Refusal(404, f"Unknown model {_shown(model)}; GET /v1/models lists the models.")
        if not user.allows(model):
            raise Refusal(403, f"The model {model} is not allowed for {name}.")
        if reason := self._ledger.refusal(name, user):
            raise Refusal(429, reason)
        for field in ("max_tokens", "max_completion_tokens"):
            limit = body.get(field)
            if user.max_tokens is not None and isinstance(limit, int) and limit > user.max_tokens:
                raise Refusal(403, f"{field} may be at most {user.max_tokens} for {name}.")
        return Asking(name, user, model, body, entrance, request.headers)

    def _who(self, request: Request) -> tuple[str, User]:
        given = request.headers.get("x-api-key") or ""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if not given and scheme.lower() == "bearer":
            given = token.strip()
        name = self._users.get(hash_of(given)) if given else None
        if name is None:
            raise Refusal(401, "Send your key for this gateway as x-api-key or Authorization: Bearer.")
        return name, self._config.users[name]

    async def _body(self, request: Request) -> dict[str, Any]:
        size, parts = 0, list[bytes]()
        async for chunk in request.stream():
            size += len(chunk)
            if size > self._config.largest_body:
                raise Refusal(413, f"The request is larger than {self._config.largest_body} bytes.")
            parts.append(chunk)
        try:
            body = msgspec.json.decode(b"".join(parts))
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise Refusal(400, "The body is not JSON, or nested too deep.") from error
        if not isinstance(body, dict):
            raise Refusal(400, "The body must be a JSON object.")
        return body

    async def _pass_through(self, asking: Asking) -> Response:
        """The service speaks the client's dialect: bytes go through as they come."""
        served = self._config.models[asking.model]
        place = self._config.upstreams[served.upstream]
        body = {**asking.body, "model": served.name or asking.model}
        if asking.user.max_tokens is not None and not {"max_tokens", "max_completion_tokens"} & body.keys():
            body["max_tokens"] = asking.user.max_tokens
        if asking.entrance == "chat" and asking.streams:
            body["stream_options"] = {**_object(body.get("stream_options")), "include_usage": True}
        passed = [(name, asking.headers[name]) for name in _PASSED_ON if name in asking.headers]
        key = (
            ("x-api-key", place.key)
            if place.dialect == "anthropic"
            else ("authorization", f"Bearer {place.key}")
        )
        headers = (("content-type", "application/json"), *passed, *((key,) if place.key else ()))
        url = f"{place.url.rstrip('/')}{_PATHS[place.dialect]}"
        exchange = self._client.send(Sent("POST", url, headers, msgspec.json.encode(body)), _LIMITS)
        try:
            response = await exchange.__aenter__()
        except (HttpFault, BridleError) as error:
            self._ledger.record(asking.name, asking.model, Usage(), 0.0, failed=True)
            raise Refusal(502, f"Can't reach the service for {asking.model}.") from error
        kind = response.headers.get("content-type", "")
        streamed = kind.startswith("text/event-stream")
        reader = StreamUsage(place.dialect) if streamed else WholeUsage(place.dialect)
        kept = {name: response.headers[name] for name in _RETURNED if name in response.headers}
        chunks = self._counted(asking, exchange, response, reader)
        if streamed:
            return StreamingResponse(chunks, response.status, kept)
        whole = b"".join([chunk async for chunk in chunks])
        return Response(whole, response.status, kept)

    async def _counted(
        self, asking: Asking, exchange: Any, response: Any, reader: UsageReader
    ) -> AsyncIterator[bytes]:
        try:
            async for chunk in response:
                reader.feed(chunk)
                yield bytes(chunk)
        except HttpFault:
            pass  # The client sees the same end that we do.
        finally:
            await exchange.__aexit__(None, None, None)
            usage = reader.usage()
            self._ledger.record(
                asking.name,
                asking.model,
                usage,
                cost(self._model(asking.model), usage),
                failed=response.status >= 400,
            )

    async def _translate(self, asking: Asking) -> Response:
        """The service speaks another dialect than the client."""
        body = asking.body if asking.entrance == "anthropic" else to_messages(asking.body)
        if asking.user.max_tokens is not None:
            body = {"max_tokens": asking.user.max_tokens, **body}
        request = to_request(body, asking.model)
        if not asking.streams:
            message = await self._whole(asking, request)
            return _json(completion(message, asking.model) if asking.entrance == "chat" else message)
        events = self._events(asking, request)
        try:
            first = await anext(events)
        except ProviderError as error:
            raise Refusal(error.status or 502, SECRETS.hide(str(error))) from error
        return StreamingResponse(_written(asking, first, events), 200, {"content-type": "text/event-stream"})

    async def _whole(self, asking: Asking, request: ModelRequest) -> AssistantMessage:
        try:
            async with aclosing(self._events(asking, request)) as events:
                async for event in events:
                    if isinstance(event, Completed):
                        return event.message
        except ProviderError as error:
            raise Refusal(error.status or 502, SECRETS.hide(str(error))) from error
        raise Refusal(502, "The service did not respond.")

    async def _events(self, asking: Asking, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        usage, failed = Usage(), True
        try:
            stream: Any = self._providers.of(asking.model).stream(request)
            async with aclosing(stream) as events:
                async for event in events:
                    if isinstance(event, Completed):
                        usage, failed = Usage.from_api(event.message["usage"]), False
                    yield event
        finally:
            usd = cost(self._model(asking.model), usage)
            self._ledger.record(asking.name, asking.model, usage, usd, failed=failed)

    def _model(self, name: str) -> Model:
        if name not in self._models:
            self._models[name] = self._providers.find(name)
        return self._models[name]

    async def _list_models(self, request: Request) -> Response:
        try:
            _, user = self._who(request)
        except Refusal as refusal:
            return _error(refusal.status, str(refusal), "chat")
        names = [name for name in self._config.models if user.allows(name)]
        # Clients of both dialects find what they look for.
        rows = [{"id": name, "type": "model", "object": "model", "display_name": name} for name in names]
        return _json({"object": "list", "data": rows, "has_more": False})

    async def _policy(self, request: Request) -> Response:
        """The managed settings of a user, for `bridleRemotePolicy`."""
        try:
            _, user = self._who(request)
        except Refusal as refusal:
            return _error(refusal.status, str(refusal), "anthropic")
        settings = merge([("policySettings", self._config.policy), ("policySettings", user.policy)])
        return _json({"managedSettings": settings})

    async def _usage(self, request: Request) -> Response:
        """Usage by day and model: the user's own, or everyone's for administrators."""
        try:
            name, user = self._who(request)
        except Refusal as refusal:
            return _error(refusal.status, str(refusal), "anthropic")
        rows = await asyncio.to_thread(lambda: list(self._ledger.export(None if user.admin else name)))
        if request.query_params.get("format") == "csv":
            return Response(_csv(rows), media_type="text/csv")
        return _json({"usage": rows})


async def _written(
    asking: Asking, first: ModelEvent, events: AsyncGenerator[ModelEvent]
) -> AsyncIterator[bytes]:
    """The answer in the client's dialect, each event as it comes."""
    chunks = ChatChunks(new_uuid(), asking.model) if asking.entrance == "chat" else None
    asked = _object(asking.body.get("stream_options")).get("include_usage") is True
    async with aclosing(events):
        try:
            event: ModelEvent | None = first
            while event is not None:
                if chunks is None:
                    yield event_of(event)
                elif isinstance(event, Completed):
                    for chunk in chunks.finish(event.message, usage=asked):
                        yield chunk
                else:
                    for chunk in chunks.feed(event):
                        yield chunk
                event = await anext(events, None)
        except ProviderError as error:
            body = msgspec.json.encode(_fault(502, SECRETS.hide(str(error)), asking.entrance))
            yield b"event: error\ndata: " + body + b"\n\n"


def _entry(config: GatewayConfig, name: str, variables: Mapping[str, str]) -> dict[str, Any]:
    """A model of the gateway as an entry of `bridleModels`."""
    served = config.models[name]
    place = config.upstreams[served.upstream]
    prices = {
        "inputPrice": served.input_price,
        "outputPrice": served.output_price,
        "cacheReadPrice": served.cache_read_price,
        "cacheWritePrice": served.cache_write_price,
    }
    way: dict[str, Any] = {"dialect": place.dialect, "baseUrl": place.url, "name": served.name or name}
    if place.key:
        way["keyEnv"] = variables[served.upstream]
    return way | {key: value for key, value in prices.items() if value is not None}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _shown(value: Any) -> str:
    return repr(value[:100]) if isinstance(value, str) else "without a name"


def _fault(status: int, text: str, dialect: Dialect) -> dict[str, Any]:
    kind = _KINDS.get(status, "api_error")
    if dialect == "anthropic":
        return {"type": "error", "error": {"type": kind, "message": text}}
    return {"error": {"message": text, "type": kind, "code": None, "param": None}}


def _error(status: int, text: str, dialect: Dialect) -> Response:
    return _json(_fault(status, text, dialect), status)


def _json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def _csv(rows: list[dict[str, Any]]) -> str:
    import csv
    import io

    out = io.StringIO()
    if rows:
        writer = csv.DictWriter(out, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows({key: _plain(value) for key, value in row.items()} for row in rows)
    return out.getvalue()


def _plain(value: Any) -> Any:
    """No cell that a spreadsheet would take for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value


async def _healthy(request: Request) -> Response:
    del request
    return Response("ok\n", media_type="text/plain")


async def _defect(request: Request, error: Exception) -> Response:
    """The end of a request that no one expected: its client learns the kind of fault and nothing else."""
    dialect = "chat" if request.url.path.startswith("/v1/chat") else "anthropic"
    return _error(500, f"Internal error in the gateway ({type(error).__name__}).", dialect)
