"""A provider that takes note of every model call."""

import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from opentelemetry.trace import Span

from bridle.engine.runtime import ModelFacts
from bridle.engine.side_calls import charged_to
from bridle.features.telemetry.recorder import Attributes, Recorder
from bridle.features.telemetry.session_events import SessionEvents
from bridle.host.files import make_folders
from bridle.host.secrets import SECRETS
from bridle.types.block import AssistantMessage
from bridle.types.errors import ProviderError
from bridle.types.ids import new_uuid
from bridle.types.model import Completed, ModelEvent, ModelRequest, Provider, Started, Waiting
from bridle.types.usage import Usage

_OPENING = "main"


class _Call(Struct):
    """One call of the model, until its answer is whole."""

    id: str
    model: str
    began: float
    span: Span | None
    first: float | None = None
    attempts: int = 1
    request_id: str = ""
    message: AssistantMessage | None = None


class ObservedProvider:
    """Passes requests and answers on as they are."""

    def __init__(
        self,
        inner: Provider,
        recorder: Recorder,
        events: SessionEvents,
        *,
        facts: Callable[[str], ModelFacts],
        propagates: bool,
        source: str = _OPENING,
    ) -> None:
        self._inner = inner
        self._recorder = recorder
        self._events = events
        self._facts = facts
        self._propagates = propagates
        """Whether the model's endpoint gets the trace context."""
        self._source = source

    def charged_to(self, agent: str | None, source: str | None = None) -> "ObservedProvider":
        """A provider for the calls of an agent or for one source."""
        return ObservedProvider(
            charged_to(self._inner, agent, source),
            self._recorder,
            self._events,
            facts=self._facts,
            propagates=self._propagates,
            source=source or agent or self._source,
        )

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """The answer of the wrapped provider.

        Raises:
            ProviderError: the provider fails.
        """
        call = self._begin(request)
        headers = {"x-client-request-id": call.id}
        if self._propagates:
            headers |= self._recorder.carrier(call.span)
        finished = False
        try:
            stream: Any = self._inner.stream(replace(request, headers={**request.headers, **headers}))
            async with aclosing(stream) as events:
                async for event in events:
                    self._note(call, event)
                    if isinstance(event, Completed):
                        finished = True
                        self._complete(call, event)
                    yield event
        except ProviderError as error:
            finished = True
            self._fail(call, error)
            raise
        finally:
            if not finished:
                self._recorder.end(call.span, error="cut off")

    async def close(self) -> None:
        await self._inner.close()

    def _begin(self, request: ModelRequest) -> _Call:
        span = self._recorder.begin(
            "llm_request",
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": provider_name(request.model),
                "gen_ai.request.model": request.model,
                "gen_ai.request.max_tokens": request.max_tokens,
                "gen_ai.conversation.id": request.session_id or "",
                "model": request.model,
                "query_source": self._source,
            },
            parent=self._events.parent(),
        )
        call = _Call(new_uuid(), request.model, time.monotonic(), span)
        if self._recorder.switches.raw_bodies:
            self._body("api_request_body", call, _request_body(request))
        return call

    def _note(self, call: _Call, event: ModelEvent) -> None:
        match event:
            case Started():
                call.request_id = event.request_id or ""
                call.message = event.message
            case Waiting():
                call.attempts = event.attempt + 1
                about: Attributes = {"error": event.error, "status_code": event.status or 0}
                self._log("api_error", call, {**about, "attempt": event.attempt})
            case _ if call.first is None:
                call.first = time.monotonic()
            case _:
                pass

    def _complete(self, call: _Call, event: Completed) -> None:
        message, seconds = event.message, time.monotonic() - call.began
        usage, model = Usage.from_api(message["usage"]), message["model"] or call.model
        usd = self._facts(model).cost(usage)
        written = usage.cache_write_5m + usage.cache_write_1h
        parts = {
            "input": usage.input,
            "output": usage.output,
            "cacheRead": usage.cache_read,
            "cacheCreation": written,
        }
        for kind, tokens in parts.items():
            self._recorder.count("token.usage", tokens, type=kind, model=model, query_source=self._source)
        self._recorder.count("cost.usage", usd, model=model, query_source=self._source)
        self._recorder.measure(model, provider_name(model), usage, seconds)
        about: dict[str, str | int | float | bool] = {
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "cache_read_tokens": usage.cache_read,
            "cache_creation_tokens": written,
            "duration_ms": round(seconds * 1000),
            "cost_usd": usd,
            "request_id": event.request_id or call.request_id,
        }
        if call.first is not None:
            about["ttft_ms"] = round((call.first - call.began) * 1000)
        self._log("api_request", call, about)
        stop = message.get("stop_reason") or ""
        if stop == "refusal":
            self._log("api_refusal", call, {"request_id": about["request_id"]})
        if self._recorder.switches.raw_bodies:
            self._body("api_response_body", call, msgspec.json.encode(message))
        conventions: Attributes = {
            **about,
            "gen_ai.response.model": model,
            "gen_ai.response.id": message["id"] or "",
            "gen_ai.response.finish_reasons": stop,
            "gen_ai.usage.input_tokens": usage.context,
            "gen_ai.usage.output_tokens": usage.output,
            "attempt": call.attempts,
            "success": True,
        }
        self._recorder.end(call.span, conventions)

    def _fail(self, call: _Call, error: ProviderError) -> None:
        about: Attributes = {
            "error": str(error),
            "error_kind": error.kind,
            "status_code": error.status or 0,
            "attempt": call.attempts,
            "duration_ms": round((time.monotonic() - call.began) * 1000),
            "request_id": error.request_id or call.request_id,
        }
        self._log("api_error", call, about)
        if call.attempts > 1:
            self._log("api_retries_exhausted", call, about)
        self._recorder.end(call.span, {"error.type": error.kind, "success": False}, error=str(error))

    def _body(self, name: str, call: _Call, body: bytes) -> None:
        """The body in the form of the Messages API: inline and cut, or whole in a file."""
        text = SECRETS.hide(body.decode("utf-8", "replace"))
        if self._recorder.switches.raw_bodies == "1":
            self._log(name, call, {"body": text, "body_length": len(text)})
            return
        folder = os.path.expanduser(self._recorder.switches.raw_bodies)
        path = os.path.join(folder, f"{call.id}.{name}.json")
        try:
            make_folders(folder, private=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            self._log("internal_error", call, {"error_name": type(error).__name__, "error": str(error)})
            return
        self._log(name, call, {"body_ref": path, "body_length": len(text)})

    def _log(self, name: str, call: _Call, attributes: Attributes) -> None:
        about = {"model": call.model, "client_request_id": call.id, "query_source": self._source}
        self._recorder.log(name, {**about, **attributes}, prompt=self._events.prompt, span=call.span)


def _request_body(request: ModelRequest) -> bytes:
    return msgspec.json.encode(
        {
            "model": request.model,
            "max_tokens": request.max_tokens,
            "system": request.system,
            "messages": list(request.history.messages),
            "tools": request.tools,
        }
    )


def provider_name(model: str) -> str:
    """The name of the GenAI conventions for the service of a model."""
    vendor = model.partition("/")[0] if "/" in model else "anthropic"
    known = {
        "bedrock": "aws.bedrock",
        "vertex": "gcp.vertex_ai",
        "gemini": "gcp.gemini",
        "azure": "azure.ai.openai",
    }
    return known.get(vendor, vendor)
