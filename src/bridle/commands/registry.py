"""The commands of a session: built-in ones and those of other sources."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from bridle.commands.catalog import CATALOG, Listing
from bridle.types.command import Command, CommandResult
from bridle.types.nearest import nearest as nearest_name
from bridle.types.variables import is_on

if TYPE_CHECKING:
    from bridle.commands.context import CommandContext

Source = Callable[[], Sequence[Command]]
"""Asked at each look, because commands come and go."""

_SWITCHES = {
    "DISABLE_DOCTOR_COMMAND": ("doctor",),
    "DISABLE_FEEDBACK_COMMAND": ("feedback",),
    "DISABLE_INSTALL_GITHUB_APP_COMMAND": ("install-github-app",),
    "DISABLE_LOGIN_COMMAND": ("login",),
    "DISABLE_LOGOUT_COMMAND": ("logout",),
    "DISABLE_UPGRADE_COMMAND": ("upgrade",),
}
"""Variables that turn commands off."""


_ALWAYS_BUILT_IN = frozenset((
    "agents", "autocompact", "clear", "color", "compact", "config", "context", "doctor", "effort", "fast",
    "focus", "goal", "init", "insights", "list-agents", "mcp", "model", "output-style", "recap",
    "reload-plugins", "reload-skills", "rename", "usage",
))  # fmt: skip
"""Commands that scripts rely on; in print mode any other name belongs to a command of the user first."""


class Registry:
    """Implements `types.command.Commands`; of equal names the first counts."""

    def __init__(
        self,
        *,
        sources: Sequence[Source] = (),
        context: "Callable[[], CommandContext] | None" = None,
        env: Mapping[str, str] | None = None,
        yields: bool = False,
    ) -> None:
        """`env` can turn commands off; `yields` lets commands of the user take names, as print mode does."""
        self._yields = yields
        self._sources = list(sources)
        self._context = context
        """Looked up when arguments are completed."""
        off = {name for variable, names in _SWITCHES.items() if is_on(env or {}, variable) for name in names}
        listings = [listing for listing in CATALOG if listing.name not in off]
        self._builtin = [self._command(listing) for listing in listings if not listing.yields]
        self._yielding = [self._command(listing) for listing in listings if listing.yields]

    def add(self, source: Source) -> None:
        """Ask one more source, after the others."""
        self._sources.append(source)

    def all(self) -> tuple[Command, ...]:
        found: dict[str, Command] = {}
        brought = [command for source in self._sources for command in source()]
        own = [command for command in brought if self._yields and command.name not in _ALWAYS_BUILT_IN]
        for command in (*own, *self._builtin, *sorted(brought, key=_yields), *self._yielding):
            found.setdefault(command.name, command)
        return tuple(found.values())

    def find(self, name: str) -> Command | None:
        every = self.all()
        exact = next((command for command in every if command.name == name), None)
        return exact or next((command for command in every if name in command.aliases), None)

    def nearest(self, name: str) -> str | None:
        return nearest(name, [command for command in self.all() if not command.hidden])

    def _command(self, listing: Listing) -> Command:
        async def run(arguments: str, context: "CommandContext") -> CommandResult:
            return await getattr(import_module(listing.module), listing.function)(arguments, context)

        def complete(typed: str) -> tuple[str, ...]:
            words = listing.choices
            if listing.completes and self._context is not None:
                words = (*words, *import_module(listing.module).complete(self._context()))
            return tuple(word for word in words if word.lower().startswith(typed.lower()))

        return Command(
            name=listing.name,
            description=listing.description,
            run=run,
            argument_hint=listing.hint,
            aliases=listing.aliases,
            complete=complete if listing.choices or listing.completes else None,
            screen_only=listing.screen_only,
            hidden=listing.hidden,
            at_once=listing.at_once,
            reach=listing.reach,
        )


def _yields(command: Command) -> bool:
    return command.yields


def nearest(name: str, commands: Sequence[Command]) -> str | None:
    """The command that was probably meant by an unknown name."""
    known = {alias: each.name for each in commands for alias in each.aliases}
    # A name goes before an alias that it takes the place of, as it does when it is called.
    known |= {each.name: each.name for each in commands}
    # Of unfinished names the shortest is meant.
    found = nearest_name(name, sorted(known, key=lambda other: (len(other), other)))
    return known[found[0]] if found else None
