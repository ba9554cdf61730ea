"""A collector on 127.0.0.1 that takes OTLP over HTTP and over gRPC, and keeps what it gets."""

import gzip
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2, logs_service_pb2_grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

_REQUESTS: dict[str, Any] = {
    "/v1/metrics": metrics_service_pb2.ExportMetricsServiceRequest,
    "/v1/logs": logs_service_pb2.ExportLogsServiceRequest,
    "/v1/traces": trace_service_pb2.ExportTraceServiceRequest,
}


class Collector:
    """What has arrived, in the form of protobuf's JSON."""

    def __init__(self) -> None:
        self.http = ""
        self.grpc = ""
        self.headers: list[dict[str, str]] = []
        self.text = ""
        """Everything as one text, to look for what must not be there."""
        self._got: list[Any] = []

    def take(self, message: Any, headers: dict[str, str]) -> None:
        got = MessageToDict(message)
        self._got.append(got)
        self.headers.append(headers)
        self.text += str(got)

    def events(self) -> dict[str, list[dict[str, Any]]]:
        """Attributes of log events by their names."""
        found: dict[str, list[dict[str, Any]]] = {}
        for record in self._each("resourceLogs", "scopeLogs", "logRecords"):
            about = _attributes(record)
            found.setdefault(about["event.name"], []).append(about)
        return found

    def spans(self) -> dict[str, dict[str, Any]]:
        """Spans by their names: attributes, `id` and `parent`."""
        return {
            span["name"]: {
                **_attributes(span),
                "id": span["spanId"],
                "parent": span.get("parentSpanId"),
                "trace": span["traceId"],
            }
            for span in self._each("resourceSpans", "scopeSpans", "spans")
        }

    def metrics(self) -> dict[str, list[tuple[dict[str, Any], float]]]:
        """Data points of each metric: attributes and value, or the sum of a histogram."""
        found: dict[str, list[tuple[dict[str, Any], float]]] = {}
        for metric in self._each("resourceMetrics", "scopeMetrics", "metrics"):
            data = metric.get("sum") or metric["histogram"]
            for point in data["dataPoints"]:
                value = float(point.get("asDouble", point.get("asInt", point.get("sum", 0))))
                found.setdefault(metric["name"], []).append((_attributes(point), value))
        return found

    def _each(self, *path: str) -> Iterator[Any]:
        found = list(self._got)
        for name in path:
            found = [inner for each in found for inner in each.get(name, ())]
        yield from found


def _attributes(thing: Any) -> dict[str, Any]:
    return {each["key"]: next(iter(each["value"].values()), "") for each in thing.get("attributes", ())}


@contextmanager
def collector() -> Generator[Collector]:
    taken = Collector()
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(taken))
    threading.Thread(target=http.serve_forever, daemon=True).start()
    rpc = grpc.server(ThreadPoolExecutor(max_workers=3))
    port = rpc.add_insecure_port("127.0.0.1:0")
    _serve(rpc, taken)
    rpc.start()
    taken.http, taken.grpc = f"http://127.0.0.1:{http.server_port}", f"http://127.0.0.1:{port}"
    try:
        yield taken
    finally:
        http.shutdown()
        http.server_close()
        rpc.stop(None).wait()


def _handler(taken: Collector) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            message = _REQUESTS[self.path]()
            message.ParseFromString(body)
            taken.take(message, {name.lower(): value for name, value in self.headers.items()})
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is told."""

    return Handler


def _serve(server: grpc.Server, taken: Collector) -> None:
    def export(answer: Any) -> Any:
        def take(self: Any, request: Any, context: Any) -> Any:
            del self
            taken.take(request, dict(context.invocation_metadata()))
            return answer()

        return take

    parts: Any = (
        (metrics_service_pb2_grpc, "Metrics", metrics_service_pb2.ExportMetricsServiceResponse),
        (logs_service_pb2_grpc, "Logs", logs_service_pb2.ExportLogsServiceResponse),
        (trace_service_pb2_grpc, "Trace", trace_service_pb2.ExportTraceServiceResponse),
    )
    for module, name, answer in parts:
        servicer = type(name, (getattr(module, f"{name}ServiceServicer"),), {"Export": export(answer)})
        getattr(module, f"add_{name}ServiceServicer_to_server")(servicer(), server)
