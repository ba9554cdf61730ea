"""Puts the questions of the engine to the person at the terminal, one at a time."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.frontends.tui.app import GUARD_SECONDS, App
from bridle.frontends.tui.terminal.notifications import Notifier
from bridle.host.programs import require_program
from bridle.types.errors import BridleError
from bridle.types.permission import Mode
from bridle.types.question import (
    Answer,
    ChoiceQuestion,
    Chosen,
    ElicitationQuestion,
    NetworkQuestion,
    PermissionQuestion,
    Permitted,
    Question,
    Refused,
    Supplied,
)

if TYPE_CHECKING:
    from bridle.features.plan_mode.answers import PlanAnswer

# A start asks nothing: each dialog is imported with the first question of its kind.

_GONE = "The question was withdrawn before it was answered."
_UNANSWERED = "No one answered in time. Continue with your best judgment, and say what you assumed."
_URGENT, _USUAL = 2, 1


class DialogQueue:
    """Knows which dialog belongs to which question."""

    def __init__(
        self,
        app: App,
        notifier: Notifier,
        *,
        cwd: Callable[[], str],
        env: Mapping[str, str],
        modes: Callable[[], Sequence[Mode]],
        context_share: Callable[[], float | None],
        start_afresh: Callable[["PlanAnswer"], Awaitable[None]],
        tell: Callable[[str], None],
        script_of: Callable[[Mapping[str, Any]], str | None] = lambda _: None,
        offers_new: bool = False,
        patience: tuple[float, float] | None = None,
    ) -> None:
        """`script_of` finds the file of a workflow that a call only names.

        `offers_new` offers to carry out a plan in a new conversation. `patience` are the seconds after which
        a question of the model is left without an answer, and how many of them are counted down.
        """
        self._offers_new = offers_new
        self._patience = patience
        self._app = app
        self._notifier = notifier
        self._cwd = cwd
        self._env = env
        self._modes = modes
        self._context_share = context_share
        self._start_afresh = start_afresh
        self._tell = tell
        self._script_of = script_of
        self._waiting = 0
        self.own_calls: set[str] = set()
        """Calls that the user typed: they need no approval."""

    async def ask(self, question: Question) -> Answer:
        """The answer of the person."""
        if isinstance(question, PermissionQuestion) and question.call_id in self.own_calls:
            return Permitted()
        self._waiting += 1
        try:
            match question:
                case PermissionQuestion(tool="ExitPlanMode"):
                    return await self._plan(question)
                case PermissionQuestion():
                    return await self._permission(question)
                case ChoiceQuestion():
                    return await self._choice(question)
                case NetworkQuestion():
                    return await self._network(question)
                case ElicitationQuestion():
                    return await self._elicitation(question)
        finally:
            self._waiting -= 1

    async def _permission(self, question: PermissionQuestion) -> Answer:
        from bridle.config.state import global_config
        from bridle.frontends.tui.dialogs.call_preview import read_subject
        from bridle.frontends.tui.dialogs.permission import EditOutside, PermissionDialog

        self._notifier.tell(f"{question.tool} needs your approval")
        asked = question
        preferences = await asyncio.to_thread(global_config, self._env)
        explainable = preferences.permission_explainer_enabled is not False
        while True:
            script = self._script_of(question.input) if question.tool == "Workflow" else None
            subject = await asyncio.to_thread(read_subject, question, self._cwd(), script=script)
            dialog = PermissionDialog(subject, waiting=self._waiting - 1, explainable=explainable)
            reply = await self._app.open(
                dialog, priority=_URGENT, guard=GUARD_SECONDS, on_armed=dialog.panel.arm
            )
            match reply:
                case None:
                    return Refused(message=_GONE, interrupt=True)
                case EditOutside():
                    question = await self._edited(question)
                case Permitted(input=None) if question is not asked:
                    return Permitted(input=question.input, updates=reply.updates, edited=True)
                case _:
                    return reply

    async def _edited(self, question: PermissionQuestion) -> PermissionQuestion:
        """The question about the input as the user changed it."""
        import json

        if question.tool == "Workflow" and isinstance(script := question.input.get("script"), str):
            return await self._rewritten(question, script)
        text = json.dumps(dict(question.input), indent=2, ensure_ascii=False)
        try:
            given = json.loads(await self._edit(text, suffix=".json"))
        except (BridleError, json.JSONDecodeError) as error:
            self._tell(f"The input is unchanged: {error}")
            return question
        if not isinstance(given, dict):
            self._tell("The input is unchanged: it must be a JSON object.")
            return question
        return _changed(question, given)

    async def _rewritten(self, question: PermissionQuestion, script: str) -> PermissionQuestion:
        """The question about a script as the user changed it."""
        try:
            changed = await self._edit(script, suffix=".js")
        except BridleError as error:
            self._tell(f"The script is unchanged: {error}")
            return question
        return _changed(question, {**question.input, "script": changed})

    async def _plan(self, question: PermissionQuestion) -> Answer:
        from bridle.features.plan_mode.answers import answer_plan
        from bridle.frontends.tui.dialogs.plan import PlanDialog

        self._notifier.tell("A plan is waiting for your approval")
        while True:
            modes = self._modes()
            may_bypass = "bypassPermissions" in modes
            dialog = PlanDialog(
                question,
                may_bypass=may_bypass,
                used=self._context_share(),
                offers_new=self._offers_new,
            )
            reply = await self._app.open(
                dialog, priority=_URGENT, guard=GUARD_SECONDS, on_armed=dialog.panel.arm
            )
            if reply is None:
                return Refused(message=_GONE, interrupt=True)
            if not reply.edits:
                chosen = answer_plan(question, reply.choice, feedback=reply.said, modes=modes)
                if chosen.next_prompt is not None:
                    await self._start_afresh(chosen)
                return chosen.answer
            try:
                plan = await self._edit(dialog.plan, suffix=".md")
            except BridleError as error:
                self._tell(str(error))
            else:
                given: dict[str, Any] = {**question.input, "plan": plan}
                question = msgspec.structs.replace(question, input=given)

    async def _choice(self, question: ChoiceQuestion) -> Answer:
        from bridle.frontends.tui.dialogs.questions import AnswerTimeout, QuestionsDialog

        self._notifier.tell("A question is waiting for you")
        patience = None if self._patience is None else AnswerTimeout(*self._patience)
        dialog = QuestionsDialog(question, patience=patience)
        opened = self._app.open(dialog, priority=_USUAL, guard=GUARD_SECONDS, on_armed=dialog.arm)
        try:
            reply = await (opened if patience is None else patience.wait(opened))
        except TimeoutError:
            answers = dialog.so_far()
            return Chosen(answers=answers) if answers else Refused(message=_UNANSWERED, by_person=False)
        return Refused(message=_GONE) if reply is None else reply

    async def _network(self, question: NetworkQuestion) -> Answer:
        from bridle.frontends.tui.dialogs.consent import reach_host

        self._notifier.tell(f"A command wants to connect to {question.host}")
        dialog = reach_host(question)
        reply = await self._app.open(dialog, priority=_URGENT, guard=GUARD_SECONDS, on_armed=dialog.panel.arm)
        session, always = question.suggestions
        match None if reply is None else reply.value:
            case "once":
                return Permitted()
            case "session":
                return Permitted(updates=(session,))
            case "always":
                return Permitted(updates=(always,))
            case _:
                said = "" if reply is None else reply.text.strip()
                return Refused(message=said or f"The user did not allow a connection to {question.host}.")

    async def _elicitation(self, question: ElicitationQuestion) -> Answer:
        from bridle.frontends.tui.dialogs.elicitation import FormDialog, open_page

        self._notifier.tell(f"{question.server} has a question for you")
        if question.mode == "form":
            form = FormDialog(question)
            reply = await self._app.open(form, priority=_USUAL, guard=GUARD_SECONDS, on_armed=form.arm)
            return reply or Supplied(action="cancel")
        dialog = open_page(question)
        picked = await self._app.open(dialog, priority=_USUAL, guard=GUARD_SECONDS, on_armed=dialog.panel.arm)
        if picked is None or picked.value != "accept" or question.url is None:
            return Supplied(action="decline")
        await self._browse(question.url)
        return Supplied(action="accept")

    async def _edit(self, text: str, *, suffix: str) -> str:
        from bridle.frontends.tui.editing.external_editor import edit_outside

        return await edit_outside(text, env=self._env, lent=self._app.terminal.lent(), suffix=suffix)

    async def _browse(self, url: str) -> None:
        if not url.startswith(("https://", "http://")):
            self._tell(f"{url} is not a web address and was not opened.")
            return
        opener = "open" if sys.platform == "darwin" else "xdg-open"
        try:
            process = await asyncio.create_subprocess_exec(
                require_program(opener, self._env),
                url,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env=dict(self._env),
                start_new_session=True,
            )
        except OSError:
            self._tell(f"Open this page in a browser: {url}")
            return
        await process.wait()


def _changed(question: PermissionQuestion, given: Mapping[str, Any]) -> PermissionQuestion:
    """The question about another input: what was known of the first one is not true of it."""
    if given == question.input:
        return question
    return msgspec.structs.replace(
        question, input=given, reason="you changed the input", parts=(), suggestions=(), lasting=()
    )
