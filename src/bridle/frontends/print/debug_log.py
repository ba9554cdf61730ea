"""The debug log: every event of a run, one line each."""

import os
import time

import msgspec

from bridle.host.secrets import SECRETS
from bridle.host.stdio import for_terminal
from bridle.types.event import Event, Streamed, TextDelta, ThinkingDelta
from bridle.types.text import encodable_value
from bridle.types.turn import Outcome

_LONGEST = 4_000


class DebugLog:
    """One line for each event: seconds since the start, its kind, its fields."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._is_terminal = os.isatty(descriptor)
        self._began = time.monotonic()

    def take(self, event: Event) -> None:
        if isinstance(event, TextDelta | ThinkingDelta | Streamed):
            return  # The stream shows again in what the model has said.
        fields = msgspec.to_builtins(event, builtin_types=(bytes,))
        kind = fields.pop("type")
        self._line(kind, SECRETS.hide(msgspec.json.encode(encodable_value(fields)).decode())[:_LONGEST])

    def finish(self, outcome: Outcome | None) -> None:
        self._line("finished", "no turn" if outcome is None else outcome.reason)
        os.close(self._descriptor)

    def _line(self, kind: str, text: str) -> None:
        line = f"{time.monotonic() - self._began:9.3f} {kind} {text}\n".encode(errors="replace")
        os.write(self._descriptor, for_terminal(line) if self._is_terminal else line)
