"""Folds transcript entries into the messages that a request carries."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from bridle.types.block import (
    AssistantBlock,
    Block,
    SentMessage,
    ToolResultBlock,
    ToolUseBlock,
    UserBlock,
    result_block,
    text_block,
)
from bridle.types.entry import AssistantEntry, ConversationEntry, UserEntry
from bridle.types.history import MISSING_RESULT, History

_MISSING_START = "(The beginning of this conversation is missing.)"
_SYNTHETIC_MODEL = "<synthetic>"


def fold(entries: Iterable[ConversationEntry]) -> History:
    """The messages that a chain of entries amounts to: alternating, joined, with one result per call."""
    exchanges = [_Exchange()]
    for entry in entries:
        _place(exchanges, entry)
    history = History()
    for exchange in exchanges:
        _render(history, exchange)
    return history


def ran_inputs(entries: Iterable[ConversationEntry]) -> dict[str, dict[str, Any]]:
    """By the ids of calls, what those ran with that did not run as the model wrote them."""
    return {
        block["tool_use_id"]: entry["ranInput"]
        for entry in entries
        if entry["type"] == "user" and "ranInput" in entry
        for block in entry["message"]["content"]
        if not isinstance(block, str) and block["type"] == "tool_result"
    }


def call_data(entries: Iterable[ConversationEntry]) -> dict[str, Any]:
    """By the ids of calls, the structured output that was kept with their results."""
    found: dict[str, Any] = {}
    for entry in entries:
        if entry["type"] != "user" or not isinstance(data := entry.get("toolUseResult"), Mapping):
            continue
        content = entry["message"]["content"]
        blocks = [each for each in content if not isinstance(each, str) and each["type"] == "tool_result"]
        if len(blocks) == 1:
            found[blocks[0]["tool_use_id"]] = data
    return found


class Conversation:
    """A history that follows its entries; an entry changes the newest exchange and nothing before it.

    Entries come one by one and the history is wanted once per request, so it is drawn when it is asked for.
    """

    def __init__(self) -> None:
        self._history = History()
        self._exchanges = [_Exchange()]
        self._undrawn: int | None = None
        """The first exchange that looks different now."""

    @property
    def history(self) -> History:
        """Always the same object, with every entry in it."""
        if self._undrawn is not None:
            self._redraw(self._undrawn)
        return self._history

    @property
    def settled(self) -> Sequence[SentMessage]:
        """The messages that no entry since the newest request changes; asking draws nothing."""
        messages = self._history.messages
        if self._undrawn is None:
            return messages
        return messages[: self._exchanges[self._undrawn - 1].stop] if self._undrawn else ()

    def append(self, entry: ConversationEntry) -> None:
        first = _place(self._exchanges, entry)
        if first < len(self._exchanges):
            self._undrawn = first if self._undrawn is None else min(first, self._undrawn)

    def extend(self, entries: Iterable[ConversationEntry]) -> None:
        for entry in entries:
            _place(self._exchanges, entry)
        self._redraw(0)

    def replace(self, entries: Iterable[ConversationEntry]) -> None:
        """Be the history of other entries from now on."""
        self._exchanges = [_Exchange()]
        self.extend(entries)

    def forget(self, uuids: Collection[str]) -> None:
        """Take entries out again, as if they had never been said."""
        first = len(self._exchanges)
        for index, exchange in enumerate(self._exchanges):
            if any(row["uuid"] in uuids for row in exchange.rows):
                first = index
                break
        rows = [
            row for exchange in self._exchanges[first:] for row in exchange.rows if row["uuid"] not in uuids
        ]
        if first == len(self._exchanges):
            return
        del self._exchanges[first:]
        if not self._exchanges:
            self._exchanges.append(_Exchange())
        self._exchanges[-1].closed = False
        for row in rows:
            _place(self._exchanges, row)
        # Asking a model again passes the history in.
        first = max(0, first - 1)
        self._redraw(first if self._undrawn is None else min(first, self._undrawn))

    def branched(self) -> "Conversation":
        """A copy that goes its own way from here.

        Where the newest answer still waits for results, those that have come already are left out.
        """
        other = Conversation()
        other._exchanges = [exchange.copy() for exchange in self._exchanges]
        other._history = self.history.branched()
        if self.open_calls():
            other._exchanges[-1].leave_out_user()
            other._redraw(len(other._exchanges) - 1)
        return other

    def open_calls(self) -> list[ToolUseBlock]:
        """Calls of the newest answer that have no result yet."""
        exchange = self._exchanges[-1]
        answered = exchange.results()
        return [call for call_id, call in exchange.calls().items() if call_id not in answered]

    def _redraw(self, first: int) -> None:
        self._undrawn = None
        if first >= len(self._exchanges):
            return
        history = self._history
        start = self._exchanges[first - 1].stop if first else 0
        history.cut(start)
        for exchange in self._exchanges[first:]:
            _render(history, exchange)


def blocks_of(content: str | list[Any]) -> list[Any]:
    """The content of a message as blocks; files of other programs may hold text where we write a list."""
    return [text_block(content)] if isinstance(content, str) else content


def is_prompt(entry: UserEntry) -> bool:
    """Whether this is a prompt: no result, no summary, no text that bridle wrote."""
    if entry.get("isMeta") or entry.get("isCompactSummary"):
        return False
    return any(block["type"] != "tool_result" for block in blocks_of(entry["message"]["content"]))


def speaks(block: AssistantBlock | UserBlock) -> bool:
    """Whether an answer may end in this block: thinking and blank text do not count as saying something."""
    return block["type"] not in {"thinking", "redacted_thinking"} and not _is_blank(block)


class _Exchange:
    """An answer and what the user's side said next; the first exchange has no answer."""

    __slots__ = ("calls_tools", "closed", "ids", "is_answered", "is_prompted", "rows", "stop")

    def __init__(self) -> None:
        self.rows: list[UserEntry | AssistantEntry] = []
        self.ids: set[str] = set()
        """The API messages that make up the answer; rows of another one wait for it to say something."""
        self.stop = 0
        """The place in the history behind its last message."""
        self.closed = False
        """Another exchange follows, so that missing results will not come any more."""
        self.calls_tools = self.is_answered = self.is_prompted = False
        """What stands in the rows, kept so that not all of them are read for every new one."""

    def add(self, row: UserEntry | AssistantEntry) -> None:
        self.rows.append(row)
        if row["type"] == "user":
            self.is_answered = True
            self.is_prompted = self.is_prompted or is_prompt(row)
        elif not self.calls_tools:
            blocks = blocks_of(row["message"]["content"])
            self.calls_tools = any(block["type"] == "tool_use" for block in blocks)

    def leave_out_user(self) -> None:
        self.rows = [row for row in self.rows if row["type"] == "assistant"]
        self.is_answered = self.is_prompted = False

    def copy(self) -> "_Exchange":
        other = _Exchange()
        other.rows, other.ids = [*self.rows], {*self.ids}
        other.stop, other.closed = self.stop, self.closed
        other.calls_tools, other.is_answered = self.calls_tools, self.is_answered
        other.is_prompted = self.is_prompted
        return other

    def said(self) -> list[AssistantEntry]:
        return [row for row in self.rows if row["type"] == "assistant" and _message_id(row) in self.ids]

    def user_rows(self) -> list[UserEntry]:
        return [row for row in self.rows if row["type"] == "user"]

    def calls(self) -> dict[str, ToolUseBlock]:
        return {
            block["id"]: block
            for row in self.said()
            for block in blocks_of(row["message"]["content"])
            if block["type"] == "tool_use"
        }

    def results(self) -> dict[str, ToolResultBlock]:
        calls = self.calls()
        found: dict[str, ToolResultBlock] = {}
        for row in self.user_rows():
            for block in blocks_of(row["message"]["content"]):
                if block["type"] == "tool_result" and block["tool_use_id"] in calls:
                    found.setdefault(block["tool_use_id"], block)
        return found


def _place(exchanges: list[_Exchange], entry: ConversationEntry) -> int:
    """Put an entry where it belongs and say which exchange is the first that looks different now."""
    last = exchanges[-1]
    if entry["type"] == "user":
        last.add(entry)
        return len(exchanges) - 1
    if entry["type"] == "assistant":
        return len(exchanges) if _is_local(entry) else _place_answer(exchanges, entry)
    if entry["type"] == "system" and entry["subtype"] == "compact_boundary":
        exchanges[:] = [_Exchange()]
        return 0
    return len(exchanges)


def _place_answer(exchanges: list[_Exchange], entry: AssistantEntry) -> int:
    last = exchanges[-1]
    message_id = _message_id(entry)
    if message_id in last.ids and not last.is_prompted and not _is_of_another_request(entry, last):
        last.add(entry)
        return len(exchanges) - 1
    if not any(speaks(block) for block in blocks_of(entry["message"]["content"])):
        last.add(entry)
        return len(exchanges)
    last.closed = True
    if last.ids and not last.calls_tools and (not last.is_answered or _user_content(last) is None):
        last.closed = False
        last.ids.add(message_id)
        last.add(entry)
        return len(exchanges) - 1
    opened = _Exchange()
    opened.ids.add(message_id)
    for row in (*_take_waiting(last, message_id), entry):
        opened.add(row)
    exchanges.append(opened)
    complete = last.calls().keys() == last.results().keys()
    return len(exchanges) - (1 if complete else 2)


def _is_of_another_request(entry: AssistantEntry, exchange: _Exchange) -> bool:
    """Whether an answer only shares its id with the one before: some services give every answer the same."""
    request = entry.get("requestId")
    said = (row for row in reversed(exchange.rows) if row["type"] == "assistant")
    before = next(said, None)
    if not exchange.is_answered or before is None:
        return False
    if request is not None and (other := before.get("requestId")) is not None and other != request:
        return True
    # An answer that was complete when results came cannot continue behind them.
    ended = before["message"].get("stop_reason") is not None
    return ended and exchange.rows[-1]["type"] == "user"


def _take_waiting(exchange: _Exchange, message_id: str) -> list[AssistantEntry]:
    """Rows that came before the message said anything, such as its thinking."""
    taken: list[AssistantEntry] = []
    kept: list[UserEntry | AssistantEntry] = []
    for row in exchange.rows:
        if row["type"] == "assistant" and _message_id(row) == message_id and message_id not in exchange.ids:
            taken.append(row)
        else:
            kept.append(row)
    exchange.rows = kept
    return taken


def _render(history: History, exchange: _Exchange) -> None:
    answer = _answer_content(exchange)
    if answer:
        if not len(history):
            history.add({"role": "user", "content": _MISSING_START})
        origin = exchange.said()[0]["message"].get("model")
        history.add({"role": "assistant", "content": answer}, origin=origin)
    if (content := _user_content(exchange)) is not None:
        history.add({"role": "user", "content": content})
    exchange.stop = len(history)


def _answer_content(exchange: _Exchange) -> list[Block]:
    blocks: list[Block] = [
        block
        for row in exchange.said()
        for block in blocks_of(row["message"]["content"])
        if not _is_blank(block)
    ]
    # The API refuses an answer that ends in thinking.
    while blocks and not speaks(blocks[-1]):
        blocks.pop()
    return blocks


def _user_content(exchange: _Exchange) -> str | list[Block] | None:
    contents = [row["message"]["content"] for row in _in_reading_order(exchange.user_rows())]
    rest: list[UserBlock] = [
        block
        for content in contents
        for block in blocks_of(content)
        if block["type"] != "tool_result" and not _is_blank(block)
    ]
    results = exchange.results()
    settled = exchange.closed or bool(rest)
    answers = [
        results[call_id] if call_id in results else result_block(call_id, MISSING_RESULT, is_error=True)
        for call_id in exchange.calls()
        if settled or call_id in results
    ]
    strings = [content for content in contents if isinstance(content, str) and content.strip()]
    if not answers and len(rest) == len(strings) == 1:
        return strings[0]
    return [*answers, *rest] or None


def _in_reading_order(rows: list[UserEntry]) -> list[UserEntry]:
    """The rows as the model reads them: what is attached to a prompt stands before it."""
    ordered: list[UserEntry] = []
    prompt: int | None = None
    for row in rows:
        if "attachment" not in row:
            prompt = len(ordered) if is_prompt(row) or row.get("isCompactSummary") else None
            ordered.append(row)
        elif prompt is None:
            ordered.append(row)
        else:
            ordered.insert(prompt, row)
            prompt += 1
    return ordered


def _message_id(entry: AssistantEntry) -> str:
    """The API's id of the answer; files of other programs may lack it."""
    return entry["message"].get("id") or entry["uuid"]


def _is_local(entry: AssistantEntry) -> bool:
    """Said by the program and not by a model."""
    return bool(entry.get("isApiErrorMessage")) or entry["message"].get("model") == _SYNTHETIC_MODEL


def _is_blank(block: AssistantBlock | UserBlock) -> bool:
    return block["type"] == "text" and not block["text"].strip()
