"""The workflows of a session as far as every session needs them; the rest is imported with the first run."""

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from bridle.types.command import Command, CommandResult, Says

if TYPE_CHECKING:
    from bridle.engine.turn import Turn
    from bridle.engine.workflows.session import SessionWorkflows
    from bridle.extensions.workflows import WorkflowFile
    from bridle.types.turn import Prompt
    from bridle.types.workflow import Workflows

TOOL = "Workflow"
OFF = "Workflows are turned off, so none can be begun: do the work without one."


class Wishes(Struct, frozen=True, kw_only=True):
    """What the user has said about workflows."""

    keyword: bool = True
    """The word ultracode in a prompt asks for one."""
    guideline: str | None = None
    """How large they should be: unrestricted, small, medium or large."""


_NONE = Wishes()


class WorkflowDoor:
    """Opened with a session and closed with it."""

    def __init__(
        self,
        files: "Callable[[], Mapping[str, WorkflowFile]]",
        *,
        wishes: Wishes = _NONE,
        ultracode: bool = False,
        wanted: bool = True,
        switch: Callable[[], bool] = lambda: True,
    ) -> None:
        self._files = files
        self.switch = switch
        """Whether settings and variables let runs begin, as they stand now."""
        self.ultracode = ultracode
        """Every prompt is worked on with workflows in mind."""
        self.wishes = wishes
        self._wanted = wanted
        """The tool is worth its place in requests."""
        self._session: SessionWorkflows | None = None

    @property
    def offered(self) -> bool:
        """Whether the model is told of the tool."""
        return self.allowed() and (self._wanted or self.ultracode)

    def allowed(self) -> bool:
        """Whether runs may begin."""
        return self.switch()

    def refusal(self) -> str | None:
        """Why no run may begin; None where one may."""
        return None if self.allowed() else OFF

    @property
    def shown(self) -> bool:
        """Whether there is anything to look at: some run may begin, or is still at work."""
        return self.allowed() or bool(self.running)

    @property
    def running(self) -> tuple[str, ...]:
        """The runs that are at work; they may finish also where no further one can begin."""
        return () if self._session is None else self._session.running()

    def files(self) -> "Mapping[str, WorkflowFile]":
        """The saved workflows by name, looked up anew; none while none can be begun."""
        return self._files() if self.allowed() else {}

    def want(self) -> None:
        """Workflows are in use: the model should know of the tool."""
        self._wanted = True

    def open(self) -> "SessionWorkflows":
        """The runs of the session."""
        if self._session is None:
            from bridle.engine.workflows.session import SessionWorkflows

            self._session = SessionWorkflows(self._files, refusal=self.refusal)
        return self._session

    def for_call(self, turn: "Turn", call_id: str) -> "Workflows":
        """What the tool begins runs with."""
        from bridle.engine.workflows.session import CallWorkflows

        return CallWorkflows(self.open(), turn, call_id)

    def describe(self, input: Mapping[str, Any], turn: "Turn") -> str | None:
        """A call of the tool in words for whoever is to approve it; None where nothing is known."""
        from bridle.engine.workflows.describing import describe

        return describe(input, turn, self.open(), self.files())

    def listing(self, tools: Collection[str]) -> str | None:
        """What the model is told of saved workflows when a conversation begins, if it has the tool."""
        if TOOL not in tools or not (files := self.files()):
            return None
        from bridle.engine.workflows.listing import listing

        return listing(files, self.wishes.guideline)

    def urge(self, turn: "Turn", prompt: "Prompt", text: str) -> "Prompt":
        """The prompt with a reminder and more effort, where the user wants ultracode for it."""
        if prompt.meta or prompt.verbatim or not self.allowed():
            return prompt
        words = text.lower()
        named = self.wishes.keyword and "ultracode" in words
        self._wanted = self._wanted or named or "workflow" in words
        if not (named or self.ultracode) or TOOL not in turn.runtime.toolbox.names():
            return prompt
        from bridle.engine.workflows.urging import EFFORT, reminder, says_ultracode
        from bridle.types.block import text_block

        if not self.ultracode and not says_ultracode(text):
            return prompt
        listed = any(each["name"] == TOOL for each in turn.runtime.toolbox.definitions())
        told = text_block(reminder(self.wishes.guideline, listed=listed))
        return replace(prompt, beside=(*prompt.beside, told), effort=prompt.effort or EFFORT)

    def commands(self) -> tuple[Command, ...]:
        """The saved workflows as slash commands."""
        return tuple(self._command(file) for file in self.files().values())

    def interrupt(self) -> int:
        """Begin to end every run, because the user wants quiet; how many there are."""
        return 0 if self._session is None else self._session.interrupt()

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _command(self, file: "WorkflowFile") -> Command:
        async def run(arguments: str, caller: Any) -> CommandResult:
            from bridle.engine.workflows.commanding import begin

            self.want()
            return Says(await begin(self.open(), file.name, arguments, caller))

        return Command(
            name=file.name,
            description=" ".join(file.description.split())[:250],
            run=run,
            source=file.source,
            reach="person",
            origin=file.path,
            argument_hint="[args]",
        )
