"""A session with slash commands for tests: real files, a real server loop, a script for the model."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from bridle.commands.context import CommandContext
from bridle.commands.interpreter import CommandInterpreter
from bridle.commands.registry import Registry
from bridle.config.load import Config, load, reload
from bridle.engine.hooks.lazy_hooks import LazyHooks
from bridle.engine.hooks.session_hooks import Basis, SessionHooks
from bridle.engine.mentions import attach
from bridle.engine.runtime import ContextSources
from bridle.engine.server import Inbox, Server
from bridle.transcripts.store import TranscriptPath, begin, transcript_path
from bridle.types.command import Command, CommandResult
from bridle.types.event import CommandReplied
from bridle.types.origin import TYPED
from bridle.types.tool import Tool
from bridle.types.turn import Outcome, Prompt
from tests.fakes.engine import FakeChannel, make_runtime, with_records


class FakeSettings:
    """Settings from real files, read again when told to."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def config(self) -> Config:
        return self._config

    def refresh(self) -> None:
        self._config = reload(self._config)


class Commanded:
    """One session in a folder of its own."""

    def __init__(
        self,
        folder: Path,
        script: Sequence[Any] = (),
        *tools: Tool,
        sources: Sequence[Command] = (),
        settings: str = "",
        screen: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.project, self.home = folder / "project", folder / "home"
        self.project.mkdir(exist_ok=True)
        self.home.mkdir(exist_ok=True)
        if settings:
            (self.home / "settings.json").write_text(settings)
        self.env = {"HOME": str(self.home), "CLAUDE_CONFIG_DIR": str(self.home), **(env or {})}
        self.channel = FakeChannel()
        self.session = begin(self._place())
        self.session.swap(model="claude-sonnet-5-5", mode="bypassPermissions")
        runtime = with_records(
            replace(make_runtime(self.project, script, *tools, channel=self.channel), env=self.env),
            transcript=transcript_path(self.session.id, str(self.project), self.env),
        )
        hooks = LazyHooks(lambda: SessionHooks(self.session, self.server.runtime, Basis()))
        self.inbox = Inbox()
        self._rests = asyncio.Event()
        self.server = Server(self.session, replace(runtime, hooks=hooks), self.inbox, on_rest=self._rests.set)
        self.registry = Registry(sources=[lambda: sources], context=lambda: self.context)
        config = load(
            cwd=str(self.project),
            env=self.env,
            flag=None,
            setting_sources=None,
            managed_dir=str(folder / "managed"),
        )
        self.left = False
        self.context = CommandContext(
            session=self.session,
            server=self.server,
            commands=self.registry,
            hooks=hooks,
            place=self._place(),
            settings=FakeSettings(config),
            env=self.env,
            screen=screen,
            leave=self._leave,
        )
        entrance = CommandInterpreter(self.context)
        self.server.interpret = entrance.interpret
        self.inbox.may_join = entrance.may_join
        self.server.change(sources=ContextSources(attach=attach))

    async def run(self, line: str) -> CommandResult:
        """What a command says when it is called by itself."""
        name, _, arguments = line.removeprefix("/").partition(" ")
        command = self.registry.find(name)
        assert command is not None
        return await command.run(arguments.strip(), self.context)

    async def prompt(self, *prompts: str | Prompt) -> Outcome:
        """Serve prompts as a front end would; the outcome of the last."""
        self._rests.clear()
        for each in prompts:
            self.inbox.put(Prompt(content=each, origin=TYPED) if isinstance(each, str) else each)
        async with asyncio.timeout(50):
            serving = asyncio.create_task(self.server.serve(wait_for_tasks=0, say_waiting=lambda _: None))
            await self._rests.wait()
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
        assert self.server.last is not None
        return self.server.last

    @property
    def said(self) -> list[str]:
        return [event.text for event in self.channel.of(CommandReplied)]

    def rows(self, session_id: str | None = None) -> list[str]:
        """The lines of a transcript."""
        path = transcript_path(session_id or self.session.id, str(self.project), self.env)
        return Path(path).read_text().splitlines()

    def user_settings(self) -> str:
        return (self.home / "settings.json").read_text()

    def _place(self) -> TranscriptPath:
        return TranscriptPath(cwd=str(self.project), env=self.env, warn=print)

    def _leave(self) -> None:
        self.left = True
