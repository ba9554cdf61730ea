"""One page to read: laid out for the window, to scroll and search in."""

import re
from collections.abc import Sequence

from bridle.commands.queries.documentation import Page, Section
from bridle.frontends.tui.completion.fuzzy import lowered
from bridle.frontends.tui.keymap.labels import ACCEPT, Hint
from bridle.frontends.tui.render.layout import MUTED
from bridle.frontends.tui.render.markdown import render_markdown
from bridle.frontends.tui.screen.live_region import Cursor
from bridle.frontends.tui.screens.conversation.search import highlight
from bridle.frontends.tui.style.text import Line, Span, text_of
from bridle.frontends.tui.terminal.keys import Key
from bridle.frontends.tui.widgets.scroll import Scroll
from bridle.frontends.tui.widgets.text_field import Signal, TextField

_WIDEST = 110
"""Longer lines are hard to read."""
_BEGINS_BLOCK = re.compile(r"\s*$|\s*([-*+]|\d+[.)])\s|\s*[#|>]|\s{4,}\S|\s*(---|===)")
"""Lines that do not continue the paragraph before them."""
_CONTINUES = re.compile(r"(?!\s*([#|]|```|~~~|---|$)).*[^\s\\]$")
"""Lines that the next one may continue."""
_ABOVE = 2
"""Rows that stay above what was found."""


class Reader:
    """A page, from the section that was asked for on."""

    def __init__(self, page: Page, section: Section | None = None, *, query: str = "") -> None:
        """`query` is marked where it stands in the page."""
        self.page = page
        self._section = section
        self._scroll = Scroll()
        self._width = 0
        self._rows: list[Line] = []
        self._field: TextField | None = None
        self._text = unwrapped(page.text)
        self._query = _phrase(lowered(query), lowered(self._text))
        self._hits: list[int] = []
        self._hit = -1
        self._start = 0

    @property
    def is_typing(self) -> bool:
        """Whether letters go into the search."""
        return self._field is not None

    @property
    def hints(self) -> Sequence[Hint]:
        if self._field is not None:
            return [(ACCEPT, "keep")]
        found: list[Hint] = [("↑↓", "scroll"), ("/", "search in the page")]
        return [*found, ("n N", "next, previous")] if self._query else found

    @property
    def position(self) -> str:
        """How far down the page the window is."""
        if self._query and self._field is None:
            found = f"{self._hit + 1} of {len(self._hits)}" if self._hits else "not found"
            return f"/{self._query} {found}"
        last = max(1, len(self._rows) - self._scroll.page)
        return f"{min(100, round(100 * self._scroll.top / last))}%"

    def body(self, width: int, height: int) -> tuple[list[Line], Cursor | None]:
        self._lay_out(min(width, _WIDEST))
        space = height if self._field is None else max(1, height - 1)
        shown = self._scroll.show(self._rows, space)
        current = self._hits[self._hit] if self._hits else -1
        marked = [
            highlight(row, self._query, "search.current" if at == current else "search.match")
            for at, row in enumerate(shown, self._scroll.top)
        ]
        if self._field is None:
            return marked, None
        line, column = self._field.line("/ ", max(1, width - 14))
        count = f"  {len(self._hits)} found" if self._query else ""
        return [*marked, *([()] * (space - len(marked))), (*line, Span(count, MUTED))], (space, column)

    def press(self, key: Key, action: str | None) -> bool:
        """Scroll or search; False when the key does neither."""
        if self._field is not None:
            return self._type(self._field, key)
        if str(key) == "/":
            self._field, self._start = TextField(), self._scroll.top
            return True
        if key.text in ("n", "N") and self._query:
            self._go(1 if key.text == "n" else -1)
            return True
        if str(key) == "space":
            return self._scroll.press(Key("pagedown"), None)
        return self._scroll.press(key, action)

    def paste(self, text: str) -> None:
        if self._field is not None:
            self._field.paste(text)
            self._search(self._field.text)

    def _type(self, field: TextField, key: Key) -> bool:
        before = field.text
        match field.press(key):
            case Signal.ACCEPTED:
                self._field = None
            case Signal.CANCELLED:
                self._field = None
                self._search("")
                self._scroll.top = self._start
            case _ if field.text != before:
                self._search(field.text)
            case _:
                pass
        return True

    def _search(self, query: str) -> None:
        self._query = lowered(query.strip())
        self._find()
        self._hit = next((at for at, row in enumerate(self._hits) if row >= self._start), 0) - 1
        self._go(1)

    def _find(self) -> None:
        self._hits = [
            at for at, row in enumerate(self._rows) if self._query and self._query in lowered(text_of(row))
        ]

    def _go(self, by: int) -> None:
        if self._hits:
            self._hit = (self._hit + by) % len(self._hits)
            self._scroll.top = max(0, self._hits[self._hit] - _ABOVE)

    def _lay_out(self, width: int) -> None:
        if width == self._width:
            return
        is_first, self._width = not self._width, width
        share = self._scroll.top / max(1, len(self._rows))
        self._rows = render_markdown(self._text, width)
        self._find()
        if not is_first:
            self._scroll.top = round(share * len(self._rows))
        if self._scroll.top:
            return
        self._scroll.top = self._row_of_section()
        first = next((at for at, row in enumerate(self._hits) if row >= self._scroll.top), None)
        if first is not None:
            self._hit = first - 1
            self._go(1)

    def _row_of_section(self) -> int:
        if self._section is None or not self._section.line:
            return 0
        before = "\n".join(self.page.text.split("\n")[: self._section.line])
        return len(render_markdown(unwrapped(before), self._width)) + 1


def unwrapped(text: str) -> str:
    """Markdown with each paragraph on one line, so that it fills the window instead of keeping its breaks."""
    lines: list[str] = []
    in_code = False
    for line in text.split("\n"):
        is_fence = line.lstrip().startswith(("```", "~~~"))
        joins = (
            not (in_code or is_fence or _BEGINS_BLOCK.match(line))
            and bool(lines)
            and _CONTINUES.match(lines[-1])
        )
        in_code ^= is_fence
        if joins and not is_fence:
            lines[-1] = f"{lines[-1]} {line.strip()}"
        else:
            lines.append(line)
    return "\n".join(lines)


def _phrase(query: str, text: str) -> str:
    """What to mark of a query: all of it where it stands so in the text, else its longest word there."""
    phrase = " ".join(query.split())
    if phrase in text:
        return phrase
    return max((word for word in phrase.split() if word in text), key=len, default="")
