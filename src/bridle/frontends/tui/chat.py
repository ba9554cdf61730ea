"""The conversation at the terminal: what goes on above, where the user writes below."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec import Struct

from bridle.frontends.tui.app import GUARD_SECONDS, App
from bridle.frontends.tui.cells import truncate
from bridle.frontends.tui.channel import TerminalChannel
from bridle.frontends.tui.dialogs.consent import cost_reached, leave_running, where_to_remember
from bridle.frontends.tui.editor import Draft
from bridle.frontends.tui.editor_view import Look
from bridle.frontends.tui.external_editor import edit_outside
from bridle.frontends.tui.input_area import InputArea
from bridle.frontends.tui.input_look import edge_of, hint_of, prompt_look, vim_mode
from bridle.frontends.tui.keys import Answer, Focus, Key
from bridle.frontends.tui.live import Live
from bridle.frontends.tui.notify import Notifier
from bridle.frontends.tui.pictures import dropped_image, from_clipboard
from bridle.frontends.tui.questioner import Questioner
from bridle.frontends.tui.render import messages
from bridle.frontends.tui.render.layout import MUTED, one_line
from bridle.frontends.tui.render.status import Status, mode_line, todo_panel
from bridle.frontends.tui.shortcuts import shortcut_rows
from bridle.frontends.tui.status import StatusCommand, footer
from bridle.frontends.tui.submission import (
    LEAVING,
    Talk,
    command_name,
    memory_files,
    prompt_of,
    remember,
    run_shell,
)
from bridle.frontends.tui.text import Line, Span, text_of
from bridle.frontends.tui.view import Frame
from bridle.frontends.tui.work import Work
from bridle.types.command import Leaves, Says
from bridle.types.errors import BridleError
from bridle.types.event import ConversationReset, PromptMoved, PromptSuggested
from bridle.types.hook import Notification
from bridle.types.ids import new_uuid
from bridle.types.model import Thinking
from bridle.types.permission import Mode
from bridle.types.turn import Outcome

_TWICE_SECONDS = 1.5
_IDLE_SECONDS = 60.0
_COST_STEP_USD = 5.0
_CYCLE: tuple[Mode, ...] = ("default", "acceptEdits", "plan", "auto", "bypassPermissions")
_INVITATION = 'ask for anything, "/" for commands'
_MOST_TITLE = 60


class Parts(Struct, frozen=True, kw_only=True):
    """What the conversation is shown with."""

    live: Live
    work: Work
    input: InputArea
    notifier: Notifier
    channel: TerminalChannel
    questioner: Questioner
    status: Callable[[], Status]
    status_command: StatusCommand | None = None
    on_answer: Callable[[Answer], None] = lambda _: None
    """Told what the terminal says about itself."""
    transcript: Callable[[], Awaitable[None]]
    """Opens the whole conversation."""


class Chat:
    """Keeps the queue, and knows what keys mean while nothing else is open."""

    def __init__(self, app: App, talk: Talk, parts: Parts) -> None:
        self._app = app
        self._talk = talk
        self._parts = parts
        self._live, self._work, self.input = parts.live, parts.work, parts.input
        self._queue: dict[str, Draft] = {}
        self._shown: dict[str, str] = {}
        self._running: asyncio.Task[None] | None = None
        """A shell command of the user."""
        self._again: tuple[str, float] = ("", 0.0)
        """The key that counts double when it is pressed once more, and until when."""
        self._shows_todos = True
        self._shows_keys = False
        self._idle: asyncio.TimerHandle | None = None
        self._acknowledged_usd = 0.0
        self._title = ""
        self._suggestion = ""
        parts.channel.desk = self

    @property
    def is_busy(self) -> bool:
        return self._work.is_busy or self._running is not None

    @property
    def contexts(self) -> tuple[str, ...]:
        return ("Task", *self.input.contexts) if self.is_busy else self.input.contexts

    @property
    def refresh(self) -> float | None:
        if self._work.is_busy:
            return self._work.refresh
        return 1.0 if self._running is not None else None

    def above(self, width: int, height: int, /) -> list[Line]:
        rows = self._live.rows(width, frame=self._work.frame)
        if self._app.is_plain:
            return rows
        key = self._app.label("chat:cancel") or "esc"
        # While a question is open, it is the user who is waited for.
        work = [] if self._app.has_view else self._work.rows(width, interrupt_key=key)
        todos = self._todo_rows(width, height)
        queue = (
            messages.queued_prompts([one.shown for one in self._queue.values()], width)
            if self.is_busy
            else []
        )
        tail = [*work, *todos, *queue]
        return [*rows, *([()] if rows and tail else []), *tail, ()]

    def below(self, width: int, height: int, /) -> Frame:
        frame = self.input.render(
            width, height, self._look(), edge=edge_of(self.input, self._talk.session.state.mode)
        )
        lines = list(frame.lines)
        if not self.input.has_menu and len(lines) < height:
            if self._shows_keys:
                lines += shortcut_rows(self._app.keys.keymap, width)[: height - len(lines)]
            else:
                lines += self._foot(width)[: height - len(lines)]
        return Frame(lines, frame.cursor)

    def press(self, key: Key, action: str | None, /) -> None:
        self._parts.notifier.note_key()
        self._wait_for_user()
        again, self._again = self._take_again(), ("", 0.0)
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
            self._app.spawn(self._remember(text[1:].strip()))
        elif (name := command_name(text)) is not None:
            self._command(name, draft)
        else:
            self._send(draft)

    def run_command(self, line: str) -> None:
        """Do as if a command had been typed."""
        self._command(line.lstrip("/").split(maxsplit=1)[0], Draft(line, line, {}))

    def leave(self) -> None:
        """End the program; work in the background is asked about first."""
        self._app.spawn(self._leave())

    def tell(self, text: str, level: messages.Level = "notice") -> None:
        """Say something that is neither of the model nor of the user."""
        self._live.say(messages.notice(text, self._width(), level=level))

    def moved(self, event: PromptMoved, /) -> None:
        if event.state in ("started", "cancelled", "completed"):
            self._queue.pop(event.prompt_uuid, None)
        if event.state == "completed":
            self._shown.pop(event.prompt_uuid, None)

    def shown_prompt(self, uuid: str | None, /) -> str | None:
        return None if uuid is None else self._shown.get(uuid)

    def finished(self, outcome: Outcome, /) -> None:
        if self._parts.status_command is not None:
            self._parts.status_command.refresh()
        if not self._queue and outcome.reason not in ("command", "aborted_streaming", "aborted_tools"):
            self._parts.notifier.tell("bridle waits for you")
            self._idle = asyncio.get_running_loop().call_later(_IDLE_SECONDS, self._notify_idle)
        if outcome.total_cost_usd >= self._acknowledged_usd + _COST_STEP_USD:
            self._acknowledged_usd = outcome.total_cost_usd
            self._app.spawn(self._mention_cost(outcome.total_cost_usd))

    def renamed(self, title: str, /) -> None:
        self._title = title
        self._parts.notifier.show_title(f"{title} · bridle")

    def suggested(self, event: PromptSuggested, /) -> None:
        self._suggestion = one_line(event.text)

    def reset(self, event: ConversationReset, /) -> None:
        self._acknowledged_usd = 0.0
        self._parts.channel.todos = ()
        words = {"clear": "a new conversation", "rewind": "gone back in the conversation"}
        title = words.get(event.trigger, "another conversation")
        edge: Line = (Span(f"── {title} ──", MUTED),)
        self._live.say([edge])

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
                self._shows_todos = not self._shows_todos
            case "app:toggleTranscript":
                self._app.spawn(self._open_transcript())
            case "chat:cycleMode":
                self._cycle_mode()
            case "chat:modelPicker":
                self.run_command("/model")
            case "chat:fastMode":
                self.run_command("/fast")
            case "chat:thinkingToggle":
                self._toggle_thinking()
            case "chat:externalEditor":
                self._app.spawn(self._edit_outside())
            case "chat:imagePaste":
                self._app.spawn(self._paste_image())
            case "chat:killAgents":
                self._app.spawn(self._stop_jobs())
            case str() if action.startswith("command:"):
                self.run_command("/" + action.removeprefix("command:"))
            case "history:previous" if self._queue and self.input.is_on_first_row:
                self._unqueue()
            case _:
                return False
        return True

    def _edit(self, key: Key, action: str | None) -> None:
        if action == "chat:clearInput":
            self._app.screen.redraw()
        before = self.input.editor.text
        if action == "task:background":
            self.tell("Only a call that asks for it itself runs in the background.", "info")
            return
        draft = self.input.press(key, action)
        if "@" in self.input.editor.text and "@" not in before:
            self._app.spawn(self._refresh_files())
        if draft is not None:
            self.submit(draft)

    def _interrupt(self, again: str) -> None:
        if self.is_busy:
            self._stop()
        elif not self.input.editor.is_empty:
            self.input.clear()
        else:
            self._leave_if_again(again, "ctrl+c")

    def _cancel(self, again: str) -> None:
        if self.is_busy:
            self._stop()
        elif again != "escape":
            self._expect("escape")
        elif not self.input.editor.is_empty:
            self.input.clear()
        else:
            self.run_command("/rewind")

    def _stop(self) -> None:
        if self._running is not None:
            self._running.cancel()
        if self._queue:
            self._unqueue()
        self._talk.server.interrupt()

    def _leave_if_again(self, again: str, key: str) -> None:
        if again == key:
            self.leave()
        else:
            self._expect(key)

    def _expect(self, key: str) -> None:
        loop = asyncio.get_running_loop()
        self._again = (key, loop.time() + _TWICE_SECONDS)
        loop.call_later(_TWICE_SECONDS, self._app.redraw)

    def _take_again(self) -> str:
        key, until = self._again
        return key if asyncio.get_running_loop().time() < until else ""

    def _unqueue(self) -> None:
        """Put what waits back into the box."""
        waiting = list(self._queue.items())
        for uuid, _ in waiting:
            self._talk.server.withdraw(uuid)
        self._queue.clear()
        editor = self.input.editor
        for _, draft in waiting:
            editor.attachments.restore(draft.attachments)
        texts = [draft.shown for _, draft in waiting]
        editor.set("\n".join([*texts, editor.text] if editor.text else texts))
        self.input.refresh()

    def _send(self, draft: Draft) -> None:
        uuid = new_uuid()
        self._suggestion = ""
        self._queue[uuid], self._shown[uuid] = draft, draft.shown
        if not self._title:
            self.renamed(one_line(draft.shown)[:_MOST_TITLE])
            self._title = ""
        self._talk.server.submit(prompt_of(draft, uuid))

    def _command(self, name: str, draft: Draft) -> None:
        commands = self._talk.commands
        if commands is None:
            self.tell("No commands are available here.", "warning")
            return
        command = commands.find(name)
        if command is None:
            near = commands.nearest(name)
            hint = f"; did you mean /{near}?" if near else "; /help lists those there are."
            self.tell(f"There is no command /{name}{hint}", "warning")
            return
        run_now = self._talk.run_now
        if self.is_busy and command.at_once and run_now is not None:
            arguments = draft.text.strip().partition(" ")[2]
            self._app.spawn(self._run_now(run_now(command, arguments)))
            return
        self._send(draft)

    async def _run_now(self, running: Awaitable[Any]) -> None:
        try:
            result = await running
        except BridleError as error:
            result = Says(str(error), is_error=True)
        match result:
            case Says(text=text, is_error=is_error) if text:
                self.tell(text, "error" if is_error else "info")
            case Leaves():
                self.leave()
            case _:
                pass

    def _start_shell(self, command: str) -> None:
        if self._running is not None:
            self.tell("One command at a time: wait for the other, or stop it with esc.", "warning")
            return

        async def run() -> None:
            try:
                await run_shell(
                    command, self._talk, self._live, self._parts.questioner.own_calls, width=self._width()
                )
            finally:
                self._running = None
                self._app.redraw()

        self._running = self._app.spawn(run())

    async def _remember(self, note: str) -> None:
        files = memory_files(self._talk.session.cwd, self._talk.env)
        dialog = where_to_remember(note, files)
        picked = await self._app.open(dialog, guard=GUARD_SECONDS, on_armed=dialog.panel.arm)
        if picked is None or not picked.value:
            return
        try:
            await asyncio.to_thread(remember, note, picked.value)
        except OSError as error:
            self.tell(f"{picked.value} cannot be written: {error.strerror}", "error")
            return
        self._live.say(messages.memory_prompt(note, self._width()))
        self._live.say(messages.notice(f"kept in {picked.value}", self._width()), close=True)

    async def _leave(self) -> None:
        jobs = [task for task in self._talk.server.runtime.workspace.jobs() if task.status == "running"]
        if jobs:
            dialog = leave_running(jobs)
            picked = await self._app.open(dialog, guard=GUARD_SECONDS, on_armed=dialog.panel.arm)
            if picked is None or picked.value != "leave":
                return
        self._app.end(0)

    async def _mention_cost(self, usd: float) -> None:
        dialog = cost_reached(usd)
        picked = await self._app.open(dialog, guard=GUARD_SECONDS, on_armed=dialog.panel.arm)
        if picked is not None and picked.value == "stop":
            self._stop()

    async def _open_transcript(self) -> None:
        await self._parts.transcript()

    async def _edit_outside(self) -> None:
        editor = self.input.editor
        try:
            text = await edit_outside(editor.text, env=self._talk.env, lent=self._app.terminal.lent())
        except BridleError as error:
            self.tell(str(error), "warning")
            return
        editor.set(text)
        self.input.refresh()
        self._app.redraw(at_once=True)

    async def _paste_image(self) -> None:
        try:
            kind, data = await from_clipboard(self._talk.env)
        except BridleError as error:
            self.tell(str(error), "warning")
            return
        self.input.editor.add_image(kind, data)
        self._app.redraw(at_once=True)

    async def _refresh_files(self) -> None:
        try:
            await self.input.refresh_files()
        except OSError as error:
            self.tell(f"The files of this folder cannot be listed: {error.strerror}", "warning")
        self._app.redraw()

    async def _stop_jobs(self) -> None:
        workspace = self._talk.server.runtime.workspace
        running = [task for task in workspace.jobs() if task.status == "running"]
        for task in running:
            await workspace.tasks.stop(task.id)
        if not running:
            self.tell("Nothing runs in the background.")

    def _cycle_mode(self) -> None:
        session = self._talk.session
        offered: list[Mode] = [mode for mode in _CYCLE if mode in self._talk.server.runtime.modes]
        now = session.state.mode
        after: Mode = offered[(offered.index(now) + 1) % len(offered)] if now in offered else "default"
        session.swap(mode=after)
        if self._parts.status_command is not None:
            self._parts.status_command.refresh()

    def _toggle_thinking(self) -> None:
        session = self._talk.session
        now = session.state.thinking
        is_off = now is not None and now.mode == "disabled"
        session.swap(thinking=None if is_off else Thinking("disabled"))
        self.tell(f"Thinking is {'on' if is_off else 'off'} from the next prompt on.")

    def _wait_for_user(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _notify_idle(self) -> None:
        self._idle = None
        message = "bridle waits for your next prompt."
        self._talk.server.runtime.hooks.notify(Notification(message=message, kind="idle_prompt"))

    def _todo_rows(self, width: int, height: int) -> list[Line]:
        todos: Sequence[Any] = self._parts.channel.todos
        left = [each for each in todos if isinstance(each, dict) and each.get("status") != "completed"]
        if not self._shows_todos or not left or height < 8:
            return []
        return todo_panel(todos, width, most=min(8, height // 3))

    def _look(self) -> Look:
        is_new = not self._talk.session.entries and not self._work.is_busy
        return prompt_look(self.input, self._suggestion or (_INVITATION if is_new else ""))

    def _foot(self, width: int) -> list[Line]:
        command, again = self._parts.status_command, self._take_again()
        hint = hint_of(self.input, again=again, pending=self._app.keys.pending)
        rows = [] if command is None else command.rows(width)
        if rows:
            mode = mode_line(self._talk.session.state.mode)
            last = (*mode, *((Span("  "),) if mode and hint else ()), *hint)
            return [*rows, last] if last else rows
        shown = footer(self._parts.status(), width, left=hint, right=vim_mode(self.input))
        # What the next key would do matters more than how the session stands.
        is_urgent = bool(again) and text_of(hint) not in text_of(shown)
        return [truncate(hint, width) if is_urgent else shown]

    def _cwd(self) -> str:
        return self._talk.server.runtime.workspace.cwd

    def _width(self) -> int:
        return max(self._app.size.columns, 1)
