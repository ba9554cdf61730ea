"""A numbered list to choose from; some choices have a field to type in."""

from collections.abc import Sequence

from msgspec import Struct

from bridle.frontends.tui.editing.editor import Editor
from bridle.frontends.tui.editing.editor_view import PromptStyle, render
from bridle.frontends.tui.render.layout import MUTED, one_line, style, wrap
from bridle.frontends.tui.screen.live_region import Cursor
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.sanitize import clean
from bridle.frontends.tui.style.text import PLAIN, Line, Span
from bridle.frontends.tui.terminal.keys import Key

_FIELD_ROWS = 6
_MOST_PASTED = 100_000
_LEAST_FIELD = 8


class Choice(Struct, frozen=True, kw_only=True):
    """One row of the list."""

    value: str
    label: str
    note: str = ""
    field: str | None = None
    """What an empty field says; None for a choice without one."""
    text: str = ""
    """What stands in the field at first."""
    previewed: bool = False
    """What stands in the field is shown also while another choice is the current one."""
    needs_text: bool = False
    """An empty field is no answer."""
    needs_change: bool = False
    """The first enter opens the field, and the text that stands in it at first is no answer."""


class Menu:
    """Arrows move, digits and enter choose."""

    def __init__(self, choices: Sequence[Choice], *, several: bool = False) -> None:
        """`several` lets choices be ticked, with enter on the last one to finish."""
        self.choices = choices
        self.several = several
        self.at = 0
        self.ticked: set[int] = set()
        self._fields = {index: _field(each) for index, each in enumerate(choices) if each.field is not None}
        self._opened: set[int] = set()
        """Fields that were opened to be changed."""

    @property
    def current(self) -> Choice:
        return self.choices[self.at]

    @property
    def is_typing(self) -> bool:
        """Whether letters belong to a field."""
        return self.at in self._fields

    @property
    def is_unopened(self) -> bool:
        """Whether enter opens the field of the current choice."""
        return self.current.needs_change and self.at not in self._opened

    @property
    def is_unchanged(self) -> bool:
        """Whether the current choice wants another text than it began with, and has none."""
        return self.current.needs_change and self.text.strip() == self.current.text.strip()

    def text_of(self, index: int) -> str:
        """What was typed for a choice."""
        return self._fields[index].text if index in self._fields else ""

    @property
    def text(self) -> str:
        """What was typed for the current choice."""
        return self.text_of(self.at)

    def press(self, key: Key, action: str | None) -> Choice | None:
        """The choice that the key makes, if any."""
        name = str(key)
        if name in ("up", "ctrl+p") or action in ("confirm:previous", "select:previous"):
            self.at = (self.at - 1) % len(self.choices)
        elif name in ("down", "ctrl+n") or action in ("confirm:next", "select:next"):
            self.at = (self.at + 1) % len(self.choices)
        elif name == "enter":
            return self._enter()
        elif self.is_typing:
            self._opened.add(self.at)
            self._fields[self.at].press(key)
            self._follow_text()
        elif key.name.isdecimal() and key.text:
            return self._pick_number(int(key.name))
        elif self.several and (name == "space" or action == "confirm:toggle"):
            self._tick()
        return None

    def paste(self, text: str) -> None:
        """Text for the field, if there is one."""
        if self.is_typing:
            self._opened.add(self.at)
            self._fields[self.at].insert(clean(text[:_MOST_PASTED], tab=4))
            self._follow_text()

    def render(self, width: int, *, dim: bool = False) -> tuple[list[Line], Cursor | None]:
        """The rows, and the cursor in a field."""
        rows: list[Line] = []
        cursor: Cursor | None = None
        for index, choice in enumerate(self.choices):
            is_current = index == self.at and not dim
            lead = self._lead(index, is_current=is_current)
            margin = cells.line_width(lead)
            look = MUTED if dim else style("accent", bold=True) if is_current else PLAIN
            label: Line = (Span(one_line(choice.label), look),)
            is_open = is_current and not (choice.needs_change and index not in self._opened)
            if index in self._fields and (is_open or self._is_worth_showing(index)):
                room = max(width - margin, _LEAST_FIELD)
                label = (Span(one_line(choice.label.removesuffix("…")), look),)
                block, place = _typed(self._fields[index], choice, label, room)
                if is_current:
                    cursor = (len(rows) + place[0], margin + place[1])
            else:
                note: Line = (Span(f" · {one_line(choice.note)}", MUTED),) if choice.note else ()
                block = wrap((*label, *note), max(width - margin, 1))
            rows += [(*(lead if at == 0 else (Span(" " * margin),)), *row) for at, row in enumerate(block)]
        return [cells.cut(row, width) for row in rows], cursor

    def _lead(self, index: int, *, is_current: bool) -> Line:
        mark = Span("❯ " if is_current else "  ", style("accent", bold=True))
        tick = ""
        if self.several and index < len(self.choices) - 1:
            tick = "[x] " if index in self.ticked else "[ ] "
        return (mark, Span(f"{index + 1}. ", MUTED), Span(tick))

    def _is_worth_showing(self, index: int) -> bool:
        text, choice = self._fields[index].text, self.choices[index]
        return bool(text) and (choice.previewed or text != choice.text)

    def _enter(self) -> Choice | None:
        if self.is_unopened:
            self._opened.add(self.at)
            return None
        if self.is_unchanged:
            return None
        if self.current.needs_text and not self.text.strip():
            return None
        if self.several and self.at < len(self.choices) - 1:
            self._tick()
            self.at += self.is_typing
            return None
        return self.current

    def _pick_number(self, number: int) -> Choice | None:
        if not 1 <= number <= len(self.choices):
            return None
        self.at = number - 1
        if self.current.needs_change:
            self._opened.add(self.at)
        if self.several and self.at < len(self.choices) - 1:
            self._tick()
            return None
        return None if self.is_typing else self.current

    def _tick(self) -> None:
        if self.is_typing:
            self._follow_text()
        else:
            self.ticked ^= {self.at}

    def _follow_text(self) -> None:
        """What is typed for one of several choices is sent with the others, so that its box is ticked."""
        if self.several:
            self.ticked = self.ticked | {self.at} if self.text.strip() else self.ticked - {self.at}


def _field(choice: Choice) -> Editor:
    editor = Editor()
    editor.set(choice.text)
    return editor


def _typed(field: Editor, choice: Choice, label: Line, room: int) -> tuple[list[Line], Cursor]:
    """The field behind its label, or below it where there is little room."""
    head = (*label, Span(": " if label[0].text else ""))
    size = cells.line_width(head)
    look = PromptStyle(prompt="", placeholder=choice.field or "", most_rows=_FIELD_ROWS)
    if room - size >= 3 * _LEAST_FIELD:
        rows, (row, column) = render(field, room - size, look)
        block: list[Line] = [
            (*(head if at == 0 else (Span(" " * size),)), *each) for at, each in enumerate(rows)
        ]
        return block, (row, column + size)
    rows, (row, column) = render(field, room, look)
    above = wrap(head, room)
    return [*above, *rows], (row + len(above), column)
