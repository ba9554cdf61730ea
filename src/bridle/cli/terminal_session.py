"""A session at the terminal, from the command line to its end."""

import asyncio
import contextlib
import gc
import os.path
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bridle.cli.args import Args
from bridle.cli.command_door import CommandDoor
from bridle.cli.compose import Brought, Parts, assemble
from bridle.cli.conversation import open_session, place_of
from bridle.cli.live_settings import SessionSettings
from bridle.cli.prepare import set_up
from bridle.cli.setup import Setup
from bridle.cli.start import Start
from bridle.cli.terminal_consent import (
    ask_for_bypass,
    ask_for_imports,
    ask_for_servers,
    ask_for_trust,
    choose_session,
)
from bridle.cli.terminal_looks import has_own_window, is_read_to, short_folder, theme_of
from bridle.cli.terminal_stage import Stage
from bridle.config.state import is_trusted
from bridle.engine.serve import Inbox, Server
from bridle.frontends.tui.app import App
from bridle.frontends.tui.chat import Chat
from bridle.frontends.tui.early import early_rows
from bridle.frontends.tui.editor import Draft
from bridle.frontends.tui.first_frame import FirstFrame
from bridle.frontends.tui.keymap_file import KeymapFile
from bridle.frontends.tui.opening import recent_lines, welcome
from bridle.frontends.tui.plain_screen import PlainScreen
from bridle.frontends.tui.screen import Screen
from bridle.frontends.tui.showing import Showing
from bridle.frontends.tui.terminal import Terminal
from bridle.host.paths import config_home
from bridle.sessions.session import Session
from bridle.types.command import Command, CommandResult, Shows
from bridle.types.task import Task
from bridle.version import __version__

_FOREVER = 0.0


def run_in_terminal(args: Args, env: Mapping[str, str], start: Start) -> int:
    """Run until the user leaves; returns the exit code.

    Raises:
        BridleError: nothing could be begun.
    """
    setup = set_up(args, env)
    return asyncio.run(_TerminalRun(setup, start).run())


class _TerminalRun:
    """One program at the terminal."""

    def __init__(self, setup: Setup, start: Start) -> None:
        self._setup = setup
        self._start = start
        self._server: Server | None = None
        self._early_warnings: list[str] = []
        self._chat: Chat | None = None
        self._resumable = ""

    async def run(self) -> int:
        setup, typed = self._setup, b""
        frame = self._start.take()
        terminal = Terminal(env=setup.env, before=None if frame is None else frame.before)
        is_plain = terminal.capabilities.is_dumb or is_read_to(setup)
        if is_plain and frame is not None:
            typed = frame.undo()
            frame, terminal = None, Terminal(env=setup.env)
        screen = PlainScreen(terminal) if is_plain else Screen(terminal, theme_of(setup))
        keymap = KeymapFile(os.path.join(config_home(setup.env), "keybindings.json"))
        terminal.parting = screen.parting
        terminal.open()
        try:
            app = App(terminal, screen, keymap.keymap)
            if frame is not None:
                typed = _take_over(frame, app)
            app.spawn(self._begin(app, keymap))
            code = await app.run(typed=typed)
        finally:
            terminal.close()
        if self._resumable:
            with contextlib.suppress(OSError):
                sys.stdout.write(f"bridle --resume {self._resumable} goes on with this conversation.\n")
        return code

    async def _begin(self, app: App, keymap: KeymapFile) -> None:
        """Ask what must be known before anything runs, then serve prompts until cancelled."""
        setup = self._setup
        if not is_trusted(setup.env, setup.cwd):
            if not await ask_for_trust(app, setup):
                app.end(1)
                return
            setup = self._setup = set_up(setup.args, setup.env, cwd=setup.cwd)
        if not await ask_for_bypass(app, setup):
            app.end(1)
            return
        chosen = await choose_session(app, setup)
        if chosen is None:
            app.end(0)
            return
        setup = self._setup = chosen
        await ask_for_servers(app, setup)
        await ask_for_imports(app, setup)
        session = open_session(setup, warn=self._warn)
        await self._serve(app, keymap, session)

    async def _serve(self, app: App, keymap: KeymapFile, session: Session) -> None:
        setup, inbox = self._setup, Inbox()
        built = Stage(app, setup, session, warn=self._warn)
        parts = await assemble(
            setup,
            session,
            built.channel,
            on_task=self._note_task,
            wake=inbox.put,
            brought=Brought(warn=self._warn),
        )
        try:
            server = self._server = Server(session, parts.runtime, inbox)
            server.change(defers=False)
            await self._talk(app, keymap, session, _Running(parts, server, inbox, built))
        finally:
            built.channel.finish(None if self._server is None else self._server.last)
            if session.entries and not setup.args.on("no-session-persistence"):
                self._resumable = session.id
            await parts.close()

    async def _talk(self, app: App, keymap: KeymapFile, session: Session, running: "_Running") -> None:
        setup, server, built = self._setup, running.server, running.built
        settings = SessionSettings(setup, session, server, running.parts.hooks, warn=self._warn)
        door = CommandDoor(
            setup,
            session,
            server,
            running.parts,
            settings,
            inbox=running.inbox,
            place=lambda: place_of(setup, warn=self._warn),
            screen=True,
        )
        showing = Showing(
            app,
            session,
            env=setup.env,
            context=door.context,
            keys_file=keymap.path,
            use_theme=built.use_theme,
            use_layout=built.use_layout,
        )
        door.change(lambda command: _on_screen(command, showing))
        door.attend()
        showing.tell = self._warn
        chat = self._chat = built.make_chat(server, door, showing)
        if has_own_window(setup):
            app.cover(())
        app.stand_on(chat)
        self._greet(app, session, built)
        watched = [asyncio.create_task(work) for work in built.beside(settings, keymap, app)]
        serving = asyncio.create_task(server.serve(wait_for_tasks=_FOREVER, say_waiting=self._warn))
        gc.freeze()
        gc.enable()
        try:
            await serving
            app.end(0)
        finally:
            for task in (serving, *watched):
                task.cancel()
            await asyncio.gather(serving, *watched, return_exceptions=True)

    def _greet(self, app: App, session: Session, built: Stage) -> None:
        setup, chat = self._setup, self._chat
        assert chat is not None
        width = app.size.columns
        if session.entries:
            built.live.say(recent_lines(session.history.messages, width))
        else:
            folder = short_folder(setup.cwd, setup.env)
            built.live.say(welcome(width, version=__version__, model=setup.model, folder=folder))
        for text in setup.config.settings.company_announcements or ():
            chat.tell(text)
        for text in self._early_notes():
            chat.tell(text, "warning")
        if text := " ".join(setup.args.words).strip():
            chat.submit(Draft(text, text, {}))

    def _early_notes(self) -> Sequence[str]:
        notes, self._early_warnings = self._early_warnings, []
        return (*self._setup.problems, *notes)

    def _warn(self, text: str) -> None:
        text = text.removeprefix("warning: ")
        if self._chat is None:
            self._early_warnings.append(text)
        else:
            self._chat.tell(text, "warning")

    def _note_task(self, task: Task) -> None:
        if self._server is not None:
            self._server.note_task(task)


class _Running:
    """The engine of a session that runs."""

    def __init__(self, parts: Parts, server: Server, inbox: Inbox, built: Stage) -> None:
        self.parts = parts
        self.server = server
        self.inbox = inbox
        self.built = built


def _take_over(frame: FirstFrame, app: App) -> bytes:
    """Go on in the rows of the first frame; returns what was typed into it."""
    typed = frame.hand_over()
    if isinstance(app.screen, Screen):
        _, prompt, _ = frame.rows
        app.screen.adopt(early_rows(prompt, frame.columns), frame.cursor)
        app.shows_early = True
    return typed


def _on_screen(command: Command, showing: Showing) -> Command:
    """A command whose views are opened instead of told."""

    async def run(arguments: str, context: Any) -> CommandResult:
        result = await command.run(arguments, context)
        return await showing.show(result) if isinstance(result, Shows) else result

    return msgspec.structs.replace(command, run=run)
