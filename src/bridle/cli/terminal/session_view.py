"""What shows a session at the terminal: the conversation, its status, and the questions in it."""

import os.path
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bridle.cli.terminal.appearance import patience_of, short_folder, short_model, theme_of, tips_of, verbs_of
from bridle.cli.terminal.facts import SessionFacts
from bridle.engine.feature import Features
from bridle.engine.server import Server
from bridle.features.editors.feature import EDITORS
from bridle.frontends.print.output import debug_logs
from bridle.frontends.tui.app import App
from bridle.frontends.tui.chat.agent_rows import AgentRows
from bridle.frontends.tui.chat.channel import TerminalChannel
from bridle.frontends.tui.chat.chat import Chat
from bridle.frontends.tui.chat.dialog_queue import DialogQueue
from bridle.frontends.tui.chat.parts import ChatParts
from bridle.frontends.tui.chat.progress import TurnProgress
from bridle.frontends.tui.chat.status_line import StatusCommand
from bridle.frontends.tui.chat.submission import SessionLink
from bridle.frontends.tui.chat.tips import TipFacts, facts_now, tips_from
from bridle.frontends.tui.chat.turn import TurnView
from bridle.frontends.tui.chat.welcome import Welcome, recent_lines, welcome
from bridle.frontends.tui.completion.files import FileIndex
from bridle.frontends.tui.editing.editor import Draft
from bridle.frontends.tui.editing.history import History
from bridle.frontends.tui.editing.input_area import CompletionSources, InputArea
from bridle.frontends.tui.keymap.user_file import KeymapFile
from bridle.frontends.tui.render.status import Status, context_share
from bridle.frontends.tui.screen.mouse_wheel import MouseWheel
from bridle.frontends.tui.screen.screen import Screen
from bridle.frontends.tui.screens.controller import ScreenController
from bridle.frontends.tui.terminal.keys import Answer
from bridle.frontends.tui.terminal.notifications import Notifier
from bridle.host.file_watch import next_change, stamps
from bridle.host.paths import config_home, project_dir
from bridle.session import choices
from bridle.session.commands import SessionCommands
from bridle.session.settings import SessionSettings
from bridle.session.setup import Setup
from bridle.transcripts.conversation import call_data, ran_inputs
from bridle.transcripts.session import Session
from bridle.types.command import Command, CommandResult
from bridle.types.services.remote import REMOTE
from bridle.types.variables import is_on
from bridle.version import __version__

if TYPE_CHECKING:
    from bridle.cli.background.state_reports import Reporter
    from bridle.features.plan_mode.answers import PlanAnswer
    from bridle.frontends.tui.chat.footer_links import FooterLinks
    from bridle.frontends.tui.completion.file_command import FileCommand
    from bridle.frontends.tui.editing.spelling import Spelling
    from bridle.frontends.tui.style.text import Line
    from bridle.transcripts.listing import SessionInfo


class SessionView:
    """What shows a session; it is there before the session can run."""

    def __init__(
        self,
        app: App,
        setup: Setup,
        session: Session,
        *,
        warn: Callable[[str], None],
        reporter: "Reporter | None" = None,
    ) -> None:
        settings = setup.config.settings
        clock = time.monotonic
        self._app, self._setup, self._session = app, setup, session
        self._warn = warn
        self._server: Server | None = None
        self._chat: Chat | None = None
        self._settings: SessionSettings | None = None
        self.spelling: Spelling | None = None
        self._facts = SessionFacts(
            setup, session, runtime=lambda: None if self._server is None else self._server.runtime
        )

        def width() -> int:
            return max(app.size.columns, 1)

        self.live = TurnView(
            app.write,
            width=width,
            clock=clock,
            more_key=lambda: app.label("app:toggleTranscript"),
            background_key=lambda: app.label("task:background"),
            expanded=self._is_verbose,
            shows_calls=lambda: self._view() != "focus",
            quiet=app.is_plain,
            thoughts=settings.show_thinking_summaries is True,
        )
        wheel = MouseWheel(setup.env, accelerates=settings.wheel_scroll_acceleration_enabled is not False)
        wheel = None if is_on(setup.env, "CLAUDE_CODE_DISABLE_MOUSE") else wheel
        app.scroll_with(wheel, follows=settings.auto_scroll_enabled is not False)
        is_calm = settings.prefers_reduced_motion is True
        verbs, (tips, tip_seconds) = verbs_of(settings.spinner_verbs), tips_of(settings, setup.env)
        self.work = TurnProgress(
            clock,
            verbs=verbs,
            next_tip=lambda words: "" if tips is None else tips.next(self._tip_facts(words)),
            tip_seconds=tip_seconds,
            is_calm=is_calm,
        )
        self.notifier = Notifier(
            app.terminal,
            channel=settings.preferred_notif_channel or "auto",
            bar=settings.terminal_progress_bar_enabled is not False,
            clock=clock,
        )
        self.questioner = DialogQueue(
            app,
            self.notifier,
            cwd=self._cwd,
            env=setup.env,
            modes=lambda: () if self._server is None else self._server.runtime.gate.modes,
            context_share=lambda: context_share(self.status()),
            start_afresh=self._start_afresh,
            tell=warn,
            script_of=self._script_of,
            offers_new=settings.show_clear_context_on_plan_accept is True,
            patience=patience_of(settings, setup.env),
        )
        self.links = self._footer_links()
        self.channel = TerminalChannel(
            self.live,
            self.work,
            self.notifier,
            width=width,
            clock=clock,
            ask=self.questioner.ask if reporter is None else reporter.asking(self.questioner.ask),
            redraw=app.redraw,
            observers=(
                self._facts,
                *(() if reporter is None else (reporter,)),
                *debug_logs(setup, session),
                *(() if self.links is None else (self.links,)),
            ),
            says_duration=settings.show_turn_duration is not False,
            images=self._images,
        )
        self.status_command = self._status_command()
        self.agent_rows = self._agent_rows()
        self.file_command = self._file_command()

    def make_chat(self, server: Server, commands: SessionCommands, showing: ScreenController) -> Chat:
        """The conversation, once the server runs."""
        setup, settings = self._setup, self._setup.config.settings
        self._server = server

        async def run_now(command: Command, arguments: str) -> CommandResult:
            return await command.run(arguments, commands.context())

        around = CompletionSources(
            cwd=self._cwd,
            index=self.file_command
            or FileIndex(setup.cwd, setup.env, ignored_too=settings.respect_gitignore is False),
            commands=commands.all,
        )
        input = InputArea(
            around,
            History(config_home(setup.env), setup.cwd, self._session.id),
            vim=settings.editor_mode == "vim",
            remaps=settings.vim_insert_mode_remaps,
            readline=settings.keybinding_flavor == "readline",
            emoji=settings.emoji_completion_enabled is not False,
        )
        self._facts.vim = lambda: None if input.vim is None else input.vim.mode
        input.spelling = self.spelling = self._spelling()
        talk = SessionLink(
            session=self._session,
            server=server,
            commands=commands,
            run_now=run_now,
            responds_to_shell=settings.respond_to_bash_commands is not False,
            shell=settings.default_shell or "bash",
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
            agent_rows=self.agent_rows,
            on_answer=self._learn,
            transcript=showing.transcript,
            links=self.links,
            titles_from_names=settings.terminal_title_from_rename is not False,
        )
        self._chat = Chat(self._app, talk, parts)
        showing.put_prompt = input.editor.set
        showing.unanswered = lambda: "running" if self.work.is_busy else "interrupted"
        self._follow_editor(server, input)
        if self.file_command is not None:
            self.file_command.on_change = lambda: self._complete_again(input)
        return self._chat

    def background_work(self, settings: SessionSettings, keymap: KeymapFile, app: App) -> list[Any]:
        """The tasks that run in the background of the turns."""
        works: list[Any] = [settings.run(), self._follow_keys(keymap, app)]
        if self.status_command is not None:
            self.status_command.refresh()
            works.append(self.status_command.run())
        self._settings = settings
        if self.file_command is not None:
            works.append(self.file_command.run())
        if self.spelling is not None:
            works.append(self.spelling.run())
        if self.agent_rows is not None:
            works.append(self.agent_rows.run())
        return works

    def recent(self) -> "list[Line]":
        """What to show first: the end of the conversation, or a greeting."""
        session, width = self._session, max(self._app.size.columns, 1)
        if session.entries:
            return self._recent_lines(width)
        return welcome(width, self._welcome, now=time.time())

    @cached_property
    def _welcome(self) -> Welcome:
        """What a new session is greeted with; the same when another terminal attaches."""
        from bridle.frontends.session_facts import key_source

        setup = self._setup
        folder = "" if is_on(setup.env, "CLAUDE_CODE_HIDE_CWD") else short_folder(setup.cwd, setup.env)
        source = key_source(setup)
        last = _last_conversation(setup, self._session.id)
        return Welcome(
            version=__version__,
            model=setup.model,
            key="" if source == "none" else f"key from {source}",
            folder=folder,
            branch=self._session.git_branch,
            last="" if last is None else last.summary,
            last_time=None if last is None else last.last_modified / 1000,
            tips=_tips(setup),
        )

    def _tip_facts(self, words: str) -> TipFacts:
        session = self._session
        return facts_now(self._cwd(), words=words, branch=session.git_branch, mode=session.state.mode)

    def status(self) -> Status:
        """The state of the session for the status row."""
        session, server = self._session, self._server
        state = session.state
        window = 0 if server is None else server.runtime.facts(state.model).context_window
        measured = state.measured
        features = Features() if server is None else server.runtime.features
        editors, remote = features.find(EDITORS), features.find(REMOTE)
        jobs = () if server is None else server.runtime.workspace.jobs()
        running = [each for each in jobs if each.status == "running" and each.backgrounded]
        return Status(
            model=short_model(state.model),
            mode=state.mode,
            folder=os.path.basename(self._cwd()) or "/",
            branch=session.git_branch,
            context_used=0 if measured is None else measured.tokens,
            context_window=window if measured is not None else 0,
            cost_usd=session.total_cost_usd,
            shared="" if remote is None else remote.sign,
            editor="" if editors is None else editors.label(),
            tasks=self.channel.tasks.count,
            shells=sum(each.kind in ("local_bash", "monitor") for each in running),
            agents=sum(each.kind == "local_agent" for each in running),
            mode_key=self._app.label("chat:cycleMode"),
        )

    def use_theme(self, name: str) -> None:
        """Show everything in other colors."""
        screen = self._app.screen
        if isinstance(screen, Screen):
            background = self._app.terminal.capabilities.background
            screen.repaint(theme_of(self._setup, background, name=name))

    def use_layout(self, name: str) -> None:
        """Give the conversation a window to itself (`fullscreen`), or go back to the scrollback."""
        if name == "fullscreen":
            self._app.cover(self._recent_lines(max(self._app.size.columns, 1)))
        else:
            self._app.uncover()

    def _recent_lines(self, width: int) -> "list[Line]":
        session = self._session
        data, ran = call_data(session.entries), ran_inputs(session.entries)
        return recent_lines(session.history.messages, width, data=data, ran=ran)

    def _images(self, blocks: Sequence[Any]) -> "list[Line]":
        """Images as this terminal draws them; none where it cannot, or where only lines are wanted."""
        app = self._app
        if app.is_plain or app.is_covering or self._setup.config.settings.bridle_inline_images is False:
            return []
        # Most terminals draw none, and most conversations have none.
        from bridle.frontends.tui.terminal import inline_images

        how = inline_images.protocol(app.terminal.env, app.terminal.capabilities)
        return (
            [] if how is None else inline_images.draw(blocks, how, inline_images.window(app.terminal.output))
        )

    def _learn(self, answer: Answer) -> None:
        """Follow the background of the terminal, where the theme is left to us."""
        screen = self._app.screen
        is_auto = (self._setup.config.settings.theme or "auto") == "auto"
        if not is_auto or answer.kind != "color" or not isinstance(screen, Screen):
            return
        theme = theme_of(self._setup, self._app.terminal.capabilities.background)
        if not theme.is_dark:
            screen.repaint(theme)

    def _status_command(self) -> StatusCommand | None:
        wanted = self._setup.config.settings.status_line
        if wanted is None or not self._may_run("statusLine"):
            return None
        return StatusCommand(
            wanted,
            facts=self._facts.status,
            env=lambda: self._setup.env,
            cwd=self._cwd,
            on_change=self._app.redraw,
        )

    def _file_command(self) -> "FileCommand | None":
        wanted = self._setup.config.settings.file_suggestion
        if wanted is None or not self._may_run("fileSuggestion"):
            return None
        # Few have one.
        from bridle.frontends.tui.completion.file_command import FileCommand

        return FileCommand(wanted.command, root=self._setup.cwd, env=lambda: self._setup.env, warn=self._warn)

    def _footer_links(self) -> "FooterLinks | None":
        if not (wanted := self._setup.config.settings.footer_links_regexes):
            return None
        # Few have any.
        from bridle.frontends.tui.chat.footer_links import FooterLinks

        return FooterLinks(wanted, self._warn)

    def _spelling(self) -> "Spelling | None":
        wanted = self._setup.config.settings.spellcheck
        if wanted is None or not wanted.enabled:
            return None
        # Few use it.
        from bridle.frontends.tui.editing.spelling import Spelling

        return Spelling(wanted, env=self._setup.env, warn=self._warn, on_change=self._app.redraw)

    def _is_verbose(self) -> bool:
        setup = self._setup
        asked = setup.options.verbose or setup.config.settings.verbose is True
        return asked or self._view() == "verbose"

    def _view(self) -> str | None:
        """How much of a turn is shown: `verbose`, `focus`, or as usual."""
        config = self._setup.config if self._settings is None else self._settings.config()
        return config.settings.view_mode

    def _agent_rows(self) -> AgentRows | None:
        """The user's own command comes before that of a plugin."""
        setup = self._setup
        wanted = setup.config.settings.subagent_status_line
        plugins = None if setup.early is None else setup.early.plugins
        found = (wanted.command, {}) if wanted is not None else plugins and plugins.agent_rows()
        if not found or not self._may_run("subagentStatusLine") or self._app.is_plain:
            return None
        command, variables = found
        rows = AgentRows(
            command,
            running=self.channel.agents.running_beside,
            facts=lambda running: self._facts.agents(running, max(self._app.size.columns, 1)),
            env=lambda: {**setup.env, **variables},
            cwd=self._cwd,
            on_change=self._app.redraw,
        )
        self.channel.on_agents = rows.refresh
        return rows

    def _complete_again(self, input: InputArea) -> None:
        input.refresh()
        self._app.redraw()

    def _follow_editor(self, server: Server, input: InputArea) -> None:
        """Show what the editor beside the session tells, and take what it wants to be mentioned."""
        if (editors := server.runtime.features.find(EDITORS)) is None:
            return

        def mention(text: str) -> None:
            before = input.editor.text[: input.editor.cursor]
            input.editor.insert(f"{' ' if before and not before[-1].isspace() else ''}{text} ")
            self._app.redraw()

        editors.on_mention = mention
        editors.on_change = self._app.redraw

    def _may_run(self, key: str) -> bool:
        """Whether the command of a setting runs: commands are off, or managed only, wherever hooks are."""
        setup, settings = self._setup, self._setup.config.settings
        managed = [each.values for each in setup.config.layers if each.source == "policySettings"]
        if choices.is_bare(setup.options, setup.env) or any(each.get("disableAllHooks") for each in managed):
            return False
        if settings.disable_all_hooks or settings.allow_managed_hooks_only:
            return any(key in each for each in managed)
        return True

    async def _start_afresh(self, chosen: "PlanAnswer") -> None:
        """Carry a plan out in a conversation that holds nothing else."""
        chat, server = self._chat, self._server
        if chat is None or server is None or chosen.next_prompt is None:
            return
        from bridle.features.plan_mode.answers import start_afresh

        await start_afresh(self._session, server.runtime, chosen)
        chat.run_command("/clear")
        chat.submit(Draft(chosen.next_prompt, chosen.next_prompt, {}))

    def _script_of(self, input: Mapping[str, Any]) -> str | None:
        """The file of a workflow that a call only names."""
        from bridle.frontends.tui.dialogs.workflow import script_path

        return None if self._server is None else script_path(input, self._server.runtime)

    async def _follow_keys(self, keymap: KeymapFile, app: App) -> None:
        known = stamps([keymap.path])
        while True:
            known = await next_change(known)
            if keymap.refresh():
                app.change_keys(keymap.keymap)
                for problem in keymap.problems:
                    self._warn(str(problem))

    def _cwd(self) -> str:
        return self._setup.cwd if self._server is None else self._server.runtime.workspace.cwd


def _tips(setup: Setup) -> tuple[str, ...]:
    """Of which the welcome shows the first that fits."""
    if setup.config.settings.spinner_tips_enabled is False:
        return ()
    own = setup.env.get("BRIDLE_TIP")
    return (own,) if own else tips_from(time.time())


def _last_conversation(setup: Setup, session_id: str) -> "SessionInfo | None":
    """The newest conversation of this folder that can be continued."""
    if not os.path.isdir(project_dir(setup.cwd, setup.env)):
        return None
    # Only those who have been here before need it.
    from bridle.transcripts.listing import list_sessions

    found = list_sessions(setup.env, directory=setup.cwd, limit=2, include_worktrees=False)
    return next((each for each in found if each.session_id != session_id), None)
