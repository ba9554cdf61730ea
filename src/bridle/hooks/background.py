"""Hooks that run in the background; what they print reaches the model when they are done."""

import asyncio
from collections.abc import Callable

from bridle.config.hook_schema import CommandHook
from bridle.hooks.handler import Detached, HookCall, Ran, Reply, TimedOut
from bridle.hooks.output import LONGEST_TEXT, Cut, interpret
from bridle.types.hooks.outcome import HookOutcome

MOST_AT_ONCE = 32
_MOST_KEPT = 100_000
_NO_WORDS = "a hook that ran in the background ended with exit code 2 and said nothing"


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
            self._rewake(self._cut(reply.stderr.strip() or reply.stdout.strip() or _NO_WORDS))
            return
        self._keep(said.context)
        if (ignored := _decision_of(said)) is not None:
            self._tell(f"the {call.name} hook ran in the background, too late to decide: {ignored[:200]}")

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
