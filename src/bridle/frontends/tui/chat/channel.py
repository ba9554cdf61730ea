"""The channel to the person at the terminal: events become lines, questions become dialogs."""

import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, assert_never

from bridle.engine.calls.changed_input import without_note
from bridle.engine.texts import CALL_INTERRUPTED, CALL_LOST
from bridle.frontends.print.channel import Presenter
from bridle.frontends.tui.chat.agents import Agents
from bridle.frontends.tui.chat.progress import TurnProgress
from bridle.frontends.tui.chat.task_list import TaskList
from bridle.frontends.tui.chat.turn import TurnView
from bridle.frontends.tui.chat.workflow_rows import WorkflowRows
from bridle.frontends.tui.render import messages
from bridle.frontends.tui.render.call import State
from bridle.frontends.tui.render.markdown import render_markdown
from bridle.frontends.tui.style.text import Line
from bridle.frontends.tui.terminal.notifications import Notifier
from bridle.host.secrets import SECRETS
from bridle.types.block import UserBlock, text_of
from bridle.types.event import (
    Answered,
    AssistantReplied,
    CallChanged,
    CommandReplied,
    CompactionFinished,
    CompactionStarted,
    ConversationReset,
    Event,
    FromAgent,
    LimitChanged,
    ModeChanged,
    ModelSwitched,
    Noticed,
    PermissionDenied,
    PromptFolded,
    PromptMoved,
    PromptSuggested,
    RetryScheduled,
    SessionRenamed,
    SideTaskFailed,
    Signalled,
    StepStarted,
    Streamed,
    TaskEnded,
    TaskProgressed,
    TaskStarted,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    UserTextAdded,
    Withdrawn,
)
from bridle.types.hooks.outcome import HookProgressed, HookRun, HookStarted
from bridle.types.question import Answer, ChoiceQuestion, PermissionQuestion, Question, Refused
from bridle.types.turn import Outcome

_QUICK_SECONDS = 10
"""A turn that took less needs no summary."""
_SHELL_OUTPUT = ("<bash-input>", "<bash-stdout>")
"""Prompts that hold what a command of the user printed, which stands above already."""
_INTERRUPTED = (CALL_INTERRUPTED, CALL_LOST)


class TurnListener(Protocol):
    """What the rest of the program wants to know of events."""

    def moved(self, event: PromptMoved, /) -> None:
        """A prompt left the queue, or came into it."""

    def shown_prompt(self, uuid: str | None, /) -> str | None:
        """What the user saw of a prompt when they sent it."""

    def finished(self, outcome: Outcome, /) -> None:
        """A turn is over."""

    def renamed(self, title: str, /) -> None: ...

    def suggested(self, event: PromptSuggested, /) -> None:
        """A prompt that the user may want to send next."""

    def reset(self, event: ConversationReset, /) -> None:
        """The session continues with another conversation."""


class TerminalChannel:
    """Shows what happens and asks what has to be asked."""

    def __init__(
        self,
        live: TurnView,
        work: TurnProgress,
        notifier: Notifier,
        *,
        width: Callable[[], int],
        clock: Callable[[], float],
        ask: Callable[[Question], Awaitable[Answer]],
        redraw: Callable[[], None],
        observers: Sequence[Presenter] = (),
        says_duration: bool = True,
        images: Callable[[Sequence[Any]], list[Line]] = lambda _: [],
    ) -> None:
        self._live = live
        self._work = work
        self._notifier = notifier
        self._width = width
        self._ask = ask
        self._redraw = redraw
        self._observers = observers
        self._says_duration = says_duration
        self._images = images
        self.agents = Agents(clock)
        """Who is running."""
        self.workflows = WorkflowRows(time.time)
        """Running workflow runs."""
        self._denied: set[str] = set()
        """Calls that were turned away."""
        self._revised: set[str] = set()
        """Calls that run with another input than the model gave them."""
        self.listener: TurnListener | None = None
        self.on_agents: Callable[[], None] = lambda: None
        """Called when something about agents may have changed."""
        self._hides_command = False
        self.tasks = TaskList()
        """What the model has set out to do."""

    def emit(self, event: Event) -> None:
        for observer in self._observers:
            observer.take(event)
        self._take(event)
        self._redraw()

    async def ask(self, question: Question) -> Answer:
        with self._waiting(question):
            answer = await self._ask(question)
        self.note_answer(question, answer)
        return answer

    @contextmanager
    def _waiting(self, question: Question) -> Generator[None]:
        """Wait for a person: their time is not the call's, and the title says that they are waited for."""
        call_id = question.call_id if isinstance(question, PermissionQuestion | ChoiceQuestion) else None
        self._live.hold(call_id)
        self._work.hold()
        self._notifier.wait_for_person(on=True)
        try:
            yield
        finally:
            self._live.resume(call_id)
            self._work.resume()
            self._notifier.wait_for_person(on=False)

    def note_answer(self, question: Question, answer: Answer) -> None:
        """A question was answered, here or by a remote client."""
        if isinstance(question, PermissionQuestion) and isinstance(answer, Refused):
            self._denied.add(question.call_id)

    def finish(self, outcome: Outcome | None) -> None:
        """Nothing more will happen."""
        for observer in self._observers:
            observer.finish(outcome)

    def _take(self, event: Event) -> None:
        live, work = self._live, self._work
        match event:
            case TextDelta(text=text):
                work.arrived(len(text), "Writing")
                live.feed(text)
            case ThinkingDelta(text=text):
                work.arrived(len(text), "Thinking")
                live.think(text)
            case StepStarted():
                work.action.answer = ""
            case ToolProgressed(call_id=call_id, text=text):
                live.progress(call_id, text)
            case (
                Streamed()
                | HookProgressed()
                | UserTextAdded()
                | ModeChanged()
                | LimitChanged()
                | Answered()
                | SideTaskFailed()
            ):
                pass  # Covered by other events, or not shown to people.
            case TurnStarted() | PromptFolded():
                self._show_prompt(event)
            case PromptMoved() | ConversationReset() | SessionRenamed() | PromptSuggested():
                self._tell_listener(event)
            case AssistantReplied():
                self._show_answer(event)
            case Withdrawn():
                self._withdraw_answer()
            case ToolStarted() | CallChanged():
                self._start_call(event)
            case ToolFinished():
                self._finish_call(event)
            case PermissionDenied(call_id=call_id):
                self._denied.add(call_id)
            case RetryScheduled():
                work.retry(event)
            case ModelSwitched(original=original, fallback=fallback, reason=reason):
                self._notice(f"switched from {original} to {fallback}: {reason}", "notice")
            case FromAgent():
                self._follow_agent(event)
            case TaskStarted() | TaskProgressed() | TaskEnded() | CompactionStarted() | CompactionFinished():
                self._show_side_work(event)
            case Noticed(text=text, level=level):
                self._notice(text, level)
            case CommandReplied(text=text, is_error=is_error):
                self._show_command(text, is_error=is_error)
            case Signalled(sequence=sequence):
                self._notifier.pass_on(sequence)
            case HookStarted(status_message=message):
                work.note = message or ""
            case HookRun():
                self._show_hook(event)
            case TurnFinished(outcome=outcome):
                self._finish_turn(outcome)
            case _:
                assert_never(event)

    def _follow_agent(self, event: FromAgent) -> None:
        match event.event:
            case ToolStarted(call_id=call_id, tool=tool, input=input):
                self.tasks.started(call_id, tool, input)
            case ToolFinished(tool=tool, result=result, data=data) if not result.get("is_error"):
                if self.tasks.finished(result["tool_use_id"], tool, data):
                    self._tasks_changed()
            case _:
                pass
        if not self.workflows.owns(event):
            self._live.follow_agent(*self.agents.take(event, cwd=self._live.cwd))
            self.on_agents()

    def _tell_listener(
        self, event: PromptMoved | ConversationReset | SessionRenamed | PromptSuggested
    ) -> None:
        if self.listener is None:
            return
        match event:
            case PromptMoved():
                self.listener.moved(event)
            case ConversationReset():
                self.listener.reset(event)
            case SessionRenamed(title=title):
                self.listener.renamed(title)
            case PromptSuggested():
                self.listener.suggested(event)

    def _show_prompt(self, event: TurnStarted | PromptFolded) -> None:
        if isinstance(event, TurnStarted):
            self._live.cwd = event.cwd
            self._denied.clear()
            self._revised.clear()
            self._work.begin()
            self._notifier.show_busy(on=True)
        is_output = isinstance(event.prompt, str) and event.prompt.startswith(_SHELL_OUTPUT)
        hides, self._hides_command = self._hides_command, False
        is_command = isinstance(event.prompt, str) and event.prompt.lstrip().startswith(("/", "<command-"))
        if not event.meta and not is_output and not (hides and is_command):
            shown = None if self.listener is None else self.listener.shown_prompt(event.prompt_uuid)
            content: str | list[UserBlock] = event.prompt if shown is None else shown
            self._live.say(messages.user_prompt(content, self._width()))
            self._draw_images(event.prompt)

    def _draw_images(self, content: str | Sequence[Any]) -> None:
        """Images right below what names them, where the terminal can draw them."""
        if not isinstance(content, str):
            self._live.say(self._images(content), close=True)

    def _withdraw_answer(self) -> None:
        self._live.drop_text()
        self._notice("The answer was cut off. Trying again.", "notice")

    def _show_answer(self, event: AssistantReplied) -> None:
        live, width = self._live, self._width()
        if event.fault is not None:
            live.drop_text()
            text = text_of(event.message["content"])
            live.say(messages.api_error(event.fault.kind, text, width, status=event.fault.status))
            return
        if event.display is not None:
            live.end_text("")
            live.say(render_markdown(event.display, width))
            return
        for block in event.message["content"]:
            match block:
                case {"type": "text", "text": str(text)}:
                    live.end_text(text)
                case {"type": "thinking", "thinking": str(text)}:
                    live.end_thinking(text)
                case {"type": "tool_use", "id": str(call_id), "name": str(tool), "input": input}:
                    live.end_text("")
                    if event.aborted:
                        continue
                    live.start_call(call_id, tool, input)
                case _:
                    pass

    def _start_call(self, event: ToolStarted | CallChanged) -> None:
        call_id, tool, input = event.call_id, event.tool, event.input
        if isinstance(event, CallChanged):
            self._revised.add(call_id)
        self._live.start_call(call_id, tool, input)
        self._work.action.began(call_id, tool, input)
        self.tasks.started(call_id, tool, input)

    def _finish_call(self, event: ToolFinished) -> None:
        result = event.result
        call_id = result["tool_use_id"]
        content = result.get("content") or ""
        if call_id in self._revised:
            content = without_note(content)
        state = self._state(call_id, text_of(content), failed=result.get("is_error") is True)
        data = event.data
        self._work.action.ended(call_id)
        if state == "done" and self.tasks.finished(call_id, event.tool, data):
            data = {**data, "list": self.tasks.items}
            self._tasks_changed()
        self._live.finish_call(call_id, state, content=content, data=data, seconds=event.seconds)
        if state == "done" and event.tool == "Read":
            self._draw_images(content)
        goes_on = isinstance(event.data, dict) and event.data.get("status") == "async_launched"
        self.agents.settle(call_id, goes_on=goes_on)
        self.on_agents()

    def hide_next_command(self) -> None:
        """The command that began a new conversation is not a part of it."""
        self._hides_command = True

    def forget_tasks(self, kept: Sequence[Mapping[str, Any]] = ()) -> None:
        """Another conversation begins, with the tasks that were kept for it."""
        self.tasks.clear()
        self.tasks.load(kept)
        self._tasks_changed()

    def _tasks_changed(self) -> None:
        self._work.task = self.tasks.doing
        self._notifier.count = self.tasks.count

    def _state(self, call_id: str, text: str, *, failed: bool) -> State:
        if not failed:
            return "done"
        if call_id in self._denied:
            return "denied"
        return "interrupted" if text in _INTERRUPTED else "failed"

    def _show_side_work(
        self, event: TaskStarted | TaskProgressed | TaskEnded | CompactionStarted | CompactionFinished
    ) -> None:
        width = self._width()
        match event:
            case TaskStarted(task=task):
                self.workflows.take(task)  # The call that started it says the rest.
            case TaskProgressed(task=task, summary=summary):
                self.workflows.take(task, summary or "")
            case TaskEnded(task=task):
                self.workflows.take(task)
                self.agents.forget(task.call_id)
                self._live.say(messages.task_lines(task, width, now=task.ended or task.started))
                self._notifier.tell(f"{task.description or task.command} {task.status}")
            case CompactionStarted():
                self._work.verb = "Compacting the conversation"
            case CompactionFinished(error=error):
                self._work.verb = ""
                if error is not None:
                    return  # What asked for it says why it was not done.
                automatic = event.trigger == "auto"
                self._live.say(
                    messages.compact_boundary(
                        width, before=event.tokens_before, after=event.tokens_after, automatic=automatic
                    )
                )

    def _show_command(self, text: str, *, is_error: bool) -> None:
        if is_error:
            self._live.say(messages.notice(SECRETS.hide(text), self._width(), level="error"))
        elif text.strip():
            self._live.say(render_markdown(text, self._width()))

    def _show_hook(self, event: HookRun) -> None:
        self._work.note = ""
        if event.outcome == "error" and (text := (event.stderr or event.stdout).strip()):
            self._live.say(messages.hook_line(event.name, text[:500], self._width()))

    def _finish_turn(self, outcome: Outcome) -> None:
        live, width = self._live, self._width()
        live.end()
        match outcome.reason:
            case "aborted_streaming" | "aborted_tools":
                live.say(messages.interrupted(width, in_tools=outcome.reason == "aborted_tools"))
            case "command":
                pass
            case _:
                if outcome.is_error and outcome.errors:
                    live.say(messages.notice(outcome.errors[0], width, level="error"))
                seconds = max(outcome.duration_ms / 1000 - self._work.waited, 0.0)
                if (self._says_duration and seconds >= _QUICK_SECONDS) or outcome.reason != "completed":
                    live.say(messages.turn_summary(outcome, width, seconds=seconds))
        self._work.end()
        self._notifier.show_busy(on=False)
        if self.listener is not None:
            self.listener.finished(outcome)

    def _notice(self, text: str, level: messages.Level) -> None:
        self._live.say(messages.notice(SECRETS.hide(text), self._width(), level=level), close=False)
