"""Opens the screens that commands ask for, and runs what is chosen in them."""

import asyncio
import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from bridle.frontends.tui.app import App
from bridle.frontends.tui.render.call import State
from bridle.frontends.tui.terminal import desktop as notices
from bridle.host.files import write_new
from bridle.transcripts.conversation import call_data, ran_inputs
from bridle.transcripts.session import Session
from bridle.types.command import CommandResult, Exits, Resets, Says, Shows
from bridle.types.errors import BridleError, SessionError
from bridle.types.origin import TYPED

if TYPE_CHECKING:
    from bridle.commands.context import CommandContext
    from bridle.frontends.tui.screens.base import OpenScreen
    from bridle.frontends.tui.screens.conversation.resume import Resume
    from bridle.frontends.tui.screens.session.tasks import OpenAgent
    from bridle.types.services.checkpoints import Rewound

# The views and all they show are imported with the first one that is opened: a start needs none of them.


class ScreenController:
    """Opens screens by name; a name without a screen is shown as text."""

    def __init__(
        self,
        app: App,
        session: Session,
        *,
        env: Mapping[str, str],
        context: "Callable[[], CommandContext]",
        keys_file: str = "",
        use_theme: Callable[[str], None] = lambda _: None,
        use_layout: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._app = app
        self._session = session
        self._env = env
        self._context = context
        self._keys_file = keys_file
        self._use_theme = use_theme
        self._use_layout = use_layout
        self.put_prompt: Callable[[str], None] = lambda _: None
        """Puts text into the input."""
        self.tell: Callable[[str], None] = lambda _: None
        """Says what went wrong while a view was open."""
        self.unanswered: Callable[[], State] = lambda: "interrupted"
        """The state of calls that have no result yet."""
        self.leave_for: Callable[[Resume], bool] | None = None
        """Has a conversation opened in its own folder when this program ends; false where that cannot be."""

    async def show(self, wanted: Shows) -> CommandResult:
        """Open a view; returns what follows from how it was left."""
        if wanted.view == "resume":
            from bridle.frontends.tui.screens.session_picker import pick_session

            chosen = await pick_session(
                self._app, cwd=self._session.cwd, env=self._env, current=self._session.id
            )
            return Says() if chosen is None else await self._resume(chosen)
        if wanted.view == "login":
            return await self._log_in(wanted.text)
        if wanted.view == "theme" and wanted.arguments:
            self._use_theme(wanted.arguments)
            return Says(wanted.text)
        if wanted.view == "tui":
            self._use_layout(wanted.arguments)
            return Says(wanted.text)
        if wanted.view == "keybindings":
            return await self._edit_keys(wanted)
        from bridle.frontends.tui.screens.base import ScreenContext
        from bridle.frontends.tui.screens.catalog import named_view
        from bridle.frontends.tui.screens.session.tasks import OpenAgent

        opened: list[OpenScreen] = []
        around = ScreenContext(
            keymap=self._app.keys.keymap,
            clock=time.time,
            do=lambda wish: self._start(wish, opened),
            preview_theme=self._use_theme,
            keys_file=self._keys_file,
            waiting=lambda: self._app.waiting,
            arguments=wanted.arguments,
        )
        named = await named_view(wanted, self._context(), around)
        if named is None or self._app.is_plain:
            return Says(wanted.text)
        opened.append(named)
        following = self._app.spawn(self._follow(named))
        try:
            while isinstance(chosen := await self._app.open(named.view), OpenAgent):
                await self._agent(chosen)
        finally:
            following.cancel()
        return Says() if chosen is None else await self._do(chosen)

    async def _log_in(self, text: str) -> CommandResult:
        """Let the user add a key or choose another way to a model, and use it."""
        from bridle.frontends.tui.login import log_in

        context = self._context()
        chosen = await log_in(self._app, settings=context.settings.config().settings, env=context.env)
        if chosen is None:
            return Says(text)
        kept = "" if chosen.saves else " s"
        result = await self._run_all((f"/model {chosen.model}{kept}",)) if chosen.model else Says()
        said = result.text if isinstance(result, Says) else ""
        return Says("\n".join(filter(None, (chosen.said, said))))

    async def transcript(self) -> None:
        """Show the whole conversation."""
        from bridle.frontends.tui.screens.conversation.transcript import ToScrollback, TranscriptView
        from bridle.frontends.tui.screens.conversation.transcript_items import passages_of

        entries = self._session.entries
        messages, data = self._session.history.messages, call_data(entries)
        passages = passages_of(messages, data, ran=ran_inputs(entries), unanswered=self.unanswered())
        chosen: Any = await self._app.open(TranscriptView(passages, expanded=True))
        if isinstance(chosen, ToScrollback):
            self._app.write(chosen.lines)
        elif chosen is not None:
            await self._do(chosen)

    async def _agent(self, wanted: "OpenAgent") -> None:
        """Show the conversation of an agent, and follow it."""
        from bridle.frontends.tui.screens.conversation.agent_openers import open_agent
        from bridle.frontends.tui.screens.conversation.transcript import ToScrollback

        chosen = await open_agent(wanted, app=self._app, runtime=self._context().runtime, do=self._do)
        if isinstance(chosen, ToScrollback):
            self._app.write(chosen.lines)
        elif chosen is not None:
            await self._do(chosen)

    async def _follow(self, named: "OpenScreen") -> None:
        """Refresh an open screen whose data changes."""
        while (pause := named.view.refresh) is not None:
            await asyncio.sleep(pause)
            await named.renew()

    def _start(self, wish: Any, opened: "list[OpenScreen]") -> None:
        """Do something while the view stays open, then show it as it is now."""

        async def work() -> None:
            for named in opened:
                if isinstance(wish, Measure) and isinstance(named.view, RewindView):
                    named.view.measured(wish.uuid, await self._measure(wish.uuid))
            result = await self._do(wish)
            if isinstance(result, Says):
                self._report(result, opened)
            for named in opened:
                await named.renew()
            self._app.redraw()

        from bridle.frontends.tui.screens.conversation.rewind import Measure, RewindView

        self._app.spawn(work())

    def _report(self, said: Says, opened: "list[OpenScreen]") -> None:
        """Tell what came of it, in the view where it can."""
        listeners = [screen.tell for screen in opened if screen.tell is not None]
        for tell in listeners:
            tell(said)
        if said.is_error and not listeners:
            self.tell(said.text)

    async def _do(self, wish: Any) -> CommandResult:
        """What was chosen, as the command that does it or as something only a terminal can do."""
        from bridle.frontends.tui.screens import actions
        from bridle.frontends.tui.screens.choices.model import CheckModel
        from bridle.frontends.tui.screens.commands import commands_for
        from bridle.frontends.tui.screens.conversation.rewind import Rewind
        from bridle.frontends.tui.screens.extensions.mcp import LogIn, LogOut
        from bridle.frontends.tui.screens.session.tasks import MessageAgent

        match wish:
            case MessageAgent(id=id, text=text):
                return await self._message_agent(id, text)
            case CheckModel(id=model):
                return await self._test_model(model)
            case LogIn(name=name):
                return await self._log("login", name)
            case LogOut(name=name):
                return await self._log("logout", name)
            case Rewind():
                try:
                    return await self._rewind(wish)
                except BridleError as error:
                    return Says(str(error), is_error=True)
            case actions.RunCommand(name=name):
                self.put_prompt(f"/{name.lstrip('/')} ")
            case actions.CopyText(text=text):
                await self._copy(text)
                return Says("Copied to the clipboard.")
            case actions.SaveText(text=text, path=path):
                return await asyncio.to_thread(_save, text, path)
            case actions.OpenText(text=text):
                return await self._edit(text)
            case actions.EditFile(path=path):
                return await self._edit_file(path)
            case _:
                return await self._run_all(commands_for(wish))
        return Says()

    async def _test_model(self, model: str) -> CommandResult:
        from bridle.session.model_check import ask_once

        context = self._context()
        try:
            return Says(str(await ask_once(context.settings.config(), context.env, model)))
        except BridleError as error:
            return Says(str(error), is_error=True)

    async def _message_agent(self, agent_id: str, text: str) -> CommandResult:
        """Hand a message of the user to an agent."""
        from bridle.engine.turn import Turn
        from bridle.features.agents.feature import AGENTS
        from bridle.features.teams.feature import TEAM
        from bridle.features.teams.message_router import MessageRouter
        from bridle.types.turn import Prompt

        runtime = self._context().runtime
        agents, team = runtime.features.find(AGENTS), runtime.features.find(TEAM)
        if agents is None or team is None:
            return Says("This session has no agents.", is_error=True)
        turn = Turn(self._session, Prompt(content=text, origin=TYPED), runtime)
        router = MessageRouter(agents, team, turn, call_id="")
        try:
            await router.send(to=agent_id, text=text, summary="", notify_when_idle=False)
        except BridleError as error:
            return Says(str(error), is_error=True)
        return Says("Sent: the agent reads it at its next step.")

    async def _run_all(self, lines: tuple[str, ...]) -> CommandResult:
        said: list[str] = []
        for line in lines:
            name, _, arguments = line.removeprefix("/").partition(" ")
            command = self._context().commands.find(name)
            if command is None:
                continue
            try:
                result = await command.run(arguments, self._context())
            except BridleError as error:
                return Says(str(error), is_error=True)
            if not isinstance(result, Says):
                return result
            said.append(result.text)
        return Says("\n".join(text for text in said if text))

    async def _copy(self, text: str) -> None:
        """Put text on the clipboard by the terminal, and by a program of this machine where there is one."""
        self._app.terminal.write(notices.copy(text, self._env))
        from bridle.frontends.tui.terminal.clipboard import copy_here

        await copy_here(text, self._env)

    async def _resume(self, chosen: "Resume") -> CommandResult:
        """Resume a conversation or a copy of it; one of another folder is resumed there."""
        if chosen.folder and self.leave_for is not None and self.leave_for(chosen):
            return Exits()
        if chosen.command:
            await self._copy(chosen.command)
            return Says(
                f"It belongs to another folder. Resume it there (command copied):\n\n    {chosen.command}"
            )
        if not chosen.fork:
            return Resets(session_id=chosen.session_id, trigger="resume")
        from bridle.transcripts import management

        try:
            copy = await asyncio.to_thread(management.fork, chosen.session_id, self._env)
        except (SessionError, OSError) as error:
            return Says(f"can't copy the conversation: {error}", is_error=True)
        return Resets(session_id=copy, trigger="branch")

    async def _measure(self, uuid: str) -> "Rewound | None":
        """What going back to a prompt would change in files; None when nothing was kept for it."""
        from bridle.commands.history import preview_rewind

        try:
            return await preview_rewind(uuid, self._context())
        except SessionError:
            return None

    async def _log(self, deed: str, server: str) -> CommandResult:
        """Log in to a server or out of it, where addresses can be read and pasted, then connect again."""
        import subprocess

        argv = [sys.executable, "-P", "-m", "bridle", "mcp", deed, server]
        with self._app.terminal.lent():
            done = await asyncio.to_thread(
                subprocess.run, argv, env=dict(self._env), cwd=self._session.cwd, check=False
            )
        if done.returncode:
            return Says(f"{deed} failed for {server}.", is_error=True)
        return await self._run_all((f"/mcp reconnect {server}",))

    async def _rewind(self, wish: Any) -> CommandResult:
        from bridle.commands.history import rewind_points, rewind_to

        context = self._context()
        text = next((each.text for each in rewind_points(context) if each.uuid == wish.uuid), "")
        match wish.what:
            case "both" | "conversation" | "code":
                said = await rewind_to(wish.uuid, wish.what, context)
                if wish.what != "code":
                    self.put_prompt(text)
                return Says(said)
            case "summarize_up_to":
                return Says(await rewind_to(wish.uuid, "summary", context, focus=wish.instructions))
            case _:
                return Says(await rewind_to(wish.uuid, "summary-after", context, focus=wish.instructions))

    async def _edit(self, text: str) -> CommandResult:
        from bridle.frontends.tui.editing.external_editor import edit_outside

        try:
            await edit_outside(text, env=self._env, lent=self._app.terminal.lent())
        except BridleError as error:
            return Says(str(error), is_error=True)
        return Says()

    async def _edit_keys(self, wanted: Shows) -> CommandResult:
        """Open the file with the keys; one with the usual keys is written first where there is none."""
        from bridle.frontends.tui.keymap.user_file import create_keymap_file

        if self._app.is_plain:
            return Says(wanted.text)
        try:
            await asyncio.to_thread(create_keymap_file, wanted.arguments)
        except OSError as error:
            return Says(f"can't write {wanted.arguments}: {error.strerror}", is_error=True)
        result = await self._edit_file(wanted.arguments)
        return result if isinstance(result, Says) and result.is_error else Says(wanted.text)

    async def _edit_file(self, path: str) -> CommandResult:
        import subprocess

        from bridle.frontends.tui.editing.external_editor import editor_command

        try:
            command = editor_command(self._env)
            with self._app.terminal.lent():
                await asyncio.to_thread(subprocess.run, [*command, path], env=dict(self._env), check=False)
        except (BridleError, OSError) as error:
            return Says(str(error), is_error=True)
        return Says()


def _save(text: str, path: str) -> CommandResult:
    try:
        write_new(path, text.encode(errors="replace"), mode=0o666)
    except OSError as error:
        return Says(f"can't write {path}: {error.strerror}", is_error=True)
    return Says(f"Saved to {path}.")
