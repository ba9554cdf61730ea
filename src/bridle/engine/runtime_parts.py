"""The parts of a runtime by name: what `Runtime.replaced` takes, so that type checkers know a wrong name."""

from collections.abc import Callable, Mapping
from typing import TypedDict

from bridle.context.window import CompactionSettings
from bridle.engine.cache_watch import CacheWatch
from bridle.engine.feature import Features
from bridle.engine.runtime import (
    Asking,
    Briefing,
    ContextSources,
    Gate,
    HostLink,
    Limits,
    ModelFacts,
    Records,
)
from bridle.types.channel import Channel
from bridle.types.command import Commands
from bridle.types.hooks.outcome import Hooks
from bridle.types.model import Provider
from bridle.types.services.mcp import McpServers
from bridle.types.tool import Toolbox
from bridle.types.workspace import Workspace


class RuntimeParts(TypedDict, total=False):
    provider: Provider
    channel: Channel
    workspace: Workspace
    toolbox: Toolbox
    gate: Gate
    records: Records
    briefing: Briefing
    facts: Callable[[str], ModelFacts]
    asking: Asking
    host: HostLink
    sources: ContextSources
    env: Mapping[str, str]
    hooks: Hooks
    limits: Limits
    habits: CompactionSettings
    servers: McpServers
    commands: Commands
    watch: CacheWatch
    features: Features
    clock: Callable[[], float]
