"""What the lines of a turn say of its own course: when things came, and the agents that it had."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from bridle.types.services.tasks import Task

_AGENT = "local_agent"


class TurnTimes:
    """When a turn came to its first request, and the answer to its first content."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._found: dict[str, int] = {}

    def begin(self) -> None:
        self._began, self._found = self._clock(), {}

    def note(self, name: str) -> None:
        """The first time counts."""
        self._found.setdefault(name, round((self._clock() - self._began) * 1000))

    def fields(self) -> Mapping[str, int]:
        return self._found


class AgentReport:
    """The agents of the session so far."""

    def __init__(self) -> None:
        self._open: set[str] = set()
        self._counts: Counter[str] = Counter()
        self._types: Counter[str] = Counter()
        self._deepest = 0

    def note(self, task: Task) -> None:
        """An agent has begun, or ended."""
        if task.kind != _AGENT:
            return
        if task.status == "running" and task.id not in self._open:
            self._open.add(task.id)
            self._counts["background" if task.backgrounded else "foreground"] += 1
            self._counts["by_agents"] += task.depth > 1
            self._types[task.agent_type or "general-purpose"] += 1
            self._deepest = max(self._deepest, task.depth)
        elif task.status != "running" and task.id in self._open:
            self._open.discard(task.id)
            self._counts[task.status] += 1

    def stats(self) -> dict[str, Any]:
        """The field `subagent_stats` of a result."""
        counts = self._counts
        return {
            "spawned": counts["background"] + counts["foreground"],
            "requested": {"background": counts["background"], "foreground": counts["foreground"], "unset": 0},
            "started_in_background": counts["background"],
            "max_depth": self._deepest,
            "spawned_by_subagents": counts["by_agents"],
            "completed": counts["completed"],
            "failed": counts["failed"],
            "killed": {"parent": 0, "user": counts["killed"], "system": 0},
            "refused": {"depth_limit": 0, "concurrency_limit": 0, "budget": 0},
            "by_type": dict(self._types),
        }
