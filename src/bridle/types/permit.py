"""What the gate let a call do, and what holds it to that."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from bridle.types.sandbox import Sandbox
from bridle.types.wall import Refusal, View


class Permit(Struct, frozen=True, kw_only=True):
    """The bounds of one call."""

    approved: Mapping[str, str] = {}
    """Where each path led when the gate let the call through; what leads elsewhere by now is refused."""
    sandbox: Sandbox | None = None
    confined: bool = False
    """The gate decided on a command that runs in the sandbox: it runs there or not at all."""
    view: View | None = None
    """What a command that only judgement allowed is held to; None when something else allowed it."""
    refused: Callable[[Refusal], None] = lambda _: None
    """Hears of what a view kept a command from that runs beside the conversation."""
    hides: Callable[[str], bool] = lambda _: False
    """Whether a rule keeps the file at this absolute path from being read."""
