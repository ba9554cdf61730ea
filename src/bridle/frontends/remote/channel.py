"""A channel that remote clients can join: they see every event, and the first answer to a question counts."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from msgspec.structs import replace

from bridle.host.first_answer import first_answer
from bridle.types.channel import Channel
from bridle.types.event import Event, Noticed, PromptFolded, TurnStarted
from bridle.types.ids import new_uuid
from bridle.types.origin import TYPED, Origin
from bridle.types.question import Answer, Permitted, Question, Refused

_NOBODY = "the session"


class Pending:
    """A question that waits for its first answer."""

    def __init__(self, question: Question) -> None:
        self.id = new_uuid()
        self.question = question
        self.own: asyncio.Future[Answer] | None = None
        """The answer that is being asked for here."""
        self.given: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        """The answer of a remote client."""
        self.by = ""
        """Who that was."""

    @property
    def is_open(self) -> bool:
        answered_here = self.own is not None and self.own.done() and not _is_nobodys(self.own)
        return not self.given.done() and not answered_here

    def claim(self, answer: Answer, by: str) -> bool:
        """Give the answer; False when it was answered already."""
        if not self.is_open:
            return False
        self.by = by
        self.given.set_result(answer)
        return True


class Audience(Protocol):
    """The remote clients."""

    def take(self, event: Event) -> None: ...

    def sender(self, prompt_uuid: str | None) -> str | None:
        """Who sent a prompt, when it was one of them."""
        ...

    def asked(self, pending: Pending) -> None:
        """A question is open."""
        ...

    def settled(self, pending: Pending, *, by: str, answer: Answer | None) -> None:
        """A question is closed; without an answer when it was withdrawn."""
        ...

    async def deserted(self) -> None:
        """Return when no client is left that could answer."""
        ...


class SharedChannel:
    """Passes everything on to the channel of this place and to the audiences that there are."""

    def __init__(
        self,
        local: Channel,
        *,
        here: str,
        origin: Origin = TYPED,
        answered: Callable[[Question, Answer], None] = lambda _, __: None,
    ) -> None:
        self._local = local
        self._here = here
        """The name under which local answers are reported."""
        self._origin = origin
        """The name of the local place in recorded answers."""
        self._answered = answered
        """Called with answers of remote clients."""
        self._open: list[Pending] = []
        self._audiences: list[Audience] = []

    def share(self, audience: Audience) -> None:
        """Let an audience in, with the questions that are open."""
        self._audiences.append(audience)
        for pending in self._open:
            audience.asked(pending)

    def unshare(self, audience: Audience) -> None:
        """Send an audience away."""
        if audience in self._audiences:
            self._audiences.remove(audience)

    def emit(self, event: Event) -> None:
        if isinstance(event, TurnStarted | PromptFolded):
            senders = (each.sender(event.prompt_uuid) for each in self._audiences)
            if (sender := next((each for each in senders if each is not None), None)) is not None:
                self._local.emit(Noticed(f"From {sender}, by remote control:", "notice"))
        self._local.emit(event)
        for audience in tuple(self._audiences):
            audience.take(event)

    async def ask(self, question: Question) -> Answer:
        pending = Pending(question)
        pending.own = own = asyncio.ensure_future(self._local.ask(question))
        by, answer = _NOBODY, None
        self._open.append(pending)
        try:
            # A question that is settled at once is not sent to clients.
            await asyncio.sleep(0)
            if pending.is_open:
                self._tell_asked(pending)
            by, answer = await self._first(pending, own)
            return answer
        finally:
            self._open.remove(pending)
            own.cancel()
            await asyncio.gather(own, return_exceptions=True)
            for audience in tuple(self._audiences):
                audience.settled(pending, by=by, answer=answer)
            if pending.by:
                self._tell_given(pending)

    async def _first(self, pending: Pending, own: "asyncio.Future[Answer]") -> tuple[str, Answer]:
        """The first answer and who gave it; with clients connected, a local refusal to ask does not count."""

        async def here() -> Answer:
            answer = await own
            if _is_nobodys(own):
                await asyncio.gather(*(each.deserted() for each in self._audiences))
            return answer

        answer = await first_answer(pending.given, here())
        if pending.by:
            return pending.by, _stamped(answer, Origin(source="remote", who=pending.by))
        return self._here, _stamped(answer, self._origin)

    def _tell_asked(self, pending: Pending) -> None:
        for audience in tuple(self._audiences):
            audience.asked(pending)

    def _tell_given(self, pending: Pending) -> None:
        answer = pending.given.result()
        self._answered(pending.question, answer)
        what = "Refused" if isinstance(answer, Refused) else "Answered"
        self._local.emit(Noticed(f"{what} by {pending.by}, by remote control.", "notice"))


def _stamped(answer: Answer, origin: Origin) -> Answer:
    """An answer with who gave it, where it does not say so itself."""
    match answer:
        case Permitted(origin=None) | Refused(origin=None, by_person=True):
            return replace(answer, origin=origin)
        case _:
            return answer


def _is_nobodys(own: "asyncio.Future[Answer]") -> bool:
    """Whether the answer only says that no one can be asked."""
    if not own.done() or own.cancelled() or own.exception() is not None:
        return False
    answer = own.result()
    return isinstance(answer, Refused) and not answer.by_person
