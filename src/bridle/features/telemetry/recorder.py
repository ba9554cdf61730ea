"""Writes metrics, log events and spans under the names of the shared surface and the GenAI conventions."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct
from opentelemetry import trace
from opentelemetry._logs import SeverityNumber
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from bridle.features.telemetry.pipeline import Pipeline, resource_attributes
from bridle.features.telemetry.switches import Switches
from bridle.host.secrets import SECRETS
from bridle.types.usage import Usage
from bridle.types.variables import is_off, is_on
from bridle.version import __version__

_SCOPE = "com.anthropic.claude_code"
"""The scope that dashboards for this surface look for."""
_EVENTS = f"{_SCOPE}.events"
Attributes = Mapping[str, str | int | float | bool]

_COUNTERS = {
    "session.count": ("", "Sessions started"),
    "lines_of_code.count": ("", "Lines changed"),
    "pull_request.count": ("", "Pull requests created"),
    "commit.count": ("", "Commits created"),
    "cost.usage": ("USD", "Cost of model calls"),
    "token.usage": ("tokens", "Tokens used"),
    "code_edit_tool.decision": ("", "Decisions about edits"),
    "active_time.total": ("s", "Active time"),
}


class Identity(Struct, frozen=True):
    """Who and what the data is of."""

    session: str
    entrypoint: str
    installation: str
    env: Mapping[str, str]


class Recorder:
    """One for a session; every value that leaves here has no secrets and is not too long."""

    def __init__(self, pipeline: Pipeline, switches: Switches, identity: Identity) -> None:
        self.switches = switches
        self._pipeline = pipeline
        self._identity = identity
        self._sequence = 0
        meters, loggers, tracers = pipeline.meters, pipeline.loggers, pipeline.tracers
        self._logger = None if loggers is None else loggers.get_logger(_EVENTS, __version__)
        self._tracer = None if tracers is None else tracers.get_tracer(_SCOPE, __version__)
        self._counters: dict[str, Any] = {}
        self._gen_ai: tuple[Any, Any] | None = None
        if meters is not None:
            meter = meters.get_meter(_SCOPE, __version__)
            for name, (unit, description) in _COUNTERS.items():
                self._counters[name] = meter.create_counter(f"claude_code.{name}", unit, description)
            self._gen_ai = (
                meter.create_histogram("gen_ai.client.token.usage", "{token}", "Tokens of one operation"),
                meter.create_histogram("gen_ai.client.operation.duration", "s", "Length of one operation"),
            )
        self._common = _common(identity)
        self._for_metrics = _metric_attributes(identity)

    @property
    def traces(self) -> bool:
        return self._tracer is not None

    def follow(self, session: str) -> None:
        """The session has another id from now on."""
        self._common = {**self._common, "session.id": session}
        if "session.id" in self._for_metrics:
            self._for_metrics = {**self._for_metrics, "session.id": session}

    def count(self, name: str, amount: float = 1, **attributes: str) -> None:
        """Add to one of the counters of the surface."""
        if (counter := self._counters.get(name)) is not None and amount > 0:
            counter.add(amount, {**self._for_metrics, **attributes})

    def measure(self, model: str, provider: str, usage: Usage, seconds: float) -> None:
        """The metrics of the GenAI conventions for one model call."""
        if self._gen_ai is None:
            return
        tokens, duration = self._gen_ai
        about = {
            **self._for_metrics,
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": model,
        }
        tokens.record(usage.context, {**about, "gen_ai.token.type": "input"})
        tokens.record(usage.output, {**about, "gen_ai.token.type": "output"})
        duration.record(seconds, about)

    def log(self, name: str, attributes: Attributes, *, prompt: str = "", span: Span | None = None) -> None:
        """Emit one event of the surface."""
        if self._logger is None:
            return
        self._sequence += 1
        now = time.time()
        own = {
            **self._common,
            "event.name": name,
            "event.timestamp": datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds"),
            "event.sequence": self._sequence,
            **({"prompt.id": prompt} if prompt else {}),
            **self.safe(attributes),
        }
        self._logger.emit(
            timestamp=int(now * 1e9),
            context=None if span is None else trace.set_span_in_context(span),
            severity_number=SeverityNumber.INFO,
            severity_text="INFO",
            body=f"claude_code.{name}",
            attributes=own,
            event_name=f"claude_code.{name}",
        )

    def begin(self, name: str, attributes: Attributes, *, parent: Span | None = None) -> Span | None:
        """A span of the surface; None where there are no traces."""
        if self._tracer is None:
            return None
        context = trace.set_span_in_context(parent) if parent is not None else self._outer()
        kind = SpanKind.CLIENT if name == "llm_request" else SpanKind.INTERNAL
        own = {**self._common, "span.type": name, **self.safe(attributes)}
        return self._tracer.start_span(f"claude_code.{name}", context, kind, own)

    def end(self, span: Span | None, attributes: Attributes | None = None, *, error: str = "") -> None:
        if span is None:
            return
        for name, value in self.safe(attributes or {}).items():
            span.set_attribute(name, value)
        if error:
            span.set_status(Status(StatusCode.ERROR, self.text(error)))
        span.end()

    def carrier(self, span: Span | None) -> dict[str, str]:
        """`traceparent` and `tracestate` for what works under a span."""
        if span is None:
            return {}
        carried: dict[str, str] = {}
        TraceContextTextMapPropagator().inject(carried, trace.set_span_in_context(span))
        return carried

    def safe(self, attributes: Attributes) -> dict[str, str | int | float | bool]:
        return {
            name: self.text(value) if isinstance(value, str) else value for name, value in attributes.items()
        }

    def text(self, value: str) -> str:
        """The value as it may be seen: without secrets, and cut. A cut never leaves part of a secret."""
        hidden = SECRETS.hide(value)
        return hidden if len(hidden) <= self.switches.longest else hidden[: self.switches.longest]

    def _outer(self) -> Any:
        """The trace that the program around us has begun."""
        env = self._identity.env
        carried = {name.lower(): env[name] for name in ("TRACEPARENT", "TRACESTATE") if env.get(name)}
        return TraceContextTextMapPropagator().extract(carried) if carried else None


def _common(identity: Identity) -> dict[str, str]:
    env = identity.env
    terminal = env.get("TERM_PROGRAM") or env.get("TERM") or ""
    return {
        "session.id": identity.session,
        "user.id": identity.installation,
        "app.version": __version__,
        "app.entrypoint": identity.entrypoint,
        **({"terminal.type": terminal} if terminal else {}),
    }


def _metric_attributes(identity: Identity) -> dict[str, str]:
    """Fewer than for events: each value of each attribute is a series of its own."""
    env = identity.env
    found = {} if is_off(env, "OTEL_METRICS_INCLUDE_RESOURCE_ATTRIBUTES") else resource_attributes(env)
    if not is_off(env, "OTEL_METRICS_INCLUDE_SESSION_ID"):
        found["session.id"] = identity.session
    if not is_off(env, "OTEL_METRICS_INCLUDE_ACCOUNT_UUID"):
        found["user.id"] = identity.installation
    if is_on(env, "OTEL_METRICS_INCLUDE_VERSION"):
        found["app.version"] = __version__
    if is_on(env, "OTEL_METRICS_INCLUDE_ENTRYPOINT"):
        found["app.entrypoint"] = identity.entrypoint
    return found
