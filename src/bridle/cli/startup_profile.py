"""Where the time of a start goes (`CLAUDE_CODE_PROFILE_STARTUP=1`): a report on standard error at the end."""

import atexit
import resource
import sys
import time
from collections.abc import Mapping

from bridle.types.variables import is_on

_POINTS = {
    "bridle.cli.main": "command line",
    "bridle.config.load": "settings",
    "bridle.session.open": "session code",
    "bridle.engine.loop": "engine",
    "bridle.frontends.tui.app": "terminal",
    "bridle.providers.http_provider": "model service",
}
"""Modules whose import marks the beginning of a part."""


class StartupProfile:
    """Notes checkpoints through an audit hook, so a start that is not profiled pays nothing."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._points: list[tuple[str, float, int, int]] = []
        self._imports = 0
        self._done = False
        self.mark("start")
        sys.addaudithook(self._notice)
        atexit.register(self._report)

    def mark(self, name: str) -> None:
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self._points.append((name, time.perf_counter() - self._began, memory // 1024, self._imports))

    def _notice(self, event: str, args: tuple[object, ...]) -> None:
        if self._done:
            return
        if event == "import":
            self._imports += 1
            if isinstance(args[0], str) and (name := _POINTS.get(args[0])):
                self.mark(name)
        elif event == "socket.connect":
            self.mark("first connection")
            self._done = True

    def _report(self) -> None:
        from bridle.host.stdio import complain

        self._done = True
        self.mark("end")
        lines = ["start-up profile", "      ms     +ms  MiB  imports"]
        before = 0.0
        for name, seconds, memory, imports in self._points:
            lines.append(
                f"{seconds * 1000:8.1f}{(seconds - before) * 1000:8.1f}{memory:5}{imports:9}  {name}"
            )
            before = seconds
        for line in lines:
            complain(line)


def profile_start(env: Mapping[str, str]) -> None:
    """Note where the time goes from here on, where the variable asks for it."""
    if is_on(env, "CLAUDE_CODE_PROFILE_STARTUP"):
        StartupProfile()
