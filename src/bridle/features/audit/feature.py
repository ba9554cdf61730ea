"""The audit chain as a feature: it watches a session and changes nothing in it."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from bridle.engine.feature import Feature, RunningCall
from bridle.features.context import FeatureContext
from bridle.types.errors import ConfigError
from bridle.types.permission import Allow
from bridle.version import __version__

if TYPE_CHECKING:
    from bridle.config.load import Config
    from bridle.engine.assignment import Assignment
    from bridle.engine.turn import Turn
    from bridle.features.audit.chain import Chain
    from bridle.features.audit.records import Key
    from bridle.types.channel import Channel
    from bridle.types.model import Provider
    from bridle.types.permission import Case, Decision
    from bridle.types.tool import ToolContext

_LARGEST_FILE = 256 * 1024 * 1024


class AuditFeature(Feature):
    """Agents are watched through the session; their calls pass here as well."""

    name = "audit"

    def __init__(self, context: FeatureContext, key: "Key") -> None:
        from bridle.features.audit.observer import Observer

        self._context = context
        self._key = key
        self._observer: Observer = Observer(self._chain(), context.facts)
        self._servers: dict[str, str] = {}

    def channel(self, channel: "Channel") -> "Channel":
        from bridle.features.audit.observer import AuditChannel

        return AuditChannel(channel, self._observer)

    def provider(self, provider: "Provider") -> "Provider":
        from bridle.features.audit.observer import AuditProvider

        return AuditProvider(provider, self._observer)

    async def open(self) -> None:
        self._begin("begin")

    def begin_turn(self, turn: "Turn") -> None:
        for state in () if self._context.servers is None else self._context.servers.status():
            if self._servers.get(state.name) != state.status:
                self._servers[state.name] = state.status
                from bridle.features.audit.observer import shown

                self._observer.note("mcp_server", {"server": shown(state.name), "status": state.status})

    async def review(self, turn: "Turn", case: "Case", decision: "Decision") -> "Decision":
        about = {"tool": case.tool, "input": self._observer.digest(dict(case.input)), "mode": case.mode}
        rule = None if decision.rule is None else self._observer.rule(decision.rule)
        effect = type(decision).__name__.lower()
        judged = decision.judged if isinstance(decision, Allow) else ""
        data = {**about, "decision": effect, "by": decision.reason_type, "rule": rule, "judged": judged}
        self._observer.note("decision", data)
        return decision

    async def before_call(self, running: RunningCall, context: "ToolContext") -> "ToolContext":
        allowed = running.allowed
        data = {
            "call": allowed.call.id,
            "tool": running.tool.name,
            "agent": context.agent_id,
            "by": allowed.reason_type or "person",
            "input": self._observer.digest(dict(allowed.call.input)),
            "confined": context.permit.confined,
        }
        self._observer.note("allowed", data)
        return context

    def around_call(self, running: RunningCall) -> AbstractAsyncContextManager[None] | None:
        return self._changing(running) if running.written else None

    @asynccontextmanager
    async def _changing(self, running: RunningCall) -> AsyncGenerator[None]:
        from bridle.features.audit.observer import shown

        before = await asyncio.to_thread(self._digests, running.written)
        try:
            yield
        finally:
            after = await asyncio.to_thread(self._digests, running.written)
            for path, old in before.items():
                if after[path] != old:
                    data = {"call": running.allowed.call.id, "file": shown(path)}
                    self._observer.note("file", {**data, "before": old, "after": after[path]})

    def reconfigure(self, before: "Config", now: "Config") -> None:
        self._observer.note("settings", {"layers": self._layers(now)})

    def follow(self) -> None:
        if self._context.session.id == self._observer.chain.session:
            return
        self._observer.chain.close()
        self._observer.chain = self._chain()
        self._begin("follow")

    def for_agent(self, work: "Assignment") -> Feature:
        return self

    def for_hook_agent(self) -> Feature:
        return self

    async def release(self) -> None:
        await asyncio.to_thread(self._observer.chain.close)

    def _chain(self) -> "Chain":
        from bridle.features.audit.chain import Chain
        from bridle.features.audit.keys import chain_file

        context = self._context
        settings = context.settings.bridle_audit
        witness = os.path.expanduser((settings and settings.witness) or "")
        session = context.session.id
        path = chain_file(context.env, session)
        return Chain(path, session, self._key, warn=context.warn, witness=witness)

    def _begin(self, kind: str) -> None:
        import platform

        from bridle.features.audit.observer import shown

        context = self._context
        state = context.session.state
        about = {
            "version": __version__,
            "python": platform.python_version(),
            "system": platform.platform(),
            "key": self._key.id,
            "session": context.session.id,
            "resumed": bool(context.options.resumed_id),
            "project": shown(context.project),
            "mode": state.mode,
            "trusted": context.trusted,
            "layers": self._layers(context.config),
        }
        self._observer.note(kind, about)

    def _layers(self, config: "Config") -> list[dict[str, str]]:
        """The sources of settings with digests of what they say."""
        from bridle.features.audit.observer import shown

        return [
            {"source": each.source, "file": shown(each.path), "digest": self._observer.digest(each.values)}
            for each in config.layers
        ]

    def _digests(self, paths: tuple[str, ...]) -> dict[str, str]:
        return {path: self._file_digest(path) for path in paths}

    def _file_digest(self, path: str) -> str:
        """The digest of a file; a word where there is none."""
        import hashlib

        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(descriptor, "rb") as file:
                if os.fstat(file.fileno()).st_size > _LARGEST_FILE:
                    return "too large"
                return self._key.digest(hashlib.file_digest(file, "sha256").digest())
        except FileNotFoundError:
            return "none"
        except OSError:
            return "unreadable"


def open_audit(context: FeatureContext) -> AuditFeature | None:
    """Nothing, unless settings ask for it."""
    settings = context.settings.bridle_audit
    if settings is None or not settings.enabled:
        return None
    from bridle.features.audit.keys import load_key
    from bridle.host.secrets import SECRETS

    SECRETS.learn_environment(context.env)
    try:
        key = load_key(context.env, keyring=settings.key == "keyring", create=True)
    except (ConfigError, OSError) as error:
        context.warn(f"This session has no audit chain: {error}")
        return None
    return AuditFeature(context, key)
