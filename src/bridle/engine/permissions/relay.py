"""Sends permission questions to MCP channels as well: the first answer decides."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from bridle.host.first_answer import first_answer
from bridle.types.channel import Channel
from bridle.types.event import Event
from bridle.types.origin import Origin
from bridle.types.question import Answer, PermissionQuestion, Permitted, Question, Refused

_LETTERS = "abcdefghijkmnopqrstuvwxyz"
"""Without the one that looks like a digit."""
_LENGTH = 5
_UNWELCOME = ("arse", "ass", "cock", "cum", "cunt", "dick", "fag", "fuc", "fuk", "kkk", "nazi", "nig", "piss",
              "porn", "poo", "rape", "sex", "shit", "slut", "tit", "twat", "wank", "whor")  # fmt: skip
_LONGEST_PREVIEW = 200
_LONGEST_REASON = 500

Send = Callable[[Mapping[str, Any]], bool]
"""Tells the channels that may decide; whether there are any."""


class RelayedChannel:
    """The channel of a session, whose questions about permission go to other channels too."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._send: Send = lambda _: False
        self._open: dict[str, asyncio.Future[Answer]] = {}

    def relay_by(self, send: Send) -> None:
        """Where the questions go; until then, nowhere else."""
        self._send = send

    def emit(self, event: Event) -> None:
        self._channel.emit(event)

    async def ask(self, question: Question) -> Answer:
        if not isinstance(question, PermissionQuestion) or not question.call_id:
            return await self._channel.ask(question)
        name = short_name(question.call_id)
        if name in self._open or not self._send(_told(name, question)):
            return await self._channel.ask(question)
        elsewhere = self._open[name] = asyncio.get_running_loop().create_future()
        try:
            return await first_answer(self._channel.ask(question), elsewhere)
        finally:
            del self._open[name]

    def settle(self, server: str, request_id: str, behavior: str) -> bool:
        """Take the answer of a channel; whether it was to a question that is still open."""
        waiting = self._open.get(request_id)
        if waiting is None or waiting.done() or behavior not in ("allow", "deny"):
            return False
        origin = Origin(source="channel", who=server)
        refused = Refused(message=f"It was denied through the channel {server}.", origin=origin)
        waiting.set_result(Permitted(origin=origin) if behavior == "allow" else refused)
        return True


def short_name(call_id: str) -> str:
    """Five letters that a person can type on a phone, the same for the same call."""
    name = _hashed(call_id)
    for salt in range(10):
        if not any(word in name for word in _UNWELCOME):
            break
        name = _hashed(f"{call_id}:{salt}")
    return name


def _hashed(text: str) -> str:
    number = int.from_bytes(hashlib.sha256(text.encode(errors="replace")).digest()[:8])
    letters: list[str] = []
    for _ in range(_LENGTH):
        number, place = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[place])
    return "".join(letters)


def _told(name: str, question: PermissionQuestion) -> Mapping[str, Any]:
    preview = msgspec.json.encode(question.input).decode()
    return {
        "request_id": name,
        "tool_name": question.tool,
        "description": question.reason[:_LONGEST_REASON],
        "input_preview": preview if len(preview) <= _LONGEST_PREVIEW else f"{preview[:_LONGEST_PREVIEW]}…",
    }
