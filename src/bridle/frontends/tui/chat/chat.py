"""The conversation at the terminal: the running turn above, the prompt below."""

import asyncio
import os
import time
from typing import TYPE_CHECKING

from bridle.frontends.tui.app import App
from bridle.frontends.tui.chat.actions import ChatActions, next_mode
from bridle.frontends.tui.chat.command_runner import CommandRunner
from bridle.frontends.tui.chat.footer import ChatFooter
from bridle.frontends.tui.chat.idle_timer import IdleTimer
from bridle.frontends.tui.chat.notices import Notice, NoticeQueue
from bridle.frontends.tui.chat.parts import ChatParts
from bridle.frontends.tui.chat.queue import PromptQueue
from bridle.frontends.tui.chat.side_rows import agent_rows, todo_rows
from bridle.frontends.tui.chat.submission import LEAVING, SessionLink, command_name
from bridle.frontends.tui.chat.user_shell import UserShell
from bridle.frontends.tui.editing.editor import Draft
from bridle.frontends.tui.editing.editor_view import PromptStyle
from bridle.frontends.tui.editing.images import dropped_image
from bridle.frontends.tui.editing.input_hints import edge_of, prompt_look, shortcut_rows
from bridle.frontends.tui.keymap.double_press import DoublePress
from bridle.frontends.tui.render import messages
from bridle.frontends.tui.render.layout import MUTED, one_line
from bridle.frontends.tui.screen.view import Frame
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.terminal.keys import Answer, Focus, Key
from bridle.types.event import ConversationReset, PromptMoved, PromptSuggested
from bridle.types.model import Thinking
from bridle.types.origin import PROGRAM
from bridle.types.services.voice import VOICE
from bridle.types.turn import Outcome, Prompt
from bridle.types.variables import is_on

if TYPE_CHECKING:
    from bridle.frontends.tui.chat.dictation import Dictation

_COST_STEP_USD = 5.0
_INVITATION = 'ask for anything, "/" for commands'
_MOST_TITLE = 60


class Chat:
    """Keeps the queue, and knows what keys mean while nothing else is open."""

    def __init__(self, app: App, talk: SessionLink, parts: ChatParts) -> None:
        self._app = app
        self._talk = talk
        self._parts = parts
        self._live, self._work, self.input = parts.live, parts.work, parts.input
        self._queue = PromptQueue(talk.server, parts.input)
        self._chores = ChatActions(app, talk, parts.input, parts.live, self)
        self._shell = UserShell(app, talk, parts.live, parts.questioner.own_calls)
        self._twice = DoublePress(app.redraw)
        self._commands = CommandRunner(app, talk, self)
        self._notices = NoticeQueue(time.monotonic)
        self._footer = ChatFooter(app, talk, parts, self._twice, self._notices)
        self._shows_tasks = True
        self._shows_keys = False
        self._idle = IdleTimer(self._notify_idle)
        self._acknowledged_usd = 0.0
        self._title = ""
        self._suggestion = ""
        self._dictation: Dictation | None = None
        parts.channel.listener = self
        if os.path.basename(talk.session.cwd):
            self._show_title(os.path.basename(talk.session.cwd))

    @property
    def is_busy(self) -> bool:
        return self._work.is_busy or self._shell.is_running

    @property
    def queued(self) -> list[str]:
        """The prompts that wait for their turn."""
        return list(self._queue.texts)

    @property
    def contexts(self) -> tuple[str, ...]:
        return ("Task", *self.input.contexts) if self.is_busy else self.input.contexts

    @property
    def refresh(self) -> float | None:
        if self._work.is_busy:
            return self._work.refresh
        channel = self._parts.channel
        is_shown = self._shell.is_running or channel.workflows or channel.agents.running_beside()
        waits = (1.0 if is_shown else None, self._notices.remaining)
        return min((each for each in waits if each is not None), default=None)

    def above(self, width: int, height: int, /) -> list[Line]:
        rows = self._live.rows(width, frame=self._work.frame)
        if self._app.is_plain:
            return rows
        # While a question is open, it is the user who is waited for.
        work = [] if self._app.has_view else self._work.rows(width, interrupt_key=self._footer.cancel_key)
        tasks = todo_rows(self._parts.channel.tasks.items, width, height) if self._shows_tasks else []
        key = self._app.label("history:previous")
        queue = messages.queued_prompts(self._queue.texts, width, edit_key=key) if self.is_busy else []
        beside = [*self._agents(width, height), *self._workflows(width, height)]
        tail = [*work, *tasks, *beside, *queue]
        # What is finished stands right above: nothing of this may look as if it belonged to it.
        return [*rows, *([()] if tail else []), *tail, ()]

    def below(self, width: int, height: int, /) -> Frame:
        is_busy = self.is_busy or self._queue.is_pending
        if self._app.is_plain and is_busy and self.input.editor.is_empty:
            # A prompt after every sentence would be read out every time.
            return Frame(self._footer.plain_rows(is_busy=True))
        session = self._talk.session
        edge = edge_of(self.input, session.state.mode, session.color)
        frame = self.input.render(width, height, self._look(), edge=edge)
        lines = list(frame.lines)
        if not self.input.has_menu and not self.input.is_searching and len(lines) < height:
            if self._dictation is not None and (said := self._dictation.rows()):
                lines += said
            elif self._shows_keys:
                lines += shortcut_rows(self._app.keys.keymap, width)[: height - len(lines)]
            else:
                lines += self._footer.rows(width)[: height - len(lines)]
        return Frame(lines, frame.cursor)

    def press(self, key: Key, action: str | None, /) -> None:
        self._parts.notifier.note_key()
        self._idle.stop()
        again = self._twice.take()
        if self._dictates(key, action):
            return
        if self.input.wants_vim(key):
            self.input.press_vim(key)
            return
        if key.text == "?" and self.input.editor.is_empty and not self.input.is_searching:
            self._shows_keys = not self._shows_keys
            return
        self._shows_keys = False
        if self._suggestion and str(key) == "tab" and self.input.editor.is_empty:
            self.input.editor.set(self._suggestion)
            return
        if self._suggestion and action == "chat:submit" and self.input.editor.is_empty:
            self.submit(Draft(self._suggestion, self._suggestion, {}))
            return
        if not self._act(action, again):
            self._edit(key, action)

    def paste(self, text: str, /) -> None:
        self._parts.notifier.note_key()
        if (image := dropped_image(text, self._cwd())) is not None:
            self.input.editor.add_image(*image)
            return
        self.input.paste(text)

    def notice(self, given: Answer | Focus, /) -> None:
        if isinstance(given, Focus):
            self._parts.notifier.is_focused = given.gained
        else:
            self._parts.on_answer(given)

    def submit(self, draft: Draft) -> None:
        """Do what a prompt asks for."""
        self.input.history.add(draft.shown, draft.attachments)
        text = draft.text.strip()
        if text in LEAVING:
            self.leave()
        elif text.startswith("!") and text[1:].strip():
            self._start_shell(text[1:].strip())
        elif text.startswith("#") and text[1:].strip() and not text.startswith("##"):
            self._app.spawn(self._chores.remember(text[1:].strip()))
        elif (name := command_name(text)) is not None:
            self._commands.run(name, draft)
        else:
            self.send(draft)

    def run_command(self, line: str, *, by_key: bool = False) -> None:
        """Do as if a command had been typed; what a key opens is not recorded."""
        name = line.lstrip("/").split(maxsplit=1)[0]
        self._commands.run(name, Draft(line, line, {}), by_key=by_key)

    def leave(self) -> None:
        """End the program after asking about background work, or only detach from the terminal."""
        if self._app.detach is not None:
            self._app.detach()
        else:
            self._app.spawn(self._chores.leave())

    def tell(self, text: str, level: messages.Level = "notice") -> None:
        """Say something that is neither of the model nor of the user."""
        self._live.say(messages.notice(text, self._width(), level=level))

    def flash(self, notice: Notice) -> None:
        """Say something below the input for a few seconds; screen readers get it as a line."""
        if self._app.is_plain:
            self.tell(notice.text, notice.level)
        else:
            self._notices.add(notice)
            self._app.redraw()

    def moved(self, event: PromptMoved, /) -> None:
        self._queue.moved(event)

    def shown_prompt(self, uuid: str | None, /) -> str | None:
        return self._queue.shown(uuid)

    def finished(self, outcome: Outcome, /) -> None:
        self._queue.turn_ended()
        if self._parts.status_command is not None:
            self._parts.status_command.refresh()
        if not self._queue and outcome.reason not in ("command", "aborted_streaming", "aborted_tools"):
            self._parts.notifier.tell("bridle is waiting for you")
            self._idle.begin()
        warns = not is_on(self._talk.env, "DISABLE_COST_WARNINGS")
        if warns and outcome.total_cost_usd >= self._acknowledged_usd + _COST_STEP_USD:
            self._acknowledged_usd = outcome.total_cost_usd
            self._app.spawn(self._chores.mention_cost(outcome.total_cost_usd, self._stop))

    def show_kept_tasks(self) -> None:
        """Show the task list that was kept for this conversation."""

        async def load() -> None:
            from bridle.tools.tasks.stored_lists import folder_of, read_items

            folder = folder_of(self._talk.session.id, self._talk.env)
            kept = await asyncio.to_thread(read_items, folder)
            self._parts.channel.forget_tasks([{**each} for each in kept])
            self._app.redraw()

        self._app.spawn(load())

    def offer_rest(self) -> None:
        """Offer to continue a turn that was cut off; the variable for that does it at once."""
        from bridle.transcripts.interrupted_turns import continuing_prompt, ends_midway

        session = self._talk.session
        if (words := continuing_prompt(session, self._talk.env, now=time.time())) is not None:
            self._talk.server.submit(Prompt(content=words, origin=PROGRAM, meta=True))
        elif session.entries and ends_midway(session):
            self._suggestion = "Continue where you left off"
            self.tell("The last turn was cut off. Press Enter to continue it.", "info")

    def renamed(self, title: str, /) -> None:
        self._title = title
        if self._parts.titles_from_names:
            self._show_title(title)

    def suggested(self, event: PromptSuggested, /) -> None:
        self._suggestion = one_line(event.text)

    def reset(self, event: ConversationReset, /) -> None:
        self._acknowledged_usd = 0.0
        self.input.history.session = event.session_id
        self._parts.channel.forget_tasks()
        if event.trigger in ("resume", "branch"):
            self.show_kept_tasks()
        if event.trigger == "clear":
            self._app.clear_window()
            self._parts.channel.hide_next_command()
        words = {"clear": "new conversation", "rewind": "went back in the conversation"}
        title = words.get(event.trigger, "another conversation")
        edge: Line = (Span(f"── {title} ──", MUTED),)
        self._live.say([edge])
        if event.trigger == "resume":
            self.offer_rest()

    def _act(self, action: str | None, again: str) -> bool:
        """Do what an action asks of the conversation; False when it is one of the input's."""
        match action:
            case "app:interrupt":
                self._interrupt(again)
            case "app:exit":
                if self.input.editor.is_empty:
                    self._leave_if_again(again, "ctrl+d")
                else:
                    self.input.editor.delete_right()
            case "chat:cancel":
                self._cancel(again)
            case "app:redraw" | "chat:clearScreen":
                self._app.screen.redraw()
            case "app:toggleTodos":
                self._toggle_tasks()
            case "app:toggleTranscript":
                self._app.spawn(self._open_transcript())
            case "chat:cycleMode":
                self._cycle_mode()
            case "chat:modelPicker":
                self.run_command("/model", by_key=True)
            case "chat:fastMode":
                self.run_command("/fast")
            case "chat:thinkingToggle":
                self._toggle_thinking()
            case "chat:externalEditor":
                self._app.spawn(self._chores.edit_outside())
            case "chat:imagePaste":
                self._app.spawn(self._chores.paste_image())
            case "chat:killAgents":
                self._app.spawn(self._chores.stop_jobs())
            case str() if action.startswith("command:"):
                self.run_command("/" + action.removeprefix("command:"))
            case "task:background":
                self._chores.move_calls_to_background()
            case "history:previous" if self._queue and self.input.is_on_first_row:
                self._queue.take_back()
            case "history:next" if self._opens_work:
                self.run_command("/tasks", by_key=True)
            case _:
                return False
        return True

    def _dictates(self, key: Key, action: str | None) -> bool:
        """Whether a key is for dictation, of which nothing is loaded before it is used."""
        is_mine = action == "voice:pushToTalk" and not self.input.is_searching
        is_mine = is_mine and (self.input.vim is None or self.input.vim.mode == "INSERT")
        if self._dictation is None:
            voice = self._talk.server.runtime.features.find(VOICE) if is_mine else None
            if voice is None or not voice.is_on:
                return False
            from bridle.frontends.tui.chat.dictation import Dictation

            self._dictation = Dictation(self._app, self.input, voice, self.tell)
            self._dictation.submit = lambda: self._edit(Key("enter"), "chat:submit")
        return self._dictation.press(key, is_mine=is_mine, action=action)

    def _edit(self, key: Key, action: str | None) -> None:
        if action == "chat:clearInput":
            self._app.screen.redraw()
        before = self.input.editor.text
        if action == "history:search":
            from bridle.frontends.tui.editing.history_search import search_keys

            self.input.search_keys = search_keys(self._app.keys.keymap)
        draft = self.input.press(key, action)
        if "@" in self.input.editor.text and "@" not in before:
            self._app.spawn(self._chores.refresh_files())
        if draft is not None:
            self.submit(draft)

    def _interrupt(self, again: str) -> None:
        if self.is_busy or self._queue.is_pending:
            self._stop()
        elif not self.input.editor.is_empty:
            self.input.clear()
        else:
            self._leave_if_again(again, "ctrl+c")

    def _cancel(self, again: str) -> None:
        if self.is_busy or self._queue.is_pending:
            self._stop()
        elif again != "chat:cancel":
            self._twice.expect("chat:cancel")
        elif not self.input.editor.is_empty:
            self.input.clear()
        else:
            self.run_command("/rewind")

    def _stop(self) -> None:
        self._shell.cancel()
        if self._queue:
            self._queue.take_back()
        self._talk.server.interrupt()

    def _leave_if_again(self, again: str, key: str) -> None:
        if again == key:
            self.leave()
        else:
            self._twice.expect(key)

    def send(self, draft: Draft) -> None:
        """Hand a prompt to the model, now or after the running turn."""
        self._suggestion = ""
        if not self._title and not draft.shown.startswith("/"):
            self._show_title(one_line(draft.shown)[:_MOST_TITLE])
        self._queue.send(draft)

    def _start_shell(self, command: str) -> None:
        if not self._shell.start(command):
            text = f"a command is already running; {self._footer.cancel_key} stops it"
            self.flash(Notice(key="shell", text=text, level="warning", priority="high"))

    async def _open_transcript(self) -> None:
        await self._parts.transcript()

    def _cycle_mode(self) -> None:
        session = self._talk.session
        session.swap(mode=next_mode(session.state.mode, self._talk.server.runtime.gate.modes))
        if self._parts.status_command is not None:
            self._parts.status_command.refresh()

    def _toggle_tasks(self) -> None:
        self._shows_tasks = not self._shows_tasks
        if not self._parts.channel.tasks.is_open:
            self._shows_tasks = True
            self.flash(Notice(key="tasks", text="no open tasks", level="info", priority="low"))

    def _toggle_thinking(self) -> None:
        session = self._talk.session
        now = session.state.thinking
        is_off = now is not None and now.mode == "disabled"
        session.swap(thinking=None if is_off else Thinking("disabled"))
        text = f"thinking is {'on' if is_off else 'off'} from the next prompt"
        self.flash(Notice(key="thinking", text=text, priority="immediate"))

    def _notify_idle(self) -> None:
        message = "bridle is waiting for your next prompt."
        from bridle.types.hooks.events import Notification

        self._talk.server.runtime.hooks.notify(Notification(message=message, kind="idle_prompt"))

    def _agents(self, width: int, height: int) -> list[Line]:
        written = self._parts.agent_rows
        return agent_rows(
            self._parts.channel.agents.running_beside(),
            width,
            height,
            frame=self._work.frame,
            bodies=None if written is None else written.bodies,
        )

    def _workflows(self, width: int, height: int) -> list[Line]:
        return self._parts.channel.workflows.rows(width, height, frame=self._work.frame)

    def _look(self) -> PromptStyle:
        is_new = not self._talk.session.entries and not self._work.is_busy
        return prompt_look(self.input, self._suggestion or (_INVITATION if is_new else ""))

    def _show_title(self, title: str) -> None:
        self._parts.notifier.show_title(f"{title} · bridle")

    @property
    def _opens_work(self) -> bool:
        """Whether ↓ leads to what runs in the background: nothing is typed that it could move in."""
        status = self._parts.status()
        is_free = self.input.editor.is_empty and not self.input.is_browsing
        return is_free and bool(status.shells or status.agents)

    def _cwd(self) -> str:
        return self._talk.server.runtime.workspace.cwd

    def _width(self) -> int:
        return max(self._app.size.columns, 1)
