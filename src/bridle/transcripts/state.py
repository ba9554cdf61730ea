"""What holds in a session beside its conversation, swapped as one value."""

from typing import TYPE_CHECKING, TypedDict

from msgspec import Struct

from bridle.types.ledger import Ledger
from bridle.types.model import Thinking
from bridle.types.permission import DenialCount, Mode, Rule
from bridle.types.saved_prompt import SavedPrompt
from bridle.types.usage import Measured

if TYPE_CHECKING:
    from bridle.types.services.schedules import Scheduled


class SessionState(Struct, frozen=True):
    """The settings that may change between two steps."""

    model: str = ""
    mode: Mode = "default"
    rules: tuple[Rule, ...] = ()
    denials: DenialCount = DenialCount()
    thinking: Thinking | None = None
    """How much the model may think, if the user chose it; None for the default."""
    measured: Measured | None = None
    """How large the conversation was when a service last counted."""
    ledger: Ledger = Ledger()
    """Words of the user that outlive every compaction."""
    pinned_items: frozenset[str] = frozenset()
    """Calls whose results are never cleared."""
    skills: tuple[tuple[str, str], ...] = ()
    """Names and texts of the skills that are followed, the last used last."""
    failed_compactions: int = 0
    """Automatic compactions that failed in a row."""
    scheduled: "tuple[Scheduled, ...]" = ()
    """The prompts that are to come in this conversation alone."""
    deferred: str | None = None
    """The call that a hook put off to a later turn."""
    pre_plan_mode: Mode | None = None
    """What held before plan mode."""
    advisor: str | None = None
    """The model that the main one may ask for advice."""
    kept_prompt: SavedPrompt | None = None
    """The system prompt that is sent as it was first sent, where a host wants that."""


class StateChanges(TypedDict, total=False):
    model: str
    mode: Mode
    pre_plan_mode: Mode | None
    advisor: str | None
    kept_prompt: SavedPrompt | None
    rules: tuple[Rule, ...]
    denials: DenialCount
    thinking: Thinking | None
    measured: Measured | None
    ledger: Ledger
    pinned_items: frozenset[str]
    skills: tuple[tuple[str, str], ...]
    failed_compactions: int
    scheduled: "tuple[Scheduled, ...]"
    deferred: str | None
