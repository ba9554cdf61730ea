"""The tools of a session: its own, those from outside, and which are loaded on demand."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bridle.engine.mcp_servers import LazyServers
from bridle.engine.model_facts import SMALL_WINDOW
from bridle.tools.catalog import traits_of
from bridle.tools.toolbox import BuiltinToolbox, Deferral
from bridle.transcripts.session import Session
from bridle.types.model import ToolDefinition
from bridle.types.permission import Effect, Rule
from bridle.types.tool import Tool, Toolbox

if TYPE_CHECKING:
    from bridle.tools.deferred_toolbox import DeferredToolbox

Offer = Callable[[], Sequence[Tool]]
"""Tools that are looked up again at each step, because they come and go."""


def deferring(
    own: BuiltinToolbox,
    others: Offer | None,
    *,
    deferral: Deferral,
    window: Callable[[], int],
    session: Session,
    servers: LazyServers | None,
) -> "DeferredToolbox | None":
    """The tools of the session where some are loaded on demand; None where all are sent from the start."""
    if others is None and (deferral.when != "always" or not own.deferred()):
        return None
    from bridle.tools.deferred import found_before, listed_before
    from bridle.tools.deferred_toolbox import DeferredToolbox

    results = [entry.get("toolUseResult") for entry in session.entries if entry["type"] == "user"]
    return DeferredToolbox(
        own,
        others or _none,
        deferral=deferral,
        window=window,
        loaded=found_before(results),
        listed=lambda other: listed_before(other.history.messages) if isinstance(other, Session) else (),
        waiting=lambda: () if servers is None else servers.waiting(),
    )


def foreign(brought: Offer | None, servers: LazyServers | None, session: Session) -> Offer | None:
    """The tools that come from outside, without those that are denied as a whole.

    They are asked for at every step, so the same answer is the same object until something changes.
    """
    if servers is None and brought is None:
        return None
    own = brought or _none
    known: list[tuple[object, object, object, Sequence[Tool]]] = []

    def offered() -> Sequence[Tool]:
        first, second = own(), servers.tools() if servers is not None else ()
        rules = session.state.rules
        if known and known[0][0] is first and known[0][1] is second and known[0][2] is rules:
            return known[0][3]
        denied = [rule for rule in rules if rule.effect is Effect.DENY and rule.content is None]
        every = (*first, *second)
        known[:] = [(first, second, rules, _allowed(every, denied) if denied else every)]
        return known[0][3]

    return offered


def _allowed(tools: Sequence[Tool], denied: Sequence[Rule]) -> Sequence[Tool]:
    from bridle.permissions.matching import names  # Few sessions deny whole tools.

    return [tool for tool in tools if not any(names(rule, tool.name) for rule in denied)]


def joined(brought: Offer | None, tools: Sequence[Tool]) -> Offer | None:
    """What was brought, and these tools."""
    if not tools:
        return brought
    return (lambda: tools) if brought is None else lambda: (*brought(), *tools)


def fitted(toolbox: Toolbox, window: Callable[[], int]) -> Toolbox:
    """The tools as the model that answers can take them; `window` is that of the model in use."""
    return _Fitted(toolbox, window)


class _Fitted:
    """A toolbox that is shorter for as long as the window is small."""

    def __init__(self, inner: Toolbox, window: Callable[[], int]) -> None:
        self._inner = inner
        self._window = window
        self._slim: tuple[int, Toolbox] | None = None

    def definitions(self) -> tuple[ToolDefinition, ...]:
        return self._chosen().definitions()

    def names(self) -> tuple[str, ...]:
        return self._chosen().names()

    def find(self, name: str) -> Tool | None:
        return self._inner.find(name)

    def _is_essential(self, name: str) -> bool:
        return traits_of(name, self._inner).essential

    def _chosen(self) -> Toolbox:
        window = self._window()
        if window >= SMALL_WINDOW:
            return self._inner
        if self._slim is None or self._slim[0] != window:
            from bridle.providers.trimming import SlimToolbox

            self._slim = (window, SlimToolbox(self._inner, window, self._is_essential))
        return self._slim[1]


def news(
    deferring: "DeferredToolbox | None",
    servers: LazyServers | None,
    *more: Callable[[Session], str | None],
) -> Callable[[Session, Toolbox], str | None]:
    """What the model should learn before a step: tools that are there, and what servers say."""
    sources: list[Callable[[Session], str | None]] = []
    if servers is not None:
        sources.append(servers.news)
    sources += more

    def collect(session: Session, offered: Toolbox) -> str | None:
        tools = None if deferring is None else deferring.news(session, offered)
        return "\n\n".join(filter(None, (tools, *(source(session) for source in sources)))) or None

    return collect


def again(deferring: "DeferredToolbox | None", offered: Toolbox) -> tuple[Callable[[], str | None], ...]:
    """Text for the model that must be repeated after a compaction."""
    return () if deferring is None else (lambda: deferring.again(offered),)


def _none() -> Sequence[Tool]:
    return ()
