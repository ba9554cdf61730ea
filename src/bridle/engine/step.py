"""One step: ask the model once, record what it says, run what it calls."""

import asyncio

from msgspec import Struct

from bridle.engine.calls.call_tool import Unwrapping
from bridle.engine.calls.queue import CallQueue
from bridle.engine.calls.unique_ids import UniqueIds
from bridle.engine.compaction.cache_state import CACHE_TTL
from bridle.engine.hooks.turn_hooks import (
    add_hook_messages,
    fire_message_display,
    fire_model_fallback,
    fire_post_tool_batch,
)
from bridle.engine.limits import money_limit
from bridle.engine.request import asked_units, next_request, note_size
from bridle.engine.texts import CALL_OVER_BUDGET, REPAIRED
from bridle.engine.turn import Turn
from bridle.transcripts.row_facts import block_facts
from bridle.types.block import AssistantBlock, AssistantMessage, ToolUseBlock, text_block
from bridle.types.errors import ProviderError, StreamBroken
from bridle.types.event import (
    AssistantReplied,
    LimitChanged,
    ModelSwitched,
    Noticed,
    RetryScheduled,
    StepStarted,
    Streamed,
    TextDelta,
    ThinkingDelta,
    Withdrawn,
)
from bridle.types.ids import new_uuid
from bridle.types.model import (
    BlockClosed,
    BlockOpened,
    Completed,
    FallbackStarted,
    LimitReported,
    ModelEvent,
    ModelRequest,
    Noted,
    PieceArrived,
    Repaired,
    Restarted,
    Started,
    TextArrived,
    ThinkingArrived,
    Waiting,
)
from bridle.types.usage import Usage

_HEARD = frozenset((FallbackStarted, BlockClosed))
_NAMED = frozenset((Started, BlockOpened, BlockClosed, Completed))
"""Events with ids in them."""
_WITHOUT_ROWS = "unfinished answer"
"""What an answer is listed as that cost something and left nothing in the conversation."""
_OF_CALLS = frozenset((*_NAMED, PieceArrived, Restarted))
"""Events that a call may consist of, or start over with."""


class StepEnd(Struct, frozen=True, kw_only=True):
    """How a step came out."""

    text: str
    """The visible text of the answer."""
    blocks: int
    calls: int
    stop_reason: str | None
    broken: bool = False
    """The answer stopped in the middle; what was whole is kept."""


async def take_step(turn: Turn) -> StepEnd:
    """Send the conversation, stream the answer and settle its calls.

    Raises:
        ProviderError: the model could not answer; calls that had started are settled all the same.
    """
    turn.steps += 1
    runtime = turn.runtime
    add_hook_messages(turn)
    runtime.channel.emit(StepStarted(number=turn.steps, model=turn.model))
    fault: ProviderError | None = None
    async with asyncio.TaskGroup() as group:
        calls = CallQueue(group, turn, held=runtime.limits.max_budget_usd is not None)
        answer = Answer(turn, calls)
        try:
            await answer.stream(next_request(turn))
        except ProviderError as error:
            fault = error
        if money_limit(turn) is not None:
            calls.refuse(CALL_OVER_BUDGET)
        calls.release()
    calls.finish()
    if len(calls) and turn.deferred is None and runtime.hooks.listens_to("PostToolBatch"):
        await fire_post_tool_batch(turn, calls.batch())
    broken = isinstance(fault, StreamBroken) and answer.blocks > 0
    if fault is not None and not broken:
        raise fault
    turn.stop_reason = answer.stop_reason
    return StepEnd(
        text=answer.text,
        blocks=answer.blocks,
        calls=len(calls),
        stop_reason=answer.stop_reason,
        broken=broken,
    )


class Answer:
    """Folds the model's events into entries, events and calls, block by block."""

    def __init__(self, turn: Turn, calls: CallQueue) -> None:
        self._turn = turn
        self._calls = calls
        self._message: AssistantMessage | None = None
        self._reported: AssistantMessage | None = None
        """The answer without its content, as far as the service has counted it."""
        self._request_id: str | None = None
        self._row_request_id = ""
        """In the transcript there always is one: by it other programs know the rows of one answer."""
        self._said: list[str] = []
        self._opened_at: dict[int, float] = {}
        self._open_text: dict[int, list[str]] = {}
        self._asked = turn.runtime.clock()
        self._tried = self._asked
        """When the newest attempt began."""
        self._sent = asked_units(turn)
        self._counted = False
        self._shown_by_hooks = turn.runtime.hooks.listens_to("MessageDisplay")
        """People are shown whole blocks only, because hooks may change them."""
        self._display: str | None = None
        self.text = ""
        self.blocks = 0
        self.stop_reason: str | None = None

    async def stream(self, request: ModelRequest) -> None:
        turn = self._turn
        clock = turn.runtime.clock
        turn.streaming = True
        turn.answer_whole.clear()
        ids, unwrapping = UniqueIds(turn.session), Unwrapping(request)
        try:
            async for arrived in turn.runtime.provider.stream(request):
                named = ids.renamed(arrived) if type(arrived) in _NAMED else arrived
                for event in unwrapping.events(named) if type(named) in _OF_CALLS else (named,):
                    if type(event) in _HEARD:
                        await self._hear(event)
                    self._take(event)
        except asyncio.CancelledError:
            self._keep_partial_text(aborted=True)
            raise
        except ProviderError:
            self._keep_partial_text()
            raise
        finally:
            now = clock()
            turn.api_seconds += now - self._asked
            turn.api_seconds_without_retries += max(0.0, now - self._tried)
            turn.answer_whole.set()
            self._count_unfinished()
            turn.session.flush()
        turn.streaming = False

    def _keep_partial_text(self, *, aborted: bool = False) -> None:
        """Record the text of blocks that never closed, if something whole came before or the user cut it."""
        for pieces in self._open_text.values():
            if (text := "".join(pieces)).strip() and (aborted or self.blocks):
                self._say(text_block(text), aborted=aborted)
        self._open_text.clear()

    async def _hear(self, event: ModelEvent) -> None:
        """Hooks have a say where another model takes over and in what people are shown."""
        match event:
            case FallbackStarted():
                await fire_model_fallback(self._turn, event.fallback)
            case BlockClosed(block={"type": "text", "text": text}) if self._shown_by_hooks:
                message_id = self._opened()["id"]
                self._display = await fire_message_display(self._turn, message_id, self.blocks, text)
            case _:
                pass

    def _take(self, event: ModelEvent) -> None:
        emit = self._turn.runtime.channel.emit
        match event:
            case TextArrived():
                self._open_text.setdefault(event.index, []).append(event.text)
                shown = Streamed(event.wire) if self._shown_by_hooks else TextDelta(event.text, event.wire)
                emit(shown)
            case ThinkingArrived():
                emit(ThinkingDelta(event.text, event.wire))
            case BlockOpened():
                self._opened_at[event.index] = self._turn.runtime.clock()
                emit(Streamed(event.wire))
                if event.block["type"] == "tool_use":
                    self._calls.expect(event.block["name"])
            case PieceArrived():
                emit(Streamed(event.wire))
            case Noted():
                self._reported = event.message or self._reported
                emit(Streamed(event.wire))
            case BlockClosed():
                self._close(event)
                emit(Streamed(event.wire))
            case Started():
                self._start(event)
            case Completed():
                self._complete(event)
                emit(Streamed(event.wire))
            case Waiting():
                self._tried = self._turn.runtime.clock() + event.delay
                emit(
                    RetryScheduled(
                        attempt=event.attempt,
                        max_retries=event.max_retries,
                        delay=event.delay,
                        error=event.error,
                        status=event.status,
                        cause=event.cause,
                    )
                )
            case Restarted():
                self._give_up()
            case LimitReported():
                emit(LimitChanged(event.info))
            case Repaired():
                emit(Noticed(REPAIRED.format(faults=", ".join(event.faults)), "warning"))
            case FallbackStarted():
                self._tried = self._turn.runtime.clock()
                self._give_up()
                self._turn.model = event.fallback
                emit(ModelSwitched(original=event.original, fallback=event.fallback, reason=event.reason))

    def _start(self, event: Started) -> None:
        turn = self._turn
        self._message = self._reported = event.message
        self._request_id = event.request_id
        self._row_request_id = event.request_id or f"req_{new_uuid()}"
        waited = round((turn.runtime.clock() - self._asked) * 1000)
        if turn.ttft_ms is None:
            turn.ttft_ms = waited
        turn.runtime.channel.emit(Streamed(event.wire, waited))

    def _close(self, event: BlockClosed) -> None:
        self._open_text.pop(event.index, None)
        opened, now = self._opened_at.pop(event.index, None), self._turn.runtime.clock()
        took_ms = None if opened is None else round((now - opened) * 1000)
        entry_uuid = self._say(event.block, took_ms=took_ms)
        if event.block["type"] == "tool_use":
            block: ToolUseBlock = event.block
            self._calls.add(block, flaw=event.flaw, source=entry_uuid)

    def _complete(self, event: Completed) -> None:
        self.stop_reason = event.message["stop_reason"]
        self._count(event.message)
        note_size(self._turn, event.message, asked=self._sent)

    def _count_unfinished(self) -> None:
        """An answer that was cut still cost what the service had counted until then."""
        if self._message is not None and self._reported is not None and not self._counted:
            self._count({**self._reported, "id": self._message["id"]})

    def _count(self, message: AssistantMessage) -> None:
        """Add an answer to the cost, and write its rows with what the service has reported."""
        session = self._turn.session
        usd = self._turn.spend(message["model"], Usage.from_api(message["usage"]))
        has_rows = session.finish_message(
            message["id"], stop_reason=message["stop_reason"], usage=message["usage"], usd=usd
        )
        if not has_rows:
            session.note_call(message, purpose=_WITHOUT_ROWS, request_id=self._row_request_id, usd=usd)
        self._counted = True

    def _say(self, block: AssistantBlock, *, aborted: bool = False, took_ms: int | None = None) -> str:
        message: AssistantMessage = {**self._opened(), "content": [block]}
        facts = block_facts(
            requested=self._turn.model,
            place=self.blocks,
            lifetime=CACHE_TTL if self._turn.runtime.asking.cache else None,
            kind=block["type"],
            took_ms=took_ms,
        )
        entry = self._turn.session.say_assistant(
            message, request_id=self._row_request_id, facts=facts, aborted=aborted
        )
        self.blocks += 1
        if block["type"] == "text":
            self.text += block["text"]
        self._said.append(entry["uuid"])
        self._turn.runtime.channel.emit(
            AssistantReplied(
                uuid=entry["uuid"],
                timestamp=entry["timestamp"],
                message=message,
                request_id=self._request_id,
                aborted=aborted,
                took_ms=took_ms,
                display=self._display,
            )
        )
        self._display = None
        return entry["uuid"]

    def _give_up(self) -> None:
        """All since the last start is void; what was recorded stays in the file but not in the chain."""
        if self._said:
            self._turn.session.withdraw(self._said)
            self._turn.runtime.channel.emit(Withdrawn(tuple(self._said)))
        self._count_unfinished()
        self._said, self._message, self._reported, self._counted = [], None, None, False
        self._open_text.clear()
        self.text, self.blocks, self.stop_reason = "", 0, None

    def _opened(self) -> AssistantMessage:
        if self._message is None:
            raise StreamBroken("The model's stream sent content before message_start.", retryable=False)
        return self._message
