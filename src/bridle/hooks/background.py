"""Hooks that run in the background; what they print reaches the model when they are done."""

import asyncio
from collections.abc import Callable

from bridle.config.hook_schema import CommandHook
from bridle.hooks.handler import Detached, HookCall, Ran, Reply, TimedOut
from bridle.hooks.output import LONGEST_TEXT, Cut, interpret
from bridle.types.hooks.outcome import HookOutcome

MOST_AT_ONCE = 32
_MOST_KEPT = 100_000
_NO_WORDS = "a background hook exited with code 2 without output"


class BackgroundHooks:
    """The background hooks of one session; closed with it.

    `rewake` gets text that the model should read now, `tell` a sentence for the user. A decision of a
    background hook comes too late and is ignored.
    """

    def __init__(
        self,
        *,
        rewake: Callable[[str], None],
        tell: Callable[[str], None],
        cut: Cut = lambda text: text[:LONGEST_TEXT],
        most: int = MOST_AT_ONCE,
    ) -> None:
        self._rewake = rewake
        self._tell = tell
        self._cut = cut
        self._most = most
        self._running: dict[asyncio.Task[Reply], HookCall] = {}
        self._contexts: list[str] = []
        self._closed = False
        self._awaited: list[str] | None = None
        """Where the words go that a turn waits for."""

    def adopt(self, call: HookCall, detached: Detached) -> bool:
        """Take over a hook; False when there are too many already, and then `rest` was not called."""
        if self._closed or len(self._running) >= self._most:
            return False
        task = asyncio.create_task(_finish(detached))
        self._running[task] = call
        task.add_done_callback(self._hear)
        return True

    def collect(self) -> tuple[str, ...]:
        """What hooks that ended since the last time have to say to the model."""
        contexts, self._contexts = tuple(self._contexts), []
        return contexts

    async def woken(self) -> str | None:
        """What the hooks that may wake the model say, as soon as one does; None when all end in silence."""
        self._awaited = awaited = []
        try:
            while not awaited and (left := [task for task, call in self._running.items() if _may_wake(call)]):
                await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
                await asyncio.sleep(0)  # What a task came to is taken in by a callback.
        finally:
            self._awaited = None
        return "\n\n".join(awaited) or None

    def __len__(self) -> int:
        """How many still run."""
        return len(self._running)

    async def close(self) -> None:
        """End what still runs, unheard."""
        self._closed = True
        tasks = tuple(self._running)
        # A task that is cancelled before its first step could not end what its hook has started.
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _hear(self, task: asyncio.Task[Reply]) -> None:
        call = self._running.pop(task)
        if task.cancelled() or self._closed:
            return
        if (error := task.exception()) is not None:
            self._tell(f"the {call.name} hook failed in the background: {type(error).__name__}: {error}")
            return
        reply = task.result()
        said = interpret(call, reply, cut=self._cut)
        for text in (*said.system_messages, *said.problems):
            self._tell(text)
        if isinstance(reply, Ran) and reply.exit_code == 2 and _may_wake(call):
            text = self._cut(reply.stderr.strip() or reply.stdout.strip() or _NO_WORDS)
            if self._awaited is None:
                self._rewake(text)
            else:
                self._awaited.append(text)
            return
        self._keep(said.context)
        if (ignored := _decision_of(said)) is not None:
            self._tell(f"ignored {ignored[:200]} from the background hook {call.name}")

    def _keep(self, context: tuple[str, ...]) -> None:
        """Keep the newest contexts; a session that never collects must not fill the memory."""
        self._contexts += context
        while len(self._contexts) > 1 and sum(map(len, self._contexts)) > _MOST_KEPT:
            del self._contexts[0]


async def _finish(detached: Detached) -> Reply:
    try:
        async with asyncio.timeout(detached.timeout):
            return await detached.rest()
    except TimeoutError:
        return TimedOut(seconds=detached.timeout)


def _may_wake(call: HookCall) -> bool:
    return isinstance(call.hook, CommandHook) and bool(call.hook.async_rewake)


def _decision_of(said: HookOutcome) -> str | None:
    decided = said.decision.reason if said.decision is not None else said.deferred
    return decided or said.block or said.stop
