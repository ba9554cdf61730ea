"""A list with a description of the selected thing and keys that do something with it."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from msgspec import Struct

from bridle.frontends.tui.keymap.labels import ACCEPT, CLOSING, BoundKey, Hint
from bridle.frontends.tui.render.layout import fit, one_line, style
from bridle.frontends.tui.screen.live_region import Cursor
from bridle.frontends.tui.screen.view import Closed
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.terminal.keys import Key
from bridle.frontends.tui.widgets.pane import Do, Lines, nothing
from bridle.frontends.tui.widgets.picker import Item, Picker
from bridle.frontends.tui.widgets.scroll import Scroll
from bridle.frontends.tui.widgets.text_field import Signal, TextField

T = TypeVar("T")

_SIDE = 96
_LEAST_ROWS = 5
"""So many rows of the list are left by what stands above it, or two fifths."""
_MOST_INTRO = 0.6
_SHORT = 8
"""Lists with fewer items need not tell that they can be searched."""


class CommandInput(Struct, frozen=True):
    """What was typed and chosen for a command."""

    text: str = ""
    choice: str = ""


class Command(Struct, Generic[T], frozen=True, kw_only=True):
    """Something that can be done with the selected thing."""

    key: str
    """As `str(Key)` has it, or an action of the key bindings."""
    words: str
    """What the line of keys says."""
    act: Callable[[T | None, CommandInput], Any]
    """Makes what is asked for; None asks for nothing."""
    label: str = ""
    """How the line of keys calls the key."""
    ask: str = ""
    """A question whose answer is typed."""
    initial: Callable[[T], str] = lambda _: ""
    check: Callable[[T | None, str], str] = lambda _item, _text: ""
    """What is wrong with a typed answer; empty when it will do."""
    choices: Callable[[T | None], Sequence[tuple[str, str]]] = lambda _: ()
    """Values and names of which one is chosen."""
    chosen: Callable[[T], str] = lambda _: ""
    """The value of the choice that is selected at first."""
    confirm: str = ""
    """A question to be answered with y."""
    doubt: Callable[[T | None, CommandInput], str] = lambda _item, _given: ""
    """The question before the input is used; empty when none is needed."""
    closes: bool = False
    alone: bool = False
    """It needs no selected thing."""
    titled: bool = True
    """Its questions name the selected thing."""
    when: Callable[[T], bool] = lambda _: True


class _Asking(Struct, Generic[T]):
    """A command that waits for an answer."""

    command: Command[T]
    field: TextField | None
    choices: Picker[str] | None = None
    confirm: str = ""
    """The question to be answered with y; empty while something is typed or chosen."""
    given: CommandInput = CommandInput()
    problem: str = ""


class ListPane(Generic[T]):
    """The list; enter runs the first of `accept` that applies, or opens the description."""

    def __init__(
        self,
        items: Sequence[Item[T]],
        *,
        commands: Sequence[Command[T]] = (),
        accept: Sequence[Command[T]] = (),
        details: Callable[[T, int], list[Line]] | None = None,
        do: Do = nothing,
        moved: Callable[[T], None] | None = None,
        intro: Lines | None = None,
        typing: bool = False,
        multiple: bool = False,
        selected: int = 0,
        empty: str = "nothing here",
        contexts: tuple[str, ...] = ("Select",),
        side: int = _SIDE,
    ) -> None:
        """From the width `side` on the description stands beside the list."""
        self.picker = Picker(items, typing=typing, multiple=multiple, selected=selected, empty=empty)
        self._commands = commands
        self._accept = accept
        self._details = details
        self._do = do
        self._moved = moved
        self._intro = intro
        self._contexts = contexts
        self._side = side
        self._asking: _Asking[T] | None = None
        self._open: Scroll | None = None

    @property
    def contexts(self) -> tuple[str, ...]:
        if self._asking is not None:
            return ("Select",) if self._asking.choices is not None else ()
        if self._open is not None:
            return ("Scroll",)
        return () if self.picker.is_filtering else self._contexts

    @property
    def is_busy(self) -> bool:
        """Whether escape leads back to the list instead of closing the view."""
        return self._asking is not None or self._open is not None

    @property
    def is_reading(self) -> bool:
        """Whether the description is shown alone."""
        return self._open is not None

    @property
    def hints(self) -> Sequence[Hint]:
        if self._asking is not None:
            return [("y", "yes"), ("n", "no")] if self._asking.confirm else [(ACCEPT, "continue")]
        found: list[Hint] = []
        if self._open is not None:
            found.append(("↑↓", "scroll"))
        elif (accept := self._acceptance()) is not None:
            found.append((ACCEPT, accept.words))
        elif self._details is not None and self.picker.current is not None:
            found.append((ACCEPT, "details"))
        found += [(_key_of(each), each.words) for each in self._commands if self._applies(each)]
        if not self.picker.is_filtering and not self._open and len(self.picker.items) >= _SHORT:
            found.append(("/", "search"))
        return found

    def replace(self, items: Sequence[Item[T]]) -> None:
        """Have other items; the selection stays where it can."""
        self.picker.replace(items)

    def body(self, width: int, height: int) -> tuple[list[Line], Cursor | None]:
        if self._asking is not None:
            return self._question(self._asking, width, height)
        current = self.picker.current
        if self._open is not None and self._details is not None and current is not None:
            return self._open.show(fit(self._details(current, width), width), height), None
        most = max(int(height * _MOST_INTRO), height - _LEAST_ROWS)
        intro = fit(self._intro(width), width)[:most] if self._intro else []
        rows, cursor = self._list(width, max(1, height - len(intro)))
        return [*intro, *rows][:height], None if cursor is None else (cursor[0] + len(intro), cursor[1])

    def press(self, key: Key, action: str | None) -> Closed[Any] | bool:
        if self._asking is not None:
            return self._answer(self._asking, key, action)
        if (command := self._command(key, action)) is not None:
            return self._begin(command)
        if self._open is not None:
            return self._press_open(self._open, key, action)
        before = self.picker.current
        signal = self.picker.press(key, action)
        if self._moved is not None and (now := self.picker.current) is not None and now != before:
            self._moved(now)
        if signal is Signal.ACCEPTED:
            return self._accepted()
        return signal is Signal.USED

    def paste(self, text: str) -> None:
        if self._asking is None:
            self.picker.paste(text)
        elif self._asking.field is not None:
            self._asking.field.paste(text)

    def open_details(self) -> None:
        """Show the description alone."""
        if self._details is not None and self.picker.current is not None:
            self._open = Scroll()

    def begin(self, key: str) -> None:
        """Start a command as if its key had been pressed."""
        if (command := next((each for each in self._commands if each.key == key), None)) is not None:
            self._begin(command)

    def _list(self, width: int, height: int) -> tuple[list[Line], Cursor | None]:
        current = self.picker.current
        if self._details is None or width < self._side or current is None:
            return self.picker.rows(width, height)
        left = width // 2
        rows, cursor = self.picker.rows(left - 2, height)
        beside = fit(self._details(current, width - left - 1), width - left - 1)[:height]
        wall = Span("│ ", style("border"))
        filled = [rows[at] if at < len(rows) else () for at in range(max(len(rows), len(beside)))]
        joined: list[Line] = [
            (*cells.pad(row, left - 1), wall, *(beside[at] if at < len(beside) else ()))
            for at, row in enumerate(filled)
        ]
        return fit(joined, width), cursor

    def _press_open(self, scroll: Scroll, key: Key, action: str | None) -> Closed[Any] | bool:
        if action in CLOSING or str(key) in ("escape", "left", "backspace", "q", "ctrl+c"):
            self._open = None
            return True
        return scroll.press(key, action)

    def _accepted(self) -> Closed[Any] | bool:
        if (command := self._acceptance()) is not None:
            return self._begin(command)
        self.open_details()
        return True

    def _acceptance(self) -> Command[T] | None:
        return next((each for each in self._accept if self._applies(each)), None)

    def _command(self, key: Key, action: str | None) -> Command[T] | None:
        for each in self._commands:
            if each.key in (str(key), action) and self._applies(each):
                return each
        return None

    def _applies(self, command: Command[T]) -> bool:
        if self.picker.is_filtering and _is_typed(command.key):
            return False
        current = self.picker.current
        return command.alone or (current is not None and command.when(current))

    def _begin(self, command: Command[T]) -> Closed[Any] | bool:
        current = self.picker.current
        if command.ask:
            initial = "" if current is None or command.alone else command.initial(current)
            self._asking = _Asking(command, TextField(initial))
        elif (choices := self._choices(command)) is not None:
            self._asking = _Asking(command, None, choices)
        elif command.confirm:
            self._asking = _Asking(command, None, confirm=command.confirm)
        else:
            return self._run(command, CommandInput())
        return True

    def _answer(self, asking: _Asking[T], key: Key, action: str | None) -> Closed[Any] | bool:
        if asking.confirm:
            self._asking = None
            return self._run(asking.command, asking.given) if key.name == "y" and not key.ctrl else True
        taker = asking.choices
        signal = taker.press(key, action) if taker else asking.field.press(key) if asking.field else None
        if signal is Signal.CANCELLED:
            self._asking = None
        elif signal is Signal.ACCEPTED:
            text = "" if asking.field is None else asking.field.text.strip()
            if taker is None:
                asking.problem = asking.command.check(self._subject(asking.command), text)
                asking.choices = None if asking.problem else self._choices(asking.command)
                if asking.problem or asking.choices is not None:
                    return True
            return self._given(asking.command, CommandInput(text, (taker.current or "") if taker else ""))
        return True

    def _given(self, command: Command[T], given: CommandInput) -> Closed[Any] | bool:
        """Everything is typed and chosen."""
        self._asking = None
        if doubt := command.doubt(self._subject(command), given):
            self._asking = _Asking(command, None, confirm=doubt, given=given)
            return True
        return self._run(command, given)

    def _run(self, command: Command[T], given: CommandInput) -> Closed[Any] | bool:
        wanted = command.act(self._subject(command), given)
        if command.closes:
            return Closed(wanted)
        if wanted is not None:
            self._do(wanted)
        return True

    def _question(self, asking: _Asking[T], width: int, height: int) -> tuple[list[Line], Cursor | None]:
        current = self.picker.current
        is_titled = asking.command.titled and not asking.command.alone
        about = self._label() if is_titled and current is not None else ""
        rows = cells.wrap((Span(about, style(bold=True)),), width) if about else []
        if asking.confirm:
            return [*rows, *cells.wrap((Span(one_line(asking.confirm), style("warning")),), width)], None
        if asking.choices is not None:
            if asking.field is not None:
                rows = [*rows, *cells.wrap((Span(asking.field.text, style("info")),), width)]
            found, _ = asking.choices.rows(width, max(1, height - len(rows) - 1))
            return [*rows, (), *found], None
        assert asking.field is not None
        rows += cells.wrap((Span(asking.command.ask),), width)
        line, column = asking.field.line("❯ ", width)
        wrong = cells.wrap((Span(asking.problem, style("error")),), width) if asking.problem else []
        return [*rows, line, *wrong], (len(rows), column)

    def _label(self) -> str:
        shown = self.picker.shown
        return one_line(shown[self.picker.selected].label) if shown else ""

    def _subject(self, command: Command[T]) -> T | None:
        return None if command.alone else self.picker.current

    def _choices(self, command: Command[T]) -> Picker[str] | None:
        subject = self._subject(command)
        offered = command.choices(subject)
        if not offered:
            return None
        now = "" if subject is None else command.chosen(subject)
        at = next((at for at, (value, _) in enumerate(offered) if value == now), 0)
        return Picker([Item(value=value, label=name) for value, name in offered], selected=at)


def _is_typed(key: str) -> bool:
    """Whether a key would go into the filter instead."""
    return ":" in key or key in ("space", "backspace") or len(key.removeprefix("shift+")) == 1


def _key_of(command: Command[Any]) -> str | BoundKey:
    return BoundKey((command.key,)) if ":" in command.key else command.label or command.key
