"""A list to choose from: columns, groups, a filter while typing, and marks for several choices."""

from collections.abc import Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from bridle.frontends.tui.keymap.labels import CLOSING
from bridle.frontends.tui.render.layout import MUTED, fit, one_line
from bridle.frontends.tui.screen.live_region import Cursor
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.terminal.keys import Key
from bridle.frontends.tui.widgets.filter import Searchable, searchable, weigh, words_of
from bridle.frontends.tui.widgets.picker_rows import Column, columns_of, group_row, item_row
from bridle.frontends.tui.widgets.text_field import Signal, TextField

T = TypeVar("T")

_UP = frozenset({"select:previous", "messageSelector:up", "confirm:previous", "diff:previousFile"})
_DOWN = frozenset({"select:next", "messageSelector:down", "confirm:next", "diff:nextFile"})
_ACCEPT = frozenset({"select:accept", "messageSelector:select", "diff:viewDetails"})
_TOP = frozenset({"messageSelector:top", "scroll:top"})
_BOTTOM = frozenset({"messageSelector:bottom", "scroll:bottom"})
_LONGEST_LABEL = 500


class Item(Struct, Generic[T], frozen=True, kw_only=True):
    """A row of the list."""

    value: T
    label: str
    facts: tuple[str, ...] = ()
    """Short columns behind the label; in a narrow window the last ones are left out."""
    detail: str = ""
    """A description that takes the room that is left."""
    is_path: bool = False
    """The description is a path: where it is cut, the name at its end stays."""
    group: str = ""
    words: str = ""
    """More text in which the filter looks."""
    sign: Span | None = None
    """A sign before the label, in a color that says how the thing stands."""


class _Shown(Struct, Generic[T], frozen=True):
    item: Item[T]
    positions: Sequence[int] = ()


class Picker(Generic[T]):
    """The list with its filter, selection and marks."""

    def __init__(
        self,
        items: Sequence[Item[T]],
        *,
        typing: bool = False,
        multiple: bool = False,
        selected: int = 0,
        empty: str = "nothing here",
    ) -> None:
        """`typing` filters with every letter; otherwise `/` begins the filter and letters stay free."""
        self._typing = typing
        self._multiple = multiple
        self._empty = empty
        self._filter: TextField | None = TextField() if typing else None
        self._marked: list[T] = []
        self._top = 0
        self._page = 1
        self._items: Sequence[Item[T]] = ()
        self._ready: list[Searchable] | None = None
        self._shown: list[_Shown[T]] = []
        self.selected = 0
        self.replace(items)
        self.select(selected)

    @property
    def is_filtering(self) -> bool:
        """Whether letters go into the filter."""
        return self._filter is not None

    @property
    def query(self) -> str:
        return "" if self._filter is None else self._filter.text

    @property
    def items(self) -> Sequence[Item[T]]:
        """All items, also those that the filter hides."""
        return self._items

    @property
    def shown(self) -> list[Item[T]]:
        """The items that the filter leaves, in the order of the list."""
        return [each.item for each in self._shown]

    @property
    def current(self) -> T | None:
        """What the selected row stands for."""
        return self._shown[self.selected].item.value if self._shown else None

    @property
    def marked(self) -> list[T]:
        """What was marked, in the order of the list; the selected one when nothing was."""
        if self._marked:
            return [each.value for each in self._items if each.value in self._marked]
        return [] if self.current is None else [self.current]

    def replace(self, items: Sequence[Item[T]]) -> None:
        """Have other items; the selection stays on the same thing where it is still there."""
        had = self.current
        self._items = items
        self._ready = None
        self._refilter()
        at = next((index for index, each in enumerate(self._shown) if each.item.value == had), None)
        self.select(self.selected if at is None else at)

    def select(self, index: int) -> None:
        """Move the selection; beyond the ends it stays inside."""
        self.selected = max(0, min(index, len(self._shown) - 1))

    def press(self, key: Key, action: str | None = None) -> Signal:
        """Move, filter, mark, accept or cancel."""
        name = str(key)
        if (name == "enter" or action in _ACCEPT) and not (self._multiple and name == "space"):
            return Signal.ACCEPTED if self._shown else Signal.USED
        if self._move(name, action):
            return Signal.USED
        if self._multiple and (name == "tab" or (name == "space" and not self.query)):
            return self._toggle()
        if name in ("escape", "ctrl+c") or action in CLOSING:
            return self._leave()
        if self._filter is None:
            if name != "/" and action != "settings:search":
                return Signal.IGNORED
            self._filter = TextField()
            return Signal.USED
        return self._type(key)

    def paste(self, text: str) -> None:
        """Pasted text goes into the filter."""
        if self._filter is not None:
            self._filter.paste(text)
            self._refilter(first=True)

    def rows(self, width: int, height: int) -> tuple[list[Line], Cursor | None]:
        """The rows that fit around the selected one, the filter above them, and the cursor in it."""
        above: list[Line] = []
        cursor: Cursor | None = None
        if self._filter is not None:
            above, cursor = self._filter_rows(width, height)
        space = max(1, height - len(above))
        if not self._shown:
            said = "nothing matches" if self.query else self._empty
            return [*above, *cells.wrap((Span(said, MUTED),), max(1, width))][:height], cursor
        return fit([*above, *self._window(width, space)][:height], width), cursor

    def _filter_rows(self, width: int, height: int) -> tuple[list[Line], Cursor]:
        assert self._filter is not None
        count = f"{len(self._shown):,} of {len(self._items):,}"
        space = width - cells.width(count) - 1
        is_counted = space >= 20
        line, column = self._filter.line("/ ", space if is_counted else width, placeholder="type to search")
        if is_counted:
            line = (*cells.pad(line, space), Span(" "), Span(count, MUTED))
        return [line, *([()] if height >= 10 else [])], (0, column)

    def _window(self, width: int, height: int) -> list[Line]:
        plan = self._plan()
        at = plan.index(self.selected)
        self._page = height
        first = at - 1 if at and isinstance(plan[at - 1], str) and height > 1 else at
        self._top = min(max(self._top, at - height + 1), first, max(0, len(plan) - height))
        window = plan[self._top : self._top + height]
        columns = columns_of(
            [self._column_of(self._shown[each].item) for each in window if isinstance(each, int)],
            width,
            margin=2 + (4 if self._multiple else 0),
        )
        return [
            group_row(each, width) if isinstance(each, str) else self._row(each, columns, width)
            for each in window
        ]

    def _plan(self) -> list[int | str]:
        """Rows in order: the names of groups, and the places of items."""
        plan: list[int | str] = []
        group = ""
        for index, each in enumerate(self._shown):
            if each.item.group != group:
                group = each.item.group
                plan.append(group)
            plan.append(index)
        return plan

    def _column_of(self, item: Item[T]) -> Column:
        return Column(
            label=one_line(item.label[:_LONGEST_LABEL]),
            facts=item.facts,
            detail=item.detail,
            is_path=item.is_path,
            sign=item.sign,
        )

    def _row(self, index: int, columns: Sequence[int], width: int) -> Line:
        shown = self._shown[index]
        return item_row(
            self._column_of(shown.item),
            columns,
            width,
            is_selected=index == self.selected,
            is_marked=(shown.item.value in self._marked) if self._multiple else None,
            positions=tuple(shown.positions),
        )

    def _move(self, name: str, action: str | None) -> bool:
        if name in ("up", "ctrl+p") or action in _UP:
            # Past the first one is the last one: lists of choices are short, and long ones have a filter.
            self.select(self.selected - 1 if self.selected else len(self._shown) - 1)
        elif name in ("down", "ctrl+n") or action in _DOWN:
            self.select(0 if self.selected >= len(self._shown) - 1 else self.selected + 1)
        elif name in ("pageup", "pagedown"):
            self.select(self.selected + (self._page if name == "pagedown" else -self._page))
        elif name == "ctrl+home" or action in _TOP or (name == "home" and not self.query):
            self.select(0)
        elif name == "ctrl+end" or action in _BOTTOM or (name == "end" and not self.query):
            self.select(len(self._shown))
        else:
            return False
        return True

    def _toggle(self) -> Signal:
        if (current := self.current) is not None:
            if current in self._marked:
                self._marked.remove(current)
            else:
                self._marked.append(current)
            self.select(self.selected + 1)
        return Signal.USED

    def _leave(self) -> Signal:
        if self._filter is None or (self._typing and not self.query):
            return Signal.CANCELLED
        had = self.current
        self._filter = TextField() if self._typing else None
        self._refilter()
        self.select(next((at for at, each in enumerate(self._shown) if each.item.value == had), 0))
        return Signal.USED

    def _type(self, key: Key) -> Signal:
        assert self._filter is not None
        before = self._filter.text
        if str(key) in ("backspace", "ctrl+h") and not before:
            return self._leave() if not self._typing else Signal.USED
        signal = self._filter.press(key)
        if self._filter.text != before:
            self._refilter(first=True)
        return signal

    def _refilter(self, *, first: bool = False) -> None:
        words = words_of(self.query)
        if not words:
            self._shown = [_Shown(each) for each in self._items]
        else:
            ready = self._searchable()
            weighed = [
                (each, found)
                for each, texts in zip(self._items, ready, strict=True)
                if (found := weigh(texts, words)) is not None
            ]
            groups = list(dict.fromkeys(each.group for each, _ in weighed))
            weighed.sort(key=lambda pair: (groups.index(pair[0].group), -pair[1][0]))
            self._shown = [_Shown(each, found[1]) for each, found in weighed]
        self.select(0 if first else self.selected)

    def _searchable(self) -> list[Searchable]:
        if self._ready is None:
            self._ready = [
                searchable(each.label[:_LONGEST_LABEL], (*each.facts, each.detail, each.group, each.words))
                for each in self._items
            ]
        return self._ready
