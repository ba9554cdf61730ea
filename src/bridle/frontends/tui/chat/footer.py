"""The rows below the input: the status of the session, hints, and what the next key does."""

from bridle.frontends.tui.app import App
from bridle.frontends.tui.chat.notices import NoticeQueue
from bridle.frontends.tui.chat.parts import ChatParts
from bridle.frontends.tui.chat.status_line import footer
from bridle.frontends.tui.chat.submission import SessionLink
from bridle.frontends.tui.editing.input_hints import hint_of, vim_mode
from bridle.frontends.tui.keymap.double_press import DoublePress
from bridle.frontends.tui.render.layout import one_line, style
from bridle.frontends.tui.render.messages import LEVEL_COLORS
from bridle.frontends.tui.render.status import mode_line, shared_line
from bridle.frontends.tui.style.cells import truncate
from bridle.frontends.tui.style.text import Line, Span, text_of


class ChatFooter:
    """Writes the rows below the input."""

    def __init__(
        self, app: App, talk: SessionLink, parts: ChatParts, twice: DoublePress, notices: NoticeQueue
    ) -> None:
        self._app, self._talk, self._parts, self._twice = app, talk, parts, twice
        self._notices = notices

    @property
    def cancel_key(self) -> str:
        """The key that stops what runs; ctrl+c does it, too, and cannot be bound to anything else."""
        return self._app.label("chat:cancel") or "ctrl+c"

    def rows(self, width: int) -> list[Line]:
        """The status row or what a command of the user writes, and links."""
        parts = self._parts
        if self._app.is_plain and parts.status_command is None:
            return self.plain_rows()
        command, again = parts.status_command, self._twice.waiting
        hint = hint_of(parts.input, again=again, cancel=self.cancel_key, pending=self._app.keys.pending)
        notice = () if again else self._notice()
        hint = notice or hint
        rows = [] if command is None else command.rows(width)
        links = [] if parts.links is None else parts.links.rows(width)
        vim = () if command is not None and command.hides_vim_mode else vim_mode(parts.input)
        if rows:
            mode, shared = mode_line(self._talk.session.state.mode), shared_line(parts.status())
            last = _joined(mode, shared, vim, hint)
            return [*rows, *([last] if last else []), *links]
        shown = footer(parts.status(), width, left=hint, right=vim)
        # What the next key would do matters more than how the session stands.
        is_urgent = bool(again) and text_of(hint) not in text_of(shown)
        aside = [truncate(notice, width)] if notice and text_of(notice) not in text_of(shown) else []
        return [truncate(hint, width) if is_urgent else shown, *aside, *links]

    def _notice(self) -> Line:
        """What is shown for a few seconds."""
        notice = self._notices.current
        if notice is None:
            return ()
        return (Span(one_line(notice.text), style(LEVEL_COLORS[notice.level])),)

    def plain_rows(self, *, is_busy: bool = False) -> list[Line]:
        """What is worth saying in words: what the next key does, the mode, and at first how to get help."""
        mode = mode_line(self._talk.session.state.mode)
        again = self._twice.waiting
        hint = hint_of(self._parts.input, again=again, cancel=self.cancel_key, pending=())
        says_hint = again or not (is_busy or self._talk.session.entries)
        return [each for each in (mode, hint if says_hint else ()) if each]


def _joined(*parts: Line) -> Line:
    """Parts of a row with blanks between them."""
    joined: Line = ()
    for part in filter(None, parts):
        joined = (*joined, *((Span("  "),) if joined else ()), *part)
    return joined
