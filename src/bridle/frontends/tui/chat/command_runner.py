"""Slash commands of the user: those that can run at once do so, beside the running turn."""

import time
from collections.abc import Awaitable
from typing import Any, Protocol

from bridle.frontends.tui.app import App
from bridle.frontends.tui.chat.submission import SessionLink
from bridle.frontends.tui.editing.editor import Draft
from bridle.frontends.tui.render.messages import Level
from bridle.types.command import Exits, Says, find_command
from bridle.types.errors import BridleError
from bridle.types.slash import read_slash_line


class Conversation(Protocol):
    """What a command may ask of the conversation."""

    @property
    def is_busy(self) -> bool: ...
    def tell(self, text: str, level: Level = "notice") -> None: ...
    def send(self, draft: Draft) -> None: ...
    def leave(self) -> None: ...


class CommandRunner:
    """Finds the command that a line names, and runs it now or with the next turn."""

    def __init__(self, app: App, talk: SessionLink, chat: Conversation) -> None:
        self._app, self._talk, self._chat = app, talk, chat

    def run(self, name: str, draft: Draft, *, by_key: bool = False) -> None:
        """Run a command, or say that there is none of this name; what a key opens is not recorded."""
        commands = self._talk.commands
        if commands is None:
            self._chat.tell("No commands are available here.", "warning")
            return
        slashed = read_slash_line(draft.text)
        command = commands.find(name) if slashed is None else find_command(slashed, commands)
        if command is None:
            near = commands.nearest(name)
            hint = f": did you mean /{near}?" if near else ". Try /help."
            self._chat.tell(f"Unknown command /{name}{hint}", "warning")
            return
        run_now = self._talk.run_now
        if (self._chat.is_busy or by_key) and command.at_once and run_now is not None:
            arguments = "" if slashed is None else slashed.rest
            running = run_now(command, arguments)
            is_aside = command.name == "btw" and bool(arguments) and not self._app.is_plain
            self._app.spawn(self._ask_aside(arguments, running) if is_aside else self._run_now(running))
            return
        self._chat.send(draft)

    async def _ask_aside(self, question: str, running: Awaitable[Any]) -> None:
        """Show a question on the side and its answer in a panel, while the turn continues."""
        from bridle.frontends.tui.chat.side_question import SideQuestion

        view = SideQuestion(question, clock=time.monotonic)

        async def answer() -> None:
            try:
                result = await running
                text, is_error = (result.text, result.is_error) if isinstance(result, Says) else ("", False)
            except BridleError as error:
                text, is_error = str(error), True
            view.show(text, is_error=is_error)
            self._app.redraw()

        answering = self._app.spawn(answer())
        try:
            await self._app.open(view)
        finally:
            answering.cancel()

    async def _run_now(self, running: Awaitable[Any]) -> None:
        try:
            result = await running
        except BridleError as error:
            result = Says(str(error), is_error=True)
        match result:
            case Says(text=text, is_error=is_error) if text:
                self._chat.tell(text, "error" if is_error else "info")
            case Exits():
                self._chat.leave()
            case _:
                pass
