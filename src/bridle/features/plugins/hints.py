"""Tells of plugins that fit what a session does, as marketplaces that management trusts say."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any

from bridle.engine.runtime import Runtime
from bridle.extensions.plugins.context import PluginContext
from bridle.extensions.plugins.project_packages import dependencies
from bridle.extensions.plugins.suggestions import Work, suggestions
from bridle.permissions.preparation import read_command
from bridle.tools.catalog import traits_of
from bridle.transcripts.session import Session
from bridle.types.entry import ConversationEntry
from bridle.types.event import Noticed
from bridle.types.tool import CHANGES_FILES, RUNS_COMMANDS
from bridle.types.turn import Outcome

_HOST = re.compile(r"https?://(?:[^/\s'\"@]*@)?([A-Za-z0-9.-]+)")
_MOST = 500


class PluginHints:
    """Side work: after each turn, suggest each plugin that fits once."""

    def __init__(self, context: PluginContext, marketplaces: Sequence[str]) -> None:
        self._context = context
        self._marketplaces = marketplaces
        self._reported: set[str] = set()
        self._read = 0
        self._files: dict[str, None] = {}
        self._programs: dict[str, None] = {}
        self._hosts: dict[str, None] = {}

    async def __call__(self, session: Session, runtime: Runtime, outcome: Outcome) -> None:
        """Look at what the turn did.

        Raises:
            ConfigError: the file of marketplaces, or of what is installed, cannot be read.
        """
        del outcome
        entries = session.entries[self._read :]
        self._read = len(session.entries)
        for input in _calls(entries):
            self._note(input, runtime)
        start = runtime.workspace.start
        work = Work(
            files=tuple(self._files)[-_MOST:],
            programs=tuple(self._programs)[-_MOST:],
            hosts=tuple(self._hosts)[-_MOST:],
            dependencies=lambda: dependencies(start),
        )
        for each in await asyncio.to_thread(suggestions, self._context, self._marketplaces, work):
            if each.plugin not in self._reported:
                self._reported.add(each.plugin)
                runtime.channel.emit(Noticed(each.sentence, level="suggestion"))

    def _note(self, block: Mapping[str, Any], runtime: Runtime) -> None:
        traits = traits_of(block["name"], runtime.toolbox)
        about = block["input"].get(traits.about)
        if not isinstance(about, str):
            return
        if traits.kind == "read" or traits.kind in CHANGES_FILES:
            self._files[runtime.workspace.resolve(about)] = None
        elif traits.kind == "fetch" or traits.kind in RUNS_COMMANDS:
            self._hosts |= dict.fromkeys(host.lower() for host in _HOST.findall(about))
        if traits.kind in RUNS_COMMANDS:
            self._programs |= dict.fromkeys(_programs(about, runtime))


def _calls(entries: Sequence[ConversationEntry]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for entry in entries:
        if entry["type"] == "assistant":
            content = entry["message"]["content"]
            found += [block for block in content if block["type"] == "tool_use"]
    return found


def _programs(command: str, runtime: Runtime) -> list[str]:
    """The programs that a command runs, wrappers such as `sudo` and what they run alike."""
    reading = read_command(command, cwd=runtime.workspace.cwd, home=runtime.env.get("HOME", "/"))
    forms = (form for part in reading.parts for form in part.deny_forms)
    return [form.split(maxsplit=1)[0].rpartition("/")[2] for form in forms if form.strip()]
