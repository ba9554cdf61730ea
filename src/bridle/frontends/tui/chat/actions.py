"""Actions of keys and prompts: notes, external editor, images, leaving, stopping, mode changes."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from bridle.frontends.tui.app import GUARD_SECONDS, App
from bridle.frontends.tui.chat.notices import Notice
from bridle.frontends.tui.chat.submission import SessionLink, memory_files
from bridle.frontends.tui.chat.turn import TurnView
from bridle.frontends.tui.editing.images import from_clipboard
from bridle.frontends.tui.editing.input_area import InputArea
from bridle.frontends.tui.render import messages
from bridle.frontends.tui.render.call import short_path
from bridle.types.block import text_of
from bridle.types.errors import BridleError

if TYPE_CHECKING:
    from bridle.frontends.tui.dialogs.confirm import Confirm
from collections.abc import Collection

from bridle.types.permission import Mode

# What few sessions need is imported when it is: the prompt must be there at once.


class Conversation(Protocol):
    """Says something to the user: for good, or for a few seconds."""

    def tell(self, text: str, level: messages.Level = "notice") -> None: ...
    def flash(self, notice: Notice) -> None: ...


class ChatActions:
    """Each runs while the conversation continues; an error is shown in one line."""

    def __init__(
        self, app: App, talk: SessionLink, input: InputArea, live: TurnView, chat: Conversation
    ) -> None:
        self._app = app
        self._talk = talk
        self._input = input
        self._live = live
        self._tell, self._flash = chat.tell, chat.flash

    async def remember(self, note: str) -> None:
        """Keep a note in a file that the user chooses."""
        from bridle.context.memory import add_line
        from bridle.frontends.tui.dialogs.consent import where_to_remember

        cwd = self._talk.session.cwd
        path = await self._ask(where_to_remember(note, memory_files(cwd, self._talk.env), cwd=cwd))
        if not path:
            return
        try:
            await asyncio.to_thread(add_line, path, note)
        except ValueError as error:
            self._tell(f"Not saved: {error}.", "warning")
            return
        except OSError as error:
            self._tell(f"can't write {short_path(path, cwd)}: {error.strerror}", "error")
            return
        width = max(self._app.size.columns, 1)
        self._live.say(messages.memory_prompt(note, width))
        self._live.say(messages.notice(f"saved to {short_path(path, cwd)}", width), close=True)

    async def leave(self) -> None:
        """End the program; work in the background is asked about first."""
        jobs = [task for task in self._talk.server.runtime.workspace.jobs() if task.status == "running"]
        if not jobs:
            self._app.end(0)
            return
        from bridle.frontends.tui.dialogs.consent import leave_running

        if await self._ask(leave_running(jobs)) == "leave":
            self._app.end(0)

    async def mention_cost(self, usd: float, stop: Callable[[], None]) -> None:
        """Say that the session has become expensive."""
        from bridle.frontends.tui.dialogs.consent import cost_reached

        if await self._ask(cost_reached(usd)) == "stop":
            stop()

    async def edit_outside(self) -> None:
        """Let the prompt be written in the user's editor."""
        from bridle.config.state import global_config
        from bridle.frontends.tui.editing.external_editor import edit_outside, with_answer, without_answer

        editor = self._input.editor
        env = self._talk.env
        shows_answer = (await asyncio.to_thread(global_config, env)).external_editor_context is True
        given = with_answer(editor.text, self._last_answer()) if shows_answer else editor.text
        try:
            text = await edit_outside(given, env=env, lent=self._app.terminal.lent())
        except BridleError as error:
            self._tell(str(error), "warning")
            return
        editor.set(without_answer(text) if shows_answer else text)
        self._input.refresh()
        self._app.redraw(at_once=True)

    def _last_answer(self) -> str:
        """What the model said last."""
        messages = self._talk.session.history.messages
        answers = (text_of(each["content"]) for each in reversed(messages) if each["role"] == "assistant")
        return next(filter(None, answers), "")

    async def paste_image(self) -> None:
        """Attach the picture on the clipboard."""
        try:
            kind, data = await from_clipboard(self._talk.env)
        except BridleError as error:
            self._tell(str(error), "warning")
            return
        self._input.editor.add_image(kind, data)
        self._app.redraw(at_once=True)

    async def refresh_files(self) -> None:
        """Look again which files can be mentioned."""
        try:
            await self._input.refresh_files()
        except OSError as error:
            self._tell(f"can't list the files in this folder: {error.strerror}", "warning")
        self._app.redraw()

    async def stop_jobs(self) -> None:
        """End all work in the background."""
        workspace = self._talk.server.runtime.workspace
        running = [task for task in workspace.jobs() if task.status == "running"]
        for task in running:
            await workspace.tasks.stop(task.id)
        if not running:
            self._flash(Notice(key="jobs", text="nothing is running in the background"))

    def move_calls_to_background(self) -> None:
        """Move what the conversation waits for to the background."""
        if not self._talk.server.runtime.features.move_to_background():
            self._flash(Notice(key="move", text="nothing that is running can move to the background"))

    async def _ask(self, dialog: "Confirm") -> str | None:
        picked = await self._app.open(dialog, guard=GUARD_SECONDS, on_armed=dialog.panel.arm)
        return None if picked is None else picked.value


_CYCLE: tuple[Mode, ...] = ("default", "acceptEdits", "plan", "auto", "bypassPermissions")


def next_mode(now: Mode, available: Collection[Mode]) -> Mode:
    """The mode after this one, among those that are available."""
    offered: list[Mode] = [mode for mode in _CYCLE if mode in available]
    return offered[(offered.index(now) + 1) % len(offered)] if now in offered else "default"
