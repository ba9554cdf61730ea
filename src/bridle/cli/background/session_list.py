"""`bridle agents` at a terminal: the sessions that run, to attach to, stop, start and forget."""

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from bridle.cli.background.attached_terminal import attach
from bridle.cli.background.job_lookup import find_job, title_of
from bridle.cli.background.job_start import session_facts, start_job
from bridle.cli.background.launch_settings import LaunchSettings
from bridle.cli.background.session_entries import age, sessions
from bridle.cli.background.verbs import forget, respawn, stop
from bridle.cli.options import flags_of
from bridle.cli.say import tell
from bridle.config.options import SessionOptions
from bridle.frontends.tui.app import App
from bridle.frontends.tui.keymap.user_file import KeymapFile
from bridle.frontends.tui.render.layout import style
from bridle.frontends.tui.screen.screen import Screen
from bridle.frontends.tui.style.text import Span
from bridle.frontends.tui.style.theme import background_of_environment, detect_depth, detect_links, make_theme
from bridle.frontends.tui.terminal.terminal import Terminal
from bridle.frontends.tui.widgets.list_pane import Command, ListPane
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView
from bridle.host.paths import config_home
from bridle.types.errors import BridleError
from bridle.types.ids import new_uuid

_LOOK_SECONDS = 1.0
_SIGNS = {
    "working": ("◐", "accent"),
    "blocked": ("?", "warning"),
    "done": ("✓", "success"),
    "failed": ("✗", "error"),
    "stopped": ("■", "muted"),
}

Entries = list[dict[str, Any]]


class JobAction(Struct, frozen=True):
    """What the user wants done with a job."""

    verb: str
    job: str = ""
    prompt: str = ""


def run_session_list(
    options: SessionOptions,
    env: Mapping[str, str],
    given: LaunchSettings,
    *,
    cwd: str | None = None,
    ended: bool = False,
) -> int:
    """Show the list until the user leaves it; looking at a session leads back to it."""
    notice = ""
    while True:
        shown = SessionList(options, env, given, look=lambda: sessions(env, cwd=cwd, ended=ended))
        action = asyncio.run(shown.show(notice))
        if action is None:
            return 0
        try:
            attach(find_job(action.job, env)[1])
            notice = ""
        except BridleError as error:
            notice = str(error)
            tell(notice)


class SessionList:
    """The list on the screen."""

    def __init__(
        self,
        options: SessionOptions,
        env: Mapping[str, str],
        given: LaunchSettings,
        *,
        look: Callable[[], Entries],
    ) -> None:
        self._options = options
        self._env = env
        self._given = given
        self._look = look
        self._known: dict[str, dict[str, Any]] = {}
        self._notice = ""
        self._app: App | None = None
        self._pane = self._make_pane()

    async def show(self, notice: str) -> JobAction | None:
        """Show the list until a session is to be attached to, or None to leave."""
        self._notice = notice
        env = self._env
        theme = make_theme(
            "auto",
            depth=detect_depth(env),
            links=detect_links(env),
            background=background_of_environment(env),
        )
        keymap = KeymapFile(os.path.join(config_home(env), "keybindings.json"))
        terminal = Terminal(env=env)
        screen = Screen(terminal, theme)
        terminal.parting = screen.parting
        with terminal:
            app = self._app = App(terminal, screen, keymap.keymap)
            chosen: list[JobAction | None] = []
            app.spawn(self._run(app, chosen))
            app.spawn(self._follow())
            await app.run()
        return chosen[0] if chosen else None

    async def _run(self, app: App, chosen: list[JobAction | None]) -> None:
        await self._refresh()
        action: Any = await app.open(TabbedView("Sessions", [("", self._pane)]))
        chosen.append(action if isinstance(action, JobAction) else None)
        app.end(0)

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            await self._refresh()

    async def _refresh(self) -> None:
        entries = await asyncio.to_thread(self._look)
        self._known = {str(entry.get("id") or entry.get("pid")): entry for entry in entries}
        self._pane.replace([_item(key, entry) for key, entry in self._known.items()])
        if self._app is not None:
            self._app.redraw()

    def _make_pane(self) -> ListPane[str]:
        return ListPane(
            (),
            do=self._do,
            intro=lambda _: [(Span(self._notice, style("warning")),)] if self._notice else [],
            empty="no sessions; press n to start one",
            accept=(
                Command(
                    key="enter",
                    words="attach",
                    closes=True,
                    when=self._is_live,
                    act=lambda job, _: JobAction("attach", job or ""),
                ),
            ),
            commands=(
                Command(
                    key="n",
                    words="new",
                    ask="What should it do?",
                    alone=True,
                    check=lambda _, text: "" if text else "type a task",
                    act=lambda _, typed: JobAction("new", prompt=typed.text),
                ),
                Command(
                    key="s",
                    words="stop",
                    confirm="Stop it?",
                    when=self._is_live,
                    act=lambda job, _: JobAction("stop", job or ""),
                ),
                Command(
                    key="r",
                    words="restart",
                    when=self._is_over,
                    act=lambda job, _: JobAction("respawn", job or ""),
                ),
                Command(
                    key="x", words="forget", when=self._is_over, act=lambda job, _: JobAction("rm", job or "")
                ),
            ),
        )

    def _is_live(self, job: str) -> bool:
        entry = self._known.get(job, {})
        return entry.get("kind") == "background" and "pid" in entry

    def _is_over(self, job: str) -> bool:
        entry = self._known.get(job, {})
        return entry.get("kind") == "background" and "pid" not in entry

    def _do(self, action: Any) -> None:
        async def work() -> None:
            try:
                self._notice = await asyncio.to_thread(self._carry_out, action)
            except BridleError as error:
                self._notice = str(error)
            await self._refresh()

        if self._app is not None:
            self._app.spawn(work())

    def _carry_out(self, action: JobAction) -> str:
        """Do it, and say so."""
        if action.verb == "new":
            facts = session_facts(
                new_uuid(), flags=flags_of(self._options), prompt=action.prompt, begins=True
            )
            return f"Started {start_job(facts, self._env, self._given)['id']}."
        folder, facts = find_job(action.job, self._env)
        if action.verb == "stop":
            return f"{action.job} {stop(facts)}."
        if action.verb == "respawn":
            respawn(facts, self._env, self._given)
            return f"Restarted {action.job}."
        return forget(folder, facts, self._env)


def _item(key: str, entry: Mapping[str, Any]) -> Item[str]:
    state = str(entry.get("state") or entry.get("status") or "")
    sign, color = _SIGNS.get(state, ("·", "muted"))
    waits = str(entry.get("waitingFor") or "")
    is_background = entry.get("kind") == "background"
    return Item(
        value=key,
        label=title_of({**entry, "cwd": f"process {key}"}),
        facts=(state, age(entry)),
        detail=f"waiting for {waits}" if waits else str(entry.get("cwd", "")),
        group="In the background" if is_background else "At a terminal",
        words=key,
        sign=Span(sign, style(color)),
    )
