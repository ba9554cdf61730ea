"""Heartbeats: hosts get a progress line for long calls without output."""

from collections.abc import Iterator
from typing import Any

from bridle.types.ids import new_uuid

_SECONDS = 30.0


class Heartbeats:
    """Keeps the running calls and when each was last reported."""

    def __init__(self, *, seconds: float = _SECONDS) -> None:
        self._seconds = seconds
        self._running: dict[str, _Call] = {}

    def begin(self, call_id: str, tool: str) -> None:
        self._running[call_id] = _Call(tool)

    def end(self, call_id: str) -> None:
        self._running.pop(call_id, None)

    def due(self, now: float, *, session_id: str) -> Iterator[dict[str, Any]]:
        """A line for each call that was silent for too long; `now` comes from the caller's clock."""
        for call_id, call in self._running.items():
            if call.began is None:
                call.began = call.last_report = now
            if now - call.last_report >= self._seconds:
                call.last_report = now
                yield progress_frame(
                    call_id, call.tool, now - call.began, session_id=session_id, heartbeat=True
                )


class _Call:
    __slots__ = ("began", "last_report", "tool")

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.began: float | None = None
        """None until the clock was first looked at."""
        self.last_report = 0.0


def progress_frame(
    call_id: str, tool: str, seconds: float, *, session_id: str, heartbeat: bool = False
) -> dict[str, Any]:
    """How long a call has been running."""
    return {
        "type": "tool_progress",
        "tool_use_id": call_id,
        "tool_name": tool,
        "parent_tool_use_id": None,
        "elapsed_time_seconds": round(seconds, 1),
        **({"heartbeat": True} if heartbeat else {}),
        "session_id": session_id,
        "uuid": new_uuid(),
    }
