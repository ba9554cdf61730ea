"""The form of an MCP server, or the page that it wants to be opened."""

from collections.abc import Mapping, Sequence
from typing import Any

from bridle.frontends.tui.dialogs.confirm import Confirm
from bridle.frontends.tui.dialogs.menu import Choice
from bridle.frontends.tui.dialogs.panel import heading
from bridle.frontends.tui.editing.editor import Editor
from bridle.frontends.tui.editing.editor_view import PromptStyle, render
from bridle.frontends.tui.keymap.keymap import USUAL, Keymap
from bridle.frontends.tui.render.layout import MUTED, one_line, paragraph, style, wrap
from bridle.frontends.tui.screen.live_region import Cursor
from bridle.frontends.tui.screen.view import Closed, Frame
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.sanitize import clean, reveal
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.terminal.keys import Key
from bridle.types.question import ElicitationQuestion, Supplied

_MOST_TEXT = 100_000


class Field:
    """One value of the form."""

    def __init__(self, name: str, schema: Mapping[str, Any], *, required: bool) -> None:
        self.name = name
        self.schema = schema
        self.required = required
        self.options = _options(schema)
        self.at = 0
        self.editor = Editor()
        given = schema.get("default")
        if self.options:
            self.at = next((i for i, (value, _) in enumerate(self.options) if value == given), 0)
        elif given is not None:
            self.editor.set(clean(str(given)))

    @property
    def title(self) -> str:
        return one_line(str(self.schema.get("title") or self.name))

    def turn(self, by: int) -> None:
        """Go to another of the values that are offered."""
        if self.options:
            self.at = (self.at + by) % len(self.options)

    def value(self) -> Any:
        """What was filled in; None for nothing.

        Raises:
            ValueError: it does not fit, in one sentence.
        """
        if self.options:
            return self.options[self.at][0]
        text = self.editor.text.strip()
        if not text:
            if self.required:
                raise ValueError(f"{self.title} is required.")
            return None
        return _typed(text, self.schema, self.title)


class FormDialog:
    """Fields one below the other; the last row sends them."""

    is_full = False
    refresh = None

    def __init__(self, question: ElicitationQuestion) -> None:
        schema = question.schema or {}
        required = schema.get("required") or ()
        properties: Mapping[str, Any] = schema.get("properties") or {}
        self._question = question
        self._fields = [
            Field(name, each if isinstance(each, dict) else {}, required=name in required)
            for name, each in properties.items()
        ]
        self._at = 0
        self._problem = ""
        self.armed = False

    def arm(self) -> None:
        """Keys count from now on."""
        self.armed = True

    @property
    def contexts(self) -> tuple[str, ...]:
        return ()

    def render(self, width: int, height: int, keys: Keymap = USUAL, /) -> Frame:
        del keys  # A form is typed in, where keys have their first meaning.
        del height
        rows = [*heading(f"{self._question.server} asks", width), *_message(self._question, width)]
        cursor: Cursor | None = None
        for index, field in enumerate(self._fields):
            is_current = index == self._at
            head = self._head(field, width, is_current=is_current)
            rows += head
            shown, place = _shown(field, max(width - 4, 1), is_current=is_current)
            if is_current and place is not None:
                cursor = (len(rows) + place[0], 4 + place[1])
            rows += [(Span("    "), *row) for row in shown]
        if self._problem:
            rows += paragraph(self._problem, width, style("error"))
        rows += self._buttons()
        hint = "tab for the next field · esc to decline" if self.armed else "just a moment…"
        rows += wrap((Span(hint, MUTED),), max(width, 1))
        return Frame([cells.cut(row, width) for row in rows], cursor)

    def press(self, key: Key, action: str | None, /) -> Closed[Supplied] | None:
        del action
        self._problem = ""
        name = str(key)
        count = len(self._fields) + 2
        if name in ("escape", "ctrl+c"):
            return Closed(Supplied(action="cancel" if name == "ctrl+c" else "decline"))
        if name in ("tab", "down"):
            self._at = (self._at + 1) % count
        elif name in ("shift+tab", "up"):
            self._at = (self._at - 1) % count
        elif name == "enter":
            return self._enter()
        elif self._at < len(self._fields):
            self._fill(self._fields[self._at], key)
        return None

    def paste(self, text: str, /) -> None:
        if self._at < len(self._fields) and not self._fields[self._at].options:
            self._fields[self._at].editor.insert(clean(text[:_MOST_TEXT], tab=4))

    def _enter(self) -> Closed[Supplied] | None:
        if self._at < len(self._fields):
            self._at += 1
            return None
        if self._at == len(self._fields) + 1:
            return Closed(Supplied(action="decline"))
        content: dict[str, Any] = {}
        for index, field in enumerate(self._fields):
            try:
                value = field.value()
            except ValueError as error:
                self._at, self._problem = index, str(error)
                return None
            if value is not None:
                content[field.name] = value
        return Closed(Supplied(action="accept", content=content))

    def _fill(self, field: Field, key: Key) -> None:
        if field.options:
            field.turn({"left": -1, "right": 1, "space": 1}.get(str(key), 0))
        else:
            field.editor.press(key)

    def _head(self, field: Field, width: int, *, is_current: bool) -> list[Line]:
        mark = Span("❯ " if is_current and self.armed else "  ", style("accent", bold=True))
        star = " (needed)" if field.required else ""
        rows: list[Line] = [(mark, Span(field.title, style(bold=True)), Span(star, MUTED))]
        if description := one_line(str(field.schema.get("description") or "")[:500]):
            rows += [(Span("    "), *row) for row in paragraph(description, max(width - 4, 1), MUTED)]
        return rows

    def _buttons(self) -> list[Line]:
        at = self._at - len(self._fields)
        labels = ("Send", "Decline")
        return [
            (
                Span("❯ " if index == at else "  ", style("accent", bold=True)),
                Span(label, style("accent", bold=True) if index == at else style()),
            )
            for index, label in enumerate(labels)
        ]


def open_page(question: ElicitationQuestion) -> Confirm:
    """Whether a page may be opened; its address is shown in full."""

    def body(width: int) -> list[Line]:
        address = paragraph(reveal(question.url or ""), width, style("link", underline=True))
        return [*_message(question, width), *address]

    choices = (
        Choice(value="accept", label="Open in the browser"),
        Choice(value="decline", label="No"),
    )
    return Confirm(
        f"{one_line(question.server)} wants to open a page", body, choices, cancel="decline", start=1
    )


def _message(question: ElicitationQuestion, width: int) -> list[Line]:
    return [*paragraph(question.message[:4_000], width), ()]


def _shown(field: Field, width: int, *, is_current: bool) -> tuple[list[Line], Cursor | None]:
    if field.options:
        label = one_line(field.options[field.at][1])
        arrows = ("‹ ", " ›") if is_current else ("", "")
        return [(Span(f"{arrows[0]}{label}{arrows[1]}", style("accent")),)], None
    kind = str(field.schema.get("format") or field.schema.get("type") or "text")
    rows, cursor = render(
        field.editor, width, PromptStyle(prompt="", placeholder=one_line(kind), most_rows=4)
    )
    return rows, cursor


def _options(schema: Mapping[str, Any]) -> Sequence[tuple[Any, str]]:
    if schema.get("type") == "boolean":
        return ((False, "no"), (True, "yes"))
    if isinstance(values := schema.get("enum"), list):
        names = schema.get("enumNames")
        labels = names if isinstance(names, list) and len(names) == len(values) else values
        return [(value, str(label)) for value, label in zip(values, labels, strict=True)]
    if isinstance(one_of := schema.get("oneOf"), list):
        return [
            (each["const"], str(each.get("title") or each["const"])) for each in one_of if "const" in each
        ]
    return ()


def _typed(text: str, schema: Mapping[str, Any], title: str) -> Any:
    kind = schema.get("type")
    if kind in ("integer", "number"):
        try:
            number = int(text) if kind == "integer" else float(text)
        except ValueError as error:
            raise ValueError(
                f"{title} must be a {'whole number' if kind == 'integer' else 'number'}."
            ) from error
        low, high = schema.get("minimum"), schema.get("maximum")
        if (isinstance(low, int | float) and number < low) or (
            isinstance(high, int | float) and number > high
        ):
            raise ValueError(f"{title} must be between {low} and {high}.")
        return number
    least, most = schema.get("minLength"), schema.get("maxLength")
    if isinstance(least, int) and len(text) < least:
        raise ValueError(f"{title} needs at least {least} characters.")
    if isinstance(most, int) and len(text) > most:
        raise ValueError(f"{title} allows at most {most} characters.")
    if schema.get("format") == "email" and "@" not in text:
        raise ValueError(f"{title} must be an e-mail address.")
    return text
