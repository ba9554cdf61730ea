"""The pages of the documentation: a list that searches in all of them, and the reader of one."""

from collections.abc import Callable, Sequence
from typing import Any

from bridle.commands.queries.documentation import (
    CHANGELOG,
    Hit,
    Page,
    Section,
    all_sections,
    search,
    sections,
)
from bridle.frontends.tui.keymap.labels import ACCEPT, CLOSING, Hint
from bridle.frontends.tui.screen.live_region import Cursor
from bridle.frontends.tui.screen.view import Closed
from bridle.frontends.tui.screens.docs.reader import Reader
from bridle.frontends.tui.style.text import Line
from bridle.frontends.tui.terminal.keys import Key
from bridle.frontends.tui.widgets.picker import Item, Picker
from bridle.frontends.tui.widgets.tabs import TabbedView
from bridle.frontends.tui.widgets.text_field import Signal

_BACK = frozenset({"escape", "left", "backspace"})


def docs_view(known: Sequence[Page], *, topic: str = "", version: str = "") -> TabbedView[None]:
    """The list of pages, or the page for a topic."""
    pane = DocsPane(known, topic=topic)
    view: TabbedView[None] = TabbedView("Docs", [("", pane)])

    def retitle(page: str, position: str) -> None:
        view.title = f"Docs: {page}" if page else "Docs"
        view.aside = position or (f"bridle {version}" if version else "")

    pane.retitle = retitle
    return view


def _first_section(page: Page) -> Section | None:
    """Where to begin to read: the changelog begins with what is new, not with what a changelog is."""
    if page.topic != CHANGELOG:
        return None
    return next((section for section in sections(page) if section.heading.startswith("[")), None)


class DocsPane:
    """A list of pages, of sections as soon as something is typed, and the page that is read."""

    def __init__(self, known: Sequence[Page], *, topic: str = "") -> None:
        self._pages = {page.topic: page for page in known}
        self._contents = [_page_item(page) for page in known]
        self._sections = all_sections(known)
        self._searched = ""
        self._picker: Picker[Section] = Picker(
            self._contents, typing=True, empty="the documentation is missing from this installation"
        )
        page = self._pages.get(topic)
        self._reader = None if page is None else Reader(page, _first_section(page))
        self.retitle: Callable[[str, str], None] = lambda _page, _position: None
        """Called with the page that is read and the place in it, whenever it is drawn."""

    @property
    def contexts(self) -> tuple[str, ...]:
        return () if self._reader is None or self._reader.is_typing else ("Scroll",)

    @property
    def is_busy(self) -> bool:
        return self._reader is not None

    @property
    def hints(self) -> Sequence[Hint]:
        if self._reader is None:
            return [(ACCEPT, "read")]
        return [*self._reader.hints, *([] if self._reader.is_typing else [("q", "close")])]

    def body(self, width: int, height: int) -> tuple[list[Line], Cursor | None]:
        if self._reader is None:
            self.retitle("", "")
            return self._picker.rows(width, height)
        shown = self._reader.body(width, height)
        self.retitle(self._reader.page.title, self._reader.position)
        return shown

    def press(self, key: Key, action: str | None) -> Closed[Any] | bool:
        if self._reader is not None:
            return self._press_reader(self._reader, key, action)
        signal = self._picker.press(key, action)
        self._offer()
        if signal is Signal.ACCEPTED and (section := self._picker.current) is not None:
            self._reader = Reader(self._pages[section.topic], section, query=self._picker.query)
        return signal not in (Signal.IGNORED, Signal.CANCELLED)

    def paste(self, text: str) -> None:
        if self._reader is not None:
            self._reader.paste(text)
        else:
            self._picker.paste(text)
            self._offer()

    def _press_reader(self, reader: Reader, key: Key, action: str | None) -> Closed[Any] | bool:
        if reader.press(key, action):
            return True
        if str(key) in ("q", "ctrl+c"):
            return Closed(None)
        if str(key) in _BACK or action in CLOSING:
            self._reader = None
        return True

    def _offer(self) -> None:
        """Pages to choose from; sections of all of them while something is looked for."""
        query = self._picker.query
        if query == self._searched:
            return
        self._searched = query
        found = [_hit_item(hit) for hit in search(query, self._sections)]
        # Without a section that has the words, the letters may still be those of a heading.
        everything = self._contents if not query else [_hit_item(Hit(each, "")) for each in self._sections]
        self._picker.replace(found or everything)
        self._picker.select(0)


def _page_item(page: Page) -> Item[Section]:
    first = Section(page.topic, page.title, 0, "")
    return Item(value=first, label=page.topic, facts=(page.title,), detail=page.summary)


def _hit_item(hit: Hit) -> Item[Section]:
    section = hit.section
    return Item(
        value=section, label=f"{section.topic}: {section.heading}", detail=hit.line, words=section.text
    )
