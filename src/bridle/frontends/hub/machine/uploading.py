"""Sends the events of a session to the hub: in order, in batches, each once, within limits."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from bridle.frontends.hub.machine.client import Backoff, HubRefused, patiently
from bridle.frontends.hub.sessions import merge_patch

Frame = dict[str, Any]

MOST_IN_BATCH = 500
_MOST_BYTES = 4_000_000
_MOST_WAITING = 100_000
_GATHER_SECONDS = 0.1
_DELTA = "content_block_delta"


class EventUploader:
    """One batch is on its way at a time; `put` waits while too much is unsent."""

    def __init__(
        self,
        send: Callable[[list[Mapping[str, Any]]], Awaitable[None]],
        *,
        most_waiting: int = _MOST_WAITING,
        gather: float = _GATHER_SECONDS,
        backoff: Backoff | None = None,
    ) -> None:
        self._send = send
        self._most = most_waiting
        self._gather = gather
        self._backoff = backoff or Backoff(first=0.5, most=8.0, give_up=None)
        self._waiting: deque[Frame] = deque()
        self._texts: dict[Any, str] = {}
        """What was streamed of each block so far."""
        self._more = asyncio.Event()
        self._room = asyncio.Event()
        self._sent = asyncio.Event()
        self._room.set()
        self._sent.set()

    async def put(self, frame: Frame) -> None:
        """Send a frame some time; pieces of a text become what there is of it so far."""
        while len(self._waiting) >= self._most:
            self._room.clear()
            await self._room.wait()
        merged = self._merged(frame)
        if merged is None:
            return
        self._waiting.append(merged)
        self._sent.clear()
        self._more.set()

    async def run(self) -> None:
        """Send until cancelled.

        Raises:
            HubRefused: the hub takes nothing more from this worker.
        """
        while True:
            await self._more.wait()
            # What comes at the same time travels together.
            await asyncio.sleep(self._gather)
            await self._send_all()

    async def flush(self) -> None:
        """Wait until everything has been sent."""
        await self._sent.wait()

    async def _send_all(self) -> None:
        while self._waiting:
            batch = self._batch()
            try:
                await patiently(lambda batch=batch: self._send(batch), self._backoff)
            except HubRefused as refusal:
                if refusal.status not in (400, 413) or len(batch) == 1:
                    raise
                # One of these cannot be taken: the others must not suffer for it.
                await self._send_alone(batch)
            for _ in batch:
                self._waiting.popleft()
            self._room.set()
        self._more.clear()
        self._sent.set()

    async def _send_alone(self, batch: list[Mapping[str, Any]]) -> None:
        for frame in batch:
            try:
                await patiently(lambda frame=frame: self._send([frame]), self._backoff)
            except HubRefused as refusal:
                if refusal.status not in (400, 413):
                    raise

    def _batch(self) -> list[Mapping[str, Any]]:
        batch, size = list[Mapping[str, Any]](), 0
        for frame in self._waiting:
            size += len(msgspec.json.encode(frame))
            if batch and (size > _MOST_BYTES or len(batch) >= MOST_IN_BATCH):
                break
            batch.append(frame)
        return batch

    def _merged(self, frame: Frame) -> Frame | None:
        """A piece of a text as the whole text so far; None if a frame that waits now says it."""
        match frame:
            case {"type": "stream_event", "event": {"type": kind, "index": index, "delta": delta}} if (
                kind == _DELTA and isinstance(delta, dict) and delta.get("type") == "text_delta"
            ):
                pass
            case {"type": "assistant" | "result"}:
                self._texts.clear()
                return frame
            case _:
                return frame
        key = frame.get("parent_tool_use_id"), index
        self._texts[key] = self._texts.get(key, "") + str(delta.get("text", ""))
        event = {**frame["event"], "delta": {"type": "text_delta", "text": self._texts[key]}}
        whole = {**frame, "event": event, "is_snapshot": True}
        last = self._waiting[-1] if len(self._waiting) > MOST_IN_BATCH else None
        if last is not None and last.get("is_snapshot") and last["event"]["index"] == index:
            last |= {"event": event}
            return None
        return whole


class StateUploader:
    """At most one report is on its way and one waits, however often the state changes."""

    def __init__(
        self, send: Callable[[Mapping[str, Any]], Awaitable[None]], *, backoff: Backoff | None = None
    ) -> None:
        self._send = send
        self._backoff = backoff or Backoff(first=0.5, most=8.0, give_up=None)
        self._waiting: Frame | None = None
        self._more = asyncio.Event()
        self._sent = asyncio.Event()
        self._sent.set()

    def put(self, patch: Mapping[str, Any]) -> None:
        """Report this with the next request: the last value of a key counts, metadata is merged."""
        waiting = self._waiting or {}
        for name, value in patch.items():
            if name.endswith("_metadata"):
                waiting[name] = _merge_keeping_null(waiting.get(name, {}), value)
            else:
                waiting[name] = value
        self._waiting = waiting
        self._sent.clear()
        self._more.set()

    async def run(self) -> None:
        """Report until cancelled.

        Raises:
            HubRefused: the hub takes nothing more from this worker.
        """
        while True:
            await self._more.wait()
            self._more.clear()
            patch, self._waiting = self._waiting, None
            if patch is not None:
                await patiently(lambda patch=patch: self._send(patch), self._backoff)
            if self._waiting is None:
                self._sent.set()

    async def flush(self) -> None:
        """Wait until everything has been reported."""
        await self._sent.wait()


def _merge_keeping_null(known: Frame, patch: Mapping[str, Any]) -> Frame:
    """Merge two patches into one: what removes a key must reach the hub."""
    removed = {name: None for name, value in patch.items() if value is None}
    kept = {name: value for name, value in known.items() if value is None and name not in patch}
    return merge_patch(known, patch) | kept | removed
