"""A call in one line, for people."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bridle.host.secrets import SECRETS
from bridle.host.streams import Output
from bridle.permissions.explanations import flags, why
from bridle.types.event import PermissionDenied
from bridle.types.text import encodable_value, printable

_FIRST_LENGTH = 160
_VALUE_LENGTH = 60
_CALL_LENGTH = 300
_TELLING = ("command", "file_path", "notebook_path", "pattern", "url", "query", "task_id", "path")
"""The arguments that say what a call is about: the first of them is shown without its name."""
_IDS = ("task_id", "taskId", "to", "resume", "shell_id", "bash_id", "agentId")


def call_words(tool: str, input: Mapping[str, Any], names: Mapping[str, str] | None = None) -> str:
    """A tool with what it is given, the most important argument first; ids in `names` become names."""
    return f"{tool}({_shortened(', '.join(_arguments(input, names or {})), _CALL_LENGTH)})"


def _arguments(input: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[str]:
    first = next((name for name in _TELLING if isinstance(input.get(name), str)), None)
    if first is not None:
        yield _shortened(_value(first, input[first], names), _FIRST_LENGTH)
    for name, value in input.items():
        if name != first:
            yield f"{name}: {_shortened(_value(name, value, names), _VALUE_LENGTH)}"


def _value(name: str, value: Any, names: Mapping[str, str]) -> str:
    if not isinstance(value, str):
        return msgspec.json.encode(encodable_value(value)).decode()
    return " ".join((names.get(value, value) if name in _IDS else value).split())


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def tell_denial(event: PermissionDenied, output: Output, *, agent: str = "", written: set[str]) -> None:
    """Write a line or two about a denied call, unless the same were written before."""
    who = f"{agent}: " if agent else ""
    words = f"{who}{call_words(event.tool, event.input)}: {why(event.reason, event.parts)}"
    allowed = flags(event.suggestions)
    advice = f"to allow it: {allowed}" if allowed else event.remedy
    lines = (f"denied: {words}", *((f"  {advice}",) if advice else ()))
    # What a call holds makes no lines of its own.
    text = "".join(f"{printable(SECRETS.hide(line))}\n" for line in lines)
    if text not in written:
        written.add(text)
        output.write(text.encode(errors="replace"))
