"""A session at the terminal, from the command line to its end."""

import asyncio
import contextlib
import gc
import os.path
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bridle.cli import choices
from bridle.cli.args import Args
from bridle.cli.command_door import CommandDoor
from bridle.cli.compose import Brought, Parts, assemble, open_session, place_of, set_up
from bridle.cli.fronts import debug_logs
from bridle.cli.live_settings import SessionSettings
from bridle.cli.setup import Setup
from bridle.cli.start import Start
from bridle.cli.terminal_consent import ask_for_bypass, ask_for_servers, ask_for_trust, choose_session
from bridle.config.schema import SpinnerVerbs
from bridle.config.state import is_trusted
from bridle.engine.serve import Inbox, Server
from bridle.frontends.tui.app import App
from bridle.frontends.tui.channel import TerminalChannel
from bridle.frontends.tui.chat import Chat
from bridle.frontends.tui.chat import Parts as ChatParts
from bridle.frontends.tui.colors import Rgb
from bridle.frontends.tui.complete.files import FileIndex
from bridle.frontends.tui.dialogs.plan import START, StartAfresh
from bridle.frontends.tui.editor import Draft
from bridle.frontends.tui.history import History
from bridle.frontends.tui.input_area import InputArea, Surroundings
from bridle.frontends.tui.keymap_file import KeymapFile
from bridle.frontends.tui.keys import Answer
from bridle.frontends.tui.live import Live
from bridle.frontends.tui.notify import Notifier
from bridle.frontends.tui.opening import recent_lines, welcome
from bridle.frontends.tui.plain_screen import PlainScreen
from bridle.frontends.tui.questioner import Questioner
from bridle.frontends.tui.render.status import Status, context_share
from bridle.frontends.tui.screen import Screen
from bridle.frontends.tui.showing import Showing
from bridle.frontends.tui.status import StatusCommand
from bridle.frontends.tui.submission import Talk
from bridle.frontends.tui.terminal import Terminal
from bridle.frontends.tui.text import line
from bridle.frontends.tui.theme import Theme, detect_depth, detect_links, ground_of_environment, make_theme
from bridle.frontends.tui.work import Work
from bridle.host.paths import config_home
from bridle.host.watch import next_change, stamps
from bridle.sessions.session import Session
from bridle.types.command import Command, CommandResult, Shows
from bridle.types.task import Task
from bridle.version import COMPATIBLE_WITH, __version__

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
        setup = self._setup
        frame = self._start.take()
        terminal = Terminal(env=setup.env, before=None if frame is None else frame.before)
        is_plain = terminal.capabilities.is_dumb or _is_read_to(setup)
        if is_plain and frame is not None:
            frame.undo()
            frame, terminal = None, Terminal(env=setup.env)
        screen = PlainScreen(terminal) if is_plain else Screen(terminal, _theme(setup))
        keymap = KeymapFile(os.path.join(config_home(setup.env), "keybindings.json"))
        terminal.parting = screen.parting
        terminal.open()
        try:
            if frame is not None:
                frame.hand_over()
                if isinstance(screen, Screen):
                    screen.adopt([line(text) for text in frame.rows], frame.cursor)
            app = App(terminal, screen, keymap.keymap)
            app.spawn(self._begin(app, keymap))
            code = await app.run()
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
        session = open_session(setup, warn=self._warn)
        await self._serve(app, keymap, session)

    async def _serve(self, app: App, keymap: KeymapFile, session: Session) -> None:
        setup, inbox = self._setup, Inbox()
        built = _Built(self, app, setup, session)
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
        )
        door.change(lambda command: _on_screen(command, showing))
        door.attend()
        chat = self._chat = built.make_chat(server, door, showing)
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

    def _greet(self, app: App, session: Session, built: "_Built") -> None:
        setup, chat = self._setup, self._chat
        assert chat is not None
        width = app.size.columns
        if session.entries:
            built.live.say(recent_lines(session.history.messages, width))
        else:
            folder = _short_folder(setup.cwd, setup.env)
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

    def __init__(self, parts: Parts, server: Server, inbox: Inbox, built: "_Built") -> None:
        self.parts = parts
        self.server = server
        self.inbox = inbox
        self.built = built


class _Built:
    """What shows a session; it is there before the session can run."""

    def __init__(self, run: _TerminalRun, app: App, setup: Setup, session: Session) -> None:
        settings = setup.config.settings
        clock = time.monotonic
        self._app, self._setup, self._session = app, setup, session
        self._server: Server | None = None
        self._chat: Chat | None = None

        def width() -> int:
            return max(app.size.columns, 1)

        self.live = Live(
            app.write,
            width=width,
            clock=clock,
            more_key=lambda: app.label("app:toggleTranscript"),
            expanded=lambda: setup.args.on("verbose") or settings.verbose is True,
            quiet=app.is_plain,
        )
        is_calm = settings.prefers_reduced_motion is True
        self.work = Work(clock, verbs=_verbs(settings.spinner_verbs), is_calm=is_calm)
        self.notifier = Notifier(
            app.terminal,
            channel=settings.preferred_notif_channel or "auto",
            bar=settings.terminal_progress_bar_enabled is not False,
            clock=clock,
        )
        self.questioner = Questioner(
            app,
            self.notifier,
            cwd=self._cwd,
            env=setup.env,
            modes=lambda: () if self._server is None else self._server.runtime.modes,
            context_share=lambda: context_share(self.status()),
            start_afresh=self._start_afresh,
            tell=run._warn,
        )
        self.channel = TerminalChannel(
            self.live,
            self.work,
            self.notifier,
            width=width,
            clock=clock,
            ask=self.questioner.ask,
            redraw=app.redraw,
            observers=debug_logs(setup, session),
            says_duration=settings.show_turn_duration is not False,
        )
        self.status_command = self._status_command()

    def make_chat(self, server: Server, door: CommandDoor, showing: Showing) -> Chat:
        """The conversation, once there is somebody to talk to."""
        setup, settings = self._setup, self._setup.config.settings
        self._server = server

        async def run_now(command: Command, arguments: str) -> CommandResult:
            return await command.run(arguments, door.context())

        around = Surroundings(
            cwd=self._cwd,
            index=FileIndex(setup.cwd, setup.env),
            commands=door.all,
        )
        input = InputArea(
            around,
            History(config_home(setup.env), setup.cwd, self._session.id),
            vim=settings.editor_mode == "vim",
            readline=settings.keybinding_flavor == "readline",
        )
        talk = Talk(
            session=self._session,
            server=server,
            commands=door,
            run_now=run_now,
            responds_to_shell=settings.respond_to_bash_commands is not False,
            env=setup.env,
        )
        parts = ChatParts(
            live=self.live,
            work=self.work,
            input=input,
            notifier=self.notifier,
            channel=self.channel,
            questioner=self.questioner,
            status=self.status,
            status_command=self.status_command,
            on_answer=self._learn,
            transcript=showing.transcript,
        )
        self._chat = Chat(self._app, talk, parts)
        showing.put_prompt = input.editor.set
        return self._chat

    def beside(self, settings: SessionSettings, keymap: KeymapFile, app: App) -> list[Any]:
        """What goes on beside the turns."""
        works: list[Any] = [settings.run(), _follow_keys(keymap, app)]
        if self.status_command is not None:
            self.status_command.refresh()
            works.append(self.status_command.run())
        return works

    def status(self) -> Status:
        """How the session stands."""
        session, server = self._session, self._server
        state = session.state
        window = 0 if server is None else server.runtime.facts(state.model).context_window
        measured = state.measured
        return Status(
            model=_short_model(state.model),
            mode=state.mode,
            folder=os.path.basename(self._cwd()) or "/",
            branch=session.git_branch,
            context_used=0 if measured is None else measured.tokens,
            context_window=window if measured is not None else 0,
            cost_usd=session.total_cost_usd,
        )

    def use_theme(self, name: str) -> None:
        """Show everything in other colours."""
        screen = self._app.screen
        if isinstance(screen, Screen):
            ground = self._app.terminal.capabilities.ground
            screen.repaint(_theme(self._setup, ground, name=name))

    def _learn(self, answer: Answer) -> None:
        """Follow the background of the terminal, where the theme is left to us."""
        screen = self._app.screen
        if self._setup.config.settings.theme or answer.kind != "color" or not isinstance(screen, Screen):
            return
        theme = _theme(self._setup, self._app.terminal.capabilities.ground)
        if not theme.is_dark:
            screen.repaint(theme)

    def _status_command(self) -> StatusCommand | None:
        wanted = self._setup.config.settings.status_line
        if wanted is None or choices.is_bare(self._setup.args, self._setup.env):
            return None
        return StatusCommand(
            wanted, facts=self._facts, env=lambda: self._setup.env, cwd=self._cwd, on_change=self._app.redraw
        )

    def _facts(self) -> Mapping[str, Any]:
        """What a status line command is told."""
        session, status, setup = self._session, self.status(), self._setup
        share = context_share(status) or 0.0
        path = None if self._server is None else self._server.runtime.transcript
        return {
            "session_id": session.id,
            "transcript_path": path or "",
            "cwd": self._cwd(),
            "model": {"id": session.state.model, "display_name": status.model},
            "workspace": {"current_dir": self._cwd(), "project_dir": setup.cwd, "added_dirs": []},
            "version": COMPATIBLE_WITH,
            "output_style": {"name": setup.config.settings.output_style or "default"},
            "cost": {"total_cost_usd": session.total_cost_usd},
            "context_window": {
                "context_window_size": status.context_window,
                "total_input_tokens": status.context_used,
                "used_percentage": round(share * 100),
                "remaining_percentage": round((1 - share) * 100),
            },
            "exceeds_200k_tokens": status.context_used > 200_000,
        }

    def _start_afresh(self, wanted: StartAfresh) -> None:
        """Carry a plan out in a conversation that holds nothing else."""
        chat, session = self._chat, self._session
        if chat is None:
            return
        chat.run_command("/clear")
        session.swap(mode=wanted.mode)
        text = START.format(plan=wanted.plan)
        chat.submit(Draft(text, text, {}))

    def _cwd(self) -> str:
        return self._setup.cwd if self._server is None else self._server.runtime.workspace.cwd


def _on_screen(command: Command, showing: Showing) -> Command:
    """A command whose views are opened instead of told."""

    async def run(arguments: str, context: Any) -> CommandResult:
        result = await command.run(arguments, context)
        return await showing.show(result) if isinstance(result, Shows) else result

    return msgspec.structs.replace(command, run=run)


async def _follow_keys(keymap: KeymapFile, app: App) -> None:
    known = stamps([keymap.path])
    while True:
        known = await next_change(known)
        if keymap.refresh():
            app.change_keys(keymap.keymap)


def _theme(setup: Setup, ground: Rgb | None = None, *, name: str | None = None) -> Theme:
    env = setup.env
    return make_theme(
        name or setup.config.settings.theme or "auto",
        depth=detect_depth(env),
        links=detect_links(env),
        ground=ground or ground_of_environment(env),
    )


def _is_read_to(setup: Setup) -> bool:
    return (
        setup.args.on("ax-screen-reader")
        or setup.config.settings.ax_screen_reader is True
        or setup.env.get("CLAUDE_AX_SCREEN_READER", "0") not in ("", "0")
    )


def _verbs(wanted: SpinnerVerbs | None) -> Sequence[str]:
    return () if wanted is None else tuple(wanted.verbs or ())


def _short_model(model: str) -> str:
    """`sonnet-4-5` for `claude-sonnet-4-5-20250929`."""
    name = model.rpartition("/")[2].removeprefix("claude-")
    head, _, last = name.rpartition("-")
    return head if head and last.isdecimal() and len(last) == 8 else name


def _short_folder(cwd: str, env: Mapping[str, str]) -> str:
    home = env.get("HOME") or os.path.expanduser("~")
    return f"~{cwd[len(home) :]}" if home != "/" and (cwd + "/").startswith(home + "/") else cwd
