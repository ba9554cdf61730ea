"""Makes the OpenTelemetry providers of a session from its variables."""

import logging
import platform
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import requests
from msgspec import Struct
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, ConsoleLogRecordExporter
from opentelemetry.sdk.metrics import (
    Counter,
    Histogram,
    MeterProvider,
    ObservableCounter,
    ObservableGauge,
    ObservableUpDownCounter,
    UpDownCounter,
)
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    ConsoleMetricExporter,
    MetricReader,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

from bridle.features.telemetry.headers_helper import HelperHeaders
from bridle.features.telemetry.switches import Signal, Switches
from bridle.host.secrets import SECRETS
from bridle.host.stdio import complain
from bridle.types.errors import ConfigError
from bridle.types.variables import is_on, whole_number
from bridle.version import __version__

_METRIC_INTERVAL_MS = 60_000
_INTERVAL_MS = 5_000
_SECONDS = 10.0
_PATHS: Mapping[Signal, str] = {"metrics": "v1/metrics", "logs": "v1/logs", "traces": "v1/traces"}

Protocol = Literal["grpc", "http/protobuf"]


class Pipeline(Struct, frozen=True):
    """The providers of the signals that are exported; None for the others."""

    meters: MeterProvider | None
    loggers: LoggerProvider | None
    tracers: TracerProvider | None

    def flush(self, seconds: float) -> None:
        """Send what waits, in the background; not longer than that."""
        for provider in self._providers():
            _start(lambda flushed=provider: flushed.force_flush(round(seconds * 1000)))

    def shut_down(self) -> threading.Thread:
        """Send what waits and end; a collector that does not answer keeps only this thread."""

        def end() -> None:
            for provider in self._providers():
                provider.shutdown()

        return _start(end)

    def _providers(self) -> Iterable[Any]:
        return filter(None, (self.meters, self.loggers, self.tracers))


class Destination(Struct, frozen=True):
    """Where OTLP goes for one signal."""

    protocol: Protocol
    endpoint: str
    headers: Mapping[str, str]
    timeout: float
    gzip: bool
    certificate: str | None = None
    client_certificate: str | None = None
    client_key: str | None = None


def build(
    switches: Switches, env: Mapping[str, str], helper: HelperHeaders | None, warn: Callable[[str], None]
) -> Pipeline:
    """The providers for what the variables name.

    Raises:
        ConfigError: a variable cannot be used, or the helper for headers fails.
    """
    _guard_diagnostics(env)
    resource = _resource(env)
    for name in switches.unknown:
        warn(f"Telemetry: unknown exporter {name!r}; use otlp, console or none.")
    return Pipeline(
        _meters(switches, env, helper, resource),
        _loggers(switches, env, helper, resource),
        _tracers(switches, env, helper, resource),
    )


def destination(signal: Signal, env: Mapping[str, str], more: Mapping[str, str]) -> Destination:
    """What the standard variables say of a signal: those for it alone count first.

    Raises:
        ConfigError: the protocol is unknown.
    """

    def given(name: str) -> str:
        own = env.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_{name}", "").strip()
        return own or env.get(f"OTEL_EXPORTER_OTLP_{name}", "").strip()

    named = given("PROTOCOL") or "http/protobuf"
    if named not in ("grpc", "http/protobuf", "http/json"):
        raise ConfigError(f"OTEL_EXPORTER_OTLP_PROTOCOL is {named!r}; use grpc or http/protobuf.")
    # What takes JSON takes the binary form at the same address, and Python has no exporter for JSON.
    protocol: Protocol = "grpc" if named == "grpc" else "http/protobuf"
    own = env.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT", "").strip()
    usual = "http://localhost:4317" if protocol == "grpc" else "http://localhost:4318"
    endpoint = own or env.get("OTEL_EXPORTER_OTLP_ENDPOINT", "").strip() or usual
    if protocol != "grpc" and not own:
        endpoint = f"{endpoint.rstrip('/')}/{_PATHS[signal]}"
    milliseconds = given("TIMEOUT")
    return Destination(
        protocol,
        endpoint,
        {**_headers(given("HEADERS")), **more},
        int(milliseconds) / 1000 if milliseconds.isdecimal() else _SECONDS,
        given("COMPRESSION").lower() == "gzip",
        given("CERTIFICATE") or None,
        given("CLIENT_CERTIFICATE") or None,
        given("CLIENT_KEY") or None,
    )


def _headers(text: str) -> dict[str, str]:
    from urllib.parse import unquote

    pairs = (part.partition("=") for part in text.split(",") if "=" in part)
    found = {name.strip().lower(): unquote(value.strip()) for name, _, value in pairs}
    SECRETS.learn(*found.values())
    return found


def _meters(
    switches: Switches, env: Mapping[str, str], helper: HelperHeaders | None, resource: Resource
) -> MeterProvider | None:
    readers: list[MetricReader] = []
    interval = whole_number(env, "OTEL_METRIC_EXPORT_INTERVAL") or _METRIC_INTERVAL_MS
    temporality = _temporality(env)
    for kind in switches.exporters.get("metrics", ()):
        exporter: Any
        if kind == "console":
            exporter = ConsoleMetricExporter(out=_CONSOLE, preferred_temporality=temporality)
        else:
            exporter = _otlp("metrics", env, helper, preferred_temporality=temporality)
        readers.append(PeriodicExportingMetricReader(exporter, export_interval_millis=interval))
    return MeterProvider(readers, resource, shutdown_on_exit=False) if readers else None


def _loggers(
    switches: Switches, env: Mapping[str, str], helper: HelperHeaders | None, resource: Resource
) -> LoggerProvider | None:
    if not (kinds := switches.exporters.get("logs")):
        return None
    provider = LoggerProvider(resource, shutdown_on_exit=False)
    pause = whole_number(env, "OTEL_LOGS_EXPORT_INTERVAL") or _INTERVAL_MS
    for kind in kinds:
        exporter: Any = (
            ConsoleLogRecordExporter(_CONSOLE) if kind == "console" else _otlp("logs", env, helper)
        )
        provider.add_log_record_processor(BatchLogRecordProcessor(exporter, schedule_delay_millis=pause))
    return provider


def _tracers(
    switches: Switches, env: Mapping[str, str], helper: HelperHeaders | None, resource: Resource
) -> TracerProvider | None:
    if not (kinds := switches.exporters.get("traces")):
        return None
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    pause = whole_number(env, "OTEL_TRACES_EXPORT_INTERVAL") or _INTERVAL_MS
    for kind in kinds:
        exporter: Any = (
            ConsoleSpanExporter(out=_CONSOLE) if kind == "console" else _otlp("traces", env, helper)
        )
        provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=pause))
    return provider


def _otlp(signal: Signal, env: Mapping[str, str], helper: HelperHeaders | None, **more: Any) -> Any:
    place = destination(signal, env, {} if helper is None else helper.current())
    if place.protocol == "grpc":
        return _over_grpc(signal, place, more)
    from opentelemetry.exporter.otlp.proto.http import Compression
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    make: Any = {"metrics": OTLPMetricExporter, "logs": OTLPLogExporter, "traces": OTLPSpanExporter}[signal]
    session = requests.Session()
    if helper is not None:
        session.auth = _renewed(helper)
    return make(
        endpoint=place.endpoint,
        headers=dict(place.headers),
        timeout=place.timeout,
        compression=Compression.Gzip if place.gzip else Compression.NoCompression,
        certificate_file=place.certificate,
        client_certificate_file=place.client_certificate,
        client_key_file=place.client_key,
        session=session,
        **more,
    )


def _over_grpc(signal: Signal, place: Destination, more: Mapping[str, Any]) -> Any:
    import grpc
    from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    make: Any = {"metrics": OTLPMetricExporter, "logs": OTLPLogExporter, "traces": OTLPSpanExporter}[signal]
    plain = not place.endpoint.startswith("https://")
    return make(
        endpoint=place.endpoint,
        insecure=plain,
        credentials=None if plain else _credentials(place),
        headers=tuple(place.headers.items()),
        timeout=place.timeout,
        compression=grpc.Compression.Gzip if place.gzip else grpc.Compression.NoCompression,
        **more,
    )


def _credentials(place: Destination) -> Any:
    import grpc

    def read(path: str | None) -> bytes | None:
        if path is None:
            return None
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError as error:
            raise ConfigError(f"Telemetry: could not read {path}: {error.strerror}.") from error

    return grpc.ssl_channel_credentials(
        read(place.certificate), read(place.client_key), read(place.client_certificate)
    )


def _renewed(helper: HelperHeaders) -> Callable[[requests.PreparedRequest], requests.PreparedRequest]:
    """Puts the headers that count now on each request: what the helper prints may expire."""

    def add(request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers.update(helper.current())
        return request

    return add


def _temporality(env: Mapping[str, str]) -> dict[type, AggregationTemporality]:
    """Delta unless asked otherwise: sessions are short, and each begins at zero."""
    delta, total = AggregationTemporality.DELTA, AggregationTemporality.CUMULATIVE
    asked = env.get("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta").strip().lower()
    kinds = (Counter, Histogram, ObservableCounter) if asked != "cumulative" else ()
    if asked == "lowmemory":
        kinds = (Counter, Histogram)
    every = (Counter, Histogram, ObservableCounter, UpDownCounter, ObservableUpDownCounter, ObservableGauge)
    return {kind: delta if kind in kinds else total for kind in every}


def _resource(env: Mapping[str, str]) -> Resource:
    system = platform.system().lower()
    return Resource.create(
        {
            "service.name": env.get("OTEL_SERVICE_NAME", "").strip() or "bridle",
            "service.version": __version__,
            "os.type": system,
            "host.arch": platform.machine(),
            **resource_attributes(env),
        }
    )


def resource_attributes(env: Mapping[str, str]) -> dict[str, str]:
    """What `OTEL_RESOURCE_ATTRIBUTES` adds."""
    return {name: SECRETS.hide(value) for name, value in _pairs(env.get("OTEL_RESOURCE_ATTRIBUTES", ""))}


def _pairs(text: str) -> Iterable[tuple[str, str]]:
    from urllib.parse import unquote

    for part in text.split(","):
        name, equals, value = part.partition("=")
        if equals and name.strip():
            yield name.strip(), unquote(value.strip())


class _Console:
    """Standard error as exporters write to it: a whole text at a time, without secrets."""

    def write(self, text: str) -> int:
        for line in SECRETS.hide(text).splitlines():
            complain(line)
        return len(text)

    def flush(self) -> None:
        """Every text is written at once."""


_CONSOLE: Any = _Console()


class _Diagnostics(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        complain(SECRETS.hide(f"telemetry: {record.getMessage()}"))


def _guard_diagnostics(env: Mapping[str, str]) -> None:
    """Faults of exporters are shown only where a variable asks for them, and never break the screen."""
    logger = logging.getLogger("opentelemetry")
    logger.propagate = False
    logger.handlers = [
        _Diagnostics() if is_on(env, "CLAUDE_CODE_OTEL_DIAG_STDERR") else logging.NullHandler()
    ]


def _start(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread
