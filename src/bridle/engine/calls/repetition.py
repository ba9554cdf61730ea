"""Notices when a model makes the same failing call again and again."""

import msgspec
from msgspec import Struct

from bridle.engine.calls.call import Call
from bridle.types.block import text_block
from bridle.types.tool import ToolOutput

_NAMED_AT = 3
_ENDED_AT = 10
_WORDS = {3: "third", 4: "fourth", 5: "fifth", 6: "sixth", 7: "seventh", 8: "eighth", 9: "ninth"}
_LONGEST = 300


class RepeatedCall(Struct, frozen=True):
    """The call that ended a turn, because it failed too often."""

    tool: str
    times: int
    said: str

    def __str__(self) -> str:
        return f"The model repeated a failing {self.tool} call {self.times} times: {self.said}"


class Repetitions:
    """Counts in one turn how often each call has failed since something was changed."""

    def __init__(self) -> None:
        self._failed: dict[bytes, int] = {}
        self._named: dict[bytes, int] = {}
        """The step in which the model was first warned about a call."""
        self.loop: RepeatedCall | None = None
        """Why the turn should end."""

    @property
    def any(self) -> bool:
        return bool(self._failed)

    def forget(self) -> None:
        """Something was changed: what failed before may work now."""
        self._failed.clear()
        self._named.clear()

    def failed(self, call: Call, output: ToolOutput, *, step: int) -> ToolOutput:
        """The result of a call that failed, with a word about it when that is not the first time."""
        key = msgspec.json.encode((call.name, call.flaw, call.input), order="sorted")
        times = self._failed[key] = self._failed.get(key, 0) + 1
        if times < _NAMED_AT:
            return output
        first = self._named.setdefault(key, step)
        # Many calls of one answer are not a loop before the model could read what became of the first ones.
        if times >= _ENDED_AT and step > first:
            self.loop = RepeatedCall(call.name, times, _beginning(output))
        return _with_note(output, _note(times))


def _note(times: int) -> str:
    which = _WORDS.get(times, f"{times}th")
    return (
        f"This same call has failed for the {which} time. Do not repeat it: change the input, try another "
        f"way, or tell the user what you need. The turn ends at the {_ENDED_AT}th failure."
    )


def _with_note(output: ToolOutput, note: str) -> ToolOutput:
    content = output.content
    noted = f"{content}\n\n{note}" if isinstance(content, str) else [*content, text_block(note)]
    return msgspec.structs.replace(output, content=noted)


def _beginning(output: ToolOutput) -> str:
    content = output.content
    text = (
        content
        if isinstance(content, str)
        else " ".join(block["text"] for block in content if block["type"] == "text")
    )
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
