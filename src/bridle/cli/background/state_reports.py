"""Reports the state of a session: working, waiting for input, done."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from bridle.tools.catalog import traits_of
from bridle.types.event import ConversationReset, Event, SessionRenamed, TurnFinished, TurnStarted
from bridle.types.question import (
    Answer,
    ChoiceQuestion,
    ElicitationQuestion,
    NetworkQuestion,
    PermissionQuestion,
    Question,
)
from bridle.types.turn import Outcome

_LONGEST = 200
_IDLE = {"state": "done", "status": "idle", "waitingFor": None}
_BUSY = {"state": "working", "status": "busy", "waitingFor": None}
_INTERRUPTED = ("aborted_streaming", "aborted_tools")

Tell = Callable[[Mapping[str, Any]], None]


class Reporter:
    """Sees every event and every question of a session."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._asked: list[str] = []
        self._idle_state: Mapping[str, Any] = _BUSY

    def opened(self, session_id: str, cwd: str, *, has_prompt: bool) -> None:
        """The session can be talked to."""
        self._idle_state = _BUSY if has_prompt else _IDLE
        self._tell({"sessionId": session_id, "cwd": cwd, **self._idle_state})

    def held_up(self, is_held_up: bool) -> None:
        """A question before the session begins was opened or closed."""
        waits = {"state": "blocked", "status": "waiting", "waitingFor": "an answer before it can start"}
        self._tell(waits if is_held_up else _BUSY)

    def take(self, event: Event) -> None:
        match event:
            case TurnStarted():
                self._set_state(_BUSY)
            case TurnFinished(outcome=outcome):
                has_failed = outcome.is_error and outcome.reason not in _INTERRUPTED
                self._set_state({**_IDLE, "state": "failed"} if has_failed else _IDLE)
            case SessionRenamed(title=title):
                self._tell({"name": title[:_LONGEST]})
            case ConversationReset(session_id=session_id):
                self._tell({"sessionId": session_id})
            case _:
                pass  # Other events do not change the state.

    def finish(self, outcome: Outcome | None) -> None:
        """Who holds the terminal sees the end of the program, and how it ended."""

    def asking(self, ask: Callable[[Question], Awaitable[Answer]]) -> Callable[[Question], Awaitable[Answer]]:
        """An `ask` that reports the waiting state."""

        async def asked(question: Question) -> Answer:
            words = waiting_for(question)
            self._asked.append(words)
            self._tell_question()
            try:
                return await ask(question)
            finally:
                self._asked.remove(words)
                self._tell_question()

        return asked

    def _set_state(self, how: Mapping[str, Any]) -> None:
        self._idle_state = how
        if not self._asked:
            self._tell(how)

    def _tell_question(self) -> None:
        if self._asked:
            self._tell({"state": "blocked", "status": "waiting", "waitingFor": self._asked[0]})
        else:
            self._tell(self._idle_state)


def waiting_for(question: Question) -> str:
    """What a question waits for, in a few words."""
    match question:
        case PermissionQuestion(tool=tool) if traits_of(tool).kind == "plan":
            words = "approval of a plan"
        case PermissionQuestion(tool=tool):
            words = f"permission to use {tool}"
        case ChoiceQuestion():
            words = "an answer to a question"
        case NetworkQuestion(host=host):
            words = f"permission to reach {host}"
        case ElicitationQuestion(server=server):
            words = f"an answer for {server}"
    return words[:_LONGEST]
