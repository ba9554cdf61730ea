"""An agent on the side: it continues a copy of the conversation, its rows are not kept, and its cost is."""

from typing import TYPE_CHECKING

from msgspec import Struct

from bridle.engine.cache_watch import CacheWatch
from bridle.engine.feature import Feature, Features
from bridle.engine.limits import is_overspent
from bridle.engine.loop import run_turn
from bridle.engine.null_parts import ANY_SHAPE
from bridle.engine.runtime import ContextSources, Limits, Records, Runtime
from bridle.engine.side_calls import charged_to
from bridle.transcripts.session import Session
from bridle.types.errors import ToolError
from bridle.types.event import Event
from bridle.types.hooks.outcome import NoHooks
from bridle.types.model import Provider
from bridle.types.origin import PROGRAM
from bridle.types.permission import Allow, Case, Decision, Deny, Mode
from bridle.types.question import Answer, Question, Refused
from bridle.types.turn import Outcome, Prompt
from bridle.types.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridle.engine.runtime import Briefing
    from bridle.engine.turn import Turn
    from bridle.types.block import TextBlock

_NO_ONE = "This work runs on the side, where no one can be asked."


class SideAgent(Struct, frozen=True, kw_only=True):
    """What an agent on the side is to do, and how far it may go."""

    purpose: str
    """What its cost is listed as."""
    prompt: str
    guard: Feature
    """Decides about its calls."""
    workspace: Workspace
    storage: str
    """A folder for results that are too large; the caller removes it."""
    most_steps: int
    mode: Mode | None = None
    """Its permission mode, where that is not the one of the session."""
    provider: Provider | None = None


async def run_side_agent(session: Session, runtime: Runtime, work: SideAgent) -> tuple[Session, Outcome]:
    """Run the agent and return its conversation with its outcome.

    The system prompt, the tools and the messages before its prompt are those of the session, so the service
    finds them in its cache. It has no hooks, asks no one and shows nothing.

    Raises:
        ToolError: the budget of the session is used up.
    """
    if (objection := is_overspent(session, runtime)) is not None:
        raise ToolError(objection)
    own = session.aside(work.purpose, cwd=work.workspace.cwd)
    own.go_on_from(session)
    state = session.state
    own.swap(
        model=state.model,
        mode=work.mode or state.mode,
        rules=state.rules,
        denials=state.denials,
        thinking=state.thinking,
        measured=state.measured,
    )
    provider = work.provider or charged_to(runtime.provider, None, source=work.purpose)
    beside = runtime.replaced(
        provider=provider,
        channel=_Silence(),
        workspace=work.workspace,
        briefing=_SameSystem(runtime.briefing),
        hooks=NoHooks(),
        gate=runtime.gate.without_persistence(),
        records=Records(storage=work.storage),
        sources=ContextSources(),
        asking=runtime.asking.in_shape(ANY_SHAPE),
        host=runtime.host.without_arrivals(),
        limits=Limits(max_turns=work.most_steps, max_budget_usd=runtime.limits.max_budget_usd),
        watch=CacheWatch(),
        features=Features([*runtime.features.for_hook_agent(), work.guard]),
    )
    try:
        return own, await run_turn(own, Prompt(content=work.prompt, origin=PROGRAM, verbatim=True), beside)
    finally:
        session.save_cost()


def copied_workspace(before: Workspace) -> Workspace:
    """A workspace in the same place that has seen the same files."""
    workspace = Workspace(before.start, extra_roots=before.roots[1:])
    workspace.cwd = before.cwd
    workspace.origins = before.origins
    for path, state in reversed(before.files.newest()):
        workspace.files.note(path, state)
    return workspace


class EditOnly(Feature):
    """Lets an agent change one file with Edit and do nothing else."""

    name = "edit_only"

    def __init__(self, path: str, *, is_own: bool = False) -> None:
        self._path = path
        self._is_own = is_own
        """bridle keeps the file itself, so no rule but one that denies has to allow it."""

    async def review(self, turn: "Turn", case: Case, decision: Decision) -> Decision:
        tool = turn.runtime.toolbox.find(case.tool)
        fits = tool is not None and tool.traits.kind == "edit" and case.access.writes == (self._path,)
        if not fits:
            return Deny(f"only Edit of {self._path} is allowed here")
        if isinstance(decision, Deny) or not self._is_own:
            return decision
        return Allow("notes that bridle keeps", "other")


class _Silence:
    """Shows nothing, and answers no question."""

    def emit(self, event: Event) -> None:
        """Events are dropped: what matters is what the agent has changed."""

    async def ask(self, question: Question) -> Answer:
        del question
        return Refused(message=_NO_ONE, by_person=False)


class _SameSystem:
    """The system prompt of the session; what the session gives only once stays for the session."""

    def __init__(self, briefing: "Briefing") -> None:
        self._briefing = briefing

    def system(self, model: str) -> "tuple[TextBlock, ...]":
        return self._briefing.system(model)

    def opening(self) -> "list[TextBlock]":
        return []

    def anew(self) -> "list[TextBlock]":
        return []

    def beside(self, paths: "Sequence[str]") -> str | None:
        del paths

    def for_agent(
        self,
        prompt: str,
        *,
        cwd: str,
        model: str,
        instructions: bool,
        listings: "Sequence[Callable[[], str | None]]" = (),
    ) -> "Briefing":
        return self._briefing.for_agent(
            prompt, cwd=cwd, model=model, instructions=instructions, listings=listings
        )
