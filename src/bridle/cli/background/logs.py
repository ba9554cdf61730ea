"""`bridle logs`: what a background session has shown, as plain text."""

import select
import time
from collections import deque
from collections.abc import Mapping

from bridle.cli.background.job_lookup import find_job, is_live
from bridle.cli.background.launch_settings import launch_settings
from bridle.cli.say import say
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.host.jobs import protocol, records
from bridle.host.jobs.launcher import JobError
from bridle.host.jobs.output_log import everything
from bridle.host.jobs.screen_text import ScreenText

_TICK_SECONDS = 0.25
_STILL_TICKS = 6
_FAR = 1 << 30
_EDGES = "─━═╭╮╰╯│┌┐└┘-_ "


def run_logs(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Print the output of a job; with -f follow it until it ends.

    Raises:
        UsageError: background sessions are turned off.
        JobError: there is no such job, or it cannot be followed.
    """
    launch_settings(env)
    folder, facts = find_job(given.one("id"), env)
    follows = given.on("follow") and is_live(facts)
    # Connected first: what is shown between two steps comes twice rather than never.
    connection = _connect(facts) if follows else None
    paper = ScreenText(facts.get("rows", 24), facts.get("columns", 80))
    paper.feed(everything(folder))
    if connection is None:
        return say("".join(f"{line}\n" for line in paper.lines()))
    with connection:
        return _Following(paper).run(connection)


def _connect(facts: records.Facts) -> "protocol.socket.socket":
    try:
        connection = protocol.connect(facts["socket"])
        connection.sendall(protocol.frame(protocol.FOLLOW))
    except OSError as error:
        raise JobError(f"can't follow the output of {facts['id']} ({error.strerror})") from error
    return connection


class _Following:
    """Prints lines once they are unlikely to change any more."""

    def __init__(self, paper: ScreenText) -> None:
        self._paper = paper
        self._printed: list[str] = []
        self._last = ""
        """The line to continue after, once it is there again."""
        self._repaints = paper.repaints
        self._touched = deque([paper.row] * _STILL_TICKS, _STILL_TICKS)
        """The first row that was written to, in each of the last moments."""

    def run(self, connection: "protocol.socket.socket") -> int:
        frames, is_over, code = protocol.Frames(), False, 0
        while not is_over and code == 0:
            code = self._print(self._settled())
            self._paper.touched = _FAR
            deadline = time.monotonic() + _TICK_SECONDS
            while not is_over and (left := deadline - time.monotonic()) > 0:
                if not select.select([connection], [], [], left)[0]:
                    break
                data = connection.recv(64 * 1024)
                is_over = not data
                for kind, payload in frames.feed(data):
                    is_over = is_over or kind == protocol.OVER
                    if kind == protocol.OUTPUT:
                        self._paper.feed(payload)
            self._touched.append(self._paper.touched)
        return code or self._print(self._paper.lines())

    def _settled(self) -> list[str]:
        """The lines above all that has changed lately; at rest those above the cursor."""
        settled = self._paper.lines()[: min(*self._touched, self._paper.row)]
        while settled and not settled[-1].strip(_EDGES):
            settled.pop()
        return settled

    def _print(self, settled: list[str]) -> int:
        """Print what was not printed yet; a line that has changed after all is printed once more."""
        if self._paper.repaints != self._repaints or (settled and settled[:1] != self._printed[:1]):
            # All was drawn again, or the oldest lines are kept no more: continue after what was printed last.
            self._repaints = self._paper.repaints
            self._last = next((line for line in reversed(self._printed) if line), "")
        if self._last:
            same = [index for index, line in enumerate(settled) if line == self._last]
            if not same and min(self._touched) < _FAR:
                return 0
            self._printed = settled[: same[-1] + 1] if same else []
            self._last = ""
        known = 0
        for before, now in zip(self._printed, settled, strict=False):
            if before != now:
                break
            known += 1
        if len(settled) <= known:
            return 0
        fresh, self._printed = settled[known:], settled
        return say("".join(f"{line}\n" for line in fresh))
