"""What has happened in a run so far: its agents, phases, lines and faults, counted as they come."""

import time
from bisect import insort
from collections import deque
from collections.abc import Callable, Iterable

from bridle.features.agents.log import AgentLog
from bridle.features.workflows.agents import AgentCall
from bridle.types.services.tasks import TaskUsage
from bridle.types.text import one_line

_KEPT_LINES = 200
_MOST_LINES = 10_000
_LONGEST_LINE = 1_000
_MOST_FAULTS = 3
_MOST_PLACES = 20
_SIGNS = {"done": "+", "replayed": "="}


class RunLog:
    """The progress of a run; `changed` is called with the tool that was used last, if any."""

    def __init__(self, file: str, changed: Callable[[str | None], None]) -> None:
        self.members: list[AgentCall] = []
        self.live: dict[int, AgentCall] = {}
        """Those that have not ended, by number."""
        self._begun: dict[int, AgentCall] = {}
        """Those of them that have used anything."""
        self.phases: list[str] = []
        self.logs: deque[str] = deque(maxlen=_KEPT_LINES)
        self.changed = changed
        self._faults: list[tuple[int | None, str]] = []
        """With the number of the agent that they are about."""
        self._places: list[str] = []
        """Work trees that hold changes."""
        self._settled = TaskUsage()
        self._written = 0
        """What agents that have ended have written, in tokens."""
        self._file = AgentLog(file)
        self._lines = 0
        self._began = time.monotonic()

    @property
    def path(self) -> str:
        """The file to read along in."""
        return self._file.path

    @property
    def spent(self) -> int:
        """What the models of the run have written, in tokens."""
        return self._written + sum(member.output_tokens for member in self._begun.values())

    def add(self, member: AgentCall) -> None:
        """An agent was called; one that is here stays where it is."""
        if member.number not in self.live:
            insort(self.members, member, key=lambda each: each.number)
            self.live[member.number] = member

    def put_back(self, members: Iterable[AgentCall]) -> None:
        """Remove these: the script has not called them yet."""
        gone = {member.number for member in members}
        self.members = [each for each in self.members if each.number not in gone]
        for number in gone:
            self.live.pop(number, None)

    def reopen(self, member: AgentCall) -> None:
        """An agent that has ended will begin again."""
        self.live[member.number] = self._begun[member.number] = member
        before = self._settled
        self._settled = TaskUsage(before.tokens - member.tokens, before.tool_uses - member.tool_uses)
        self._written -= member.output_tokens
        self._faults = [fault for fault in self._faults if fault[0] != member.number]
        member.reopen()

    def begin_again(self, why: str) -> None:
        """The script runs once more, and writes its lines again."""
        self.logs.clear()
        self._faults = [fault for fault in self._faults if fault[0] is not None]
        self.log(why)

    def begin(self, member: AgentCall, agent_id: str, now: float) -> None:
        """An agent begins to work, or once more."""
        member.begin(agent_id, now)
        self._begun[member.number] = member
        self.changed(None)

    def settle(self, member: AgentCall) -> None:
        """An agent has ended."""
        self.live.pop(member.number, None)
        self._begun.pop(member.number, None)
        before = self._settled
        self._settled = TaskUsage(before.tokens + member.tokens, before.tool_uses + member.tool_uses)
        self._written += member.output_tokens
        self.write(
            f"{_SIGNS.get(member.state, '-')} {member.request.label}: {member.state}. {member.preview}"
        )
        self.changed(None)

    def end(self) -> None:
        """Mark all agents as ended, also those that had not begun."""
        for member in tuple(self.live.values()):
            member.end("stopped", "")
            self.settle(member)

    def open_phase(self, title: str) -> None:
        if title not in self.phases:
            self.phases.append(title)
        self.log(f"[{title}]")

    def log(self, text: str) -> None:
        """A line for people."""
        line = one_line(" ".join(text[: 2 * _LONGEST_LINE].split()), _LONGEST_LINE)
        self.logs.append(line)
        self.write(line)
        self.changed(None)

    def fault(self, text: str, number: int | None = None) -> None:
        """Something went wrong that the script may not notice; `number` is that of the agent."""
        self._faults.append((number, text))
        self.log(text)

    def keep_place(self, label: str, path: str, branch: str | None) -> None:
        """An agent has left changes in a work tree."""
        self._places.append(f"{path} on branch {branch}" if branch else path)
        self.log(f"{label}: its changes are in {self._places[-1]}")

    def write(self, line: str) -> None:
        """Add to the file alone."""
        self._lines += 1
        if self._lines < _MOST_LINES:
            self._file.write(f"{line}\n")
        elif self._lines == _MOST_LINES:
            self._file.write("(truncated)\n")

    def close(self, last: str) -> None:
        self._file.write(f"{last}\n")
        self._file.close()

    def usage(self) -> TaskUsage:
        begun = self._begun.values()
        return TaskUsage(
            self._settled.tokens + sum(member.tokens for member in begun),
            self._settled.tool_uses + sum(member.tool_uses for member in begun),
            round((time.monotonic() - self._began) * 1000),
        )

    def progress(self) -> str:
        """How far it is, in a few words."""
        over = len(self.members) - len(self.live)
        phase = f"{self.phases[-1]}: " if self.phases else ""
        return f"{phase}{over} of {len(self.members)} agents done"

    def outcome(self) -> str:
        """How many agents there were, and what went wrong."""
        states = [member.state for member in self.members]
        good = sum(state in ("done", "replayed") for state in states)
        again = states.count("replayed")
        known = f", {again} reused" if again else ""
        wrong = "; ".join(fault.rstrip(".") for _, fault in self._faults[:_MOST_FAULTS])
        more = f"; {len(self._faults) - _MOST_FAULTS} more" if len(self._faults) > _MOST_FAULTS else ""
        failed = f" Failed: {wrong}{more}." if wrong else ""
        trees = f" Changes are in: {'; '.join(self._places[:_MOST_PLACES])}." if self._places else ""
        return f"{good} of {len(states)} agents finished{known}.{failed}{trees}"
