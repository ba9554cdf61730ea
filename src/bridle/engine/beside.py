"""What goes on beside the turns of a session: schedules, monitors, language servers.

Each is imported with its first use, so that a session without them pays nothing.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bridle.types.sandbox import Sandbox
from bridle.types.turn import Prompt
from bridle.types.workspace import Workspace

if TYPE_CHECKING:
    from bridle.engine.languages.session import SessionLanguages
    from bridle.engine.monitors import SessionMonitors
    from bridle.engine.schedules.session import SessionSchedules
    from bridle.types.monitor import PluginMonitor
    from bridle.types.schedule import Clock, Scheduled

_LONGEST_WATCH = 1800.0
_LONGEST_WATCH_IN_PRINT = 600.0


class Around(Struct, frozen=True, kw_only=True):
    """The session beside which it goes on."""

    workspace: Workspace
    project: str
    storage: str
    env: Mapping[str, str]
    wake: Callable[[Prompt], None]
    tell: Callable[[str], None]
    """Says something to the user."""
    trusted: bool
    lasting: bool
    """The session goes on after its answer."""
    closed: bool = False
    """Nothing of files counts that extends the session."""
    sandbox: Sandbox | None = None
    language_servers: Callable[[], Mapping[str, Mapping[str, Any]]] = dict
    """The entries of plugins by their names."""
    monitors: "Callable[[], Sequence[PluginMonitor]]" = tuple
    recall_scheduled: "Callable[[], Sequence[Scheduled]]" = tuple
    """The prompts that were to come in this conversation alone when it was last left."""
    keep_scheduled: "Callable[[Sequence[Scheduled]], None]" = lambda _: None
    """Writes them down."""
    clock: "Clock | None" = None
    """None for that of the machine."""


class Beside:
    """Opened with a session and closed with it."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self._schedules: SessionSchedules | None = None
        self._monitors: SessionMonitors | None = None
        self._languages: SessionLanguages | None = None
        self._begun: set[tuple[str, str]] = set()

    async def begin(self) -> None:
        """Start what the project and its plugins want from the start; nothing in a folder not trusted."""
        around = self._around
        self._recall_scheduled()
        if not around.trusted or around.closed or not around.lasting:
            return
        if self._has_cron and os.path.exists(os.path.join(around.project, ".claude", "scheduled_tasks.json")):
            self.schedules().begin()
        await self._watch_for(lambda each: each.when == "always")

    async def reload(self) -> None:
        """Plugins were read again: go on with the language servers and monitors that they have now."""
        around = self._around
        if self._languages is not None:
            await self._languages.change(around.language_servers() if around.trusted else {})
        if around.trusted and around.lasting and not around.closed:
            await self._watch_for(lambda each: each.when == "always")

    def follow(self) -> None:
        """The session goes on with another conversation: its prompts come, those of the old one do not."""
        if self._schedules is not None:
            self._schedules.forget()
        self._recall_scheduled()

    async def hear_skill(self, name: str) -> None:
        """A skill was called: monitors that wait for it begin."""
        if self._around.trusted and not self._around.closed:
            await self._watch_for(lambda each: _waits_for(each, name))

    def schedules(self) -> "SessionSchedules":
        if self._schedules is None:
            from bridle.engine.schedules.clock import SystemClock
            from bridle.engine.schedules.file import ScheduleFile
            from bridle.engine.schedules.session import Means, SessionSchedules

            around = self._around
            kept = around.trusted and not around.closed
            self._schedules = SessionSchedules(
                Means(
                    wake=around.wake,
                    tell=around.tell,
                    file=ScheduleFile(around.project, around.env) if kept else None,
                    lasting=around.lasting,
                    clock=around.clock or SystemClock(),
                    keep=around.keep_scheduled,
                )
            )
        return self._schedules

    def monitors(self) -> "SessionMonitors":
        if self._monitors is None:
            from bridle.engine.monitors import Means, SessionMonitors
            from bridle.engine.schedules.clock import SystemClock

            around = self._around
            self._monitors = SessionMonitors(
                Means(
                    wake=around.wake,
                    tasks=lambda: around.workspace.tasks,
                    storage=around.storage,
                    longest=_LONGEST_WATCH if around.lasting else _LONGEST_WATCH_IN_PRINT,
                    clock=around.clock or SystemClock(),
                )
            )
        return self._monitors

    def languages(self) -> "SessionLanguages | None":
        """None where there is no language server, or the folder is not trusted."""
        around = self._around
        if self._languages is None and around.trusted and (entries := around.language_servers()):
            from bridle.engine.languages.session import Means, SessionLanguages

            self._languages = SessionLanguages(
                entries,
                Means(
                    root=lambda: around.workspace.start,
                    env=around.env,
                    tell=around.tell,
                    sandbox=around.sandbox,
                ),
            )
        return self._languages

    def scheduled(self) -> "Sequence[Scheduled]":
        """The prompts that will come."""
        return () if self._schedules is None else self._schedules.all()

    def work(self) -> None:
        """A turn begins."""
        if self._schedules is not None:
            self._schedules.work()

    def rest(self) -> None:
        """No turn runs and none waits."""
        if self._schedules is not None:
            self._schedules.rest()

    def touch(self, session: object, paths: Sequence[str]) -> None:
        """A conversation has written files: language servers look at those that are theirs."""
        if paths and (languages := self.languages()) is not None:
            languages.touch(session, paths)

    def news(self, session: object) -> str | None:
        """What language servers have found wrong with files that a conversation has changed."""
        return None if self._languages is None else self._languages.news(session)

    async def close(self) -> None:
        """End everything."""
        for part in (self._schedules, self._monitors, self._languages):
            if part is not None:
                await part.close()

    def _recall_scheduled(self) -> None:
        if self._has_cron and self._around.lasting and (kept := self._around.recall_scheduled()):
            self.schedules().restore(kept)

    @property
    def _has_cron(self) -> bool:
        return self._around.env.get("CLAUDE_CODE_DISABLE_CRON", "") in ("", "0", "false")

    async def _watch_for(self, is_due: "Callable[[PluginMonitor], bool]") -> None:
        wanted = [
            each
            for each in self._around.monitors()
            if is_due(each) and (each.plugin, each.name) not in self._begun
        ]
        if not wanted:
            return
        from bridle.engine.plugin_monitors import watch_of
        from bridle.types.errors import ToolError

        around = self._around
        for each in wanted:
            self._begun.add((each.plugin, each.name))
            try:
                await self.monitors().start(
                    watch_of(each, cwd=around.workspace.start, env=around.env, sandbox=around.sandbox)
                )
            except ToolError as error:
                self._around.tell(
                    f"The monitor {each.name} of the plugin {each.plugin} does not run: {error}"
                )


def _waits_for(monitor: "PluginMonitor", skill: str) -> bool:
    kind, _, wanted = monitor.when.partition(":")
    return kind == "on-skill-invoke" and skill in (wanted, f"{monitor.plugin}:{wanted}")
