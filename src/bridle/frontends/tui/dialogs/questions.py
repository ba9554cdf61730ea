"""Multiple-choice questions of the model: one after the other, with previews and room for other answers."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, TypeVar

from bridle.frontends.tui.dialogs.menu import Choice, Menu
from bridle.frontends.tui.dialogs.panel import Panel
from bridle.frontends.tui.keymap.keymap import USUAL, Keymap
from bridle.frontends.tui.keymap.labels import REFUSE, BoundKey, Hint, sentences
from bridle.frontends.tui.render.layout import MUTED, one_line, paragraph, prefixed, style
from bridle.frontends.tui.screen.view import Closed, Frame
from bridle.frontends.tui.style.text import Line, Span, Style
from bridle.frontends.tui.terminal.keys import Key
from bridle.types.question import ChoiceQuestion, Chosen, Refused

T = TypeVar("T")
_DECLINED = "they want to discuss this first"
_BAR = "│ "
_TICK = BoundKey(("confirm:toggle",), always="space")


class AnswerTimeout:
    """How long a question waits for a key."""

    def __init__(self, seconds: float, countdown: float) -> None:
        """`countdown` is for how many seconds at the end the time that is left is shown."""
        self._seconds = seconds
        self._countdown = countdown
        self._limit: asyncio.Timeout | None = None

    async def wait(self, answer: Awaitable[T]) -> T:
        """The answer.

        Raises:
            TimeoutError: no key was pressed for so long.
        """
        async with asyncio.timeout(self._seconds) as self._limit:
            return await answer

    def begin(self) -> None:
        """A key was pressed: wait as long again."""
        if self._limit is not None and not self._limit.expired():
            self._limit.reschedule(asyncio.get_running_loop().time() + self._seconds)

    def countdown(self) -> int | None:
        """The seconds that are left, near the end."""
        end = None if self._limit is None else self._limit.when()
        left = self._seconds if end is None else end - asyncio.get_running_loop().time()
        return max(int(left), 0) if left <= self._countdown else None


class QuestionsDialog:
    """Closes when the last question is answered; escape answers none."""

    is_full = False

    def __init__(self, question: ChoiceQuestion, *, patience: "AnswerTimeout | None" = None) -> None:
        """With `patience`, the end of the wait is counted down; each key begins it again."""
        self._patience = patience
        self._asked: Sequence[Mapping[str, Any]] = question.questions
        self._at = 0
        self._answers: dict[str, str] = {}
        self._panels = [
            Panel(self._title(index), self._body, _menu(each), color="info")
            for index, each in enumerate(self._asked)
        ]

    @property
    def refresh(self) -> float | None:
        return None if self._patience is None else 1.0

    @property
    def panel(self) -> Panel:
        return self._panels[self._at]

    def arm(self) -> None:
        """Keys count from now on."""
        for panel in self._panels:
            panel.arm()

    @property
    def contexts(self) -> tuple[str, ...]:
        return () if self.panel.menu.is_typing else ("Confirmation",)

    def render(self, width: int, height: int, keys: Keymap = USUAL, /) -> Frame:
        choose: Hint = (_TICK, "to select") if self.panel.menu.several else ("enter", "to choose")
        hints: list[Hint] = [choose, (REFUSE, "to skip")]
        if len(self._asked) > 1:
            hints.insert(1, ("← →", "other questions"))
        if self._patience is not None and (left := self._patience.countdown()) is not None:
            hints.append((f"{left} s", "until bridle continues without an answer"))
        return self.panel.render(width, height, sentences(hints, keys, self.contexts))

    def press(self, key: Key, action: str | None, /) -> Closed[Chosen | Refused] | None:
        if self._patience is not None:
            self._patience.begin()
        name, menu = str(key), self.panel.menu
        if self.panel.scroll(key):
            return None
        if name in ("escape", "ctrl+c") or action == "confirm:no":
            return Closed(Refused(message=_DECLINED))
        if not menu.is_typing and name in ("left", "right"):
            self._at = min(max(self._at + (1 if name == "right" else -1), 0), len(self._asked) - 1)
            return None
        if menu.press(key, action) is None:
            return None
        return self._take(_answer(menu))

    def paste(self, text: str, /) -> None:
        self.panel.menu.paste(text)

    def so_far(self) -> Mapping[str, str]:
        """The answers that were given, and what is ticked but not sent."""
        ticked = {
            self._question_text(index): answer
            for index, panel in enumerate(self._panels)
            if panel.menu.several and (answer := _answer(panel.menu))
        }
        return {**ticked, **self._answers}

    def _take(self, answer: str) -> Closed[Chosen | Refused] | None:
        if not answer:
            return None
        self._answers[self._question_text(self._at)] = answer
        left = [index for index in range(len(self._asked)) if self._question_text(index) not in self._answers]
        if not left:
            return Closed(Chosen(answers=self._answers))
        self._at = next((index for index in left if index > self._at), left[0])
        return None

    def _question_text(self, index: int) -> str:
        return str(self._asked[index].get("question", ""))

    def _title(self, index: int) -> str:
        header = one_line(str(self._asked[index].get("header") or "Question"))
        return header if len(self._asked) == 1 else f"{header} · {index + 1} of {len(self._asked)}"

    def _body(self, width: int) -> list[Line]:
        rows = paragraph(self._question_text(self._at), width, Style(bold=True))
        if given := self._answers.get(self._question_text(self._at)):
            rows += paragraph(f"answered: {given}", width, MUTED)
        options: Sequence[Any] = self._asked[self._at].get("options") or ()
        at = self.panel.menu.at
        preview = options[at].get("preview") if at < len(options) else None
        if isinstance(preview, str) and preview.strip() and width > 8:
            bar = (Span(_BAR, style("border")),)
            rows += [(), *prefixed(paragraph(preview[:20_000], width - len(_BAR), style("code")), bar, bar)]
        return rows


def _menu(question: Mapping[str, Any]) -> Menu:
    several = question.get("multiSelect") is True
    choices = [
        Choice(
            value=str(each.get("label", "")),
            label=str(each.get("label", "")),
            note=str(each.get("description", "")),
        )
        for each in question.get("options") or ()
    ]
    other = Choice(value="", label="Other", field="type your own answer", needs_text=not several)
    if several:
        return Menu([*choices, other, Choice(value="", label="Done")], several=True)
    return Menu([*choices, other])


def _answer(menu: Menu) -> str:
    """The labels that were ticked, or the one that was chosen, or what was typed."""
    if not menu.several:
        return menu.text.strip() or menu.current.value
    labels = [menu.choices[index].value for index in sorted(menu.ticked)]
    typed = menu.text_of(len(menu.choices) - 2).strip()
    return ", ".join(label for label in (*labels, typed) if label)
