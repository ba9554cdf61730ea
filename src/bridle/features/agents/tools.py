"""Which tools an agent may use, and which agents it may start."""

from collections.abc import Callable
from fnmatch import fnmatchcase
from itertools import islice

from msgspec import Struct

from bridle.permissions.rules import parse, split_rules
from bridle.tools.catalog import CATALOG, traits_of
from bridle.types.agent import AGENT_TOOL, AgentDefinition
from bridle.types.model import ToolDefinition
from bridle.types.on_demand import CALL, SEARCH, is_deferred
from bridle.types.permission import Effect
from bridle.types.tool import Tool, Toolbox

_FOR_MEMORY = ("write", "edit", "read")
"""Kinds of tools that an agent with a memory has, whatever its list says."""
_MOST_LISTED = 100
"""How many tools are listed at most for an agent that cannot search for tools."""


class AgentPosition(Struct, frozen=True, kw_only=True):
    """The facts about an agent that decide which tools it has."""

    main: bool = False
    """It is the main thread: only its own lists count."""
    background: bool = False
    teammate: bool = False
    """It is a member of a team, which shares a list of things to do."""
    planning: bool = False
    may_start: bool = True
    """False at the depth at which no agent starts another."""


class Selection(Struct, frozen=True, kw_only=True):
    """What a definition makes of the tools that are there."""

    takes: Callable[[str], bool]
    """Whether the agent has the tool of this name."""
    agents: tuple[str, ...] | None = None
    """The only agents that it may start; None for all."""

    def unknown(self, definition: AgentDefinition, toolbox: Toolbox) -> tuple[str, ...]:
        """Tools that its list names and that do not exist."""
        names = toolbox.names()
        wanted = (name for text in definition.tools or () for name, _ in _entries(text))
        return tuple(each for each in wanted if not any(_covers(each, name) for name in names))


def select(definition: AgentDefinition, position: AgentPosition) -> Selection:
    """Read the tool lists of a definition. Unknown names are ignored."""
    removed = {name for text in definition.disallowed_tools for name, _ in _entries(text)}
    listed = None
    if definition.tools is not None and tuple(definition.tools) != ("*",):
        listed = [entry for text in definition.tools for entry in _entries(text)]
        if definition.memory is not None:
            listed += [(tool.name, None) for tool in CATALOG if tool.traits.kind in _FOR_MEMORY]
    agents = None
    for name, content in listed or ():
        if name == AGENT_TOOL and content is not None:
            agents = (*(agents or ()), *(part.strip() for part in content.split(",") if part.strip()))

    def takes(tool: str) -> bool:
        if not position.main and not _is_for_agents(tool, position):
            return False
        if any(_covers(name, tool) for name in removed):
            return False
        return listed is None or any(_covers(name, tool) for name, _ in listed)

    return Selection(takes=takes, agents=agents)


class AgentToolbox:
    """Those tools of a session that an agent has; looked up again, because some come and go."""

    def __init__(self, toolbox: Toolbox, takes: Callable[[str], bool]) -> None:
        self._toolbox = toolbox
        self._takes = takes
        self._known: tuple[tuple[ToolDefinition, ...], tuple[ToolDefinition, ...]] = ((), ())

    def definitions(self) -> tuple[ToolDefinition, ...]:
        given = self._toolbox.definitions()
        if given is not self._known[0]:
            self._known = (given, self._chosen(given))
        return self._known[1]

    def names(self) -> tuple[str, ...]:
        return tuple(filter(self._takes, self._toolbox.names()))

    def find(self, name: str) -> Tool | None:
        tool = self._toolbox.find(name)
        return tool if tool is not None and self._takes(_searching(tool.name)) else None

    def _chosen(self, given: tuple[ToolDefinition, ...]) -> tuple[ToolDefinition, ...]:
        """The definitions of its tools; one that cannot search for more gets all of them."""
        taken = tuple(each for each in given if self._takes(_searching(each["name"])))
        if self._takes(SEARCH) or all(each["name"] != SEARCH for each in given):
            return taken
        listed = {each["name"] for each in taken if not is_deferred(each)}
        unlisted = (name for name in self.names() if name not in listed)
        late = (each for name in unlisted if (each := self._definition(name)) is not None)
        return (*(each for each in taken if not is_deferred(each)), *islice(late, _MOST_LISTED))

    def _definition(self, name: str) -> ToolDefinition | None:
        from bridle.tools import definitions

        tool = self._toolbox.find(name)
        return None if tool is None else tool.own_definition() or definitions.load().get(tool.name)


def _searching(tool: str) -> str:
    """What is loaded by a search is called with a tool that comes along with the search."""
    return SEARCH if tool == CALL else tool


def _is_for_agents(tool: str, position: AgentPosition) -> bool:
    """The first that applies decides."""
    if tool.startswith("mcp__"):
        return True
    traits = traits_of(tool)
    if traits.kind == "plan" and position.planning:
        return True
    if traits.kind == "agent" and not position.may_start:
        return False
    match traits.agents:
        case "main":
            # It asks the user, or brings prompts later, which only the main thread gets.
            return False
        case "any":
            return True
        case "team":
            return position.teammate or not position.background
        case "foreground":
            return not position.background


def _entries(text: str) -> list[tuple[str, str | None]]:
    """The tools that one entry of a list names, each with what stands in its parentheses."""
    found: list[tuple[str, str | None]] = []
    for part in split_rules(text):
        try:
            rule = parse(part, Effect.DENY)
        except ValueError:
            continue  # A name that cannot be one covers nothing.
        found.append((rule.tool, rule.content))
    return found


def _covers(entry: str, tool: str) -> bool:
    """A server's name stands for all its tools."""
    if entry in (tool, "*"):
        return True
    if "*" in entry:
        return fnmatchcase(tool, entry)
    server = entry.removesuffix("__")
    return server.startswith("mcp__") and "__" not in server[5:] and tool.startswith(f"{server}__")
