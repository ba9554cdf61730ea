"""What can be done with a workflow run and with one of its agents."""

import re
from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from bridle.frontends.tui.screens.actions import EditFile
from bridle.frontends.tui.screens.session.tasks import OpenAgent
from bridle.frontends.tui.widgets.list_pane import Command, CommandInput
from bridle.types.services.workflows import AgentView, RunView

Scope = Literal["project", "user"]
Taken = Callable[[str, Scope], str]
"""The file that a workflow of this name would replace; empty when there is none."""
Find = Callable[[Any], RunView | None]
"""The run that something selected belongs to."""
FindAgent = Callable[[Any], AgentView | None]

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")
_SCOPES: tuple[tuple[Scope, str], ...] = (
    ("project", "in this project, in .claude/workflows"),
    ("user", "for me in every project"),
)
_AT_WORK = ("waiting", "running")
_DONE = ("done", "replayed")


class PauseRun(Struct, frozen=True):
    """Let no further agent begin."""

    id: str


class ResumeRun(Struct, frozen=True):
    """Resume a paused or ended run: finished agents are not run again."""

    id: str


class StopRun(Struct, frozen=True):
    id: str


class SaveRun(Struct, frozen=True):
    """Keep the script as a command."""

    id: str
    name: str
    scope: Scope
    replace: bool


class DirectAgent(Struct, frozen=True):
    """Skip or restart an agent of a running workflow."""

    run: str
    number: int
    verdict: Literal["stop", "skip", "restart"]


class LookAgain(Struct, frozen=True):
    """Show what is there now."""


def run_commands(find: Find, taken: Taken, *, titled: bool = True) -> tuple[Command[Any], ...]:
    """Everything that concerns a whole run; `titled` where it is the run that is selected."""
    pause, save, script = shared_commands(find, taken, titled=titled)
    return (
        pause,
        Command(
            key="r",
            words="resume",
            when=_when(find, lambda run: run.state != "running"),
            act=_act(find, lambda run: ResumeRun(run.run_id)),
        ),
        Command(
            key="x",
            words="stop",
            titled=titled,
            confirm="Stop the run and all its agents? Finished results are kept.",
            when=_when(find, lambda run: run.live),
            act=_act(find, lambda run: StopRun(run.run_id)),
        ),
        save,
        script,
    )


def shared_commands(
    find: Find, taken: Taken, *, titled: bool = False
) -> tuple[Command[Any], Command[Any], Command[Any]]:
    """What concerns a run also while one of its agents is selected: pause, save, read the script."""

    def save(item: Any, given: CommandInput) -> SaveRun | None:
        scope: Scope = "user" if given.choice == "user" else "project"
        replace = bool(taken(given.text, scope))
        return SaveRun(run.run_id, given.text, scope, replace) if (run := find(item)) else None

    def doubt(_: Any, given: CommandInput) -> str:
        path = taken(given.text, "user" if given.choice == "user" else "project")
        return f"{path} already exists. Replace it?" if path else ""

    return (
        Command(
            key="p",
            words="pause",
            when=_when(find, lambda run: run.state == "running"),
            act=_act(find, lambda run: PauseRun(run.run_id)),
        ),
        Command(
            key="s",
            words="save",
            titled=titled,
            ask="Save the script as a command. Name:",
            initial=lambda item: run.name if (run := find(item)) else "",
            check=lambda _, text: _wrong_name(text),
            choices=lambda _: _SCOPES,
            doubt=doubt,
            when=_when(find, lambda _: True),
            act=save,
        ),
        Command(
            key="e",
            words="script",
            when=_when(find, lambda run: bool(run.script_path)),
            act=_act(find, lambda run: EditFile(run.script_path)),
        ),
    )


def agent_commands(find: Find, find_agent: FindAgent) -> tuple[Command[Any], ...]:
    """Everything that concerns one agent; one that came to nothing is done again, alone or with its run."""

    def direct(
        verdict: Literal["stop", "skip", "restart"],
    ) -> Callable[[Any, CommandInput], DirectAgent | None]:
        def act(item: Any, _: CommandInput) -> DirectAgent | None:
            run, agent = find(item), find_agent(item)
            return DirectAgent(run.run_id, agent.number, verdict) if run and agent else None

        return act

    def at_work(item: Any) -> bool:
        agent, run = find_agent(item), find(item)
        return agent is not None and run is not None and run.live and agent.state in _AT_WORK

    def is_left_over(item: Any) -> bool:
        agent = find_agent(item)
        return agent is not None and agent.state not in _DONE and not at_work(item)

    def again(item: Any, given: CommandInput) -> DirectAgent | ResumeRun | None:
        run = find(item)
        return ResumeRun(run.run_id) if run is not None and not run.live else direct("restart")(item, given)

    return (
        Command(
            key="t",
            words="open its conversation",
            closes=True,
            when=lambda item: (agent := find_agent(item)) is not None and agent.agent_id is not None,
            act=lambda item, _: _conversation(find_agent(item)),
        ),
        Command(key="x", words="stop", when=at_work, act=direct("stop")),
        Command(key="r", words="restart", when=at_work, act=direct("restart")),
        Command(
            key="r",
            words="run again",
            when=is_left_over,
            act=again,
        ),
        Command(key="n", words="skip", when=at_work, act=direct("skip")),
        Command(
            key="p",
            words="continue",
            when=_when(find, lambda run: run.state == "paused"),
            act=_act(find, lambda run: ResumeRun(run.run_id)),
        ),
    )


def _conversation(agent: AgentView | None) -> OpenAgent | None:
    if agent is None or agent.agent_id is None:
        return None
    return OpenAgent(agent.agent_id, f"{agent.number}. {agent.label}")


def _act(find: Find, make: Callable[[RunView], Any]) -> Callable[[Any, CommandInput], Any]:
    return lambda item, _: None if (run := find(item)) is None else make(run)


def _when(find: Find, holds: Callable[[RunView], bool]) -> Callable[[Any], bool]:
    return lambda item: (run := find(item)) is not None and holds(run)


def _wrong_name(text: str) -> str:
    return "" if _NAME.fullmatch(text) else "use letters, digits, . _ and -, starting with a letter or digit"
