"""The slash commands of a session; what they are made of is imported with the first that is called."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bridle.engine.server import Inbox, Server
from bridle.features.skills.feature import SESSION_SKILLS
from bridle.session.base import SessionBase
from bridle.session.conversation import checkpoints_of, place_of
from bridle.session.settings import SessionSettings
from bridle.types.command import Command
from bridle.types.services.plugins import PLUGINS
from bridle.types.turn import Outcome, Prompt

if TYPE_CHECKING:
    from bridle.commands.context import CommandContext
    from bridle.commands.interpreter import CommandInterpreter
    from bridle.commands.registry import Registry

Source = Callable[[], Sequence[Command]]


class SessionCommands:
    """Implements `types.command.Commands`, and tells the server what prompts mean."""

    def __init__(self, base: SessionBase, sources: Sequence[Source]) -> None:
        self._base = base
        self._sources = list(sources)
        self._change: Callable[[Command], Command] | None = None
        self._registry: Registry | None = None
        self._context: CommandContext | None = None
        self._entrance: CommandInterpreter | None = None
        self._attended: tuple[Server, SessionSettings, Inbox] | None = None

    def attend(self, server: Server, settings: SessionSettings, inbox: Inbox) -> None:
        """From now on prompts of this session may be commands."""
        self._attended = server, settings, inbox
        if self._are_off:
            return  # A prompt that looks like a command is a prompt.
        server.interpret = self.interpret
        inbox.may_join = self.may_join

    def add(self, source: Source) -> None:
        """Let more commands be found: those of files, plugins, servers."""
        self._sources.append(source)

    def change(self, change: Callable[[Command], Command]) -> None:
        """Let commands be called in another form, such as one that opens views."""
        self._change = change

    @property
    def _are_off(self) -> bool:
        """At a terminal the commands of bridle itself stay: there would be no way to leave."""
        options = self._base.setup.options
        return options.disable_slash_commands and not options.interactive

    def all(self) -> tuple[Command, ...]:
        return () if self._are_off else self._commands().all()

    def find(self, name: str) -> Command | None:
        found = self._commands().find(name)
        return found if found is None or self._change is None else self._change(found)

    def nearest(self, name: str) -> str | None:
        return self._commands().nearest(name)

    async def interpret(self, prompt: Prompt) -> Prompt | Outcome:
        """What a prompt that looks like a command means before a turn begins with it."""
        return await self._open().interpret(prompt)

    def may_join(self, prompt: Prompt) -> bool:
        """Whether a prompt that looks like a command may join a turn that runs."""
        return self._open().may_join(prompt)

    def context(self) -> "CommandContext":
        """What commands work with."""
        if self._context is None:
            from bridle.commands.context import CommandContext

            assert self._attended is not None
            server, settings, inbox = self._attended
            base = self._base
            setup, host = base.setup, base.host
            self._context = CommandContext(
                session=base.session,
                server=server,
                commands=self,
                hooks=base.hooks,
                place=place_of(setup, warn=host.tell, follow=host.follow),
                settings=settings,
                env=setup.env,
                trusted=setup.trusted,
                screen=host.shows_views,
                open_checkpoints=lambda: checkpoints_of(base),
                leave=inbox.close,
                hook_faults=lambda: self._hook_faults(settings),
                reload_extensions=self._reload,
            )
        return self._context

    async def _reload(self) -> str:
        runtime = self._base.runtime()
        skills, plugins = runtime.features.find(SESSION_SKILLS), runtime.features.find(PLUGINS)
        of_plugins = "" if plugins is None else f"{await plugins.reload()} "
        for feature in runtime.features.at("reload"):
            await feature.reload()
        return of_plugins + ("Skills are turned off in this session." if skills is None else skills.reload())

    def _open(self) -> "CommandInterpreter":
        if self._entrance is None:
            from bridle.commands.interpreter import CommandInterpreter

            self._entrance = CommandInterpreter(self.context())
        return self._entrance

    def _commands(self) -> "Registry":
        if self._registry is None:
            from bridle.commands.registry import Registry

            self._registry = Registry(
                sources=[self._brought],
                context=self.context,
                env=self._base.setup.env,
                yields=not self._base.setup.options.interactive,
            )
        return self._registry

    def _brought(self) -> Sequence[Command]:
        return [*(command for source in self._sources for command in source()), *self._of_servers()]

    def _of_servers(self) -> Sequence[Command]:
        servers = self._base.runtime().servers
        if not servers.status():
            return ()
        from bridle.mcp.commands import server_commands

        return server_commands(servers)

    def _hook_faults(self, settings: SessionSettings) -> Sequence[str]:
        from bridle.commands.queries.hook_problems import hook_faults

        setup = self._base.setup
        return hook_faults(settings.config(), trusted=setup.trusted, cwd=setup.cwd, env=setup.env)
