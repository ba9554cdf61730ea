"""JSON-RPC with one other end: requests and their answers in any order, in both directions."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar

from msgspec import Struct

from bridle.types.errors import BridleError

PARSE_ERROR = -32700
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

NO_HEADERS: Mapping[str, str] = {}
Message = Mapping[str, Any]
"""One request, notification or response as plain values."""
Send = Callable[[Message, Mapping[str, str]], Awaitable[None]]
"""Hands a message over, framed as the way wants it; raises a BridleError when it cannot be delivered."""
Progress = Callable[[Mapping[str, Any]], None]
Answer = Callable[[str, Mapping[str, Any]], "Awaitable[Message] | Message | None"]
"""Answers a request by its method: `result` or `error` of the response; None for an unknown method."""
Lost = TypeVar("Lost", bound=BridleError)

_MOST_ASKED = 64
"""Requests of the other end that are worked on at the same time."""
_LONGEST_REASON = 500


class Rules(Struct, frozen=True, kw_only=True):
    """How one protocol on JSON-RPC differs from the next."""

    failed: Callable[[str, Any], BridleError]
    """The error for an answer: the name of the other end, and its `error`, None when it is only unusable."""
    timed_out: Callable[[str, str, str], BridleError]
    """The error for an answer that does not come: the name, the method, the time that was given."""
    closed: Callable[[str], Any]
    """The error for what waits when the connection is closed here."""
    cancel: tuple[str, str]
    """The notification by which either end takes a request back, and its field for the number."""
    gives_reason: bool = False
    """Whether that notification says why."""
    progress: str = ""
    """The notification of progress, if there is one."""
    is_usable: Callable[[Any], bool] = lambda _: True
    """Whether a result is one."""
    sends_empty: bool = True
    """Whether empty parameters are sent too."""


class Limits(Struct, frozen=True):
    """How long an answer may take, in seconds."""

    total: float
    idle: float | None = None
    """How long nothing may come at all, neither progress nor the answer."""


class Peer(Generic[Lost]):
    """One conversation; what comes in is given to `take`, and its end to `lose`."""

    def __init__(
        self,
        name: str,
        send: Send,
        rules: Rules,
        *,
        answer: Answer,
        notified: Callable[[str, Mapping[str, Any]], None],
        noted: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.name = name
        self.lost: asyncio.Future[Lost] = asyncio.get_running_loop().create_future()
        """Done when the connection is gone, with the reason."""
        self._send = send
        self._rules = rules
        self._answer = answer
        self._notified = notified
        self._noted = noted
        self._next_id = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._progress: dict[int, Progress] = {}
        self._asked: dict[str | int, asyncio.Task[None]] = {}
        self._sending: set[asyncio.Future[None]] = set()

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        limits: Limits,
        progress: Progress | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
        tells_cancel: bool = True,
    ) -> Any:
        """Ask the other end and wait for its answer; cancelling tells it that no one waits any more.

        Raises:
            BridleError: it answered with an error, or there is no answer; which one, the rules say.
        """
        number = self._next_id
        self._next_id += 1
        if progress is not None:
            given = dict(params or {})
            params = {**given, "_meta": {**given.get("_meta", {}), "progressToken": number}}
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        sending = asyncio.ensure_future(self._send(self._message(method, params, id=number), headers))
        patience = _Patience(limits)
        if progress is not None or limits.idle is not None:
            self._progress[number] = _listener(patience, progress)
        try:
            return await self._wait(answer, sending, patience)
        except asyncio.CancelledError:
            if not answer.done() and tells_cancel and method != "initialize":
                self._tell_cancelled(number, "interrupted")
            raise
        except _NoTimeLeft:
            if tells_cancel and method != "initialize":
                self._tell_cancelled(number, "timed out")
            raise self._rules.timed_out(self.name, method, patience.described()) from None
        finally:
            del self._waiting[number]
            self._progress.pop(number, None)
            if answer.done() and not self.lost.done():
                self._keep(sending)  # It may have its connection to put away.
            else:
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)
            # Whatever came while no one was waiting any more is of no interest.
            answer.cancel()
            await asyncio.gather(answer, return_exceptions=True)

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Tell the other end something that has no answer.

        Raises:
            BridleError: it cannot be delivered.
        """
        await self._send(self._message(method, params), NO_HEADERS)

    def tell(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification without waiting; a failed delivery is logged."""
        self._send_later(self._message(method, params))

    async def close(self) -> None:
        """Give up everything that is under way, in both directions."""
        self.lose(self._rules.closed(self.name))
        tasks = [*self._asked.values(), *self._sending]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def take(self, message: Any) -> None:
        match message:
            case {"method": str() as method, "id": str() | int() as number}:
                self._take_request(number, method, _object(message.get("params")))
            case {"method": str() as method}:
                self._take_notification(method, _object(message.get("params")))
            case {"id": int() as number}:
                self._settle(number, message.get("result"), message.get("error"))
            case {"error": {"message": str() as text}}:
                self._noted(f"error without a request: {text[:_LONGEST_REASON]}")
            case list():
                for each in message:
                    if not isinstance(each, list):
                        self.take(each)
            case _:
                self._noted("a message that is not JSON-RPC was ignored")

    def lose(self, error: Lost) -> None:
        """Nothing will come any more: whatever waits for an answer gets this error."""
        if self.lost.done():
            return
        self.lost.set_result(error)
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(error)

    def note(self, text: str) -> None:
        self._noted(text)

    async def _wait(
        self, answer: "asyncio.Future[Any]", sending: "asyncio.Future[None]", patience: "_Patience"
    ) -> Any:
        """The answer, or the reason why none will come."""
        watched: set[asyncio.Future[Any]] = {answer, sending}
        if self.lost.done():
            raise self.lost.result()
        while not answer.done():
            done, _ = await asyncio.wait(
                watched, timeout=patience.left(), return_when=asyncio.FIRST_COMPLETED
            )
            if sending in done:
                watched.discard(sending)
                if not answer.done():
                    sending.result()
            if not done and patience.left() <= 0:
                raise _NoTimeLeft
        return answer.result()

    def _settle(self, number: int, result: Any, error: Any) -> None:
        answer = self._waiting.get(number)
        if answer is None or answer.done():
            return  # It came too late, or was never asked for.
        if error is None and self._rules.is_usable(result):
            answer.set_result(result)
        else:
            answer.set_exception(self._rules.failed(self.name, error))

    def _take_notification(self, method: str, params: Mapping[str, Any]) -> None:
        cancel, number_field = self._rules.cancel
        if method == cancel:
            number = params.get(number_field)
            if isinstance(number, str | int) and (task := self._asked.get(number)) is not None:
                task.cancel()
        elif method == self._rules.progress:
            token = params.get("progressToken")
            listener = self._progress.get(token) if isinstance(token, int) else None
            if listener is not None:
                listener(params)
        else:
            self._notified(method, params)

    def _take_request(self, number: str | int, method: str, params: Mapping[str, Any]) -> None:
        if number in self._asked or len(self._asked) >= _MOST_ASKED:
            self._respond(number, refusal(INTERNAL_ERROR, "Too many requests at once"))
            return
        answer = self._answer(method, params)
        if answer is None:
            self._respond(number, refusal(METHOD_NOT_FOUND, f"Method not found: {method[:200]}"))
        elif isinstance(answer, Mapping):
            self._respond(number, answer)
        else:
            task = asyncio.create_task(self._respond_later(number, answer))
            self._asked[number] = task
            task.add_done_callback(lambda _: self._asked.pop(number, None))

    async def _respond_later(self, number: str | int, answer: Awaitable[Message]) -> None:
        self._respond(number, await answer)

    def _respond(self, number: str | int, fields: Message) -> None:
        self._send_later({"jsonrpc": "2.0", "id": number, **fields})

    def _tell_cancelled(self, number: int, reason: str) -> None:
        method, number_field = self._rules.cancel
        self.tell(method, {number_field: number} | ({"reason": reason} if self._rules.gives_reason else {}))

    def _message(self, method: str, params: Mapping[str, Any] | None, **more: Any) -> Message:
        message = {"jsonrpc": "2.0", **more, "method": method}
        is_sent = params is not None and (bool(params) or self._rules.sends_empty)
        return {**message, "params": params} if is_sent else message

    def _send_later(self, message: Message) -> None:
        if self.lost.done():
            return
        self._keep(asyncio.create_task(self._deliver(message)))

    def _keep(self, task: "asyncio.Future[None]") -> None:
        def forget(done: "asyncio.Future[None]") -> None:
            self._sending.discard(done)
            if not done.cancelled() and (fault := done.exception()) is not None:
                self._noted(str(fault))

        self._sending.add(task)
        task.add_done_callback(forget)

    async def _deliver(self, message: Message) -> None:
        try:
            await self._send(message, NO_HEADERS)
        except BridleError as error:
            self._noted(f"a message could not be delivered: {error}")


class _NoTimeLeft(Exception):
    """An answer did not come in time."""


class _Patience:
    """The time that is left for an answer."""

    def __init__(self, limits: Limits) -> None:
        self._clock = asyncio.get_running_loop().time
        self._limits = limits
        self._began = self._heard = self._clock()

    def renew(self) -> None:
        self._heard = self._clock()

    def left(self) -> float:
        now = self._clock()
        left = self._began + self._limits.total - now
        if self._limits.idle is not None:
            left = min(left, self._heard + self._limits.idle - now)
        return max(0.0, left)

    def described(self) -> str:
        over = self._clock() - self._began >= self._limits.total
        seconds = self._limits.total if over or self._limits.idle is None else self._limits.idle
        return f"{seconds:g} s"


def _listener(patience: _Patience, progress: Progress | None) -> Progress:
    def listen(described: Mapping[str, Any]) -> None:
        patience.renew()
        if progress is not None:
            progress(described)

    return listen


def refusal(code: int, text: str) -> Message:
    """The fields of a response that is an error."""
    return {"error": {"code": code, "message": text}}


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
