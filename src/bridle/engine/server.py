"""Runs prompts one after another, as long as they come."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Unpack

from bridle.engine.loop import record_prompt, run_turn
from bridle.engine.null_parts import ANY_SHAPE
from bridle.engine.runtime import Runtime
from bridle.tools.toolbox import AliasedToolbox, JoinedToolbox
from bridle.transcripts.session import Session
from bridle.types.event import PromptMoved, PromptState
from bridle.types.services.session import DIGEST, Digest
from bridle.types.slash import may_be_command
from bridle.types.tool import Tool
from bridle.types.turn import Outcome, Prompt

if TYPE_CHECKING:
    from bridle.engine.runtime_parts import RuntimeParts
    from bridle.engine.structured_output import AnswerShape

Interpret = Callable[[Prompt], Awaitable[Prompt | Outcome]]
"""Makes of a prompt what is to be worked on, or settles it without a model."""

_RANKS = {"now": 0, "next": 1, "later": 2}


class Inbox:
    """Prompts that wait for their turn, the urgent ones first; closed when no more can come."""

    def __init__(self) -> None:
        self._waiting: list[Prompt] = []
        self._changed = asyncio.Event()
        self._closed = False
        self._holds = 0
        self.joined: list[Prompt] = []
        """Those that have joined the turn that runs."""
        self.may_join: Callable[[Prompt], bool] = lambda _: True
        """Whether a prompt that looks like a command may join a turn that runs."""
        self.digest: Digest | None = None
        """Puts some prompts that wait together, and drops those that are out of date."""
        self._combined: tuple[Prompt, list[Prompt]] | None = None
        """What was offered last to a turn that runs as one prompt, and those that it is made of."""

    def __len__(self) -> int:
        self._drop_stale()
        return len(self._waiting)

    def put(self, prompt: Prompt) -> None:
        """Add a prompt behind all that are as urgent."""
        rank = _RANKS[prompt.priority]
        later = (i for i, other in enumerate(self._waiting) if _RANKS[other.priority] > rank)
        self._waiting.insert(next(later, len(self._waiting)), prompt)
        self._changed.set()

    def is_last(self) -> bool:
        """Whether no prompt waits and none can come."""
        return self._closed and not len(self)

    def close(self) -> None:
        self._closed = True
        self._changed.set()

    def hold(self) -> Callable[[], None]:
        """Give out no prompt until the function that is returned is called: something is being settled."""
        self._holds += 1

        def release() -> None:
            self._holds -= 1
            self._changed.set()

        return release

    @property
    def owed(self) -> int:
        return sum(prompt.query and not prompt.meta for prompt in self._waiting)

    def waiting(self) -> list[str]:
        """The senders' ids of the prompts that wait."""
        return [prompt.uuid for prompt in self._waiting if prompt.uuid is not None]

    def drop(self, uuid: str | None = None) -> list[str]:
        """Forget one prompt that waits, or all of them, and return the senders' ids of those forgotten."""
        gone = [prompt for prompt in self._waiting if uuid is None or prompt.uuid == uuid]
        self._waiting = [prompt for prompt in self._waiting if prompt not in gone]
        return [prompt.uuid for prompt in gone if prompt.uuid is not None]

    def peek(self) -> Prompt | None:
        """The first prompt that may join a turn that runs; those of the digest join together."""
        self._drop_stale()
        if self._holds or not self._waiting:
            return None
        first = self._waiting[0]
        if first.priority != "later" and not self._is_digested(first) and self._joins(first):
            return first
        parts = [prompt for prompt in self._waiting if self._is_digested(prompt)]
        if not parts or self.digest is None:
            return None
        if self._combined is None or self._combined[1] != parts:
            self._combined = self.digest.combine(parts), parts
        return self._combined[0]

    def take(self, prompt: Prompt) -> None:
        """A prompt has joined a turn."""
        parts = [prompt]
        if self._combined is not None and prompt is self._combined[0]:
            parts, self._combined = self._combined[1], None
        self._waiting = [each for each in self._waiting if not any(each is part for part in parts)]
        self.joined.append(prompt)

    async def stirred(self) -> None:
        """Return as soon as any prompt waits, also one that does not join."""
        while not len(self):
            self._changed.clear()
            await self._changed.wait()

    async def next(self) -> Prompt | None:
        """The next prompt, or None when the inbox is closed and empty."""
        while self._holds or not len(self):
            if self._closed and not self._holds:
                return None
            self._changed.clear()
            await self._changed.wait()
        if self.digest is None or not self.digest.covers(self._waiting[0]):
            return self._waiting.pop(0)
        parts = [prompt for prompt in self._waiting if self.digest.covers(prompt)]
        self._waiting = [prompt for prompt in self._waiting if not self.digest.covers(prompt)]
        return self.digest.combine(parts)

    def _joins(self, prompt: Prompt) -> bool:
        return not may_be_command(prompt) or self.may_join(prompt)

    def _is_digested(self, prompt: Prompt) -> bool:
        return self.digest is not None and self.digest.covers(prompt)

    def _drop_stale(self) -> None:
        if (digest := self.digest) is not None:
            self._waiting = [prompt for prompt in self._waiting if not digest.is_stale(prompt)]


class Server:
    """Serves one session: turns from the inbox."""

    def __init__(
        self,
        session: Session,
        runtime: Runtime,
        inbox: Inbox,
        *,
        on_work: Callable[[], None] = lambda: None,
        on_rest: Callable[[], None] = lambda: None,
    ) -> None:
        self._session = session
        self._inbox = inbox
        self._on_work = on_work
        """Called before each turn."""
        self._on_rest = on_rest
        """Called whenever no turn is pending."""
        self._turn: asyncio.Task[Outcome] | None = None
        self._begun = False
        self._stop_first = False
        self._aliases: Mapping[str, str] | None = None
        """Names that stand for other tools; None while there are none."""
        self.runtime = runtime.replaced(host=runtime.host.wired(inbox, inbox.close, inbox.is_last))
        """What turns work with; a change counts from the next turn on."""
        inbox.digest = runtime.features.find(DIGEST)
        self.last: Outcome | None = None
        self.interpret: Interpret | None = None
        """Asked what a prompt that looks like a command means before its turn, where there are commands."""

    async def serve(self, *, wait_for_tasks: float, say_waiting: Callable[[str], None]) -> None:
        """Run every prompt; then wait at most `wait_for_tasks` seconds for work that may give more."""
        features, clock = self.runtime.features, self.runtime.clock
        for feature in features.at("begin"):
            await feature.begin()
        await self._serve_inbox()
        deadline = clock() + wait_for_tasks
        while await features.wait_for_more(deadline - clock(), say_waiting):
            await self._serve_inbox()

    def change(self, **parts: "Unpack[RuntimeParts]") -> None:
        """Let the next turn work with other parts."""
        self.runtime = self.runtime.replaced(**parts)

    def shape_answers(self, shape: "AnswerShape") -> None:
        """Let answers have a shape from the next turn on."""
        if self.runtime.asking.shape is ANY_SHAPE:
            self.change(toolbox=JoinedToolbox(self.runtime.toolbox, self._shape_tools))
        self.change(asking=self.runtime.asking.in_shape(shape))

    def alias_tools(self, aliases: Mapping[str, str]) -> None:
        """Let calls of some names reach other tools from the next turn on."""
        if self._aliases is None and aliases:
            self.change(toolbox=AliasedToolbox(self.runtime.toolbox, lambda: self._aliases or {}))
        self._aliases = aliases if aliases or self._aliases is not None else None

    def submit(self, prompt: Prompt) -> None:
        """Queue a prompt."""
        self._tell(prompt.uuid, "queued")
        self._inbox.put(prompt)

    @property
    def busy(self) -> bool:
        """Whether a turn runs."""
        return self._turn is not None

    @property
    def owed(self) -> int:
        """How many prompts wait for a turn of their own."""
        return self._inbox.owed

    def waiting(self) -> list[str]:
        """Prompts that wait for their turn, by their senders' ids."""
        return self._inbox.waiting()

    def withdraw(self, uuid: str | None = None) -> list[str]:
        """Forget one prompt that waits, or all, and return the senders' ids of those forgotten."""
        dropped = self._inbox.drop(uuid)
        for each in dropped:
            self._tell(each, "cancelled")
        return dropped

    def interrupt(self) -> bool:
        """End the turn that runs, or the one that is about to begin."""
        if self._turn is not None and self._begun:
            return self._turn.cancel()
        # A task that is cancelled before its first step would leave no result behind.
        self._stop_first = self._turn is not None or len(self._inbox) > 0
        return self._stop_first

    async def _serve_inbox(self) -> None:
        while (prompt := await self._inbox.next()) is not None:
            self._tell(prompt.uuid, "started")
            if self._is_noted(prompt):
                self._session.note_taken("dequeue", prompt.content)
            if not prompt.query:
                record_prompt(self._session, prompt, self.runtime)
                self._tell(prompt.uuid, "completed")
                self._rest()
                continue
            self._on_work()
            for feature in self.runtime.features.at("work"):
                feature.work()
            self._begun = False
            self._inbox.joined.clear()
            self._turn = asyncio.create_task(self._run(prompt))
            try:
                self.last = await self._turn
            except asyncio.CancelledError:
                if (own := asyncio.current_task()) is not None and own.cancelling():
                    raise
            finally:
                self._turn = None
                self._stop_first = False
                for each in (prompt, *self._inbox.joined):
                    self._tell(each.uuid, "completed")
            self._rest()

    def _rest(self) -> None:
        """Say that no turn is owed, unless work runs whose end will begin one."""
        features = self.runtime.features
        for feature in () if len(self._inbox) else features.at("rest"):
            feature.rest()
        if not len(self._inbox) and not features.owe_turn():
            self._on_rest()

    async def _run(self, prompt: Prompt) -> Outcome:
        self._begun = True
        if self._stop_first and (own := asyncio.current_task()) is not None:
            own.cancel()
        if self.interpret is not None and may_be_command(prompt):
            meant = await self.interpret(prompt)
            if isinstance(meant, Outcome):
                return meant
            prompt = meant
        return await run_turn(self._session, prompt, self.runtime)

    def _is_noted(self, prompt: Prompt) -> bool:
        """Whether the transcript tells that a prompt has waited, which it does of those of host programs."""
        return prompt.query and not prompt.meta and self._session.entrypoint != "cli"

    def _shape_tools(self) -> Sequence[Tool]:
        return self.runtime.asking.shape.tools

    def _tell(self, uuid: str | None, state: PromptState) -> None:
        if uuid is not None:
            self.runtime.channel.emit(PromptMoved(uuid, state))
