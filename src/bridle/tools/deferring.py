"""The tools of a session where not all are told to the model at once."""

from collections.abc import Callable, Iterable, Sequence
from weakref import WeakKeyDictionary

from bridle.tools.tool_search import (
    DEFINITION,
    Findable,
    hinted,
    listing,
    search_tool,
    weight_of,
)
from bridle.tools.toolbox import SEARCH, BuiltinToolbox, Deferral
from bridle.types.model import ToolDefinition
from bridle.types.tool import Tool

_CHARS_PER_TOKEN = 2.5


class DeferringToolbox:
    """Tools from the catalogue and from outside; what was told once stays, and new ones come last."""

    def __init__(
        self,
        own: BuiltinToolbox,
        others: Callable[[], Sequence[Tool]],
        *,
        deferral: Deferral,
        window: Callable[[], int],
        loaded: Iterable[str] = (),
        waiting: Callable[[], tuple[str, ...]] = lambda: (),
    ) -> None:
        self._own = own
        self._others = others
        self._deferral = deferral
        self._window = window
        self._told: dict[str, None] = dict.fromkeys(loaded)
        """Names that are part of requests, in the order in which they came."""
        self._searched = False
        """Whether the search tool is part of requests; it stays once it was."""
        self._offer: Sequence[Tool] | None = None
        self._own_names: tuple[str, ...] = ()
        self._tools: dict[str, Tool] = {}
        self._definitions: tuple[ToolDefinition, ...] | None = None
        self._search = search_tool(self._findable, self.load, waiting)
        self._announced: WeakKeyDictionary[object, set[str]] = WeakKeyDictionary()

    def names(self) -> tuple[str, ...]:
        self._look()
        own = [*self._own.names(), *((SEARCH,) if self._searched else ())]
        return (*sorted(own), *self._tools)

    def definitions(self) -> tuple[ToolDefinition, ...]:
        self._look()
        if self._definitions is None:
            hidden = set(self._own.deferred()) if self._searched else set[str]()
            first = [each for each in self._own.definitions() if each["name"] not in hidden]
            if self._searched:
                first = sorted((*first, DEFINITION), key=lambda each: each["name"])
            late = {each["name"]: each for each in self._own.definitions() if each["name"] in hidden}
            for name in self._told:
                if (tool := self._tools.get(name)) is not None and (told := tool.told()) is not None:
                    late[name] = told
            self._definitions = (*first, *(late[name] for name in self._told if name in late))
        return self._definitions

    def find(self, name: str) -> Tool | None:
        self._look()
        if name == SEARCH and self._searched:
            return self._search
        found = self._own.find(name) or self._tools.get(name)
        if found is None or not self._is_hidden(found.name):
            return found
        self.load((found.name,))
        return hinted(found)

    def load(self, names: Iterable[str]) -> None:
        """Make tools part of all later requests."""
        for name in names:
            if name not in self._told:
                self._told[name] = None
                self._definitions = None

    def news(self, conversation: object) -> str | None:
        """The names that this conversation has not heard of; None when it has heard of all."""
        self._look()
        known = self._announced.setdefault(conversation, set())
        hidden = [each.name for each in self._findable()]
        fresh = [name for name in hidden if name not in known]
        if not fresh:
            return None
        known.update(fresh)
        return f"# More tools\nLoad them with {SEARCH} before you call them:\n{listing(fresh)}"

    def again(self) -> str | None:
        """What a conversation that has lost its beginning must hear once more."""
        self._look()
        hidden = [each.name for each in self._findable()]
        return f"Tools that {SEARCH} can load:\n{listing(hidden)}" if hidden else None

    def _look(self) -> None:
        """Take note of tools that came or went."""
        offer, names = self._others(), self._own.names()
        if offer is self._offer and names == self._own_names:
            return
        self._offer, self._own_names, self._definitions = offer, names, None
        own = set(names)
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
                return bool(deferred) and weight_of((tool.told() for tool in deferred), most) > most

    def _is_hidden(self, name: str) -> bool:
        if not self._searched or name in self._told:
            return False
        tool = self._tools.get(name)
        return tool.deferred if tool is not None else name in self._own.deferred()

    def _findable(self) -> list[Findable]:
        """Everything that is not told yet."""
        if not self._searched:
            return []
        texts = {each["name"]: each.get("description", "") for each in self._own.definitions()}
        own = [Findable(name, texts[name]) for name in self._own.deferred() if name not in self._told]
        return own + [
            Findable(name, _description(tool), tool.search_hint)
            for name, tool in self._tools.items()
            if tool.deferred and name not in self._told
        ]


def _description(tool: Tool) -> str:
    return tool.description or (tool.definition.get("description", "") if tool.definition else "")
