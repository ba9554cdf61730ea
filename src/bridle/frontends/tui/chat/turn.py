"""The running turn: finished parts move to the scrollback in the order in which they began."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from bridle.frontends.tui.render import messages
from bridle.frontends.tui.render.call import AgentProgress, Call, State
from bridle.frontends.tui.render.call_groups import (
    CallGroup,
    group_calls,
    is_grouped,
    render_call,
    render_group,
)
from bridle.frontends.tui.render.layout import MUTED
from bridle.frontends.tui.render.markdown import MarkdownStream
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span, text_of

_FOLDED = re.compile(r"\s*(?:└ )?… [\d,]+ more lines?$")
_LONGEST_THOUGHT = 8_000
_LONG_SECONDS = 3.0
"""After these a command may be wanted in the background."""
_MOVABLE = ("Bash", "PowerShell", "Agent", "Task")
_Kind = Literal["", "call", "block", "text", "said", "close"]
"""A block is a call with something below it."""


class _Text:
    """An answer that arrives."""

    def __init__(self, width: int) -> None:
        self.stream = MarkdownStream(width, whole_code=True)
        self.ready: list[Line] = []
        self.has_words = False
        """Something but blanks has come."""
        self.is_begun = False
        """Some of it is written."""
        self.is_over = False


class _Call:
    """A call that runs, or has run."""

    def __init__(self, call_id: str, call: Call, began: float) -> None:
        self.id = call_id
        self.call = call
        self.began = began
        self.waited = 0.0
        """Seconds for which it waited for a person."""
        self.held: float | None = None
        """When it began to wait, while it does."""

    @property
    def is_over(self) -> bool:
        return self.call.state not in ("running", "waiting")


class _Said:
    """Lines that are over already and only wait for what began before them."""

    is_over = True

    def __init__(self, lines: Sequence[Line], *, close: bool) -> None:
        self.lines = lines
        self.close = close


_Item = _Text | _Call | _Said


class TurnView:
    """The parts of a turn that are not finished yet."""

    def __init__(
        self,
        write: Callable[[Sequence[Line]], None],
        *,
        width: Callable[[], int],
        clock: Callable[[], float],
        more_key: Callable[[], str] = str,
        background_key: Callable[[], str] = str,
        expanded: Callable[[], bool] = bool,
        quiet: bool = False,
        thoughts: bool = False,
        shows_calls: Callable[[], bool] = lambda: True,
    ) -> None:
        """`more_key` is named where something is folded, `background_key` where a command takes long;
        `quiet` shows nothing before it is finished.

        `thoughts` shows all of what the model thought instead of one row; without `shows_calls` only prompts
        and answers are shown.
        """
        self._thoughts = thoughts
        self._shows_calls = shows_calls
        self._write = write
        self._width = width
        self._clock = clock
        self._more_key = more_key
        self._background_key = background_key
        self._expanded = expanded
        self._quiet = quiet
        self._items: list[_Item] = []
        self._calls: dict[str, _Call] = {}
        """Those among the items, by their ids."""
        self._text: _Text | None = None
        """The newest text among the items."""
        self._settled = 0
        """How many items at the front are calls that are over and wait for more of their group."""
        self._last: _Kind = ""
        self._thought = ""
        self._thought_since = 0.0
        self.cwd = ""

    @property
    def has_calls(self) -> bool:
        """Whether something runs."""
        return any(isinstance(each, _Call) and not each.is_over for each in self._items)

    def say(self, lines: Sequence[Line], *, close: bool = False) -> None:
        """Lines that are finished; `close` puts them right below what comes before them."""
        if lines:
            self._items.append(_Said(lines, close=close))
            self._flush()

    def feed(self, text: str) -> None:
        """Some text of the answer arrived."""
        item = self._streaming()
        if item is None:
            item = self._text = _Text(self._width())
            self._items.append(item)
            self._flush()
        item.stream.resize(self._width())
        if not item.has_words and text.strip():
            item.has_words, text = True, messages.bulleted(text)
        if ready := item.stream.feed(text):
            item.ready += ready
            self._flush()

    def end_text(self, whole: str) -> None:
        """A block of text is whole; one that did not arrive in pieces is shown now."""
        if self._streaming() is None and whole.strip():
            self.feed(whole)
        if (item := self._streaming()) is not None:
            item.ready += item.stream.finish()
            item.is_over = True
            self._flush()

    def drop_text(self) -> None:
        """The answer that arrives was given up: what is still open of it goes."""
        self._thought = ""
        if (item := self._streaming()) is not None:
            item.is_over = True
            self._flush()

    def think(self, text: str) -> None:
        """Some of what the model thinks arrived."""
        if not self._thought:
            self._thought_since = self._clock()
        self._thought = (self._thought + text)[-_LONGEST_THOUGHT:]

    def end_thinking(self, whole: str) -> None:
        """What the model thought is whole."""
        seconds = self._clock() - self._thought_since if self._thought else None
        text, self._thought = whole or self._thought, ""
        if text.strip():
            expanded = self._thoughts or self._expanded()
            self.say(messages.thinking(text, self._width(), expanded=expanded, seconds=seconds))

    def start_call(self, call_id: str, tool: str, input: Mapping[str, Any], *, typed: bool = False) -> None:
        """A call runs; `typed` stays as the user wrote it."""
        if (known := self._calls.get(call_id)) is not None:
            if not known.call.typed:
                known.call = msgspec.structs.replace(known.call, input=input)
            return
        call = Call(tool=tool, input=input, state="running", cwd=self.cwd, typed=typed)
        self._calls[call_id] = item = _Call(call_id, call, self._clock())
        self._items.append(item)
        self._flush()

    def hold(self, call_id: str | None) -> None:
        """A person is asked about a call; None stands for any that runs, such as what a command reaches."""
        for each in self._asked_about(call_id):
            if each.held is None:
                each.held = self._clock()

    def resume(self, call_id: str | None) -> None:
        """The person has answered."""
        for each in self._asked_about(call_id):
            if each.held is not None:
                each.waited += self._clock() - each.held
                each.held = None

    def _asked_about(self, call_id: str | None) -> list[_Call]:
        if call_id is None:
            return [each for each in self._calls.values() if not each.is_over]
        return [self._calls[call_id]] if call_id in self._calls else []

    def progress(self, call_id: str, text: str) -> None:
        """A running call has new output."""
        if (known := self._calls.get(call_id)) is not None:
            known.call = msgspec.structs.replace(known.call, progress=text)

    def follow_agent(self, call_id: str, agent: AgentProgress) -> None:
        """The agent that a running call has started is further on."""
        if (known := self._calls.get(call_id)) is not None:
            known.call = msgspec.structs.replace(known.call, agent=agent)

    def finish_call(
        self, call_id: str, state: State, *, content: str | Sequence[Any], data: Any, seconds: float
    ) -> None:
        """A call is settled."""
        if (known := self._calls.get(call_id)) is not None:
            known.call = msgspec.structs.replace(
                known.call,
                state=state,
                content=content,
                data=data,
                seconds=max(seconds - known.waited, 0.0),
            )
            self._flush()

    def end(self) -> None:
        """The turn is over: everything that is left ends now."""
        self._thought = ""
        for item in self._items:
            match item:
                case _Text():
                    if not item.is_over:
                        item.ready += item.stream.finish()
                        item.is_over = True
                case _Call():
                    if not item.is_over:
                        item.call = msgspec.structs.replace(item.call, state="interrupted")
                case _Said():
                    pass
        self._flush(everything=True)

    def rows(self, width: int, *, frame: int) -> list[Line]:
        """What is not finished, as it stands now."""
        if self._quiet:
            return []
        rows: list[Line] = []
        last = self._last
        for kind, lines in self._pending(width, frame):
            rows += [*_gap(last, kind), *lines]
            last = kind
        if self._thought:
            lines = messages.live_thinking(self._thought, width)
            rows += [*_gap(last, "text"), *lines]
        return rows

    def _pending(self, width: int, frame: int) -> list[tuple[_Kind, list[Line]]]:
        found: list[tuple[_Kind, list[Line]]] = []
        for part in self._parts():
            match part:
                case _Text():
                    kind: _Kind = "close" if part.is_begun else "text"
                    part.stream.resize(width)
                    lines = [*part.ready, *part.stream.open_lines()]
                    if lines:
                        found.append((kind, lines))
                case _Said():
                    found.append(("close" if part.close else "said", list(part.lines)))
                case CallGroup() | Call() if not self._shows_calls():
                    pass
                case CallGroup():
                    found.append(_of_call(render_group(part, width, frame=frame)))
                case Call():
                    rows = render_call(part, width, frame=frame)
                    found.append(_of_call([*rows, *self._background_hint(part, width)]))
        return found

    def _background_hint(self, call: Call, width: int) -> list[Line]:
        """That a command which takes long can continue in the background."""
        is_long = call.state == "running" and call.seconds >= _LONG_SECONDS
        if call.tool not in _MOVABLE or not is_long or not (key := self._background_key()):
            return []
        return [cells.truncate((Span(f"    {key} to run in the background", MUTED),), width)]

    def _parts(self) -> list[_Text | _Said | Call | CallGroup]:
        """Items in order, with neighbors that only look at things put together."""
        parts: list[_Text | _Said | Call | CallGroup] = []
        calls: list[Call] = []
        for item in (*self._items, None):
            if isinstance(item, _Call):
                calls.append(self._timed(item))
                continue
            parts += group_calls(calls)
            calls = []
            if item is not None:
                parts.append(item)
        return parts

    def _timed(self, item: _Call) -> Call:
        if item.is_over:
            return item.call
        if item.held is not None:
            return msgspec.structs.replace(item.call, state="waiting")
        return msgspec.structs.replace(item.call, seconds=self._clock() - item.began - item.waited)

    def _flush(self, *, everything: bool = False) -> None:
        """Write what is over, up to the first item that is not."""
        while self._items:
            item = self._items[0]
            match item:
                case _Said():
                    self._put("close" if item.close else "said", item.lines)
                    del self._items[0]
                case _Text():
                    self._put_text(item)
                    if not item.is_over:
                        return
                    del self._items[0]
                case _Call():
                    count = self._settled_calls(everything=everything)
                    if not count:
                        return
                    self._put_calls(count)

    def _put_text(self, item: _Text) -> None:
        if item.ready:
            self._put("close" if item.is_begun else "text", item.ready)
            item.ready, item.is_begun = [], True

    def _settled_calls(self, *, everything: bool) -> int:
        """How many calls at the front can be written: a group only when nothing can join it any more."""
        first = self._items[0]
        if not isinstance(first, _Call):
            return 0
        if not is_grouped(first.call):
            return int(first.is_over)
        while self._settled < len(self._items):
            item = self._items[self._settled]
            if not isinstance(item, _Call) or not is_grouped(item.call):
                return self._settled
            if not item.is_over:
                return 0
            self._settled += 1
        return self._settled if everything else 0

    def _put_calls(self, count: int) -> None:
        width, expanded = self._width(), self._expanded()
        calls: list[Call] = []
        for item in self._items[:count]:
            if isinstance(item, _Call):
                calls.append(item.call)
                del self._calls[item.id]
        del self._items[:count]
        self._settled = 0
        for part in group_calls(calls) if self._shows_calls() else ():
            if isinstance(part, CallGroup):
                self._put(*_of_call(render_group(part, width, expanded=expanded)))
            else:
                rows = render_call(part, width, expanded=expanded)
                self._put(*_of_call(with_hint(rows, self._more_key(), width)))

    def _put(self, kind: _Kind, lines: Sequence[Line]) -> None:
        self._write([*_gap(self._last, kind), *lines])
        self._last = (
            "text" if kind == "close" and self._last == "" else self._last if kind == "close" else kind
        )

    def _streaming(self) -> _Text | None:
        return self._text if self._text is not None and not self._text.is_over else None


def with_hint(rows: Sequence[Line], key: str, width: int) -> list[Line]:
    """Rows whose count of hidden lines also says which key shows them."""
    hint = f" ({key} to see all)"
    if not key:
        return list(rows)
    return [
        (*row, Span(hint, MUTED))
        if _FOLDED.match(text_of(row)) and cells.line_width(row) + len(hint) <= width
        else row
        for row in rows
    ]


def _of_call(rows: list[Line]) -> tuple[_Kind, list[Line]]:
    return ("block" if len(rows) > 1 else "call"), rows


def _gap(last: _Kind, kind: _Kind) -> list[Line]:
    """An empty row between parts; calls of one row stay together."""
    return [] if kind == "close" or last == "" or (last == "call" and kind == "call") else [()]
