"""What a run works with besides its script."""

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from bridle.engine.turn import Turn
from bridle.features.agents.registry import Agents
from bridle.features.workflows.journal import Journal
from bridle.features.workflows.run_log import RunLog
from bridle.features.workflows.slots import Slots
from bridle.host.scripts.protocol import ScriptCall, ScriptEnd

Event = ScriptCall | ScriptEnd


class Nested(Struct, frozen=True):
    """A workflow that another one calls."""

    name: str
    source: str


class RunContext(Struct, frozen=True, kw_only=True):
    """What answering needs besides the script."""

    turn: Turn
    agents: Agents
    log: RunLog
    slots: Slots
    journal: Journal
    call_id: str
    budget: int | None
    """The most tokens that agents may write."""
    find: Callable[[Any], Awaitable[Nested]]
    """Looks up what `workflow()` names.

    Raises:
        ToolError: there is none.
    """
    on_event: Callable[[Event], None] = lambda _: None
    """Called with every event before it is handled."""
