"""The tools that one session offers, chosen from the catalog."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from bridle.tools import definitions
from bridle.tools.catalog import CATALOG, Listing
from bridle.types.model import ToolDefinition
from bridle.types.tool import Tool, Toolbox
from bridle.types.variables import is_off

OPT_IN = frozenset(listing.name for listing in CATALOG if listing.opt_in)
"""Tools that are offered only after the user opted in."""

_USUAL_PERCENT = 10


class Deferral(Struct, frozen=True, kw_only=True):
    """When tools are listed by name alone: always, never, or once they would take too many tokens."""

    when: Literal["always", "never", "crowded"]
    percent: int = _USUAL_PERCENT
    """Of the model's window: what counts as too much."""

    @classmethod
    def of(cls, env: Mapping[str, str]) -> "Deferral":
        """What ENABLE_TOOL_SEARCH says; unset defers at every service."""
        given = env.get("ENABLE_TOOL_SEARCH", "").strip().lower()
        name, _, percent = given.partition(":")
        if name == "auto":
            number = int(percent) if percent.isdecimal() else _USUAL_PERCENT
            return cls(when="crowded" if number else "always", percent=min(number, 100))
        if is_off(env, "ENABLE_TOOL_SEARCH"):
            return cls(when="never")
        return cls(when="always")


class BuiltinToolbox:
    """Built-in tools in the order of their names; each is imported when it is first asked for."""

    def __init__(
        self,
        listings: Collection[Listing],
        *,
        absent: Callable[[], frozenset[str]] = frozenset,
        rare: Collection[str] = (),
        known: Mapping[str, ToolDefinition] | None = None,
    ) -> None:
        self._every = sorted(listings, key=lambda each: each.name)
        self._known = known
        """The definitions that models get; None for those of this version."""
        self._rare = frozenset(rare)
        """Names of tools that are rarely used in this session, besides those that always are."""
        self._absent = absent
        """Names of tools that there is no use for at the moment."""
        self._left_out: frozenset[str] | None = None
        self._listings: dict[str, Listing] = {}
        self._aliases: dict[str, Listing] = {}
        self._names: tuple[str, ...] = ()
        self._deferred: tuple[str, ...] = ()
        self._tools: dict[str, Tool] = {}
        self._definitions: tuple[ToolDefinition, ...] | None = None

    def names(self) -> tuple[str, ...]:
        self._look()
        return self._names

    def deferred(self) -> tuple[str, ...]:
        """The tools that are rarely used."""
        self._look()
        return self._deferred

    def definitions(self) -> tuple[ToolDefinition, ...]:
        self._look()
        if self._definitions is None:
            known = self._known or definitions.load()
            self._definitions = tuple(known[name] for name in self._listings)
        return self._definitions

    def locked(self, definition: ToolDefinition) -> ToolDefinition:
        """A definition as the lock file has it, where there is one."""
        return definition if self._known is None else self._known.get(definition["name"], definition)

    def find(self, name: str) -> Tool | None:
        self._look()
        listing = self._listings.get(name) or self._aliases.get(name)
        if listing is None:
            return None
        if listing.name not in self._tools:
            self._tools[listing.name] = definitions.find_tool(listing)
        return self._tools[listing.name]

    def _look(self) -> None:
        absent = self._absent()
        if absent == self._left_out:
            return
        self._left_out, self._definitions = absent, None
        present = [listing for listing in self._every if listing.name not in absent]
        self._listings = {listing.name: listing for listing in present}
        self._names = tuple(self._listings)
        self._deferred = tuple(each.name for each in present if each.deferred or each.name in self._rare)
        self._aliases = {alias: listing for listing in present for alias in listing.aliases}


class AliasedToolbox:
    """A toolbox in which some names stand for other tools; a name that it leads to is taken as it stands."""

    def __init__(self, own: Toolbox, aliases: Callable[[], Mapping[str, str]]) -> None:
        self._own = own
        self._aliases = aliases

    def names(self) -> tuple[str, ...]:
        return self._own.names()

    def definitions(self) -> tuple[ToolDefinition, ...]:
        return self._own.definitions()

    def find(self, name: str) -> Tool | None:
        return self._own.find(self._aliases().get(name, name))


class JoinedToolbox:
    """The tools of a session, and those that come from outside: looked up again, because they come and go."""

    def __init__(self, own: Toolbox, others: Callable[[], Sequence[Tool]]) -> None:
        self._own = own
        self._others = others

    def names(self) -> tuple[str, ...]:
        return (*self._own.names(), *(tool.name for tool in self._others()))

    def definitions(self) -> tuple[ToolDefinition, ...]:
        others = (tool.own_definition() for tool in self._others())
        return (*self._own.definitions(), *(each for each in others if each is not None))

    def find(self, name: str) -> Tool | None:
        found = self._own.find(name)
        return found or next((tool for tool in self._others() if tool.name == name), None)


def choose(
    *,
    base: Collection[str] | None = None,
    removed: Collection[str] = (),
    with_person: bool = False,
    absent: Callable[[], frozenset[str]] = lambda: OPT_IN,
    rare: Collection[str] = (),
    known: Mapping[str, ToolDefinition] | None = None,
) -> BuiltinToolbox:
    """The tools named in `base` (all when None) less those `removed`, `*` being every one.

    With `known` definitions, such as those of a lock file, tools without one are left out.

    Those that are `absent` come and go with what they need; `rare` ones are listed by name alone where
    that is possible.
    """
    chosen = [
        listing
        for listing in CATALOG
        if (base is None or listing.name in base or any(alias in base for alias in listing.aliases))
        and (with_person or not listing.needs_person)
        and not {"*", listing.name, *listing.aliases} & set(removed)
        and (known is None or listing.name in known)
    ]
    return BuiltinToolbox(chosen, absent=absent, rare=rare, known=known)
