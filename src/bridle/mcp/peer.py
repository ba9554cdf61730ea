"""JSON-RPC with one server: requests and their answers in any order, in both directions."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Struct

from bridle.mcp.errors import INTERNAL_ERROR, METHOD_NOT_FOUND, ConnectionLost, TimedOut
from bridle.mcp.transports.base import NO_HEADERS, Message, Transport
from bridle.types.errors import McpError

Progress = Callable[[Mapping[str, Any]], None]
Answerer = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Answers a request of the server; an McpError becomes the error that it gets."""

_MOST_ASKED = 64
"""Requests of a server that are worked on at the same time."""
_LONGEST_REASON = 500


class Limits(Struct, frozen=True):
    """How long an answer may take, in seconds."""

    total: float
    idle: float | None = None
    """How long nothing may come at all, neither progress nor the answer."""


class Peer:
    """One conversation over a transport; `answers` has a function for each method of the client."""

    def __init__(
        self,
        name: str,
        transport: Transport,
        *,
        answers: Mapping[str, Answerer],
        notified: Callable[[str, Mapping[str, Any]], None],
        noted: Callable[[str], None],
    ) -> None:
        self.name = name
        self.lost: asyncio.Future[ConnectionLost] = asyncio.get_running_loop().create_future()
        """Done when the connection is gone, with the reason."""
        self._transport = transport
        self._answers = answers
        self._notified = notified
        self._noted = noted
        self._next_id = 0
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._progress: dict[int, Progress] = {}
        self._asked: dict[str | int, asyncio.Task[None]] = {}
        self._sending: set[asyncio.Task[None]] = set()

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        limits: Limits,
        progress: Progress | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
        tells_cancel: bool = True,
    ) -> dict[str, Any]:
        """Ask the server and wait for its answer; cancelling tells it that no one waits any more.

        Raises:
            McpError: the server answered with an error, or there is no answer.
        """
        number = self._next_id
        self._next_id += 1
        given = dict(params or {})
        if progress is not None:
            given["_meta"] = {**given.get("_meta", {}), "progressToken": number}
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": number, "method": method}
        if given:
            message["params"] = given
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        sending = asyncio.create_task(self._transport.send(message, headers))
        patience = _Patience(limits)
        if progress is not None or limits.idle is not None:
            self._progress[number] = _listener(patience, progress)
        try:
            return await self._wait(method, answer, sending, patience)
        except (asyncio.CancelledError, TimedOut) as reason:
            if not answer.done() and tells_cancel and method != "initialize":
                self._tell_cancelled(number, reason)
            raise
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
        """Tell the server something that has no answer.

        Raises:
            McpError: it cannot be delivered.
        """
        await self._transport.send(_notification(method, params))

    def tell(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification without waiting; a failed delivery is logged."""
        self._send_later(_notification(method, params))

    async def close(self) -> None:
        """Give up everything that is under way, in both directions."""
        self.lose(ConnectionLost(f"The connection to {self.name} was closed."))
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
            case {"id": int() as number, "result": dict() as result}:
                self._settle(number, lambda answer: answer.set_result(result))
            case {"id": int() as number, "error": dict() as error}:
                self._settle(number, lambda answer: answer.set_exception(self._error(error)))
            case {"id": int() as number}:
                fault = McpError(f"{self.name} gave an answer without a usable result.")
                self._settle(number, lambda answer: answer.set_exception(fault))
            case {"error": {"message": str() as text}}:
                self._noted(f"error without a request: {text[:_LONGEST_REASON]}")
            case list():
                for each in message:
                    if not isinstance(each, list):
                        self.take(each)
            case _:
                self._noted("a message that is not JSON-RPC was ignored")

    def lose(self, error: ConnectionLost) -> None:
        if self.lost.done():
            return
        self.lost.set_result(error)
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(error)

    def note(self, text: str) -> None:
        self._noted(text)

    async def _wait(
        self,
        method: str,
        answer: asyncio.Future[dict[str, Any]],
        sending: asyncio.Task[None],
        patience: "_Patience",
    ) -> dict[str, Any]:
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
                raise TimedOut(f"{self.name} did not answer {method} within {patience.described()}.")
        return answer.result()

    def _settle(self, number: int, settle: Callable[[asyncio.Future[dict[str, Any]]], None]) -> None:
        answer = self._waiting.get(number)
        # An answer that no one waits for came too late, or was never asked for.
        if answer is not None and not answer.done():
            settle(answer)

    def _error(self, error: Mapping[str, Any]) -> McpError:
        code, text = error.get("code"), error.get("message")
        shown = text if isinstance(text, str) and text.strip() else f"{self.name} answered with an error"
        return McpError(shown[:10_000], code=code if isinstance(code, int) else None, data=error.get("data"))

    def _take_notification(self, method: str, params: Mapping[str, Any]) -> None:
        if method == "notifications/progress":
            token = params.get("progressToken")
            listener = self._progress.get(token) if isinstance(token, int) else None
            if listener is not None:
                listener(params)
        elif method == "notifications/cancelled":
            number = params.get("requestId")
            if isinstance(number, str | int) and (task := self._asked.get(number)) is not None:
                task.cancel()
        else:
            self._notified(method, params)

    def _take_request(self, number: str | int, method: str, params: Mapping[str, Any]) -> None:
        answer = _pong if method == "ping" else self._answers.get(method)
        if answer is None:
            self._refuse(number, METHOD_NOT_FOUND, f"Method not found: {method[:200]}")
        elif number in self._asked or len(self._asked) >= _MOST_ASKED:
            self._refuse(number, INTERNAL_ERROR, "Too many requests at once")
        else:
            task = asyncio.create_task(self._answer(number, answer, params))
            self._asked[number] = task
            task.add_done_callback(lambda _: self._asked.pop(number, None))

    async def _answer(self, number: str | int, answer: Answerer, params: Mapping[str, Any]) -> None:
        try:
            result = await answer(params)
        except McpError as error:
            self._refuse(number, INTERNAL_ERROR if error.code is None else error.code, str(error))
            return
        self._send_later({"jsonrpc": "2.0", "id": number, "result": result})

    def _refuse(self, number: str | int, code: int, text: str) -> None:
        self._send_later({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}})

    def _tell_cancelled(self, number: int, reason: BaseException) -> None:
        why = "timed out" if isinstance(reason, TimedOut) else "interrupted"
        self.tell("notifications/cancelled", {"requestId": number, "reason": why})

    def _send_later(self, message: Message) -> None:
        if self.lost.done():
            return
        self._keep(asyncio.create_task(self._deliver(message)))

    def _keep(self, task: asyncio.Task[None]) -> None:
        def forget(done: asyncio.Task[None]) -> None:
            self._sending.discard(done)
            if not done.cancelled() and (fault := done.exception()) is not None:
                self._noted(str(fault))

        self._sending.add(task)
        task.add_done_callback(forget)

    async def _deliver(self, message: Message) -> None:
        try:
            await self._transport.send(message)
        except McpError as error:
            self._noted(f"a message could not be delivered: {error}")


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


def _notification(method: str, params: Mapping[str, Any] | None) -> Message:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if params:
        message["params"] = params
    return message


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


async def _pong(params: Mapping[str, Any]) -> Mapping[str, Any]:
    del params
    return {}
