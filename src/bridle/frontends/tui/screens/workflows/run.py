"""One workflow run: its phases, the agents of the selected one beside them, and what the script wrote."""

from collections.abc import Callable, Sequence
from typing import Any

from bridle.frontends.tui.keymap.labels import ACCEPT, CLOSING, Hint
from bridle.frontends.tui.render.call import duration, tokens
from bridle.frontends.tui.render.layout import MUTED, count, fit, one_line, style
from bridle.frontends.tui.screen.live_region import Cursor
from bridle.frontends.tui.screen.view import Closed
from bridle.frontends.tui.screens.workflows.agent import AgentSummary, agent_items, agent_lines
from bridle.frontends.tui.screens.workflows.commands import (
    LookAgain,
    Taken,
    agent_commands,
    run_commands,
    shared_commands,
)
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.terminal.keys import Key
from bridle.frontends.tui.widgets.list_pane import Command, CommandInput, ListPane
from bridle.frontends.tui.widgets.pane import Do
from bridle.frontends.tui.widgets.picker import Item
from bridle.types.services.workflows import AgentView, PhaseView, RunState, RunView

_ALL = "all"
_SIDE = 72
"""From this width on agents stand beside the phases."""
_WIDE = 150
"""Agents that have so many columns to themselves leave some of them to what is known of the selected one."""
_LEAST_LEFT, _MOST_LEFT = 20, 36
_LEAST_LIST = 4
_MOST_LOGS = 6
_BACK = frozenset({"escape", "left", "backspace", "tab", "shift+tab", *CLOSING})
_FORTH = frozenset({"right", "tab"})
STATES: dict[RunState, tuple[str, str]] = {
    "running": ("◐", "accent"),
    "paused": ("‖", "warning"),
    "completed": ("✓", "success"),
    "failed": ("✗", "error"),
    "stopped": ("■", "warning"),
    "interrupted": ("■", "muted"),
    "elsewhere": ("◌", "muted"),
}


class RunPane:
    """Phases on the left, agents on the right; a narrow window shows the one that has the keys."""

    def __init__(self, run: RunView, *, clock: Callable[[], float], do: Do, taken: Taken) -> None:
        self.run = run
        self._clock = clock
        self._do = do
        self._story: AgentSummary | None = None
        self._at_agents = False
        self._by_number: dict[int, AgentView] = {}
        self._phases: ListPane[str] = ListPane(
            (),
            do=do,
            commands=run_commands(self._find, taken, titled=False),
            accept=(Command(key="enter", words="agents", act=self._enter),),
        )
        self._agents: ListPane[int] = ListPane(
            (),
            do=do,
            empty="no agents yet",
            details=self._details,
            side=_WIDE,
            commands=(
                *agent_commands(self._find, self._find_agent),
                *shared_commands(self._find, taken),
            ),
        )
        self.show(run, None)

    @property
    def agent_id(self) -> str | None:
        """The agent that is read about."""
        if not self._agents.is_reading or (number := self._agents.picker.current) is None:
            return None
        agent = self._by_number.get(number)
        return None if agent is None else agent.agent_id

    def show(self, run: RunView, story: AgentSummary | None) -> None:
        """Have the run as it stands now."""
        self.run, self._story = run, story
        self._by_number = {agent.number: agent for agent in run.agents}
        self._phases.replace(_phase_items(run))
        self._fill()

    @property
    def contexts(self) -> tuple[str, ...]:
        return self._focus.contexts

    @property
    def is_busy(self) -> bool:
        return self._focus.is_busy

    @property
    def hints(self) -> Sequence[Hint]:
        hints = self._focus.hints
        return hints if self._at_agents or hints else [(ACCEPT, "agents")]

    def body(self, width: int, height: int) -> tuple[list[Line], Cursor | None]:
        if self._focus.is_busy:
            return self._focus.body(width, height)
        above = self._head(width)[: max(0, height - _LEAST_LIST)]
        below = self._foot(width, height - len(above) - _LEAST_LIST)
        space = max(1, height - len(above) - len(below))
        rows, cursor = self._columns(width, space)
        rows += [()] * (space - len(rows)) if below else []
        place = None if cursor is None else (cursor[0] + len(above), cursor[1])
        return fit([*above, *rows, *below][:height], width), place

    def press(self, key: Key, action: str | None) -> Closed[Any] | bool:
        was_reading = self._agents.is_reading
        done = self._focus.press(key, action)
        if done is not False:
            self._fill()
            if self._agents.is_reading and not was_reading:
                self._do(LookAgain())
            return done
        name = str(key)
        if self._at_agents:
            self._at_agents = not (name in _BACK or action in _BACK)
            return not self._at_agents
        if name in _FORTH:
            self._at_agents = True
            return True
        return False

    def paste(self, text: str) -> None:
        self._focus.paste(text)

    @property
    def _focus(self) -> ListPane[Any]:
        return self._agents if self._at_agents else self._phases

    def _enter(self, _: str | None, __: CommandInput) -> None:
        self._at_agents = True

    def _find(self, _: Any) -> RunView:
        return self.run

    def _find_agent(self, number: Any) -> AgentView | None:
        return self._by_number.get(number)

    def _fill(self) -> None:
        """Show the agents of the selected phase."""
        phase = self._phases.picker.current or _ALL
        self._agents.replace(
            agent_items([each for each in self.run.agents if phase in (_ALL, _key(each.phase or ""))])
        )
        if not self._at_agents:
            # No agent is selected, so running ones stay visible.
            self._agents.picker.select(0)

    def _details(self, number: int, width: int) -> list[Line]:
        agent = self._by_number.get(number)
        return [] if agent is None else agent_lines(agent, self._story, width)

    def _head(self, width: int) -> list[Line]:
        rows: list[Line] = [cells.truncate(run_line(self.run, self._clock()), width)]
        if self.run.description:
            rows.append(cells.truncate((Span(one_line(self.run.description), MUTED),), width))
        return [*rows, ()]

    def _foot(self, width: int, most: int) -> list[Line]:
        """What came of the run, or the newest lines that its script wrote."""
        run = self.run
        lines = [(Span("· ", MUTED), Span(one_line(each))) for each in run.logs[-_MOST_LOGS:]]
        if run.preview and not run.live:
            look = style("error" if run.state == "failed" else None)
            lines.append((Span("→ ", style("accent")), Span(one_line(run.preview), look)))
        shown = lines[-max(0, most - 1) :] if most > 1 else []
        return [(), *(cells.truncate(each, width) for each in shown)] if shown else []

    def _columns(self, width: int, height: int) -> tuple[list[Line], Cursor | None]:
        if width < _SIDE:
            if not self._at_agents:
                return self._phases.body(width, height)
            title = cells.truncate((Span(self._phase_title(), style("heading", bold=True)),), width)
            rows, cursor = self._agents.body(width, max(1, height - 1))
            return [title, *rows], None if cursor is None else (cursor[0] + 1, cursor[1])
        left = _left_width(self.run, width)
        phases, at_left = self._phases.body(left - 2, height)
        agents, at_right = self._agents.body(width - left - 1, height)
        if self._at_agents:
            phases = [_unfocused(row) for row in phases]
        else:
            agents = [_unfocused(row) for row in agents]
        wall = Span("│ ", style("border"))
        rows: list[Line] = [
            (*cells.pad(_at(phases, at), left - 1), wall, *_at(agents, at))
            for at in range(max(len(phases), len(agents)))
        ]
        if self._at_agents:
            return rows, None if at_right is None else (at_right[0], at_right[1] + left + 1)
        return rows, at_left

    def _phase_title(self) -> str:
        current = self._phases.picker.current or _ALL
        return "All agents" if current == _ALL else one_line(current[1:]) or "No phase"


def run_line(run: RunView, now: float) -> Line:
    """How a run stands, on one row."""
    sign, color = STATES[run.state]
    facts = (f"{run.done:,} of {count(len(run.agents), 'agent')} done", *run_facts(run, now))
    return (
        Span(f"{sign} {run.state}", style(color)),
        Span(f" · {' · '.join(filter(None, facts))}", MUTED),
    )


def run_facts(run: RunView, now: float) -> tuple[str, str]:
    """Its tokens and its time, as far as they are known."""
    end = run.ended if run.ended is not None else now if run.live else run.started
    took = max(0.0, end - run.started)
    return (tokens(run.tokens) if run.tokens else "", duration(took) if took else "")


def _phase_items(run: RunView) -> list[Item[str]]:
    done, total = run.done, len(run.agents)
    whole = PhaseView(
        title="All agents",
        waiting=sum(phase.waiting for phase in run.phases),
        running=sum(phase.running for phase in run.phases),
        done=done,
        failed=total - done - sum(phase.waiting + phase.running for phase in run.phases),
    )
    return [_phase_item(_ALL, whole), *(_phase_item(_key(phase.title), phase) for phase in run.phases)]


def _phase_item(key: str, phase: PhaseView) -> Item[str]:
    total = phase.waiting + phase.running + phase.done + phase.failed
    sign, color = _phase_sign(phase, total)
    return Item(
        value=key,
        label=phase.title or "No phase",
        facts=(
            f"{phase.done}/{total}" if total else "",
            f"{phase.failed} ✗" if phase.failed else "",
        ),
        detail=phase.detail,
        sign=Span(sign, style(color)),
    )


def _phase_sign(phase: PhaseView, total: int) -> tuple[str, str]:
    if phase.running:
        return "◐", "accent"
    if phase.waiting or not total:
        return "○", "muted"
    return ("✗", "error") if phase.failed else ("✓", "success")


def _key(title: str) -> str:
    """How a phase is called in the list, apart from the row for all of them."""
    return f"={title}"


def _left_width(run: RunView, width: int) -> int:
    widest = max((cells.width(one_line(phase.title[:100])) for phase in run.phases), default=0)
    return max(_LEAST_LEFT, min(widest + 20, _MOST_LEFT, width // 3))


def _at(rows: Sequence[Line], index: int) -> Line:
    return rows[index] if index < len(rows) else ()


def _unfocused(row: Line) -> Line:
    """The mark of the selection without its color, where the keys are for the other column."""
    return (Span("› ", MUTED), *row[1:]) if row and row[0].text == "› " else row
