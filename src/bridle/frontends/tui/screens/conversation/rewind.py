"""Goes back to an earlier prompt: the conversation, the files, both, or a summary instead."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from bridle.frontends.tui.keymap.keymap import USUAL, Keymap
from bridle.frontends.tui.keymap.labels import ACCEPT, CLOSE, Hint, spoken
from bridle.frontends.tui.render.layout import MUTED, count, one_line, paragraph, style
from bridle.frontends.tui.screen.live_region import Cursor
from bridle.frontends.tui.screen.view import Closed, Frame
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.terminal.keys import Key
from bridle.frontends.tui.widgets.page import page, room
from bridle.frontends.tui.widgets.pane import Do, nothing
from bridle.frontends.tui.widgets.picker import Item, Picker
from bridle.frontends.tui.widgets.relative_time import ago
from bridle.frontends.tui.widgets.text_field import Signal, TextField
from bridle.types.services.checkpoints import Rewound

What = Literal["both", "conversation", "code", "summarize_from", "summarize_up_to"]

_MOST_FILES = 5
_OFFERS: tuple[tuple[What, str], ...] = (
    ("both", "restore the files and the conversation"),
    ("conversation", "restore the conversation only"),
    ("code", "restore the files only"),
    ("summarize_from", "summarize from here"),
    ("summarize_up_to", "summarize up to here"),
)


class RewindPoint(Struct, frozen=True, kw_only=True):
    """A prompt that can be gone back to."""

    uuid: str
    text: str
    time: float | None = None
    """Seconds since the epoch."""


class Rewind(Struct, frozen=True, kw_only=True):
    """What to go back to, and with what."""

    uuid: str
    what: What
    instructions: str = ""
    """What a summary should keep in mind."""


class Measure(Struct, frozen=True):
    """Find out what going back would change in files; hand it to `RewindView.measured`."""

    uuid: str


class RewindView:
    """First the prompt is chosen, then what to go back with."""

    is_full = True
    refresh = None

    def __init__(
        self,
        points: Sequence[RewindPoint],
        *,
        now: float,
        changes: Mapping[str, Rewound | None] | None = None,
        do: Do = nothing,
    ) -> None:
        """`points` are oldest first; `changes` says what is known of files, None where nothing was kept."""
        self._changes = dict(changes or {})
        self._do = do
        self._now = now
        self._points: Picker[RewindPoint] = Picker(
            [self._item(each) for each in points],
            selected=len(points) - 1,
            empty="no prompts yet",
        )
        self._choices: Picker[What] | None = None
        self._field: TextField | None = None
        self._measure()

    @property
    def contexts(self) -> tuple[str, ...]:
        if self._field is not None or self._points.is_filtering:
            return ()
        return ("MessageSelector",) if self._choices is None else ("Select",)

    def measured(self, uuid: str, change: Rewound | None) -> None:
        """What going back to a prompt would change in files; None when nothing was kept for it."""
        self._changes[uuid] = change
        if self._choices is not None and (point := self._points.current) is not None and point.uuid == uuid:
            self._choices.replace(self._offers(point))
        self._points.replace([self._item(each.value) for each in self._points.items])

    def render(self, width: int, height: int, keys: Keymap = USUAL, /) -> Frame:
        point = self._points.current
        if self._choices is None or point is None:
            rows, cursor = self._points.rows(width, max(1, room(height) - 2))
            about = self._about(point, width)[:1] if point else []
            body: list[Line] = [*rows, (), *about]
            hints: list[Hint] = [(ACCEPT, "rewind to this prompt"), ("/", "search"), (CLOSE, "close")]
        else:
            body, cursor = self._chosen(point, self._choices, width, room(height))
            hints = [(ACCEPT, "do it"), (CLOSE, "back")]
        return page(
            "Rewind",
            body,
            width=width,
            height=height,
            hints=spoken(hints, keys, self.contexts),
            cursor=cursor,
        )

    def press(self, key: Key, action: str | None) -> Closed[Any] | None:
        point = self._points.current
        if self._choices is None or point is None:
            return self._press_points(key, action)
        if self._field is not None:
            return self._press_field(self._field, key, point)
        match self._choices.press(key, action):
            case Signal.CANCELLED:
                self._choices = None
            case Signal.ACCEPTED if (what := self._choices.current) is not None:
                if what not in ("summarize_from", "summarize_up_to"):
                    return Closed(Rewind(uuid=point.uuid, what=what))
                self._field = TextField()
            case _:
                pass
        return None

    def paste(self, text: str) -> None:
        if self._field is not None:
            self._field.paste(text)
        elif self._choices is None:
            self._points.paste(text)

    def _press_points(self, key: Key, action: str | None) -> Closed[Any] | None:
        match self._points.press(key, action):
            case Signal.CANCELLED:
                return Closed(None)
            case Signal.ACCEPTED if (point := self._points.current) is not None:
                self._choices = Picker(self._offers(point))
            case Signal.IGNORED if str(key) == "q":
                return Closed(None)
            case _:
                pass
        self._measure()
        return None

    def _press_field(self, field: TextField, key: Key, point: RewindPoint) -> Closed[Any] | None:
        match field.press(key):
            case Signal.CANCELLED:
                self._field = None
            case Signal.ACCEPTED if self._choices is not None and (what := self._choices.current) is not None:
                return Closed(Rewind(uuid=point.uuid, what=what, instructions=field.text.strip()))
            case _:
                pass
        return None

    def _measure(self) -> None:
        point = self._points.current
        if point is not None and point.uuid not in self._changes:
            self._do(Measure(point.uuid))

    def _item(self, point: RewindPoint) -> Item[RewindPoint]:
        change = self._changes.get(point.uuid)
        files = _short(change) if change is not None and change.files_changed else ""
        when = "" if point.time is None else ago(point.time, self._now)
        return Item(value=point, label=one_line(point.text[:500]) or "(no text)", facts=(when, files))

    def _offers(self, point: RewindPoint) -> list[Item[What]]:
        change = self._changes.get(point.uuid)
        has_files = change is not None and bool(change.files_changed)
        return [
            Item(value=what, label=words)
            for what, words in _OFFERS
            if has_files or what not in ("both", "code")
        ]

    def _chosen(
        self, point: RewindPoint, choices: Picker[What], width: int, height: int
    ) -> tuple[list[Line], Cursor | None]:
        text = cells.truncate((Span("❯ ", style("prompt")), Span(one_line(point.text[:500]))), width)
        rows: list[Line] = [text, (), *self._about(point, width), ()]
        if self._field is not None:
            rows += cells.wrap((Span("What should the summary focus on? (optional)"),), width)
            line, column = self._field.line("❯ ", width)
            return [*rows, line], (len(rows), column)
        shown, _ = choices.rows(width, max(1, height - len(rows)))
        return [*rows, *shown], None

    def _about(self, point: RewindPoint, width: int) -> list[Line]:
        if point.uuid not in self._changes:
            return paragraph("checking the files…", width, MUTED)
        change = self._changes[point.uuid]
        if change is None:
            return paragraph("no file versions were saved for this prompt", width, MUTED)
        if not change.files_changed:
            return paragraph("no files changed since", width, MUTED)
        rows: list[Line] = [
            (
                Span(f"{count(len(change.files_changed), 'file')} changed since: "),
                Span(f"+{change.deletions:,}", style("added")),
                Span(f" −{change.insertions:,}", style("removed")),
            )
        ]
        shown = change.files_changed[:_MOST_FILES]
        rows += [
            (Span(f"  {cells.truncate_start(one_line(path), max(1, width - 2))}", MUTED),) for path in shown
        ]
        if (more := len(change.files_changed) - len(shown)) > 0:
            rows.append((Span(f"  … {more} more", MUTED),))
        rows += [
            (Span(f"  skipped, now a link: {one_line(path)}", style("warning")),)
            for path in change.skipped_links
        ]
        rows += [
            (Span(f"  changed by another program: {one_line(path)}", style("warning")),)
            for path in change.foreign[:_MOST_FILES]
        ]
        rows += [
            (Span(f"  no copy was kept: {one_line(path)}", style("warning")),)
            for path in change.unkept[:_MOST_FILES]
        ]
        return rows


def _short(change: Rewound) -> str:
    """What was changed since a prompt: the opposite of what going back does."""
    return f"{count(len(change.files_changed), 'file')} +{change.deletions:,} −{change.insertions:,}"
