"""Tells a person on standard error which calls were denied, and what would have allowed them."""

from bridle.frontends.call_words import call_words
from bridle.host.secrets import SECRETS
from bridle.host.streams import Output
from bridle.permissions.explaining import flags, why
from bridle.types.event import PermissionDenied
from bridle.types.text import printable


def tell_denial(event: PermissionDenied, output: Output, *, agent: str = "", told: set[str]) -> None:
    """Write a line or two about a denied call, unless the same were written before."""
    who = f"{agent}: " if agent else ""
    words = f"{who}{call_words(event.tool, event.input)}: {why(event.reason, event.parts)}"
    allowed = flags(event.suggestions)
    advice = f"to allow it: {allowed}" if allowed else event.remedy
    lines = (f"denied: {words}", *((f"  {advice}",) if advice else ()))
    # What a call holds makes no lines of its own.
    text = "".join(f"{printable(SECRETS.hide(line))}\n" for line in lines)
    if text not in told:
        told.add(text)
        output.write(text.encode(errors="replace"))
