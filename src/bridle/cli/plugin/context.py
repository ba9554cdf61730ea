"""What the commands of `bridle plugin` work with."""

import os
import signal
import sys
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from bridle.cli.say import tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.config.load import Config, load
from bridle.config.state import is_trusted
from bridle.extensions.plugins.context import PluginContext
from bridle.extensions.plugins.loader import load_plugins, switches
from bridle.extensions.plugins.names import Scope
from bridle.extensions.plugins.plugin import PluginRequest, Plugins
from bridle.extensions.plugins.sources import Source
from bridle.types.errors import UsageError


def scope_of(given: ParsedArguments) -> Scope | None:
    """The scope that was asked for."""
    match given.text("scope"):
        case "user" | "project" | "local" | "managed" as scope:
            return scope
        case _:
            return None


class PluginCommandContext(Struct, frozen=True, kw_only=True):
    """Where a command was given."""

    around: PluginContext
    config: Config
    trusted: bool

    def asking(self, *, yes: bool) -> PluginContext:
        """A context where commands that make plugins are run once the user has agreed."""

        def may_run(source: Source) -> bool:
            return confirm(f"Run {' '.join(source.words)!r} to build the plugin?", yes=yes, required=True)

        return replace(self.around, may_run=may_run)

    def plugins(self) -> Plugins:
        """The plugins that a session here would have."""
        around = self.around
        return load_plugins(
            PluginRequest(config=self.config, env=around.env, cwd=around.cwd, trusted=self.trusted)
        )


def command_context(env: Mapping[str, str]) -> PluginCommandContext:
    cwd = os.getcwd()
    config = load(cwd=cwd, env=env, flag=None, setting_sources=None)
    _, fixed = switches(config)
    around = PluginContext(env=env, cwd=cwd, settings=config.settings, enabled_by_management=fixed)
    return PluginCommandContext(around=around, config=config, trusted=is_trusted(env, cwd))


def confirm(question: str, *, yes: bool, required: bool = False) -> bool:
    """Ask at a terminal; elsewhere the command itself is the answer, unless it is `required`.

    Raises:
        UsageError: the user must be asked, and there is no terminal to ask at.
    """
    if yes:
        return True
    if not (os.isatty(0) and os.isatty(1)):
        if required:
            raise UsageError("this needs your approval and there is no terminal: pass -y")
        return True
    # An event loop would handle the first interrupt, and only after the answer.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        tell(f"{question} [y/N] ")
        return sys.stdin.readline().strip().lower() in ("y", "yes")
    finally:
        signal.signal(signal.SIGINT, before)
