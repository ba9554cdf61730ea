"""A provider that asks the ledger before each call and tells it afterwards."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Protocol

from msgspec import Struct

from bridle.config.schema import BridleBudgets
from bridle.context.tokens import units_of
from bridle.engine.runtime import ModelFacts
from bridle.engine.side_calls import charged_to
from bridle.features.budgets.ledger import Ledger, Refusal, ledger_path
from bridle.features.context import FeatureContext
from bridle.host.git.repository import find_root
from bridle.transcripts.usage.model_calls import source_of_call
from bridle.types.block import AssistantMessage
from bridle.types.budget import Budgets, Charge, Limit, Payer, Scope
from bridle.types.errors import OverBudget
from bridle.types.history import History
from bridle.types.model import (
    Completed,
    FallbackStarted,
    ModelEvent,
    ModelRequest,
    Noted,
    Provider,
    Restarted,
    Started,
)
from bridle.types.usage import Usage

_SAFETY = 1.15
"""Estimates of a request may be this much too small before the first answer."""
_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.5


class _Call(Struct, frozen=True):
    source: str
    began: float


class RunLedger(Protocol):
    """A ledger as a provider uses it: the file of this machine, or one that other machines share."""

    def reserve(self, payer: Payer, charge: Charge, budgets: Budgets) -> int | Refusal: ...
    def settle(
        self,
        reservation: int | None,
        payer: Payer,
        charge: Charge | None,
        *,
        model: str = "",
        source: str = "",
        output: int = 0,
    ) -> None: ...
    def used(self, scope: Scope, payer: Payer) -> Charge: ...


class MeteredProvider:
    """Calls wait while others hold the rest of a budget, and are refused when it is used up."""

    def __init__(
        self,
        inner: Provider,
        *,
        path: str,
        payer: Payer,
        facts: Callable[[str], ModelFacts],
        budgets: Budgets,
        patience: float = 120.0,
        source: str | None = None,
        ledger: "RunLedger | None" = None,
    ) -> None:
        self._inner = inner
        self._path = path
        self._payer = payer
        self._facts = facts
        self._budgets = budgets
        self._patience = patience
        self._source = source
        """The source that every call is charged to; None takes the source of each request."""
        self._open: RunLedger | None = ledger

    def charged_to(self, agent: str | None, source: str | None = None) -> "MeteredProvider":
        """A provider for the calls of an agent, charged to `source` or to the source of each request.

        The first provider owns the ledger and closes it.
        """
        other = MeteredProvider(
            charged_to(self._inner, agent, source),
            path=self._path,
            payer=Payer(run=self._payer.run, project=self._payer.project, agent=agent or self._payer.agent),
            facts=self._facts,
            budgets=self._budgets,
            patience=self._patience,
            source=source,
        )
        other._open = self._open
        return other

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """The answer of the wrapped provider.

        Raises:
            ProviderError: a budget does not allow the call, or the provider fails.
        """
        ledger = self._ledger()
        reservation = await self._reserve(ledger, request) if self._budgets else None
        # The conversation grows while the answer comes, so what it answers is looked up now.
        call = _Call(self._source or source_of(request.history), time.monotonic())
        begun: AssistantMessage | None = None
        settled = False
        try:
            async for event in self._inner.stream(request):
                match event:
                    case Started() | Noted():
                        begun = event.message or begun
                    case Restarted() | FallbackStarted():
                        await self._settle(ledger, None, call, begun)
                        begun = None
                    case Completed():
                        settled = True
                        await self._settle(ledger, reservation, call, event.message)
                    case _:
                        pass
                yield event
        finally:
            if not settled:
                # What the service had counted until then was spent even if the answer was cut.
                await asyncio.shield(self._settle(ledger, reservation, call, begun))

    def standing(self) -> list[tuple[Scope, Limit, Charge]]:
        """Every limit, with what is used of it."""
        ledger = self._ledger()
        return [(scope, limit, ledger.used(scope, self._payer)) for scope, limit in self._budgets.items()]

    async def close(self) -> None:
        await self._inner.close()

    async def _reserve(self, ledger: "RunLedger", request: ModelRequest) -> int:
        charge = self._most(request)
        deadline = time.monotonic() + self._patience
        pause = _FIRST_PAUSE
        while True:
            answer = await asyncio.to_thread(ledger.reserve, self._payer, charge, self._budgets)
            if not isinstance(answer, Refusal):
                return answer
            if answer.spent or time.monotonic() > deadline:
                raise OverBudget(f"{answer.reason} See `bridle usage`.", kind="billing_error")
            # Another process gives its share back without telling us.
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _settle(
        self, ledger: "RunLedger", reservation: int | None, call: "_Call", message: AssistantMessage | None
    ) -> None:
        charge, usage = None, Usage()
        if message is not None:
            usage = Usage.from_api(message["usage"])
            charge = Charge(
                usd=self._facts(message["model"]).cost(usage),
                tokens=usage.context + usage.output,
                seconds=time.monotonic() - call.began,
            )
        await asyncio.to_thread(
            ledger.settle,
            reservation,
            self._payer,
            charge,
            model=message["model"] if message is not None else "",
            source=call.source,
            output=usage.output,
        )

    def _most(self, request: ModelRequest) -> Charge:
        """What the call can cost at most: all input uncached, and the longest answer."""
        units = units_of(request.history) + sum(len(block["text"]) for block in request.system)
        context = round(units / 4 * _SAFETY) + 300 * len(request.tools)
        usage = Usage(cache_write_5m=context, output=request.max_tokens)
        return Charge(usd=self._facts(request.model).cost(usage), tokens=context + request.max_tokens)

    def _ledger(self) -> "RunLedger":
        if self._open is None:
            self._open = Ledger(self._path)
        return self._open


def source_of(history: History) -> str:
    """What a call is made for: the tool, skill or MCP server whose result it reads, else the prompt."""
    if len(history) < 2 or isinstance(content := history.messages[-1]["content"], str):
        return "prompt"
    answered = {block["tool_use_id"] for block in content if block["type"] == "tool_result"}
    before = history.messages[-2]["content"]
    if not answered or isinstance(before, str):
        return "prompt"
    names = [
        source_of_call(block["name"], block["input"])
        for block in before
        if block["type"] == "tool_use" and block["id"] in answered
    ]
    return ", ".join(dict.fromkeys(names))[:200] or "prompt"


def metered(provider: Provider, context: FeatureContext) -> MeteredProvider:
    """A provider with the ledger and the budgets of the settings around it."""
    given = context.config.settings.bridle_budgets or BridleBudgets()
    limits: dict[Scope, Limit] = {}
    scopes: tuple[Scope, ...] = ("run", "agent", "project", "day")
    for scope, limit in zip(scopes, (given.run, given.agent, given.project, given.day), strict=True):
        if limit is not None:
            limits[scope] = Limit(
                usd=limit.usd, tokens=limit.tokens, calls=limit.calls, seconds=limit.seconds
            )
    project = find_root(context.project) or context.project
    # A teammate works for its leader's run, as it would in the leader's process.
    run, agent = context.leader or (context.session.id, "main")
    payer = Payer(run=run, project=project, agent=agent)
    path = ledger_path(context.env)
    return MeteredProvider(provider, path=path, payer=payer, facts=context.facts, budgets=limits)
