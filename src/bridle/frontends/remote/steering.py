"""What may be asked of a session from elsewhere, whatever process it runs in."""

from bridle.commands.catalog import CATALOG
from bridle.frontends.remote.faults import Declined
from bridle.types.permission import Mode

ELSEWHERE = frozenset({
    "btw", "clear", "compact", "goal", "init", "pin", "plan", "recap", "rename", "security-review", "subtask",
})  # fmt: skip
"""Built-in commands that open nothing where the session runs and widen nothing."""

MODES: tuple[Mode, ...] = ("default", "acceptEdits", "plan", "dontAsk")
"""Permission modes that somebody elsewhere may choose in any session."""


def check_command(text: str) -> None:
    """Refuse built-in commands that are for the place where the session runs.

    Raises:
        Declined: it is one of those.
    """
    word = text.lstrip().partition(" ")[0].partition("\n")[0]
    if not word.startswith("/"):
        return
    named = next((each for each in CATALOG if word[1:] in (each.name, *each.aliases)), None)
    if named is not None and named.name not in ELSEWHERE:
        raise refusal(named.name)


def refusal(command: str) -> Declined:
    """What somebody is told who calls a command that is not for them."""
    return Declined(403, f"/{command} can be used only where the session runs.")
