"""How a piece of work is described: as a generator that yields plans and is sent their results.

A procedure runs from its beginning for every request and is sent the results that the conversation
already holds, so it needs no memory of its own and a resumed session continues where it stopped.
"""

from collections.abc import Collection, Generator
from typing import Any

from msgspec import Struct

from bridle.types.errors import BridleError

_LONGEST_REASON = 300
_REFUSAL_WORDS = (
    "permission", "denied", "not allowed", "refused", "rejected", "declined", "granted", "approv",
    "plan mode", "doesn't want", "does not want", "blocked", "hook", "interrupted",
)  # fmt: skip


class Call(Struct, frozen=True):
    name: str
    input: dict[str, Any]


class Result(Struct, frozen=True):
    text: str
    is_error: bool = False


class Plan(Struct, frozen=True):
    """The next answer; without calls it is the last of its turn."""

    text: str
    calls: tuple[Call, ...] = ()


Procedure = Generator[Plan, tuple[Result, ...], str]
"""Returns the last words of the turn."""


class Stopped(BridleError):
    """The work cannot continue; the message is for the user."""


def use(
    calls: tuple[Call, ...], *, tools: Collection[str], text: str = ""
) -> Generator[Plan, tuple[Result, ...], tuple[Result, ...]]:
    """Make these calls and return their results, failed ones included.

    Raises:
        Stopped: a tool is not offered, or a call was not allowed.
    """
    for call in calls:
        if call.name not in tools:
            raise Stopped(f"This needs the {call.name} tool, which this session does not have.")
    results = yield Plan(text, calls)
    for call, result in zip(calls, results, strict=True):
        if _refused(call, result):
            raise Stopped(_refusal(call, result))
    return results


def use_one(
    call: Call, *, tools: Collection[str], text: str = ""
) -> Generator[Plan, tuple[Result, ...], Result]:
    """Make one call and return its result.

    Raises:
        Stopped: the tool is not offered, or the call was not allowed.
    """
    (result,) = yield from use((call,), tools=tools, text=text)
    return result


def shorten(text: str, limit: int = _LONGEST_REASON) -> str:
    """The text on one line, cut at `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _refused(call: Call, result: Result) -> bool:
    if not result.is_error:
        return False
    said = result.text.lower()
    if call.name == "Bash":
        # A command that ran says how it ended; whatever else is an error kept it from running.
        return not said.startswith("exit code") and "timed out" not in said and "was stopped" not in said
    return any(word in said for word in _REFUSAL_WORDS)


def _refusal(call: Call, result: Result) -> str:
    return f"I stopped: {_deed(call)} was not allowed ({shorten(result.text)}). {_way_out(call)}"


def _deed(call: Call) -> str:
    match call:
        case Call("Bash", {"command": command}):
            return f"running `{shorten(str(command), 120)}`"
        case Call("Edit" | "Write", {"file_path": path}):
            return f"changing {path}"
        case Call("Read", {"file_path": path}):
            return f"reading {path}"
        case _:
            return f"using {call.name}"


def _way_out(call: Call) -> str:
    if call.name in ("Edit", "Write"):
        return "To allow edits here, start bridle with `--permission-mode acceptEdits`, then ask again."
    if call.name == "Bash":
        return f'To allow it, start bridle with `--allowedTools "{_rule(call)}"`, then ask again.'
    return f'To allow it, start bridle with `--allowedTools "{call.name}"`, then ask again.'


def _rule(call: Call) -> str:
    words = str(call.input.get("command", "")).split()
    if "-m" in words[:-1]:
        return f"Bash({' '.join(words[: words.index('-m') + 2])}:*)"
    return f"Bash({' '.join(words)})"
