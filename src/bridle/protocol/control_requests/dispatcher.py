"""Answers what a host program asks of a session besides prompts."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from msgspec import Struct

from bridle.engine.runtime import Briefing, Runtime
from bridle.engine.server import Inbox, Server
from bridle.protocol.control import ControlRequest, Frame, failure, success, unsupported
from bridle.protocol.frames import Framer
from bridle.protocol.session_totals import SessionTotals
from bridle.transcripts.session import Session
from bridle.types.errors import BridleError
from bridle.types.hooks.outcome import AskHost
from bridle.types.permission import Rule

Handler = Callable[["ControlDispatcher", Mapping[str, Any]], Awaitable[Frame | None]]
"""Answers a request; None where the acknowledgement has no content."""
Prompting = Mapping[str, Any]
"""What a host wants the system prompt to be: `custom`, `append`, `facts_apart`."""


class InitializeReply(Struct, frozen=True, kw_only=True):
    """What a host gets in reply to `initialize`."""

    models: tuple[Mapping[str, Any], ...]
    account: Mapping[str, Any]
    output_style: str = "default"


class LiveSettings(Protocol):
    """The settings of the session, as a host may look at them and change them."""

    def effective(self) -> Mapping[str, Any]: ...

    def sources(self) -> list[Mapping[str, Any]]:
        """What each file says, lowest first."""
        ...

    def problems(self) -> list[Mapping[str, Any]]: ...

    def hooks(self) -> Mapping[str, Any]:
        """Every configured hook, as a menu would list it."""
        ...

    def moved(self, transcript: str) -> None:
        """The conversation is kept in another file."""
        ...

    async def apply(self, changes: Mapping[str, Any]) -> None:
        """Merge into the settings of the command line; None takes a key back.

        Raises:
            BridleError: they cannot be used.
        """
        ...

    async def write(self, source: str, changes: Mapping[str, Any]) -> None:
        """Merge into a settings file.

        Raises:
            BridleError: the file or a key is not the host's to write.
        """
        ...


class ControlServices(Struct, frozen=True, kw_only=True):
    """What the dispatcher needs of the parts around the session."""

    send: Callable[[Frame], None]
    framer: Framer
    ask_host: AskHost
    """How hooks of the host are called."""
    pending: Callable[[str], list[Frame]]
    """Our requests of a kind that the host has not answered."""
    resolve_model: Callable[[str], str]
    rebrief: Callable[[Prompting], Briefing]
    keep_prompt: Callable[[], Briefing]
    """The briefing of now, with its system prompt kept in the conversation."""
    memory: Callable[[], tuple[tuple[str, str, str], ...]]
    """The instruction files that the model was given: path, kind, text."""
    settings: LiveSettings
    totals: SessionTotals
    end: Callable[[], None]
    """Take no more prompts and leave when the last is done."""


class RequestCatalog(Struct, frozen=True, kw_only=True):
    """What a host may ask."""

    handlers: Mapping[str, Handler]
    ordered: frozenset[str]
    """Requests that change what later prompts meet."""
    announced: frozenset[str] = frozenset()
    """Requests that take a while: a frame says when they begin."""


class ControlDispatcher:
    """Takes the requests of one host, also while a turn runs.

    Each is handled in a task of its own, so that none keeps others or the answers of the host waiting.
    Those that change what prompts meet are handled in order, and prompts behind them wait for them.
    """

    def __init__(
        self,
        session: Session,
        server: Server,
        inbox: Inbox,
        *,
        offer: InitializeReply,
        services: ControlServices,
        catalog: RequestCatalog,
    ) -> None:
        self.session = session
        self.server = server
        self.offer = offer
        self.services = services
        self._catalog = catalog
        self.first_model = session.state.model
        self.policies: tuple[Rule, ...] = ()
        """What the host says about single tools of its servers, as rules."""
        self._inbox = inbox
        self._order = asyncio.Lock()
        self._open: dict[str, asyncio.Task[None]] = {}

    @property
    def runtime(self) -> Runtime:
        return self.server.runtime

    def take(self, request: ControlRequest) -> None:
        """Begin to handle a request; one that cannot be fulfilled gets a sentence."""
        handler = self._catalog.handlers.get(request.subtype)
        if handler is None:
            self.services.send(unsupported(request))
            return
        ordered = request.subtype in self._catalog.ordered
        hold = self._inbox.hold() if ordered else None
        task = asyncio.create_task(
            self._in_order(handler, request) if ordered else self._handle(handler, request)
        )
        self._open[request.request_id] = task

        def settle(done: asyncio.Task[None]) -> None:
            if self._open.get(request.request_id) is done:
                del self._open[request.request_id]
            if hold is not None:
                hold()

        task.add_done_callback(settle)

    @property
    def busy(self) -> bool:
        """Whether a request of the host is still being handled."""
        return bool(self._open)

    def cancel(self, request_id: str) -> None:
        """The host no longer wants an answer."""
        if (task := self._open.get(request_id)) is not None:
            task.cancel()

    async def finish(self, *, patience: float) -> None:
        """Let requests that are being handled come to their end, but not for long."""
        if not self._open:
            return
        _, late = await asyncio.wait(self._open.values(), timeout=patience)
        for task in late:
            task.cancel()

    def send(self, frame: Frame) -> None:
        self.services.send(frame)

    async def _in_order(self, handler: Handler, request: ControlRequest) -> None:
        async with self._order:
            await self._handle(handler, request)

    async def _handle(self, handler: Handler, request: ControlRequest) -> None:
        if request.subtype in self._catalog.announced:
            self.send(self.services.framer.progress(request.request_id))
        try:
            answer = await handler(self, request.request)
        except BridleError as error:
            self.send(failure(request, str(error)))
            return
        except OSError as error:
            self.send(failure(request, f"{error.strerror or error}: {error.filename or 'no file'}"))
            return
        except Exception as defect:
            # The top of this front end: the host must get an answer even when bridle has a bug.
            self.send(failure(request, f"internal error in bridle: {type(defect).__name__}: {defect}"))
            return
        beside = self._pending() if request.subtype == "initialize" else {}
        self.send(success(request, answer, **beside))
        if request.subtype == "set_permission_mode":
            self.send(self.services.framer.mode(self.session.state.mode))

    def _pending(self) -> Mapping[str, Any]:
        """Requests that the host has not answered; after a new `initialize` it may have missed them."""
        return {name: self.services.pending(subtype) for name, subtype in _PENDING.items()}


_PENDING = {
    "pending_permission_requests": "can_use_tool",
    "pending_user_dialog_requests": "request_user_dialog",
    "pending_elicitation_requests": "elicitation",
}
