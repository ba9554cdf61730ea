"""Chooses the model, and how much it thinks."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from bridle.frontends.tui.keymap.keymap import USUAL, Keymap
from bridle.frontends.tui.keymap.labels import ACCEPT, CLOSE, BoundKey, Hint, spoken
from bridle.frontends.tui.render.layout import MUTED, count, one_line, paragraph, style
from bridle.frontends.tui.screen.view import Closed, Frame
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.terminal.keys import Key
from bridle.frontends.tui.widgets.list_pane import Command, ListPane
from bridle.frontends.tui.widgets.page import page, room
from bridle.frontends.tui.widgets.pane import Do, nothing
from bridle.frontends.tui.widgets.picker import Item, Picker
from bridle.frontends.tui.widgets.tabs import TabbedView
from bridle.frontends.tui.widgets.text_field import Signal
from bridle.providers.model_listing import ModelListing
from bridle.types.command import Says

_MOST_RESULT = 4
"""Rows for what came of a test call."""


class ChooseModel(Struct, frozen=True, kw_only=True):
    id: str
    effort: str | None = None
    """None leaves it to the model's own default."""
    session_only: bool = False
    """Do not save it for later sessions."""


class CheckModel(Struct, frozen=True):
    """Send one small request to a model."""

    id: str


class ChooseEffort(Struct, frozen=True):
    level: str
    """`auto` for the model's own default."""


def effort_view(levels: Sequence[str], *, current: str | None) -> TabbedView[None]:
    """The levels of the model in use."""
    known = ("auto", *levels)
    items = [
        Item(
            value=level,
            label=level,
            sign=Span("✓" if level == (current or "auto") else " ", style("success")),
        )
        for level in known
    ]
    use: Command[str] = Command(
        key="enter", words="use", closes=True, act=lambda level, _: ChooseEffort(level) if level else None
    )
    at = known.index(current) if current in known else 0
    return TabbedView("Effort", [("", ListPane(items, accept=(use,), selected=at))], full=False)


class ModelView:
    """The list of models; left and right change the effort of the selected one."""

    is_full = False
    refresh = None

    def __init__(
        self, models: Sequence[ModelListing], *, current: str, effort: str | None = None, do: Do = nothing
    ) -> None:
        self._current = current
        self._count = len(models)
        self._do = do
        self._tested = ""
        """The model that is or was tested."""
        self._result = Says()
        self._effort = effort
        at = next((index for index, row in enumerate(models) if row.value == current), 0)
        self._list = Picker([_item(row, current) for row in models], selected=at, empty="no models")

    @property
    def contexts(self) -> tuple[str, ...]:
        return () if self._list.is_filtering else ("ModelPicker", "Select")

    def render(self, width: int, height: int, keys: Keymap = USUAL, /) -> Frame:
        about = self._about(width)
        rows, cursor = self._list.rows(width, max(1, room(height, full=False) - len(about)))
        effort: list[Hint] = [(_EFFORT, "effort")] if self._efforts else []
        hints: list[Hint] = [(ACCEPT, "use and save"), (CLOSE, "cancel")]
        if not self._list.is_filtering:
            hints[1:1] = [("/", "search"), *effort, (_SESSION, "this session only"), (_TEST, "test")]
        named = spoken(hints, keys, self.contexts)
        return page(
            "Model", [*rows, *about], width=width, height=height, hints=named, cursor=cursor, full=False,
            aside=count(self._count, "model"),
        )  # fmt: skip

    def press(self, key: Key, action: str | None) -> Closed[Any] | None:
        if not self._list.is_filtering:
            if action in _SESSION.actions:
                return self._chosen(session_only=True)
            if action is None and str(key) == _TEST:
                self._test()
                return None
            if action in _STEPS:
                self._change_effort(_STEPS[action])
                return None
        match self._list.press(key, action):
            case Signal.ACCEPTED:
                return self._chosen()
            case Signal.CANCELLED:
                return Closed(None)
            case _:
                return None

    def paste(self, text: str) -> None:
        self._list.paste(text)

    def tell(self, said: Says) -> None:
        """Show what came of the test call."""
        self._result = said

    def _test(self) -> None:
        if (row := self._list.current) is not None:
            self._tested, self._result = row.value, Says()
            self._do(CheckModel(row.model))

    @property
    def _efforts(self) -> tuple[str, ...]:
        row = self._list.current
        return () if row is None else row.efforts

    def _chosen(self, *, session_only: bool = False) -> Closed[Any] | None:
        if (row := self._list.current) is None:
            return None
        effort = self._effort if self._effort in row.efforts else None
        return Closed(ChooseModel(id=row.value, effort=effort, session_only=session_only))

    def _change_effort(self, by: int) -> None:
        levels = (None, *self._efforts)
        at = levels.index(self._effort) if self._effort in levels else 0
        self._effort = levels[max(0, min(at + by, len(levels) - 1))]

    def _about(self, width: int) -> list[Line]:
        row = self._list.current
        if row is None:
            return []
        lines: list[Line] = [()]
        if row.model != row.value:
            lines += paragraph(row.model, width, MUTED)[:2]
        if row.efforts:
            lines += cells.wrap(self._effort_line(row.efforts), width)
        if row.value == self._tested:
            lines += self._test_rows(width)
        return lines

    def _test_rows(self, width: int) -> list[Line]:
        if not self._result.text:
            return [(Span("Testing…", style("spinner")),)]
        color = "error" if self._result.is_error else "success"
        return paragraph(self._result.text, width, style(color))[:_MOST_RESULT]

    def _effort_line(self, efforts: Sequence[str]) -> Line:
        spans = [Span("effort ", MUTED)]
        for level in ("default", *efforts):
            is_chosen = level == (self._effort if self._effort in efforts else "default")
            spans.append(
                Span(
                    f" {one_line(level)} ",
                    style("inverse", "border.focus", bold=True) if is_chosen else MUTED,
                )
            )
        return tuple(spans)


_TEST = "t"
_SESSION = BoundKey(("modelPicker:thisSessionOnly",))
_EFFORT = (BoundKey(("modelPicker:decreaseEffort",)), BoundKey(("modelPicker:increaseEffort",)))
_STEPS = {"modelPicker:decreaseEffort": -1, "modelPicker:increaseEffort": 1}


def _dollars(price: float) -> str:
    """`$2` or `$0.50`."""
    return f"${price:g}" if price == int(price) else f"${price:.2f}"


def _item(row: ModelListing, current: str) -> Item[ModelListing]:
    # A price of nothing is a price that is not known.
    price = (
        f"{_dollars(row.input_price)} / {_dollars(row.output_price)}"
        if row.input_price and row.output_price
        else ""
    )
    sign = Span("✓" if row.value == current else " ", style("success"))
    window = f"{row.window // 1000:,}k"
    return Item(value=row, label=row.value, facts=(window, price), detail=row.advice, sign=sign)
