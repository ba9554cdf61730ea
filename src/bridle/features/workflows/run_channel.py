"""Where the agents of a run work: the session's own parts, with the run between them and the user."""

from collections.abc import Callable

from bridle.engine.turn import Turn
from bridle.types.channel import Channel
from bridle.types.event import AssistantReplied, Event, FromAgent
from bridle.types.question import Answer, Question
from bridle.types.workspace import Workspace


class RunChannel:
    """Passes everything on, and tells the run which agents have been answered."""

    def __init__(self, parent: Channel, answered: Callable[[str], None]) -> None:
        self._parent = parent
        self._answered = answered

    def emit(self, event: Event) -> None:
        if isinstance(event, FromAgent) and isinstance(event.event, AssistantReplied):
            self._answered(event.agent_id)
        self._parent.emit(event)

    async def ask(self, question: Question) -> Answer:
        return await self._parent.ask(question)


def lead_of(turn: Turn, answered: Callable[[str], None]) -> Turn:
    """The turn that agents of a run work for: where it stood when the run began, wherever it goes later."""
    runtime, before = turn.runtime, turn.runtime.workspace
    workspace = Workspace(before.start, tasks=lambda: before.tasks, extra_roots=before.roots[1:])
    workspace.cwd, workspace.origins = before.cwd, before.origins
    own = runtime.without_shape().replaced(
        channel=RunChannel(runtime.channel, answered),
        workspace=workspace,
        host=runtime.host.without_arrivals(),
    )
    return Turn(turn.session, turn.prompt, own)
