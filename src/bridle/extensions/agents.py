"""Agents that are written as Markdown files."""

import os.path
import time
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from bridle.config.problems import Problem
from bridle.extensions.cache import FreshLookup
from bridle.extensions.frontmatter import text_of, truth, words
from bridle.extensions.index import Found, Index, read_body
from bridle.extensions.roots import Root
from bridle.types.agent import AgentDefinition, AgentSource, MemoryScope
from bridle.types.errors import ToolError
from bridle.types.permission import MODES, Mode

_COLORS = ("red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan")
_EFFORTS = ("low", "medium", "high", "xhigh", "max")


class FileAgent(AgentDefinition, frozen=True, kw_only=True, array_like=True):
    """An agent whose prompt is read when it is needed: hundreds are listed, and few begin to work."""

    @property
    def prompt(self) -> str:
        try:
            return read_body(self.file or "").strip()
        except OSError as error:
            raise ToolError(f"{self.file} could not be read: {error.strerror or error}.") from error


class Agents(Struct, frozen=True, kw_only=True, array_like=True):
    """What was found, lowest precedence first, and what was left out."""

    definitions: tuple[FileAgent, ...] = ()
    problems: tuple[Problem, ...] = ()


def load_agents(index: Index, roots: Sequence[Root]) -> Agents:
    """The agents below the roots, the weightiest root first; of equal names the first counts.

    A file without a name is a document and says nothing; one with a name that cannot be used is reported.
    """
    return index.conclude("agents", roots, Agents, _draw)


def _draw(every: Sequence[Found]) -> Agents:
    agents: dict[str, FileAgent] = {}
    problems: list[Problem] = []
    for found in every:
        if found.entry.fault and (problem := found.problem) is not None:
            problems.append(problem)
        agent = _read(found)
        if isinstance(agent, Problem):
            problems += () if found.entry.fault else (agent,)
        elif agent is not None:
            _add(agent, agents, problems)
    return Agents(definitions=tuple(agents.values()), problems=tuple(problems))


class AgentFiles:
    """The agents of files as they are now."""

    def __init__(
        self,
        index: Index,
        roots: Callable[[], Sequence[Root]],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._agents = FreshLookup(lambda: load_agents(index, roots()), clock)

    def definitions(self) -> tuple[AgentDefinition, ...]:
        return self._agents.get().definitions

    def problems(self) -> tuple[Problem, ...]:
        return self._agents.get().problems


def _add(agent: FileAgent, agents: dict[str, FileAgent], problems: list[Problem]) -> None:
    other = agents.setdefault(agent.name, agent)
    file = agent.file or ""
    if other is not agent and os.path.realpath(other.file or "") != os.path.realpath(file):
        message = f"ignored: the agent {agent.name!r} is already defined in {other.file}"
        problems.append(Problem(file=file, key="name", message=message))


def _read(found: Found) -> FileAgent | Problem | None:
    values = found.entry.values
    name = values.get("name")
    if name is None or name == "":
        return None
    if not isinstance(name, str) or not name.strip():
        return Problem(file=found.path, key="name", message="it is not a string: put it in quotes")
    if ":" in name or name.startswith("-") or not name.strip().isprintable():
        message = f"{name!r} has a colon or a control character, or begins with a dash: rename it"
        return Problem(file=found.path, key="name", message=message)
    description = text_of(values.get("description"))
    if description is None:
        return Problem(
            file=found.path, key="description", message=("it is missing: describe when to use the agent")
        )
    return _definition(found, _full_name(found, name.strip()), description)


def _definition(found: Found, name: str, description: str) -> FileAgent:
    """Optional fields of the wrong kind are as if they were not there."""
    is_plugins = found.root.source == "plugin"
    said: dict[str, Any] = {}
    for key, value in found.entry.values.items():
        if key in _FIELDS and not (is_plugins and key in _NOT_FOR_PLUGINS):
            field, read = _FIELDS[key]
            said[field] = read(value)
    return FileAgent(
        name=name,
        description=description,
        source=_SOURCES[found.root.source],
        file=found.path,
        **said,
    )


_SOURCES: dict[str, AgentSource] = {
    "managed": "managed",
    "user": "user",
    "project": "project",
    "plugin": "plugin",
}


def _full_name(found: Found, name: str) -> str:
    """Plugins put their name and the folders on the way before it."""
    root = found.root
    if root.source != "plugin" or not root.prefix:
        return name
    folders = os.path.dirname(found.entry.path).split("/")
    return ":".join(part for part in (root.prefix, *folders, name) if part)


def _tools(value: Any) -> tuple[str, ...] | None:
    listed = words(value)
    nothing_said = not listed and not isinstance(value, list)
    return None if nothing_said or listed == ("*",) else listed


def _model(value: Any) -> str | None:
    name = value.strip() if isinstance(value, str) else ""
    return "inherit" if name.lower() == "inherit" else name or None


def _mode(value: Any) -> Mode | None:
    wanted = "default" if value == "manual" else value
    return next((mode for mode in MODES if mode == wanted), None)


def _servers(value: Any) -> tuple[Any, ...]:
    """Names, or objects `{name: settings}`; an object with a name inside is put into that form."""
    listed: list[Any] = [value] if isinstance(value, str | dict) else value if isinstance(value, list) else []
    found: list[Any] = []
    for each in listed:
        if isinstance(each, dict) and isinstance(name := each.get("name"), str):
            found.append({name: {key: part for key, part in each.items() if key != "name"}})
        elif isinstance(each, str | dict):
            found.append(each)
    return tuple(found)


def _scope(value: Any) -> MemoryScope | None:
    match value:
        case "user" | "project" | "local":
            return value
        case _:
            return None


def _effort(value: Any) -> str | int | None:
    return value if value in _EFFORTS else _count(value)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_true(value: Any) -> bool:
    return truth(value) is True


_FIELDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "tools": ("tools", _tools),
    "disallowedTools": ("disallowed_tools", words),
    "model": ("model", _model),
    "effort": ("effort", _effort),
    "permissionMode": ("permission_mode", _mode),
    "maxTurns": ("max_turns", _count),
    "skills": ("skills", words),
    "mcpServers": ("mcp_servers", _servers),
    "hooks": ("hooks", _object),
    "memory": ("memory", _scope),
    "background": ("background", _is_true),
    "isolation": ("isolation", lambda value: "worktree" if value == "worktree" else None),
    "color": ("color", lambda value: value if value in _COLORS else None),
    "initialPrompt": ("initial_prompt", text_of),
    "omitClaudeMd": ("omit_instructions", _is_true),
    "criticalSystemReminder_EXPERIMENTAL": ("reminder", text_of),
    "autoCompactWindow": ("auto_compact_window", _count),
}
"""What a header may say, which field that is, and how it is read."""
_NOT_FOR_PLUGINS = frozenset({"permissionMode", "mcpServers", "hooks", "initialPrompt"})
"""What a plugin's agent could do to the session around it is not the plugin's to say."""
