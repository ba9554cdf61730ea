"""Every file that something is remembered in: instructions, notes of earlier sessions, notes of agents."""

import os.path

from msgspec import Struct

from bridle.commands.context import CommandContext
from bridle.commands.queries.context_window import memory_files
from bridle.context.memory import INDEX, quick_places, topics
from bridle.context.memory_folder import is_enabled
from bridle.context.tokens import estimate
from bridle.features.agents.feature import AGENTS
from bridle.features.agents.memory import memory_folder
from bridle.host.files import read_bytes
from bridle.host.paths import config_home
from bridle.types.services.session import MEMORY

_LARGEST = 1_000_000
_NAMES = {"project": "this project", "local": "this project, only you", "user": "all your projects"}


class MemoryFile(Struct, frozen=True, kw_only=True):
    """A file, whether it is there or only could be."""

    path: str
    name: str
    """How people call it: `this project`, `yours`, `set by your organization`."""
    group: str = "Instructions"
    text: str = ""
    exists: bool = True

    @property
    def tokens(self) -> int:
        """About what it costs in the window."""
        return estimate(self.text)


def memory_places(context: CommandContext) -> tuple[MemoryFile, ...]:
    """Instruction files first, then automatic notes, then the notes of agents."""
    return (*_instructions(context), *_notes(context), *_of_agents(context))


def takes_notes(context: CommandContext) -> bool:
    """Whether sessions take notes automatically."""
    return is_enabled(context.env, context.settings.config().settings.auto_memory_enabled)


def _instructions(context: CommandContext) -> list[MemoryFile]:
    loaded = [file for file in memory_files(context.runtime) if file.kind != "AutoMem"]
    found = [
        MemoryFile(path=file.path, name=file.kind, group="Instructions", text=file.text) for file in loaded
    ]
    known = {file.path for file in loaded}
    places = quick_places(context.workspace.start, context.env, config_home(context.env))
    return found + [
        MemoryFile(path=places[key], name=name, group="Instructions", exists=False)
        for key, name in _NAMES.items()
        if places[key] not in known and not os.path.exists(places[key])
    ]


def _notes(context: CommandContext) -> list[MemoryFile]:
    folder = context.runtime.features.find(MEMORY)
    if folder is None:
        return []
    index = os.path.join(folder, INDEX)
    rows = [_read(index, "index", "From earlier sessions")]
    found, _ = topics(folder)
    rows += [
        MemoryFile(
            path=os.path.join(folder, topic.file),
            name=topic.name,
            group="From earlier sessions",
            text=f"{topic.description}\n\n{topic.body}",
        )
        for topic in found
    ]
    return rows


def _of_agents(context: CommandContext) -> list[MemoryFile]:
    agents = context.runtime.features.find(AGENTS)
    rows: list[MemoryFile] = []
    for definition in () if agents is None else agents.definitions():
        if definition.memory is not None:
            folder = memory_folder(
                definition.name, definition.memory, cwd=context.workspace.start, env=context.env
            )
            name = f"{definition.name} ({definition.memory})"
            rows.append(_read(os.path.join(folder, INDEX), name, "From agents"))
    return rows


def _read(path: str, name: str, group: str) -> MemoryFile:
    try:
        text = read_bytes(path, _LARGEST).decode(errors="replace")
    except OSError:
        return MemoryFile(path=path, name=name, group=group, exists=False)
    return MemoryFile(path=path, name=name, group=group, text=text)
