"""Telemetry of the whole program, as a real collector gets it."""

import json
from pathlib import Path
from typing import Any

import pytest

from bridle.extensions.pending_events import note_event
from tests.fakes.messages_server import MessagesServer, fault, step
from tests.fakes.otlp import Collector, collector
from tests.fakes.program import Program

_ALL = {f"OTEL_{signal}_EXPORTER": "otlp" for signal in ("METRICS", "LOGS", "TRACES")}
_ON = {"CLAUDE_CODE_ENABLE_TELEMETRY": "1", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip", **_ALL}
_SECRET = "sk-planted-0123456789abcdef"


def _call(name: str, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"call_{name}", "name": name, "input": input}


async def _run(folder: Path, place: Collector, *, prompt: str = "do it", **env: str) -> str:
    note = folder / "project" / "note.py"
    script = [
        fault(529),
        step(_call("Write", file_path=str(note), content="a = 1\nb = 2\n")),
        step(_call("Bash", command=f"echo $TRACEPARENT; echo {_SECRET}")),
        step("All done."),
    ]
    async with MessagesServer(script) as server:
        program = Program(folder, server.url, ANTHROPIC_API_KEY=_SECRET, **env)
        done = await program.run("-p", prompt, "--permission-mode", "bypassPermissions")
        assert (done.code, done.out) == (0, "All done.\n"), done
        return json.dumps([dict(each.headers) for each in server.requests])


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
async def test_a_run_is_told_in_metrics_events_and_spans(tmp_path: Path, protocol: str):
    with collector() as place:
        where = place.grpc if protocol == "grpc" else place.http
        out = {"OTEL_EXPORTER_OTLP_ENDPOINT": where, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
        folder = tmp_path / protocol.replace("/", "-")
        folder.mkdir()
        requests = await _run(folder, place, **_ON, **out, OTEL_EXPORTER_OTLP_HEADERS="x-team=blue")

        metrics, events, spans = place.metrics(), place.events(), place.spans()
        assert all(headers["x-team"] == "blue" for headers in place.headers)
        sums = {name: sum(value for _, value in points) for name, points in metrics.items()}
        assert (sums["claude_code.session.count"], sums["claude_code.lines_of_code.count"]) == (1, 2)
        assert sums["claude_code.token.usage"] > 0 and sums["claude_code.cost.usage"] > 0
        assert sums["claude_code.active_time.total"] > 0
        ((decision, _),) = metrics["claude_code.code_edit_tool.decision"]
        assert (decision["tool_name"], decision["decision"], decision["language"]) == (
            "Write",
            "accept",
            "Python",
        )
        assert {"gen_ai.client.token.usage", "gen_ai.client.operation.duration"} <= metrics.keys()

        assert {name: len(found) for name, found in events.items()} == {
            "user_prompt": 1, "api_error": 1, "api_request": 3, "tool_decision": 2, "tool_result": 2,
            "assistant_response": 1,
        }  # fmt: skip
        (prompt,) = events["user_prompt"]
        assert (prompt["prompt"], prompt["prompt_length"]) == ("<REDACTED>", "5")
        assert {each["prompt.id"] for found in events.values() for each in found} == {prompt["prompt.id"]}
        assert all("tool_input" not in each for each in events["tool_result"])

        tree = {name.removeprefix("claude_code."): span for name, span in spans.items()}
        assert tree["interaction"]["parent"] is None
        assert tree["llm_request"]["parent"] == tree["tool"]["parent"] == tree["interaction"]["id"]
        assert tree["tool.execution"]["parent"] == tree["tool"]["id"]
        assert tree["llm_request"]["gen_ai.operation.name"] == "chat"
        assert f"00-{tree['interaction']['trace']}".startswith("00-") and _SECRET not in place.text
        # Commands learn of the trace; the model's endpoint only of an id for the request.
        assert "x-client-request-id" in requests and '"traceparent"' not in requests


async def test_contents_are_told_only_when_asked_for_and_never_with_secrets(tmp_path: Path):
    with collector() as place:
        switches = ("USER_PROMPTS", "TOOL_DETAILS", "TOOL_CONTENT", "RAW_API_BODIES")
        asked = {f"OTEL_LOG_{name}": "1" for name in switches}
        env = {**_ON, **asked, "OTEL_EXPORTER_OTLP_ENDPOINT": place.http}
        note_event({"CLAUDE_CONFIG_DIR": str(tmp_path / "home" / ".claude"), **_ON}, "auth", action="login")
        await _run(tmp_path, place, prompt=f"keep {_SECRET} safe", **env)
        events = place.events()
        assert [each["action"] for each in events["auth"]] == ["login"]
        assert events["user_prompt"][0]["prompt"] == "keep [hidden] safe"
        assert events["assistant_response"][0]["response"] == "All done."
        assert "echo [hidden]" in events["tool_result"][1]["tool_input"]
        assert len(events["api_request_body"]) == len(events["api_response_body"]) == 3
        assert _SECRET not in place.text


@pytest.mark.parametrize(
    "env",
    [
        {},
        {**_ON, "DISABLE_TELEMETRY": "0"},
        {**_ON, "DO_NOT_TRACK": "1"},
        {**_ON, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
        {**_ALL},
        {"CLAUDE_CODE_ENABLE_TELEMETRY": "1"},
    ],
)
async def test_nothing_is_sent_unless_it_is_asked_for_and_not_refused(tmp_path: Path, env: dict[str, str]):
    with collector() as place:
        async with MessagesServer([step("ok")]) as server:
            program = Program(tmp_path, server.url, OTEL_EXPORTER_OTLP_ENDPOINT=place.http, **env)
            assert (await program.run("-p", "hi")).out == "ok\n"
        assert place.text == ""


async def test_the_console_exporter_writes_to_standard_error(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(
            tmp_path, server.url, CLAUDE_CODE_ENABLE_TELEMETRY="1", OTEL_LOGS_EXPORTER="console"
        )
        done = await program.run("-p", "hi")
    assert (done.code, done.out) == (0, "ok\n")
    assert "claude_code.user_prompt" in done.err and len(done.err.splitlines()) > 10


async def test_a_dead_collector_does_not_hold_the_session_up_and_is_silent(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        env = {**_ON, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
        program = Program(tmp_path, server.url, CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS="300", **env)
        done = await program.run("-p", "hi")
    assert (done.code, done.out, done.err) == (0, "ok\n", "")


async def test_headers_come_from_the_helper_of_the_user(tmp_path: Path):
    with collector() as place:
        async with MessagesServer([step("ok")]) as server:
            program = Program(tmp_path, server.url, **_ON, OTEL_EXPORTER_OTLP_ENDPOINT=place.http)
            helper = """echo '{"X-Fresh": "minted-token-123456"}'"""
            done = await program.run("-p", "hi", "--settings", json.dumps({"otelHeadersHelper": helper}))
        assert done.out == "ok\n"
        assert place.headers and all(each["x-fresh"] == "minted-token-123456" for each in place.headers)


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"OTEL_LOGS_EXPORTER": "zipkin"}, "unknown exporter 'zipkin'"),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "carrier-pigeon"}, "use grpc or http/protobuf"),
    ],
)
async def test_a_wrong_variable_is_told_and_the_session_works(
    tmp_path: Path, env: dict[str, str], words: str
):
    async with MessagesServer([step("ok")]) as server:
        given = {**_ON, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", **env}
        program = Program(tmp_path, server.url, CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS="100", **given)
        done = await program.run("-p", "hi")
    assert (done.code, done.out) == (0, "ok\n")
    assert words in done.err
