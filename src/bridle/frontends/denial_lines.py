"""Tells a person on standard error which calls were denied, and what would have allowed them."""

from bridle.frontends.call_words import call_words
from bridle.host.secrets import SECRETS
from bridle.host.streams import Output
from bridle.permissions.explaining import flags, why
from bridle.types.event import PermissionDenied
from bridle.types.text import printable


def tell_denial(event: PermissionDenied, output: Output, *, agent: str = "", told: set[str]) -> None:
    """Write a line about a denied call, unless the same line was written before."""
    who = f"{agent}: " if agent else ""
    words = f"{who}{call_words(event.tool, event.input)}: {why(event.reason, event.parts)}"
    allowed = flags(event.suggestions)
    advice = f"to allow it: {allowed}" if allowed else event.remedy
    line = f"denied: {words}" + (f"\n  {advice}" if advice else "")
    if line not in told:
        told.add(line)
        output.write(printable(f"{SECRETS.hide(line)}\n", keep="\n").encode(errors="replace"))
