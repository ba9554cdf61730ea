"""Notifications for a user who looks at another window: bell, notification, title and progress."""

from collections.abc import Callable, Mapping

from bridle.frontends.tui.terminal import desktop as notices
from bridle.frontends.tui.terminal.terminal import SAVED_TITLE, Terminal
from bridle.types.variables import is_on

_AWAY_SECONDS = 15.0
"""Seconds without a key after which the user counts as away."""
_HEAD = "bridle"
_WAITS = "● "
_WORKS = "◐ "


class Notifier:
    """Speaks to the desktop around a terminal; a dumb one gets nothing but a bell."""

    def __init__(
        self,
        terminal: Terminal,
        *,
        channel: str = "auto",
        bar: bool = True,
        titles: bool = True,
        clock: Callable[[], float],
    ) -> None:
        """`channel` is the setting `preferredNotifChannel`."""
        self._terminal = terminal
        self._env: Mapping[str, str] = terminal.env
        self._channel = channel
        self._bar = bar
        self._titles = titles and not is_on(self._env, "CLAUDE_CODE_DISABLE_TERMINAL_TITLE")
        self._clock = clock
        self._last_key = clock()
        self._title = ""
        self._shown = ""
        self._count = ""
        self._is_busy = False
        self._waiting = 0
        self._unseen = ""
        """What the user is waited for and may not have seen."""
        self._is_focused = True

    @property
    def is_away(self) -> bool:
        """Whether the user probably does not see the window."""
        return not self.is_focused or self._clock() - self._last_key > _AWAY_SECONDS

    def note_key(self) -> None:
        """The user is active."""
        self._last_key = self._clock()

    @property
    def is_focused(self) -> bool:
        """Whether the window has the keyboard."""
        return self._is_focused

    @is_focused.setter
    def is_focused(self, gained: bool) -> None:
        self._is_focused = gained
        if not gained and self._waiting and self._unseen:
            # Someone looked away from a question without answering it.
            self._say(self._unseen)
            self._unseen = ""

    @property
    def count(self) -> str:
        """How many tasks are done, such as `2 of 5`."""
        return self._count

    @count.setter
    def count(self, text: str) -> None:
        self._count = text
        self._write_title()

    def tell(self, text: str) -> None:
        """Ask for attention, unless the user has it here already; then once when they look away."""
        if self.is_away or is_on(self._env, "CLAUDE_CODE_DISABLE_NOTIFICATION_PRESENCE_CHECK"):
            self._say(text)
            self._unseen = ""
        else:
            self._unseen = text

    def wait_for_person(self, *, on: bool) -> None:
        """A question is open, or is answered."""
        self._waiting = max(self._waiting + (1 if on else -1), 0)
        if not self._waiting:
            self._unseen = ""
        self._write_title()

    def show_title(self, text: str) -> None:
        """Name the window after what the session is about."""
        self._title = text
        self._write_title()

    def show_busy(self, *, on: bool) -> None:
        """Show on the tab whether a turn runs."""
        if on == self._is_busy or self._terminal.capabilities.is_dumb:
            return
        self._is_busy = on
        self._write_title()
        if self._bar:
            sequence = notices.progress(None) if on else notices.no_progress()
            self._terminal.write(notices.pass_through(sequence, self._env))

    def _say(self, text: str) -> None:
        said = notices.notify(text, head=_HEAD, channel=self._channel, env=self._env)
        is_dumb = self._terminal.capabilities.is_dumb
        self._terminal.write(said if not is_dumb else notices.BELL if said else "")

    def _write_title(self) -> None:
        """The title with a mark: a person is waited for, a turn runs, or neither."""
        mark = _WAITS if self._waiting else _WORKS if self._is_busy else ""
        count = f"({self._count}) " if self._count else ""
        shown = f"{mark}{count}{self._title}" if self._title else ""
        if not self._titles or not shown or shown == self._shown or self._terminal.capabilities.is_dumb:
            return
        self._terminal.turn_on(SAVED_TITLE)
        self._shown = shown
        self._terminal.write(notices.title(shown))

    def pass_on(self, sequence: str) -> None:
        """A harmless sequence that a hook has for the terminal."""
        if not self._terminal.capabilities.is_dumb:
            self._terminal.write(sequence)
