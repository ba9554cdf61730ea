"""How a session stands: version, model, login, folders, settings."""

from collections.abc import Iterator

from msgspec import Struct

from bridle.commands.context import CommandContext
from bridle.commands.queries.context_window import memory_files
from bridle.commands.wording import counted
from bridle.host.paths import config_home
from bridle.host.secrets import shown_address
from bridle.providers.model_listing import Choice, offer, way_to_key
from bridle.version import __version__


class Fact(Struct, frozen=True):
    """One line of the status."""

    name: str
    value: str


def status_facts(context: CommandContext) -> tuple[Fact, ...]:
    """What /status shows, in its order."""
    return tuple(_facts(context))


def login_of(context: CommandContext) -> str:
    """Where the key for the model in use comes from, without the key."""
    config = context.settings.config()
    choice = Choice(settings=config.settings, own=config.raw.get("bridleModels") or {}, env=context.env)
    line = offer(context.session.state.model, choice)
    if line.key_source is not None:
        return line.key_source
    return "none needed" if line.key == "not needed" else f"no key: {way_to_key(line.service)}"


def _facts(context: CommandContext) -> Iterator[Fact]:
    session, runtime, config = context.session, context.runtime, context.settings.config()
    yield Fact("Version", __version__)
    yield Fact("Session", session.id)
    yield Fact("Folder", context.workspace.cwd)
    if len(context.workspace.roots) > 1:
        yield Fact("Added folders", ", ".join(context.workspace.roots[1:]))
    yield Fact("Trusted", "yes" if context.trusted else "no")
    yield Fact("Model", session.state.model)
    yield Fact("Effort", runtime.asking.effort or "default")
    yield Fact("Auth", login_of(context))
    if base := context.env.get("ANTHROPIC_BASE_URL"):
        yield Fact("Service", shown_address(base))
    yield Fact("Mode", session.state.mode)
    yield Fact("Sandbox", "off" if runtime.gate.sandbox is None else "on")
    yield Fact("Transcript", runtime.records.transcript or "not saved")
    yield Fact("Configuration", config_home(context.env))
    sources = [f"{layer.source} ({layer.path})" for layer in config.layers]
    yield Fact("Settings", ", ".join(sources) or "none")
    files = memory_files(runtime)
    yield Fact("Instructions", ", ".join(file.path for file in files) or "none")
    states = runtime.servers.status()
    if states:
        yield Fact("MCP servers", ", ".join(f"{state.name} ({state.status})" for state in states))
    if config.problems:
        yield Fact("Problems", f"{counted(len(config.problems), 'problem')} in settings: see /doctor")
