"""Notifications for a user who looks at another window: bell, notification, title and progress."""

from collections.abc import Callable, Mapping

from bridle.frontends.tui.terminal import desktop as notices
from bridle.frontends.tui.terminal.terminal import SAVED_TITLE, Terminal
from bridle.types.variables import is_on

_AWAY_SECONDS = 15.0
"""Seconds without a key after which the user counts as away."""
_HEAD = "bridle"


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
        self._is_busy = False
        self.is_focused = True

    @property
    def is_away(self) -> bool:
        """Whether the user probably does not see the window."""
        return not self.is_focused or self._clock() - self._last_key > _AWAY_SECONDS

    def note_key(self) -> None:
        """The user is active."""
        self._last_key = self._clock()

    def tell(self, text: str) -> None:
        """Ask for attention, unless the user has it here already."""
        if self.is_away or is_on(self._env, "CLAUDE_CODE_DISABLE_NOTIFICATION_PRESENCE_CHECK"):
            said = notices.notify(text, head=_HEAD, channel=self._channel, env=self._env)
            is_dumb = self._terminal.capabilities.is_dumb
            self._terminal.write(said if not is_dumb else notices.BELL if said else "")

    def show_title(self, text: str) -> None:
        """Name the window after what the session is about."""
        if self._titles and text != self._title and not self._terminal.capabilities.is_dumb:
            self._terminal.turn_on(SAVED_TITLE)
            self._title = text
            self._terminal.write(notices.title(text))

    def show_busy(self, *, on: bool) -> None:
        """Show on the tab whether a turn runs."""
        if not self._bar or on == self._is_busy or self._terminal.capabilities.is_dumb:
            return
        self._is_busy = on
        sequence = notices.progress(None) if on else notices.no_progress()
        self._terminal.write(notices.pass_through(sequence, self._env))

    def pass_on(self, sequence: str) -> None:
        """A harmless sequence that a hook has for the terminal."""
        if not self._terminal.capabilities.is_dumb:
            self._terminal.write(sequence)
