"""How a turn is getting on, in one row: a verb, the time, the tokens, and how to stop it."""

from collections.abc import Callable, Sequence

from bridle.frontends.tui.chat.current_action import CurrentAction
from bridle.frontends.tui.render.layout import MUTED, one_line
from bridle.frontends.tui.render.messages import retry_countdown
from bridle.frontends.tui.render.status import spinner_line
from bridle.frontends.tui.style.cells import truncate
from bridle.frontends.tui.style.text import Line, Span
from bridle.types.event import RetryScheduled

FRAME_SECONDS = 0.2
_CALM_SECONDS = 1.0
_CHARACTERS_PER_TOKEN = 4
_VERB_SECONDS = 20


class TurnProgress:
    """Busy from the start of a turn to its end."""

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        verbs: Sequence[str] = (),
        next_tip: Callable[[str], str] = lambda _: "",
        tip_seconds: float = 0.0,
        is_calm: bool = False,
    ) -> None:
        """`verbs` are the user's own; `is_calm` moves only the time.

        After `tip_seconds` a tip is shown, which `next_tip` gives for what the turn does then.
        """
        self._clock = clock
        self._verbs = verbs
        self._next_tip = next_tip
        self._tip_of: tuple[int, str] = (0, "")
        """A turn by its number, and its tip."""
        self._tip_seconds = tip_seconds
        self._turns = 0
        self._is_calm = is_calm
        self._since: float | None = None
        self._waited = 0.0
        self._open_questions = 0
        self._asked = 0.0
        """When the user was asked, while a question is open."""
        self._characters = 0
        self._retry: tuple[RetryScheduled, float] | None = None
        self.action = CurrentAction()
        """What happens right now."""
        self.task = ""
        """The task of the list that is being done, in its own words."""
        self.verb = ""
        """What is done instead of answering, such as compacting."""
        self.note = ""

    @property
    def is_busy(self) -> bool:
        return self._since is not None

    @property
    def seconds(self) -> float:
        """How long the turn takes so far, without the time for which it waited for the user."""
        return 0.0 if self._since is None else self._clock() - self._since - self.waited

    @property
    def waited(self) -> float:
        """Seconds of this turn in which a question to the user was open."""
        return self._waited + (self._clock() - self._asked if self._open_questions else 0.0)

    @property
    def frame(self) -> int:
        """Counts up for pictures that move."""
        return 0 if self._is_calm else int(self._clock() / FRAME_SECONDS)

    @property
    def refresh(self) -> float | None:
        """Seconds until the row looks different."""
        if self._since is None:
            return None
        return _CALM_SECONDS if self._is_calm else FRAME_SECONDS

    def begin(self) -> None:
        self._since, self._characters, self._retry = self._clock(), 0, None
        self._waited, self._asked = 0.0, self._since
        self._turns += 1
        self.verb = self.note = ""
        self.action.clear()

    def end(self) -> None:
        self._since = self._retry = None
        self.verb = self.note = ""
        self.action.clear()

    def hold(self) -> None:
        """The user is asked something."""
        if not self._open_questions:
            self._asked = self._clock()
        self._open_questions += 1

    def resume(self) -> None:
        """A question is answered."""
        self._open_questions -= 1
        if not self._open_questions:
            self._waited += self._clock() - self._asked

    def arrived(self, characters: int, word: str) -> None:
        """Some of an answer has come; the word says what the model does."""
        self._characters += characters
        self.action.answer = word
        self._retry = None

    def retry(self, event: RetryScheduled) -> None:
        """A request will be made again."""
        self._retry = (event, self._clock() + event.delay)

    def rows(self, width: int, *, interrupt_key: str) -> list[Line]:
        """The row, and why it takes longer, if it does."""
        if self._since is None:
            return []
        rows: list[Line] = []
        if self._retry is not None:
            event, at = self._retry
            rows += retry_countdown(
                event.error,
                width,
                remaining=at - self._clock(),
                attempt=event.attempt,
                most=event.max_retries,
                status=event.status,
                cause=event.cause,
            )
        spinner = spinner_line(
            width,
            frame=self.frame,
            seconds=self.seconds,
            verb=self._word(),
            output_tokens=self._characters // _CHARACTERS_PER_TOKEN,
            interrupt_key=interrupt_key,
            note=self.note,
        )
        return [*rows, spinner, *self._tip(width)]

    def _tip(self, width: int) -> list[Line]:
        """A tip for each turn that takes a while, the same to its end; the user's own are shown at once."""
        if self.seconds < self._tip_seconds:
            return []
        if self._tip_of[0] != self._turns:
            self._tip_of = self._turns, one_line(self._next_tip(self._word()))
        tip = self._tip_of[1]
        return [truncate((Span(f"  Tip: {tip}", MUTED),), width)] if tip else []

    def _word(self) -> str:
        """What is going on: a retry, the task that is being done, a call, or what of the answer comes."""
        if self.verb or self._retry is not None:
            return self.verb or "Retrying"
        return self.task or self.action.word or self._own_verb()

    def _own_verb(self) -> str:
        if not self._verbs:
            return "Thinking"
        return self._verbs[int(self.seconds // _VERB_SECONDS) % len(self._verbs)]
