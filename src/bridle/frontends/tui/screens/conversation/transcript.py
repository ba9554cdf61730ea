"""The whole conversation, to scroll and search in; only what is visible is laid out."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from bridle.frontends.tui.completion.fuzzy import lowered
from bridle.frontends.tui.keymap.keymap import USUAL, Keymap
from bridle.frontends.tui.keymap.labels import ACCEPT, CLOSE, BoundKey, Hint, spoken
from bridle.frontends.tui.render.layout import MUTED, fit, one_line, style
from bridle.frontends.tui.screen.view import Closed, Frame
from bridle.frontends.tui.screens.actions import OpenText
from bridle.frontends.tui.screens.conversation.search import find_all, highlight
from bridle.frontends.tui.screens.conversation.transcript_items import TranscriptItem
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span, text_of
from bridle.frontends.tui.terminal.keys import Key
from bridle.frontends.tui.widgets.page import help_lines
from bridle.frontends.tui.widgets.pane import Do
from bridle.frontends.tui.widgets.scroll import step_of
from bridle.frontends.tui.widgets.text_field import Signal, TextField

_MOST_LAID_OUT = 500
_EDITOR_WIDTH = 100
_SHOW_ALL = BoundKey(("transcript:toggleShowAll",))
_EXIT = BoundKey(("transcript:exit",), always="q")


class ToScrollback(Struct, frozen=True):
    """Print the conversation, so that the terminal's own search and copy work on it."""

    lines: tuple[Line, ...]


class TranscriptView:
    """Begins at the end, and follows it until the reader scrolls up."""

    is_full = True
    refresh = None

    def __init__(
        self,
        passages: Sequence[TranscriptItem],
        *,
        title: str = "Transcript",
        do: Do | None = None,
        alone: bool = True,
        expanded: bool = False,
    ) -> None:
        """Without `do` the editor closes the view with `OpenText`.

        A preview inside another view is not `alone`, and offers nothing that leaves it. `expanded` begins
        with everything shown: long output, thinking, the input of calls.
        """
        self._passages = list(passages)
        self._title = one_line(title)
        self._do = do
        self._alone = alone
        self._expanded = expanded
        self._width, self._height = 80, 20
        self._top = (0, 0)
        self._is_at_end = True
        self._known: dict[int, list[Line]] = {}
        self._field: TextField | None = None
        self._query = ""
        self._hits: list[tuple[int, int]] = []
        self._hit = 0
        self._origin = (0, 0)

    @property
    def contexts(self) -> tuple[str, ...]:
        return () if self._field is not None else ("Transcript", "Scroll", "Global")

    def show(self, passages: Sequence[TranscriptItem]) -> None:
        """Have a longer conversation, or one whose end has changed."""
        same = 0
        for old, new in zip(self._passages, passages, strict=False):
            if old is not new:
                break
            same += 1
        self._passages = list(passages)
        self._known = {index: rows for index, rows in self._known.items() if index < same}
        self._top = min(self._top, (max(0, len(self._passages) - 1), 0))
        if self._query:
            self._hits = find_all(self._query, self._passages)
            self._hit = min(self._hit, max(0, len(self._hits) - 1))

    def render(self, width: int, height: int, keys: Keymap = USUAL, /) -> Frame:
        space = max(1, height - 2)
        if width != self._width:
            self._width, self._known = width, {}
        self._height = space
        rows = self._visible(space)
        shown = [self._marked(index, row, line) for index, row, line in rows]
        shown += [()] * (space - len(shown))
        bottom, cursor = self._bottom(width)
        lines = [*shown, bottom, *help_lines(spoken(self._hints(), keys, self.contexts), width)]
        return Frame(fit(lines, width)[-height:], None if cursor is None else (space, cursor))

    def press(self, key: Key, action: str | None) -> Closed[Any] | None:
        if self._field is not None:
            self._press_search(self._field, key)
            return None
        name = str(key)
        if name == "escape" and self._query:
            self._query, self._hits = "", []
            return None
        if action in ("transcript:exit", "app:toggleTranscript") or name in ("escape", "q", "ctrl+c"):
            return Closed(None)
        if action in _SHOW_ALL.actions:
            self._toggle()
        elif name == "[" and self._alone:
            return Closed(ToScrollback(tuple(self._all(self._width, expanded=self._expanded))))
        elif name == "v" and self._alone:
            return self._open_outside()
        elif not self._press_moving(key, name, action):
            return None
        return None

    def paste(self, text: str) -> None:
        if self._field is not None:
            self._field.paste(text)
            self._search(self._field.text)

    def _open_outside(self) -> Closed[Any] | None:
        rows = self._all(_EDITOR_WIDTH, expanded=True)
        wanted = OpenText("\n".join(text_of(row).rstrip() for row in rows) + "\n")
        if self._do is None:
            return Closed(wanted)
        self._do(wanted)
        return None

    def _press_moving(self, key: Key, name: str, action: str | None) -> bool:
        if name == "/":
            self._field, self._origin = TextField(), self._top
        elif key.text in ("n", "N"):
            self._next_hit(1 if key.text == "n" else -1)
        elif name in ("{", "}"):
            self._next_prompt(-1 if name == "{" else 1)
        elif (step := step_of(key, action, self._height)) is not None:
            self._scroll(step)
        else:
            return False
        return True

    def _press_search(self, field: TextField, key: Key) -> None:
        before = field.text
        match field.press(key):
            case Signal.ACCEPTED:
                self._field = None
            case Signal.CANCELLED:
                self._field = None
                self._search("")
                self._top = self._origin
            case _ if not field.text and str(key) == "backspace" and not before:
                self._field = None
            case _ if field.text != before:
                self._search(field.text)
            case _:
                pass

    def _search(self, query: str) -> None:
        self._query = lowered(query.strip())
        self._hits = find_all(self._query, self._passages)
        from_here = (at for at, hit in enumerate(self._hits) if hit[0] >= self._origin[0])
        self._hit = next(from_here, 0)
        if self._hits:
            self._go_to(self._hits[self._hit])

    def _next_hit(self, by: int) -> None:
        if self._hits:
            self._hit = (self._hit + by) % len(self._hits)
            self._go_to(self._hits[self._hit])

    def _next_prompt(self, by: int) -> None:
        here, row = self._top
        # In the middle of a prompt's answer, going back leads to that prompt first.
        start = here if by > 0 or not row else here + 1
        places = range(start + by, len(self._passages) if by > 0 else -1, by)
        if (at := next((each for each in places if self._passages[each].kind == "prompt"), None)) is not None:
            self._top, self._is_at_end = (at, 0), False
        else:
            self._scroll(by * (1 << 30))

    def _go_to(self, hit: tuple[int, int]) -> None:
        self._top, self._is_at_end = (hit[0], self._row_of(hit)), False
        self._scroll(-(self._height // 3))

    def _row_of(self, hit: tuple[int, int]) -> int:
        """The row of a passage on which a hit stands; the first one when it is folded away or broken."""
        seen = -1
        for row, line in enumerate(self._rows(hit[0])):
            seen += lowered(text_of(line)).count(self._query)
            if seen >= hit[1]:
                return row
        return 0

    def _toggle(self) -> None:
        self._expanded = not self._expanded
        self._known = {}
        self._top = (self._top[0], 0)

    def _scroll(self, by: int) -> None:
        if not self._passages:
            return
        if abs(by) >= 1 << 30:
            self._top, self._is_at_end = (0, 0), by > 0
            return
        index, row = self._start(self._height) if self._is_at_end else self._top
        row += by
        while row < 0 and index > 0:
            index -= 1
            row += len(self._rows(index))
        while row >= len(self._rows(index)) and index < len(self._passages) - 1:
            row -= len(self._rows(index))
            index += 1
        self._top, self._is_at_end = (index, max(0, row)), False

    def _visible(self, space: int) -> list[tuple[int, int, Line]]:
        if not self._passages:
            return [(0, 0, (Span("no messages yet", MUTED),))]
        end = self._start(space)
        if self._is_at_end or self._top >= end:
            self._top, self._is_at_end = end, True
        index, row = self._top
        found: list[tuple[int, int, Line]] = []
        while index < len(self._passages) and len(found) < space:
            rows = self._rows(index)
            found += ((index, at, line) for at, line in enumerate(rows[row:], row))
            index, row = index + 1, 0
        return found[:space]

    def _start(self, space: int) -> tuple[int, int]:
        """The first row to show so that the last one is shown."""
        left = space
        for index in range(len(self._passages) - 1, -1, -1):
            size = len(self._rows(index))
            if size >= left:
                return index, size - left
            left -= size
        return 0, 0

    def _rows(self, index: int) -> list[Line]:
        if (known := self._known.get(index)) is not None:
            return known
        if len(self._known) >= _MOST_LAID_OUT:
            self._known.clear()
        rows = self._known[index] = [*self._passages[index].lines(self._width, self._expanded), ()]
        return rows

    def _all(self, width: int, *, expanded: bool) -> list[Line]:
        return [row for each in self._passages for row in (*each.lines(width, expanded), ())]

    def _marked(self, index: int, row: int, line: Line) -> Line:
        if not self._query or not self._hits:
            return line
        hit = self._hits[self._hit]
        is_current = hit[0] == index and self._row_of(hit) == row
        return highlight(line, self._query, "search.current" if is_current else "search.match")

    def _bottom(self, width: int) -> tuple[Line, int | None]:
        if self._field is not None:
            line, column = self._field.line("/ ", max(1, width - 12))
            return (*line, Span(f"  {self._count()}", MUTED)), column
        parts = [self._title]
        if self._query:
            parts.append(f"/{self._query} {self._count()}")
        if not self._expanded and self._alone:
            parts.append("folded")
        if not self._is_at_end and self._passages:
            parts.append(f"{round(100 * self._top[0] / max(1, len(self._passages)))}%")
        return cells.truncate((Span(" · ".join(parts), style("accent", bold=True)),), width), None

    def _count(self) -> str:
        if not self._query:
            return ""
        return f"{self._hit + 1} of {len(self._hits)}" if self._hits else "not found"

    def _hints(self) -> list[Hint]:
        if self._field is not None:
            return [(ACCEPT, "keep"), (CLOSE, "clear the search")]
        found: list[Hint] = [("/", "search"), *([("n N", "next, previous")] if self._query else [])]
        found += [("{ }", "prompts"), (_SHOW_ALL, "fold" if self._expanded else "show all")]
        found += [("[", "to scrollback"), ("v", "editor")] if self._alone else []
        return [*found, (_EXIT, "close")]
