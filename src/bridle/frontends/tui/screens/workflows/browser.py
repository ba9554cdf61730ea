"""The workflow runs of a session: watched as they go, directed, and their scripts kept."""

from collections.abc import Callable

from msgspec import Struct

from bridle.frontends.tui.render.layout import MUTED, count, one_line, paragraph, style
from bridle.frontends.tui.screens.actions import EditFile, RunCommand
from bridle.frontends.tui.screens.workflows.agent import AgentSummary
from bridle.frontends.tui.screens.workflows.commands import Taken, run_commands
from bridle.frontends.tui.screens.workflows.run import STATES, RunPane, run_facts, run_line
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.list_pane import Command, CommandInput, ListPane
from bridle.frontends.tui.widgets.message_pane import MessagePane
from bridle.frontends.tui.widgets.nested_lists import NestedLists
from bridle.frontends.tui.widgets.page import heading, pair
from bridle.frontends.tui.widgets.pane import Do, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView
from bridle.types.command import Says
from bridle.types.services.workflows import RunView

_LAST_LINES = 5
_HOW = (
    "No workflow has run in this session. A workflow is a script that puts many agents to work: ask for a "
    "workflow in your prompt, or choose a saved one."
)


class Saved(Struct, frozen=True, kw_only=True):
    """A workflow that can be called by its name."""

    name: str
    description: str = ""
    path: str = ""
    source: str = ""


class BrowserData(Struct, frozen=True, kw_only=True):
    """What there is to see."""

    runs: tuple[RunView, ...] = ()
    """The newest first."""
    saved: tuple[Saved, ...] = ()
    story: AgentSummary | None = None
    """Of the agent that is read about."""
    waiting: int = 0
    """Questions that wait until the view is closed."""


class WorkflowBrowser:
    """The list of runs, and what it leads to."""

    def __init__(
        self,
        board: BrowserData,
        *,
        clock: Callable[[], float],
        taken: Taken,
        do: Do = nothing,
        opened: str = "",
    ) -> None:
        """`opened` is the run to begin with."""
        self._board = board
        self._clock = clock
        self._taken = taken
        self._do = do
        self._drill = NestedLists()
        self._run: RunPane | None = None
        self._list: ListPane[str] = ListPane(
            (),
            do=self._do,
            details=self._details,
            intro=self._intro,
            empty="no saved workflows; add one in .claude/workflows/NAME.js",
            commands=(*run_commands(self._find, taken), _edit_saved(self._saved)),
            accept=(
                Command(key="enter", words="open", act=self._open, when=self._is_run),
                Command(key="enter", words="run", closes=True, act=self._call),
            ),
        )
        self._drill.push("", self._list)
        self._told = MessagePane(self._drill)
        self.sheet: TabbedView[BrowserData] = TabbedView(
            "Workflows", [("", self._told)], update=self._show, refresh=1.0
        )
        self._show(board)
        self._open(opened, CommandInput())

    @property
    def agent_id(self) -> str | None:
        """The agent whose story is wanted."""
        return self._run.agent_id if self._run is not None and self._drill.is_busy else None

    def tell(self, said: Says) -> None:
        """Show what came of something that was done."""
        self._told.tell(said)

    def _show(self, board: BrowserData) -> None:
        self._board = board
        self._list.replace([*map(self._run_item, board.runs), *map(_saved_item, board.saved)])
        if self._run is not None and (run := self._find(self._run.run.run_id)) is not None:
            self._run.show(run, board.story)
        waiting = board.waiting
        self._told.notice = (
            f"{count(waiting, 'question')} {'waits' if waiting == 1 else 'wait'} for you: close this view"
            if waiting
            else ""
        )
        live = sum(run.live for run in board.runs)
        self.sheet.aside = f"{live} running" if live else count(len(board.runs), "run") if board.runs else ""

    def _open(self, key: str | None, _: CommandInput) -> None:
        if key is not None and (run := self._find(key)) is not None:
            self._run = RunPane(run, clock=self._clock, do=self._do, taken=self._taken)
            self._drill.push(run.name, self._run)

    def _call(self, key: str | None, _: CommandInput) -> RunCommand | None:
        return None if key is None else RunCommand(key)

    def _find(self, key: str) -> RunView | None:
        return next((run for run in self._board.runs if run.run_id == key), None)

    def _is_run(self, key: str) -> bool:
        return self._find(key) is not None

    def _saved(self, key: str) -> Saved | None:
        return next((each for each in self._board.saved if f"/{each.name}" == key), None)

    def _intro(self, width: int) -> list[Line]:
        return [] if self._board.runs else [*paragraph(_HOW, width, MUTED), ()]

    def _run_item(self, run: RunView) -> Item[str]:
        sign, color = STATES[run.state]
        return Item(
            value=run.run_id,
            label=run.name,
            facts=(
                run.state,
                f"{run.done}/{len(run.agents)}" if run.agents else "",
                *run_facts(run, self._clock()),
            ),
            detail=run.description,
            group="Runs",
            words=run.run_id,
            sign=Span(sign, style(color)),
        )

    def _details(self, key: str, width: int) -> list[Line]:
        if (run := self._find(key)) is not None:
            return _run_lines(run, width, self._clock())
        saved = self._saved(key)
        if saved is None:
            return []
        rows = [heading(f"/{saved.name}"), *paragraph(saved.description, width), ()]
        rows += pair("from", saved.source, width, column=8) if saved.source else []
        return [*rows, *(pair("script", saved.path, width, column=8) if saved.path else [])]


def _edit_saved(find: Callable[[str], Saved | None]) -> Command[str]:
    return Command(
        key="e",
        words="script",
        when=lambda key: (saved := find(key)) is not None and bool(saved.path),
        act=lambda key, _: EditFile(saved.path) if key and (saved := find(key)) else None,
    )


def _saved_item(saved: Saved) -> Item[str]:
    return Item(
        value=f"/{saved.name}",
        label=f"/{saved.name}",
        facts=(saved.source,),
        detail=saved.description,
        group="Saved",
        sign=Span("·", MUTED),
    )


def _run_lines(run: RunView, width: int, now: float) -> list[Line]:
    rows = [heading(run.name), *paragraph(run.description, width), ()]
    rows += [run_line(run, now), ()]
    for phase in run.phases:
        total = phase.waiting + phase.running + phase.done + phase.failed
        stands = f"{phase.done} of {total} done" if total else "not started"
        missing = f", {phase.failed} not done" if phase.failed else ""
        rows += pair(phase.title or "no phase", f"{stands}{missing}", width)
    rows += [(), *pair("run", run.run_id, width, column=8), *pair("script", run.script_path, width, column=8)]
    if run.logs:
        rows += [(), heading("log"), *((Span(one_line(line)),) for line in run.logs[-_LAST_LINES:])]
    if run.preview:
        rows += [(), heading("why" if run.state == "failed" else "result"), *paragraph(run.preview, width)]
    return rows
