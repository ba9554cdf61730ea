"""Models that judge for hooks: one question for a prompt hook, a small agent for an agent hook."""

import asyncio
from collections.abc import Callable, Sequence

from bridle.engine.loop import run_turn
from bridle.engine.runtime import Limits, Runtime
from bridle.engine.side_calls import consult_beside
from bridle.engine.structured_output import NAME, AnswerShape
from bridle.hooks.model_hooks import VERDICT, AskModel, RunAgent
from bridle.permissions.rules import parse
from bridle.tools.catalog import CATALOG
from bridle.tools.toolbox import JoinedToolbox
from bridle.transcripts.session import Session
from bridle.types.block import TextBlock, text_block, text_of
from bridle.types.errors import ToolError
from bridle.types.event import Event
from bridle.types.hooks.outcome import NoHooks
from bridle.types.model import ToolDefinition
from bridle.types.origin import HOOK
from bridle.types.permission import Effect
from bridle.types.question import Answer, Question, Refused
from bridle.types.tool import LOOKS_AT_FILES, Consultation, Tool, Toolbox
from bridle.types.turn import Prompt
from bridle.types.workspace import Workspace

_LOOKING = frozenset(listing.name for listing in CATALOG if listing.traits.kind in LOOKS_AT_FILES)
_MOST_STEPS = 50
_VERDICT_TOKENS = 1024
_CALL = f"Give that object as the input of {NAME}, once."
_REPEAT = "No one can approve that here. Answer with what you can read."


Resolve = Callable[[str], str]
"""The full id of a model that a hook names."""


def ask_model(session: Session, runtime: Runtime, resolve: Resolve) -> AskModel:
    """Ask one question, counted and charged to the budgets."""

    async def ask(prompt: str, *, system: str, model: str | None) -> str:
        question = Consultation(prompt=prompt, purpose="hook", system=system, max_tokens=_VERDICT_TOKENS)
        message = await consult_beside(session, runtime, question, model=_named(runtime, model, resolve))
        return text_of(message["content"])

    return ask


def run_inspector(
    session: Session, runtime: Runtime, resolve: Resolve, *, transcript: str | None
) -> RunAgent:
    """An agent that may read and search, and nothing else; what it costs is the session's."""

    async def run(prompt: str, *, system: str, model: str | None, timeout: float) -> str:
        own = session.aside("hook", cwd=runtime.workspace.cwd)
        # A rule begins at the root of the file system with two slashes.
        allowed = () if transcript is None else (parse(f"Read(/{transcript})", Effect.ALLOW),)
        own.swap(
            model=_named(runtime, model, resolve), mode="dontAsk", rules=(*session.state.rules, *allowed)
        )
        shape = AnswerShape(VERDICT)
        confined = _confined(runtime, f"{system} {_CALL}", shape)
        async with asyncio.timeout(timeout):
            outcome = await run_turn(own, Prompt(content=prompt, origin=HOOK), confined)
        if outcome.is_error:
            raise ToolError("; ".join(outcome.errors) or outcome.text)
        return outcome.text

    return run


def _named(runtime: Runtime, model: str | None, resolve: Resolve) -> str:
    return runtime.asking.small_model if model is None else resolve(model)


def _confined(runtime: Runtime, system: str, shape: AnswerShape) -> Runtime:
    workspace = Workspace(
        runtime.workspace.cwd, tasks=lambda: runtime.workspace.tasks, extra_roots=runtime.workspace.roots
    )
    return runtime.replaced(
        channel=_Silence(),
        workspace=workspace,
        toolbox=JoinedToolbox(_ReadingTools(runtime.toolbox), lambda: shape.tools),
        briefing=_Orders(system),
        hooks=NoHooks(),
        gate=runtime.gate.without_persistence(),
        records=runtime.records.without_checkpoints(),
        asking=runtime.asking.in_shape(shape),
        host=runtime.host.without_arrivals(),
        limits=Limits(max_turns=_MOST_STEPS, max_budget_usd=runtime.limits.max_budget_usd),
        features=runtime.features.for_hook_agent(),
    )


class _Silence:
    """Shows nothing, and answers no question."""

    def emit(self, event: Event) -> None:
        """Events are dropped: the session needs the verdict only."""

    async def ask(self, question: Question) -> Answer:
        del question
        return Refused(message=_REPEAT, by_person=False)


class _ReadingTools:
    """Those tools of a session that only look."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox

    def definitions(self) -> tuple[ToolDefinition, ...]:
        return tuple(each for each in self._toolbox.definitions() if each["name"] in _LOOKING)

    def names(self) -> tuple[str, ...]:
        return tuple(name for name in self._toolbox.names() if name in _LOOKING)

    def find(self, name: str) -> Tool | None:
        return self._toolbox.find(name) if name in _LOOKING else None


class _Orders:
    """A system prompt and nothing beside it."""

    def __init__(self, system: str) -> None:
        self._system = (text_block(system),)

    def system(self, model: str) -> tuple[TextBlock, ...]:
        del model
        return self._system

    def opening(self) -> list[TextBlock]:
        return []

    def anew(self) -> list[TextBlock]:
        return []

    def beside(self, paths: Sequence[str]) -> str | None:
        del paths
        return None

    def for_agent(
        self,
        prompt: str,
        *,
        cwd: str,
        model: str,
        instructions: bool,
        listings: Sequence[Callable[[], str | None]] = (),
    ) -> "_Orders":
        del cwd, model, instructions, listings
        return _Orders(prompt)
