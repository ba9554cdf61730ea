"""Telling the user something while they may look elsewhere."""

from bridle.engine.hearing import tell_person
from bridle.engine.turn import Turn
from bridle.types.event import Noticed, Signalled
from bridle.types.text import encodable

_TITLE = "bridle"


def announce(turn: Turn, text: str) -> None:
    """Show a line, ask the terminal to notify, and tell notification hooks, which may carry it further."""
    runtime = turn.runtime
    plain = "".join(letter for letter in encodable(text) if letter.isprintable())
    runtime.channel.emit(Noticed(plain, "notice"))
    runtime.channel.emit(Signalled(f"\x1b]9;{_TITLE}: {plain}\x07"))
    tell_person(runtime.hooks, "agent_completed", plain, title=_TITLE)
