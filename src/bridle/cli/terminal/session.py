"""A session at the terminal, from the command line to its end."""

import asyncio
import gc
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.cli.background.holder_connection import HolderConnection
from bridle.cli.background.listed_session import ListedSession
from bridle.cli.say import say
from bridle.cli.start import Start
from bridle.cli.terminal.appearance import has_own_window, is_read_to, theme_of
from bridle.cli.terminal.consent import (
    ask_for_bypass,
    ask_for_changes,
    ask_for_imports,
    ask_for_schedules,
    ask_for_servers,
    ask_for_trust,
    choose_session,
)
from bridle.cli.terminal.first_run import NO_KEY, ask_for_login, lacks_key
from bridle.cli.terminal.session_view import SessionView
from bridle.config.options import SessionOptions
from bridle.config.state import is_trusted
from bridle.features.background.feature import BACKGROUND
from bridle.frontends.remote.listener import SessionListener
from bridle.frontends.tui.app import App
from bridle.frontends.tui.chat.chat import Chat
from bridle.frontends.tui.early_input import early_rows
from bridle.frontends.tui.editing.editor import Draft
from bridle.frontends.tui.first_frame import FirstFrame
from bridle.frontends.tui.keymap.user_file import KeymapFile
from bridle.frontends.tui.screen.plain_screen import PlainScreen
from bridle.frontends.tui.screen.screen import Screen
from bridle.frontends.tui.screens.controller import ScreenController
from bridle.frontends.tui.terminal.terminal import Terminal
from bridle.host.paths import config_home
from bridle.session.host import Begun, Connection, Host
from bridle.session.open import LiveSession, begin_session, open_session
from bridle.session.prepare import set_up
from bridle.session.setup import Setup
from bridle.transcripts.session import Session
from bridle.types.command import Command, CommandResult, Shows
from bridle.types.errors import SessionError

if TYPE_CHECKING:
    from bridle.cli.background.session_jobs import SessionJobs
    from bridle.frontends.tui.screens.conversation.resume import Resume

_FOREVER = 0.0


def run_in_terminal(options: SessionOptions, env: Mapping[str, str], start: Start) -> int:
    """Run until the user leaves; returns the exit code.

    Raises:
        BridleError: nothing could be begun.
    """
    return serve_in_terminal(set_up(options, env), start)


def serve_in_terminal(setup: Setup, start: Start) -> int:
    """Run a session with flags and settings that are read already.

    Raises:
        BridleError: nothing could be begun.
    """
    running = _TerminalRun(setup, start)
    code = asyncio.run(running.run())
    return code if running.next is None else _open_there(running.next, setup.env)


def _open_there(chosen: "Resume", env: Mapping[str, str]) -> int:
    """Become the program that resumes a conversation in its own folder.

    Raises:
        SessionError: there is no such folder.
    """
    try:
        os.chdir(chosen.folder)
    except OSError as error:
        raise SessionError(
            f"{chosen.folder} cannot be opened ({error.strerror}). "
            f"Resume the conversation here with: bridle --resume {chosen.session_id}"
        ) from error
    program = (sys.executable, "-P", "-m", "bridle", "--resume", chosen.session_id)
    os.execve(program[0], program, {**env, "PWD": chosen.folder})


class _TerminalRun:
    """One program at the terminal."""

    def __init__(self, setup: Setup, start: Start) -> None:
        self._setup = setup
        self._start = start
        self._view: SessionView | None = None
        self._listener: SessionListener | None = None
        self._early_warnings: list[str] = []
        self._chat: Chat | None = None
        self._resumable = ""
        self._farewell = ""
        """What is said instead of how to resume."""
        self.next: Resume | None = None
        """The conversation of another folder that follows this program."""
        self._listed: ListedSession | None = None
        self._jobs: SessionJobs | None = None

    async def run(self) -> int:
        setup, typed = self._setup, b""
        job = setup.options.job
        frame = self._start.take()
        # The terminal of a job ends with its holder: it need not be restored.
        terminal = Terminal(
            env=setup.env, before=None if frame is None else frame.before, guarded=job is None
        )
        is_plain = terminal.capabilities.is_dumb or is_read_to(setup)
        if is_plain and frame is not None:
            typed = frame.undo()
            frame, terminal = None, Terminal(env=setup.env)
        screen = PlainScreen(terminal) if is_plain else Screen(terminal, theme_of(setup, warn=self._warn))
        keymap = KeymapFile(os.path.join(config_home(setup.env), "keybindings.json"))
        for problem in keymap.problems:
            self._warn(str(problem))
        terminal.parting = screen.parting
        terminal.open()
        try:
            app = App(terminal, screen, keymap.keymap)
            if frame is not None:
                typed = _take_over(frame, app)
            listed = self._listed = await ListedSession.open(job, setup)
            listed.attend(app)
            app.spawn(self._begin(app, keymap))
            try:
                code = await app.run(typed=typed)
            finally:
                await listed.close()
        finally:
            terminal.close()
        if self._farewell:
            say(self._farewell)
        elif self._resumable or self._jobs is not None:
            say(self._parting())
        return code

    def _parting(self) -> str:
        """The last lines below the session; a moved conversation is now closed here."""
        moved = "" if self._jobs is None else self._jobs.hand_over()
        again = f"\nResume with: bridle --resume {self._resumable}\n"
        return moved or (again if self._resumable else "")

    async def _begin(self, app: App, keymap: KeymapFile) -> None:
        """Ask what must be known before anything runs, then serve prompts until cancelled."""
        setup = self._setup
        if setup.member is not None:
            # The leader of the team has answered all that.
            await self._serve(app, keymap)
            return
        if not is_trusted(setup.env, setup.cwd):
            trusting = await ask_for_trust(app, setup, self._warn)
            if trusting is None:
                self._farewell = f"{setup.cwd} is not trusted, so bridle did not start.\n"
                app.end(1)
                return
            setup = self._setup = set_up(setup.options, trusting, cwd=setup.cwd)
        elif await ask_for_changes(app, setup):
            setup = self._setup = set_up(setup.options, setup.env, cwd=setup.cwd)
        agreed = self._listed is not None and self._listed.has_agreed
        if not agreed and not await ask_for_bypass(app, setup):
            self._farewell = "Permissions were not bypassed, so bridle did not start.\n"
            app.end(1)
            return
        chosen = await choose_session(app, setup)
        if not isinstance(chosen, Setup):
            if chosen is not None and not (chosen.folder and self._leave_for(chosen)):
                command = f"{chosen.command} --fork-session" if chosen.fork else chosen.command
                self._farewell = f"It belongs to another folder. Resume it there:\n\n  {command}\n"
            app.end(0)
            return
        setup = self._setup = chosen
        if setup.options.job is None and lacks_key(setup):
            ready = await ask_for_login(app, setup)
            if ready is None:
                self._warn(NO_KEY)
            setup = self._setup = ready or setup
        await ask_for_servers(app, setup)
        await ask_for_schedules(app, setup)
        await ask_for_imports(app, setup)
        await self._serve(app, keymap)

    async def _serve(self, app: App, keymap: KeymapFile) -> None:
        setup = self._setup
        host = Host(setup=setup, warn=self._warn, tell=self._warn, shows_views=True, defers=False)
        begun = begin_session(setup.options, host)
        async with open_session(begun, self._connect(app, begun)) as live:
            try:
                await self._talk(app, keymap, live)
            finally:
                self._part(live)

    def _connect(self, app: App, begun: Begun) -> Connection:
        setup, session = begun.setup, begun.session
        reporter = None if self._listed is None else self._listed.reporter
        view = self._view = SessionView(app, setup, session, warn=self._warn, reporter=reporter)
        holder = None if self._listed is None else self._listed.holder
        listener = self._listener = SessionListener(
            setup,
            session,
            view.channel,
            here="the terminal",
            show=self._show,
            hand_over=None if holder is None else partial(_keep_address, holder),
            answered=view.channel.note_answer,
            on_change=app.redraw,
        )
        return Connection(channel=listener.channel, listener=listener)

    def _part(self, live: LiveSession) -> None:
        """No one talks to the session any more."""
        if self._view is not None:
            self._view.channel.finish(live.server.last)
        if live.session.entries and not self._setup.options.no_session_persistence:
            self._resumable = live.session.id

    async def _talk(self, app: App, keymap: KeymapFile, live: LiveSession) -> None:
        setup, server, view, listener = self._setup, live.server, self._view, self._listener
        assert view is not None and listener is not None
        listener.attend(server)
        showing = ScreenController(
            app,
            live.session,
            env=setup.env,
            context=live.commands.context,
            keys_file=keymap.path,
            use_theme=view.use_theme,
            use_layout=view.use_layout,
        )
        live.commands.change(lambda command: _on_screen(command, showing))
        self._jobs = self._background_sessions(app, live)
        if (background := server.runtime.features.find(BACKGROUND)) is not None:
            background.sessions = self._jobs
        showing.tell = self._warn
        showing.leave_for = self._leave_for
        chat = self._chat = self._jobs.chat = view.make_chat(server, live.commands, showing)
        if has_own_window(setup):
            app.cover(())
        app.stand_on(chat)
        self._greet(app, live.session, view)
        watched = [asyncio.create_task(work) for work in view.background_work(live.settings, keymap, app)]
        serving = asyncio.create_task(live.serve(wait_for_tasks=_FOREVER))
        gc.freeze()
        gc.enable()
        try:
            # Unlike `await serving`, this does not cancel the turn before the lines below have run.
            await asyncio.wait([serving])
            await serving
            app.end(0)
        finally:
            if setup.member is not None:
                setup.member.begin_leaving()
            for task in (serving, *watched):
                task.cancel()
            await asyncio.gather(serving, *watched, return_exceptions=True)

    def _background_sessions(self, app: App, live: LiveSession) -> "SessionJobs":
        """What the session has to do with others in the background; it can be talked to from now on."""
        from bridle.cli.background.session_jobs import SessionJobs

        setup, listed, session = self._setup, self._listed, live.session
        assert listed is not None and self._view is not None
        listed.begin(
            app,
            session.id,
            setup.cwd,
            recent=self._view.recent,
            has_prompt=bool(setup.options.prompt),
        )
        workspace = live.server.runtime.workspace
        if listed.holder is not None:
            listed.holder.take_over(workspace)
        return SessionJobs(app, setup, session, holder=listed.holder, workspace=workspace)

    def _greet(self, app: App, session: Session, view: SessionView) -> None:
        setup, chat = self._setup, self._chat
        assert chat is not None
        view.live.say(view.recent())
        if session.entries:
            chat.show_kept_tasks()
        for text in setup.config.settings.company_announcements or ():
            chat.tell(text)
        for text in self._early_notes():
            chat.tell(text, "warning")
        if text := setup.options.prompt.strip():
            chat.submit(Draft(text, text, {}))
        elif session.entries:
            chat.offer_rest()
        if setup.options.draft:
            chat.input.editor.set(setup.options.draft)
        if setup.options.draft_note:
            chat.tell(setup.options.draft_note, "warning")

    def _leave_for(self, chosen: "Resume") -> bool:
        """Open a conversation in its own folder once this program has ended; a background session stays."""
        if self._setup.options.job is not None:
            return False
        self.next = chosen
        return True

    def _early_notes(self) -> Sequence[str]:
        notes, self._early_warnings = self._early_warnings, []
        return (*self._setup.problems, *notes)

    def _warn(self, text: str) -> None:
        text = text.removeprefix("warning: ")
        if self._chat is None:
            self._early_warnings.append(text)
        else:
            self._chat.tell(text, "warning")

    def _show(self, text: str) -> None:
        """Put something on the screen and nowhere else."""
        if self._chat is not None:
            self._chat.tell(text, "info")


def _keep_address(holder: HolderConnection, address: str) -> str:
    """Give an address to the holder of a background session; returns how to see it."""
    holder.keep_address(address)
    return f"run: bridle remote show {holder.job}"


def _take_over(frame: FirstFrame, app: App) -> bytes:
    """Take over the rows of the first frame; returns what was typed into it."""
    typed = frame.hand_over()
    if isinstance(app.screen, Screen):
        _, prompt, _ = frame.rows
        app.screen.adopt(early_rows(prompt, frame.columns), frame.cursor)
        app.shows_early = True
    return typed


def _on_screen(command: Command, showing: ScreenController) -> Command:
    """A command whose screens are opened instead of printed."""

    async def run(arguments: str, context: Any) -> CommandResult:
        result = await command.run(arguments, context)
        return await showing.show(result) if isinstance(result, Shows) else result

    return msgspec.structs.replace(command, run=run)
