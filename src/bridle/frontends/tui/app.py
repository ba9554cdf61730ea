"""The program in the terminal: who is shown, who gets the keys, and when to draw."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from bridle.frontends.tui.early_input import early_frame
from bridle.frontends.tui.keymap.keymap import CHORD_SECONDS, Keymap, KeyState, Waiting
from bridle.frontends.tui.screen.compositor import Compositor
from bridle.frontends.tui.screen.draw_timer import DrawTimer
from bridle.frontends.tui.screen.mouse_wheel import WHEEL, MouseWheel
from bridle.frontends.tui.screen.plain_screen import PlainScreen
from bridle.frontends.tui.screen.screen import Screen, Size
from bridle.frontends.tui.screen.view import BaseView, Closed, View
from bridle.frontends.tui.style.text import Line
from bridle.frontends.tui.terminal.keys import Answer, Focus, Input, Key, Paste
from bridle.frontends.tui.terminal.terminal import Terminal

T = TypeVar("T")

GUARD_SECONDS = 0.4
"""Seconds without a key before a question takes keys."""
_LEAVE_SECONDS = 1.0


class _Opened:
    """A view that is shown or waits."""

    def __init__(self, view: View[Any], priority: int, guard: float, on_armed: Callable[[], None]) -> None:
        self.view = view
        self.priority = priority
        self.guard = guard
        self.on_armed = on_armed
        self.closed: asyncio.Future[Any] = asyncio.get_running_loop().create_future()


class App:
    """One thing at a time gets the keys: the view that is open, or the conversation below it."""

    def __init__(
        self,
        terminal: Terminal,
        screen: Screen | PlainScreen,
        keymap: Keymap,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.terminal = terminal
        self.screen = screen
        self.keys = KeyState(keymap)
        self._base: BaseView | None = None
        self._early: list[Key | Paste] = []
        """What was typed before the prompt was ready."""
        self.shows_early = False
        """Whether that is shown, in the rows of a first frame that were taken over."""
        self.is_focused = True
        self._clock = clock
        self._opened: list[_Opened] = []
        self._armed_at = 0.0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._chord_timer: asyncio.TimerHandle | None = None
        self._pace = DrawTimer(self._draw, clock=clock)
        self._picture = Compositor(screen)
        self._wheel: MouseWheel | None = None
        self._waits = False
        self._interrupted = float("-inf")
        self.detach: Callable[[], None] | None = None
        """Detaches from the terminal; None for a program that owns its terminal."""
        self.on_view: Callable[[bool], None] = lambda _: None
        """Called with whether a view is open."""
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    @property
    def size(self) -> Size:
        return self.screen.size

    @property
    def is_plain(self) -> bool:
        """Whether everything is said in lines, one after the other."""
        return isinstance(self.screen, PlainScreen)

    @property
    def has_view(self) -> bool:
        return bool(self._opened)

    @property
    def waiting(self) -> int:
        """How many views wait for the one that is open."""
        return max(0, len(self._opened) - 1)

    @property
    def base(self) -> BaseView | None:
        return self._base

    def stand_on(self, base: BaseView) -> None:
        """Show this when no view is open; what was typed before goes to it."""
        self._base = base
        early, self._early, self.shows_early = self._early, [], False
        for given in early:
            self.on_input(given)
        self.redraw(at_once=True)

    async def run(self, *, typed: bytes = b"") -> int:
        """Listen and draw until `end` is called; returns the exit code. `typed` is what came before.

        Raises:
            Exception: a defect of the program, raised after the terminal is restored.
        """
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._crash)
        self.terminal.listen(self, typed=typed)
        self.redraw()
        try:
            return await self.ended
        finally:
            self._pace.stop()
            self._stop_chord()
            self._picture.uncover()
            for opened in list(self._opened):
                self._close(opened, None)
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            loop.set_exception_handler(None)

    def end(self, code: int = 0) -> None:
        """Leave the program."""
        if not self.ended.done():
            self.ended.set_result(code)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do something beside drawing and reading keys; a fault in it ends the program."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._settle)
        return task

    async def open(
        self,
        view: View[T],
        *,
        priority: int = 0,
        guard: float = 0.0,
        on_armed: Callable[[], None] = lambda: None,
    ) -> T | None:
        """Show a view until it closes; returns what it closed with, or None when it was removed.

        The one that is open comes first, and among those that wait the higher priority. With a guard, keys
        go to the previous target until no key came for so many seconds; then `on_armed` is called.
        """
        opened = _Opened(view, priority, guard, on_armed)
        shown = self._opened[:1]
        rest = sorted([*self._opened[1:], opened], key=lambda each: -each.priority)
        self._opened = [*shown, *rest]
        if not shown:
            self._show_first()
        try:
            return await opened.closed
        finally:
            self._close(opened, None)

    def write(self, lines: Sequence[Line]) -> None:
        """Add finished lines above everything that changes."""
        if lines:
            self._picture.write(lines)
            self.redraw()

    def redraw(self, *, at_once: bool = False) -> None:
        """Draw soon: what happens meanwhile is drawn with it."""
        self._pace.redraw(at_once=at_once)

    @property
    def is_covering(self) -> bool:
        """Whether the conversation has a window to itself."""
        return self._picture.backlog is not None

    def cover(self, lines: Sequence[Line]) -> None:
        """Give the conversation a window to itself, with what was said so far; not where lines are said."""
        self._picture.cover(lines)
        self.redraw(at_once=True)

    def scroll_with(self, wheel: MouseWheel | None, *, follows: bool) -> None:
        """How a window of its own is scrolled; without `follows`, new output does not move it."""
        self._wheel = wheel
        self._picture.tracks_wheel = wheel is not None
        self._picture.follows = follows

    def uncover(self) -> None:
        """Go back to the terminal's own scrollback."""
        self._picture.uncover()
        self.redraw(at_once=True)

    def clear_window(self) -> None:
        """Begin on an empty window; what was there stays in the scrollback."""
        if isinstance(self.screen, Screen) and not self.is_covering:
            self.screen.clear_window()
            self.redraw(at_once=True)

    def change_keys(self, keymap: Keymap) -> None:
        """Use other keys from now on."""
        self.keys.keymap = keymap
        self.keys.reset()

    def label(self, action: str) -> str:
        """The keys that a hint names for an action."""
        return self.keys.keymap.label(action)

    def suspend(self) -> None:
        """Stop like any program on ctrl+z; one in the background only lets its terminal go."""
        if self.detach is not None:
            self.detach()
        else:
            self.terminal.suspend()

    def show_anew(self, lines: Sequence[Line], *, first: str) -> None:
        """Draw these lines, then what changes: another terminal is there now, which `first` clears."""
        self.terminal.renew(first)
        if not self.is_covering:
            self.screen.write(lines)
        self.screen.restart()
        self.redraw(at_once=True)

    def on_input(self, given: Input, /) -> None:
        match given:
            case Key():
                self._press(given)
            case Paste():
                self._paste(given)
            case Focus(gained):
                self.is_focused = gained
                if self.base is not None:
                    self.base.notice(given)
            case Answer():
                if self.base is not None:
                    self.base.notice(given)
        self.redraw(at_once=True)

    def on_resize(self) -> None:
        self.redraw()

    def on_resume(self) -> None:
        self.screen.restart()
        self.redraw(at_once=True)

    def on_end(self, signal_number: int | None, /) -> None:
        self.end(129 if signal_number is None else 128 + signal_number)

    def _press(self, key: Key) -> None:
        if key.name in WHEEL:
            self._roll(key)
            return
        if key.ctrl and key.name == "z" and not key.alt and not key.shift:
            self.suspend()
            return
        opened = self._first_armed()
        if opened is None:
            self._press_ground(key)
            return
        action = self._action(key, opened.view.contexts)
        if action is Waiting.MORE:
            return
        if (closed := opened.view.press(key, action)) is not None:
            self._close(opened, closed)
        elif key.ctrl and key.name == "c":
            now = self._clock()
            if now - self._interrupted < _LEAVE_SECONDS:
                self._close(opened, None)
            self._interrupted = now

    def _roll(self, key: Key) -> None:
        """The mouse wheel has turned: a view takes it for an arrow key."""
        is_up = key.name == WHEEL[0]
        if self._first_armed() is not None:
            self._press(Key("up" if is_up else "down"))
        elif self._wheel is not None and (backlog := self._picture.backlog) is not None:
            rows = self._wheel.turned(key.name)
            backlog.roll(rows if is_up else -rows)

    def _press_ground(self, key: Key) -> None:
        if self._base is None:
            self._keep_early(key)
            return
        action = self._action(key, self._base.contexts)
        if action is not Waiting.MORE and not self._scroll(key, action):
            self._base.press(key, action)

    def _scroll(self, key: Key, meant: str | None) -> bool:
        """Look at what is finished, in a window of its own; any other key leads back to the end."""
        if (backlog := self._picture.backlog) is None:
            return False
        is_free = meant is None and not key.text
        action = self.keys.keymap.find((str(key),), ("Scroll",)) if is_free else None
        if isinstance(action, str) and backlog.scroll(action):
            return True
        backlog.follow()
        return False

    def _keep_early(self, given: Key | Paste) -> None:
        if isinstance(given, Key) and given.ctrl and given.name in ("c", "d"):
            self.end(130 if given.name == "c" else 0)
        else:
            self._early.append(given)

    def _paste(self, given: Paste) -> None:
        opened = self._first_armed()
        if opened is not None:
            opened.view.paste(given.text)
        elif self._base is not None:
            self._base.paste(given.text)
        else:
            self._keep_early(given)

    def _action(self, key: Key, contexts: Sequence[str]) -> str | Waiting | None:
        self._stop_chord()
        action = self.keys.press(key, contexts)
        if self.keys.pending:
            loop = asyncio.get_running_loop()
            self._chord_timer = loop.call_later(CHORD_SECONDS, self._give_up_chord)
        return action

    def _stop_chord(self) -> None:
        if self._chord_timer is not None:
            self._chord_timer.cancel()
            self._chord_timer = None

    def _give_up_chord(self) -> None:
        self._chord_timer = None
        self.keys.reset()
        self.redraw()

    def _first_armed(self) -> _Opened | None:
        """Who gets what is typed: the view that is shown, once it is armed."""
        if not self._opened:
            return None
        first = self._opened[0]
        if self._clock() >= self._armed_at or first.guard == 0:
            return first
        # The user is still typing what they began before the question came.
        self._armed_at = self._clock() + first.guard
        return None

    def _show_first(self) -> None:
        self.keys.reset()
        if self._opened:
            first = self._opened[0]
            self._armed_at = self._clock() + first.guard
            if first.guard:
                self._await_arming(first)
            else:
                first.on_armed()
        self.on_view(bool(self._opened))
        self.redraw(at_once=True)

    def _await_arming(self, first: _Opened) -> None:
        if first.closed.done() or self._opened[:1] != [first]:
            return
        left = self._armed_at - self._clock()
        if left > 0:
            asyncio.get_running_loop().call_later(left, self._await_arming, first)
            return
        first.on_armed()
        self.redraw(at_once=True)

    def _close(self, opened: _Opened, closed: Closed[Any] | None) -> None:
        if not opened.closed.done():
            opened.closed.set_result(None if closed is None else closed.value)
        if opened in self._opened:
            was_shown = self._opened[0] is opened
            self._opened.remove(opened)
            if was_shown:
                self._show_first()

    def _draw(self) -> float | None:
        """Draw what is there; returns the seconds after which it changes without input."""
        if not self.terminal.is_open or self.terminal.is_lent or self.ended.done():
            return None
        if self.terminal.is_clogged:
            self._draw_later()
            return None
        if isinstance(self.screen, Screen) and (wait := self.screen.unsettled):
            return wait
        self._pace.drawn()
        view = self._opened[0].view if self._opened else None
        early = early_frame(self._early, max(self.size.columns, 1)) if self.shows_early else None
        self._picture.draw(view, self._base, early, self.keys.keymap)
        waits = (None if view is None else view.refresh, self._ground_refresh(view))
        return min((each for each in waits if each), default=None)

    def _ground_refresh(self, view: View[Any] | None) -> float | None:
        if self._base is None or self.is_plain or (view is not None and view.is_full):
            return None
        return self._base.refresh

    def _draw_later(self) -> None:
        """The terminal does not keep up: what it is shown next is the newest, not everything."""
        if self._waits:
            return
        self._waits = True

        async def wait() -> None:
            await self.terminal.drained()
            self._waits = False
            self.redraw()

        self.spawn(wait())

    def _settle(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def _crash(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, BaseException):
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if not self.ended.done():
            self.ended.set_exception(error)
