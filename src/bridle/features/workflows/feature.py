"""Workflows as a feature: what every session needs of them; the rest is imported with the first run."""

import os.path
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from bridle.engine.feature import Feature
from bridle.extensions.workflows import WorkflowFile, WorkflowFiles, are_workflows_on, workflow_roots
from bridle.features.context import FeatureContext
from bridle.permissions.rules import split_rules
from bridle.permissions.tool_names import WORKFLOW
from bridle.types.block import text_block, text_of
from bridle.types.command import Command, CommandResult, Says
from bridle.types.event import Noticed
from bridle.types.permission import Effect
from bridle.types.services.service import Service
from bridle.types.variables import is_hosted

if TYPE_CHECKING:
    from bridle.config.load import Config
    from bridle.config.schema import Settings
    from bridle.engine.calls.call import Call
    from bridle.engine.turn import Turn
    from bridle.extensions.index import ExtensionFiles
    from bridle.features.workflows.session import SessionWorkflows
    from bridle.types.turn import Prompt

OFF = "Workflows are off: do the work without one."
SESSION_WORKFLOWS: "Service[WorkflowsFeature]" = Service(
    "session workflows", missing="This session has no workflows."
)
_ULTRACODE = "ultracode"
_MOST_NAMED = 5


class WorkflowPreferences(Struct, frozen=True, kw_only=True):
    """The user's settings for workflows."""

    keyword: bool = True
    """The word ultracode in a prompt asks for one."""
    guideline: str | None = None
    """How large they should be: unrestricted, small, medium or large."""


_NONE = WorkflowPreferences()


class WorkflowsFeature(Feature):
    """Agents have no workflows: only the main thread starts runs."""

    name = "workflows"

    def __init__(
        self,
        files: Callable[[], Mapping[str, WorkflowFile]],
        *,
        preferences: WorkflowPreferences = _NONE,
        ultracode: bool = False,
        wanted: bool = True,
        switch: Callable[[], bool] = lambda: True,
        env: Mapping[str, str] | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._files = files
        self.switch = switch
        """Whether settings and variables allow runs now."""
        self.ultracode = ultracode
        """Every prompt gets the reminder about workflows."""
        self.preferences = preferences
        self._wanted = wanted
        """The tool is listed in requests."""
        self._session: SessionWorkflows | None = None
        self._env = {} if env is None else env
        self._tell = tell
        """Warns the user."""
        self._was_allowed = switch()

    def part(self, key: Service[Any]) -> Any:
        return self if key is SESSION_WORKFLOWS else None

    def offer(self, key: Service[Any], call: "Call", turn: "Turn") -> Any:
        """What the tool begins runs with."""
        from bridle.types.services.workflows import WORKFLOWS

        if key is not WORKFLOWS:
            return None
        from bridle.features.workflows.session import CallWorkflows

        return CallWorkflows(self.runs(), turn, call.id)

    def enabled_tools(self) -> frozenset[str]:
        return frozenset((WORKFLOW,)) if self.offered else frozenset()

    def refuse_tool(self, name: str) -> str | None:
        return self.refusal() if name == WORKFLOW else None

    def describe_call(self, tool: str, call: "Call", turn: "Turn") -> str | None:
        if tool != WORKFLOW:
            return None
        from bridle.features.workflows.description import describe

        return describe(call.input, turn, self.runs(), self.files())

    async def attach(self, turn: "Turn", prompt: "Prompt") -> "Prompt":
        """Only a prompt of the user asks for more effort by a word."""
        text = text_of(prompt.content)
        own = prompt.origin.own_words(text) if prompt.origin.is_person else ""
        return self.urge(turn, prompt, own)

    def reconfigure(self, before: "Config", now: "Config") -> None:
        settings = now.settings
        self.preferences = _preferences(settings)
        if settings.ultracode != before.settings.ultracode:
            self.ultracode = bool(settings.ultracode)
        self.switch = _switch(settings, self._env)
        was_allowed, self._was_allowed = self._was_allowed, self.allowed()
        if was_allowed and not self._was_allowed and (running := self.running):
            which = f"{', '.join(running[:_MOST_NAMED])} still {'runs' if len(running) == 1 else 'run'}"
            self._tell(f"Workflows are off: {which}. Stop one with /workflows <run> stop.")

    @property
    def offered(self) -> bool:
        """Whether the tool is listed for the model."""
        return self.allowed() and (self._wanted or self.ultracode)

    def allowed(self) -> bool:
        """Whether runs may begin."""
        return self.switch()

    def refusal(self) -> str | None:
        """Why no run may begin; None where one may."""
        return None if self.allowed() else OFF

    @property
    def shown(self) -> bool:
        """Whether there is anything to look at: some run may begin, or is still running."""
        return self.allowed() or bool(self.running)

    @property
    def running(self) -> tuple[str, ...]:
        """The active runs; they may finish also where no further one can begin."""
        return () if self._session is None else self._session.running()

    def files(self) -> Mapping[str, WorkflowFile]:
        """The saved workflows by name, looked up again; none while none can be begun."""
        return self._files() if self.allowed() else {}

    def want(self) -> None:
        """Workflows are in use: the model should know of the tool."""
        self._wanted = True

    def runs(self) -> "SessionWorkflows":
        """The runs of the session."""
        if self._session is None:
            from bridle.features.workflows.session import SessionWorkflows

            self._session = SessionWorkflows(self._files, refusal=self.refusal)
        return self._session

    def listing(self, tools: Collection[str]) -> str | None:
        if WORKFLOW not in tools or not (files := self.files()):
            return None
        from bridle.features.workflows.listing import listing

        return listing(files, self.preferences.guideline)

    def urge(self, turn: "Turn", prompt: "Prompt", text: str) -> "Prompt":
        """The prompt with a reminder and more effort, where the user wants ultracode for it."""
        if prompt.meta or prompt.verbatim or not self.allowed():
            return prompt
        words = text.lower()
        named = self.preferences.keyword and "ultracode" in words
        self._wanted = self._wanted or named or "workflow" in words
        if not (named or self.ultracode) or WORKFLOW not in turn.runtime.toolbox.names():
            return prompt
        from bridle.features.workflows.reminder import EFFORT, reminder, says_ultracode

        if not self.ultracode and not says_ultracode(text):
            return prompt
        listed = any(each["name"] == WORKFLOW for each in turn.runtime.toolbox.definitions())
        block = text_block(reminder(self.preferences.guideline, listed=listed))
        return replace(prompt, beside=(*prompt.beside, block), effort=prompt.effort or EFFORT)

    def commands(self) -> tuple[Command, ...]:
        """The saved workflows as slash commands."""
        return tuple(self._command(file) for file in self.files().values())

    def interrupt(self) -> int:
        return 0 if self._session is None else self._session.interrupt()

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _command(self, file: WorkflowFile) -> Command:
        async def run(arguments: str, caller: Any) -> CommandResult:
            from bridle.features.workflows.commands import begin

            self.want()
            return Says(await begin(self.runs(), file.name, arguments, caller))

        return Command(
            name=file.name,
            description=" ".join(file.description.split())[:250],
            about=f"{' '.join(file.description.split())} (dynamic workflow)",
            run=run,
            source=file.source,
            reach="person",
            origin=file.path,
            argument_hint="[args]",
        )


def open_workflows(context: FeatureContext) -> WorkflowsFeature | None:
    """The workflows of a session; None where it takes nothing from files."""
    if context.closed or context.extension_files is None:
        return None
    options, settings, env = context.options, context.settings, context.env
    usual = _ULTRACODE if settings.ultracode else settings.effort_level
    effort = options.effort or env.get("CLAUDE_CODE_EFFORT_LEVEL") or usual
    return WorkflowsFeature(
        _looked_up(context, context.extension_files),
        preferences=_preferences(settings),
        ultracode=effort == _ULTRACODE,
        wanted=context.defers_tools() or _is_named(context),
        switch=_switch(settings, env),
        env=env,
        tell=lambda text: context.runtime().channel.emit(Noticed(text, "warning")),
    )


def _switch(settings: "Settings", env: Mapping[str, str]) -> Callable[[], bool]:
    """Whether runs may begin; a host program may change the variables at any time."""
    return lambda: are_workflows_on(settings, env)


def _preferences(settings: "Settings") -> WorkflowPreferences:
    return WorkflowPreferences(
        keyword=settings.workflow_keyword_trigger_enabled is not False,
        guideline=settings.workflow_size_guideline,
    )


def _looked_up(context: FeatureContext, files: "ExtensionFiles") -> Callable[[], Mapping[str, WorkflowFile]]:
    """The workflow files as they are now. Problems with them are reported at the first call."""
    settings, env = context.settings, context.env
    made: list[WorkflowFiles] = []

    def look() -> Mapping[str, WorkflowFile]:
        if not made:
            made.append(
                WorkflowFiles(files.index, lambda: workflow_roots(settings, env, files.roots("workflows")))
            )
            # Host programs show no one what is written to standard error.
            if not is_hosted(env):
                for problem in made[0].problems()[:_MOST_NAMED]:
                    context.warn(str(problem))
        return made[0].all()

    return look


def _is_named(context: FeatureContext) -> bool:
    """Whether flags, rules or what the conversation has done show that the tool will be used."""
    listed = (name for part in context.options.tools or () for name in split_rules(part))
    rules = (rule.tool for rule in context.session.state.rules if rule.effect is Effect.ALLOW)
    places = (os.path.join(storage, "workflows") for storage in (context.storage, *context.earlier()))
    return WORKFLOW in (*listed, *rules) or any(map(os.path.isdir, places))
