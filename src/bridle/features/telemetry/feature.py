"""Telemetry as a feature; OpenTelemetry is imported only where the user has asked for it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bridle.engine.feature import Feature, RunningCall
from bridle.extensions.pending_events import take_events
from bridle.features.context import FeatureContext
from bridle.types.block import text_of
from bridle.types.errors import ConfigError
from bridle.types.variables import is_on, whole_number

if TYPE_CHECKING:
    from bridle.engine.assignment import Assignment
    from bridle.engine.turn import Turn
    from bridle.features.telemetry.pipeline import Pipeline
    from bridle.features.telemetry.recorder import Recorder
    from bridle.features.telemetry.session_events import SessionEvents
    from bridle.types.channel import Channel
    from bridle.types.model import Provider
    from bridle.types.tool import ToolContext
    from bridle.types.turn import Outcome, Prompt

_SHUTDOWN_MS = 2_000
_FLUSH_MS = 5_000


class TelemetryFeature(Feature):
    """Watches a session and changes nothing in it; agents are watched through the session."""

    name = "telemetry"

    def __init__(
        self, context: FeatureContext, pipeline: "Pipeline", recorder: "Recorder", events: "SessionEvents"
    ) -> None:
        self._context = context
        self._pipeline = pipeline
        self._recorder = recorder
        self._events = events
        self._servers: dict[str, str] = {}
        """The state of each MCP server when it was last reported."""

    def channel(self, channel: "Channel") -> "Channel":
        from bridle.features.telemetry.session_events import TelemetryChannel

        return TelemetryChannel(channel, self._events)

    def provider(self, provider: "Provider") -> "Provider":
        from bridle.features.telemetry.model_calls import ObservedProvider

        env = self._context.env
        propagates = self._recorder.traces and is_on(env, "CLAUDE_CODE_PROPAGATE_TRACEPARENT")
        return ObservedProvider(
            provider, self._recorder, self._events, facts=self._context.facts, propagates=propagates
        )

    async def open(self) -> None:
        context = self._context
        kind = "resume" if context.options.resumed_id else "fresh"
        self._recorder.count(
            "session.count", start_type="continue" if context.options.continue_newest else kind
        )
        for plugin in () if context.plugins is None else context.plugins.listing():
            named = {key: str(plugin[key]) for key in ("name", "version", "source") if plugin.get(key)}
            self._recorder.log("plugin_loaded", {f"plugin.{key}": value for key, value in named.items()})
        for kept in take_events(context.env):
            self._recorder.log(kept.name, {**kept.attributes, "occurred_at": kept.at})
        for layer in context.config.layers:
            for event, groups in (layer.values.get("hooks") or {}).items():
                about = {"hook_event": event, "source": layer.source, "num_hooks": len(groups)}
                self._recorder.log("hook_registered", about)

    async def attach(self, turn: "Turn", prompt: "Prompt") -> "Prompt":
        from bridle.engine.mentions import mentions_in

        if not prompt.verbatim and not prompt.meta:
            for _ in mentions_in(text_of(prompt.content)):
                self._recorder.log("at_mention", {"mention_type": "file"}, prompt=turn.id)
        return prompt

    def begin_turn(self, turn: "Turn") -> None:
        self._note_servers()

    def after_turn(self, turn: "Turn", outcome: "Outcome") -> None:
        self._note_servers()

    async def skill_called(self, name: str) -> None:
        self._recorder.log("skill_activated", {"skill.name": name}, prompt=self._events.prompt)

    async def before_call(self, running: RunningCall, context: "ToolContext") -> "ToolContext":
        self._events.decide(context.call_id, running.tool.name, accepted=True, source="config")
        call = self._events.call(context.call_id)
        if call is None or call.span is None:
            return context
        carried = self._recorder.carrier(call.span)
        return replace(
            context, env={**context.env, **{name.upper(): value for name, value in carried.items()}}
        )

    def around_call(self, running: RunningCall) -> AbstractAsyncContextManager[None]:
        return self._executing(running)

    @asynccontextmanager
    async def _executing(self, running: RunningCall) -> AsyncGenerator[None]:
        call_id = running.allowed.call.id
        call = self._events.call(call_id)
        about = {"tool_name": running.tool.name, "tool_use_id": call_id}
        parent = None if call is None else call.span
        span = self._recorder.begin("tool.execution", about, parent=parent)
        try:
            yield
        finally:
            self._recorder.end(span)

    def follow(self) -> None:
        """What was said of the conversation before goes out under its own name."""
        self._pipeline.flush(
            (whole_number(self._context.env, "CLAUDE_CODE_OTEL_FLUSH_TIMEOUT_MS") or _FLUSH_MS) / 1000
        )

    def for_agent(self, work: "Assignment") -> Feature:
        return self

    def for_hook_agent(self) -> Feature:
        return self

    async def release(self) -> None:
        """Send the rest; a collector that does not answer is not waited for long."""
        self._note_servers()
        self._events.close()
        limit = (
            whole_number(self._context.env, "CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS") or _SHUTDOWN_MS
        ) / 1000
        ending = self._pipeline.shut_down()
        await asyncio.to_thread(ending.join, limit)

    def _note_servers(self) -> None:
        """Tell of MCP servers whose state is another than before."""
        for state in () if self._context.servers is None else self._context.servers.status():
            if self._servers.get(state.name) != state.status:
                self._servers[state.name] = state.status
                about = {"server_name": state.name, "status": state.status}
                self._recorder.log("mcp_server_connection", about, prompt=self._events.prompt)


def open_telemetry(context: FeatureContext) -> TelemetryFeature | None:
    """Nothing, unless the user asks for telemetry and names an exporter."""
    env = context.env
    if not env.get("CLAUDE_CODE_ENABLE_TELEMETRY"):
        return None
    from bridle.features.telemetry.switches import read_switches, wanted

    if not wanted(env):
        return None
    switches = read_switches(env)
    if context.interactive:
        shown = {
            signal: tuple(kind for kind in kinds if kind != "console")
            for signal, kinds in switches.exporters.items()
        }
        if shown != switches.exporters:
            context.warn("Telemetry: the console exporter is for print mode; it would break the screen.")
        switches = replace(switches, exporters={signal: kinds for signal, kinds in shown.items() if kinds})
    if not switches.exporters:
        return None
    try:
        from bridle.features.telemetry.pipeline import build
    except ImportError:
        context.warn("Telemetry needs OpenTelemetry: install bridle[otel].")
        return None
    from bridle.config.state import installation_id
    from bridle.features.telemetry.headers_helper import HelperHeaders
    from bridle.features.telemetry.recorder import Identity, Recorder
    from bridle.features.telemetry.session_events import SessionEvents
    from bridle.host.secrets import SECRETS

    SECRETS.learn_environment(env)
    command = context.settings.otel_headers_helper
    helper = HelperHeaders(command, env) if command else None
    try:
        pipeline = build(switches, env, helper, context.warn)
    except ConfigError as error:
        context.warn(f"Telemetry is off: {error}")
        return None
    session = context.session
    identity = Identity(session.id, session.entrypoint, installation_id(env), env)
    recorder = Recorder(pipeline, switches, identity)
    return TelemetryFeature(context, pipeline, recorder, SessionEvents(recorder, session.state.mode))
