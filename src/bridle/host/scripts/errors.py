"""Says what went wrong in a script, in the words and the lines of the person who wrote it."""

import re
import signal

from bridle.host.scripts.inside.limits import MEMORY, OUT_OF_MEMORY, OWN_LINES
from bridle.host.scripts.protocol import ErrorKind, Failed, ScriptError

_PLACE = re.compile(r"<input>:(\d+)")
_UNDEFINED = re.compile(r"ReferenceError: '?(\w+)'? is not defined")
_IMPORT = re.compile(r"\s*(import|export)\b")
_ELSEWHERE = re.compile(
    r"fetch|XMLHttpRequest|WebSocket|fs|process|require|module|exports|Buffer|Bun|Deno|window|document|performance"
    r"|(set|clear)(Timeout|Interval|Immediate)"
)
_TIME = "it runs too long without waiting for an agent"
_MEMORY = f"it needs more than the {MEMORY // 2**20} MB that a script may use"


def line_of(stack: str) -> int | None:
    """The innermost line of the user's file in a stack."""
    lines = (int(number) - OWN_LINES for number in _PLACE.findall(stack))
    return next((line for line in lines if line > 0), None)


def explain(failed: Failed, source: str) -> ScriptError:
    """What the child reported, as a sentence about the user's file."""
    lines = source.split("\n")
    line = line_of(failed.stack)
    if line is not None:
        # What is missing at the end is missed after it.
        line = max(1, min(line, len(lines)))
    kind: ErrorKind = failed.error
    message = failed.message
    if kind == "time":
        message += "" if line is None else ", in a loop at or below this line"
    elif "out of memory" in message:
        kind, message = "memory", _MEMORY
    elif message == "null":
        # An engine without any memory left cannot even make an error.
        message = f"null was thrown, by the script or because {_MEMORY}"
    elif kind == "syntax":
        message = _syntax(message, lines[line - 1] if line else "")
    elif (found := _UNDEFINED.search(message)) and _ELSEWHERE.fullmatch(found[1]):
        message = (
            f"there is no {found[1]} in a script, which has no files, network, shell or timers: ask an agent"
        )
    return ScriptError(kind=kind, message=message, line=line)


def ending(code: int, complaints: str) -> ScriptError:
    """Why there was no last word."""
    if code == -signal.SIGVTALRM:
        return ScriptError(kind="time", message=_TIME)
    if code == OUT_OF_MEMORY:
        return ScriptError(kind="memory", message=_MEMORY)
    how = f"ended with code {code}" if code >= 0 else f"was ended by signal {-code}"
    last = complaints.strip().splitlines()[-1:]
    return ScriptError(kind="crash", message=": ".join((f"the process of the script {how}", *last)))


def _syntax(message: str, line: str) -> str:
    if _IMPORT.match(line):
        return "a script has no imports and exports only its meta: leave everything else to agents"
    return message.removeprefix("SyntaxError: ")
