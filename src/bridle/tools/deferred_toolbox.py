"""A toolbox that defers tools: the model gets their names first, and loads definitions on demand."""

from collections.abc import Callable, Iterable, Sequence
from weakref import WeakKeyDictionary

from bridle.tools.deferred import (
    AGAIN,
    CALL_DEFINITION,
    DEFINITION,
    NEWS,
    Findable,
    listing,
    weight_of,
)
from bridle.tools.toolbox import BuiltinToolbox, Deferral
from bridle.types.model import ToolDefinition
from bridle.types.on_demand import CALL, SEARCH
from bridle.types.tool import Tool, Toolbox

_CHARS_PER_TOKEN = 2.5


class DeferredToolbox:
    """Tools from the catalog and from outside; a definition that was sent once stays, and new ones come last.

    Tools that were loaded are marked in the definitions: a dialect that knows references to tools sends
    them beside its list, and all others leave them out, because the model calls them with `CallTool`. So no
    request loses its cached beginning when a tool is loaded.
    """

    def __init__(
        self,
        own: BuiltinToolbox,
        others: Callable[[], Sequence[Tool]],
        *,
        deferral: Deferral,
        window: Callable[[], int],
        loaded: Iterable[str] = (),
        listed: Callable[[object], Iterable[str]] = lambda _: (),
        waiting: Callable[[], tuple[str, ...]] = lambda: (),
    ) -> None:
        self._own = own
        self._others = others
        self._deferral = deferral
        self._window = window
        self._told: dict[str, None] = {}
        """Names from outside that every request lists, in the order in which they came."""
        self._loaded: dict[str, None] = dict.fromkeys(loaded)
        """Names that a search has loaded, in the order in which it did."""
        self._searched = False
        """Whether the search tool is part of requests; it stays once it was."""
        self._offer: Sequence[Tool] | None = None
        self._own_names: tuple[str, ...] = ()
        self._own_deferred: frozenset[str] = frozenset()
        self._tools: dict[str, Tool] = {}
        self._definitions: tuple[ToolDefinition, ...] | None = None
        self._listed = listed
        """The names that a conversation had listed before this toolbox was made."""
        self._waiting = waiting
        self._search: Tool | None = None
        self._announced: WeakKeyDictionary[object, set[str]] = WeakKeyDictionary()

    def names(self) -> tuple[str, ...]:
        self._look()
        own = [*self._own.names(), *((SEARCH,) if self._searched else ())]
        return (*sorted(own), *self._tools)

    def definitions(self) -> tuple[ToolDefinition, ...]:
        self._look()
        if self._definitions is None:
            hidden = self._own_deferred if self._searched else frozenset[str]()
            first = [each for each in self._own.definitions() if each["name"] not in hidden]
            if self._searched:
                tools = (self._own.locked(each) for each in (DEFINITION, CALL_DEFINITION))
                first = sorted((*first, *tools), key=lambda each: each["name"])
            sent = (self.definition(name) for name in self._told)
            loaded = (self.definition(name) for name in self._loaded if self._is_deferred(name))
            self._definitions = (
                *first,
                *(each for each in sent if each is not None),
                *({**each, "defer_loading": True} for each in loaded if each is not None),
            )
        return self._definitions

    def definition(self, name: str) -> ToolDefinition | None:
        """The full definition of a tool, loaded or not."""
        if (tool := self._tools.get(name)) is not None:
            return tool.own_definition()
        return next((each for each in self._own.definitions() if each["name"] == name), None)

    def find(self, name: str) -> Tool | None:
        self._look()
        if self._searched and name in (SEARCH, CALL):
            return self._search_tool() if name == SEARCH else _call_tool()
        found = self._own.find(name) or self._tools.get(name)
        if found is None or found.name in self._loaded or not self._is_deferred(found.name):
            return found
        from bridle.tools.tool_search import hinted

        return hinted(found)

    def load(self, name: str) -> ToolDefinition | None:
        """What a tool takes, for the model to call it from now on."""
        if (definition := self.definition(name)) is not None and name not in self._loaded:
            self._loaded[name] = None
            self._definitions = None
        return definition

    def news(self, conversation: object, offered: Toolbox) -> str | None:
        """The list of `offered` tools that this conversation has not listed yet; None for none."""
        self._look()
        if (known := self._announced.get(conversation)) is None:
            known = self._announced[conversation] = set(self._listed(conversation))
        hidden = [each.name for each in self._findable() if each.name not in known]
        known.update(hidden)
        names = set(offered.names()) if hidden else set[str]()
        fresh = [name for name in hidden if name in names]
        if not fresh or SEARCH not in names:
            return None
        return f"{NEWS}\n{listing(fresh)}"

    def again(self, offered: Toolbox) -> str | None:
        """The list of `offered` tools for a conversation that was compacted."""
        self._look()
        names = set(offered.names())
        hidden = [each.name for each in self._findable() if each.name in names]
        return f"{AGAIN}\n{listing(hidden)}" if hidden and SEARCH in names else None

    def _search_tool(self) -> Tool:
        # Few answers search, so the way to the first request does without.
        from bridle.tools.tool_search import search_tool

        if self._search is None:
            self._search = search_tool(self._findable, self.load, self._waiting)
        return self._search

    def _look(self) -> None:
        """Take note of tools that came or went."""
        offer, names = self._others(), self._own.names()
        if offer is self._offer and names == self._own_names:
            return
        self._offer, self._own_names, self._definitions = offer, names, None
        own, self._own_deferred = set(names), frozenset(self._own.deferred())
        self._tools = {tool.name: tool for tool in offer if tool.name not in own}
        self._searched = self._searched or self._is_crowded()
        for name, tool in self._tools.items():
            if not (self._searched and tool.deferred):
                self._told.setdefault(name)

    def _is_crowded(self) -> bool:
        deferred = [tool for tool in self._tools.values() if tool.deferred]
        match self._deferral.when:
            case "never":
                return False
            case "always":
                return bool(deferred) or bool(self._own.deferred())
            case "crowded":
                most = int(self._window() * self._deferral.percent / 100 * _CHARS_PER_TOKEN)
                return bool(deferred) and weight_of((tool.own_definition() for tool in deferred), most) > most

    def _is_deferred(self, name: str) -> bool:
        """Whether requests do not list this tool."""
        if not self._searched or name in self._told:
            return False
        tool = self._tools.get(name)
        return tool.deferred if tool is not None else name in self._own_deferred

    def _findable(self) -> list[Findable]:
        """Everything that requests do not list, also what was loaded: a conversation may have lost it."""
        if not self._searched:
            return []
        texts = {each["name"]: each.get("description", "") for each in self._own.definitions()}
        own = [Findable(name, texts[name]) for name in self._own.deferred()]
        return own + [
            Findable(name, _description(tool), tool.search_hint)
            for name, tool in self._tools.items()
            if tool.deferred and name not in self._told
        ]


def _call_tool() -> Tool:
    from bridle.tools.tool_search import CALL_TOOL

    return CALL_TOOL


def _description(tool: Tool) -> str:
    return tool.description or (tool.definition.get("description", "") if tool.definition else "")
