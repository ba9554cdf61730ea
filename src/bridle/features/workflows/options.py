"""The options of an agent in a script, checked before the agent is started."""

from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from bridle.engine.assignment import Assignment
from bridle.engine.null_parts import ANY_SHAPE
from bridle.engine.permissions.run_rules import objection
from bridle.engine.structured_output import AnswerShape
from bridle.features.agents.start import effort_of, model_of, new_agent_id
from bridle.features.workflows.worker import WORKER
from bridle.types.agent import AGENT_TOOL, AgentDefinition
from bridle.types.errors import ToolError, UsageError
from bridle.types.permission import Deny
from bridle.types.text import one_line

if TYPE_CHECKING:
    from bridle.engine.turn import Turn
    from bridle.features.agents.registry import Agents

_LONGEST_LABEL = 80
_LONGEST_PROMPT = 400_000
_MODEL_VARIABLES = ("CLAUDE_CODE_WORKFLOW_SUBAGENT_MODEL", "CLAUDE_CODE_SUBAGENT_MODEL")


class AgentOptions(Struct, frozen=True, kw_only=True, rename="camel"):
    """The second argument of `agent()`. Unknown names are ignored."""

    label: str | None = None
    phase: str | None = None
    schema: dict[str, Any] | None = None
    model: str | None = None
    effort: str | int | None = None
    agent_type: str | None = None
    isolation: Literal["worktree"] | None = None


class Request(Struct, frozen=True, kw_only=True):
    """One valid call of `agent()`."""

    prompt: str
    label: str
    phase: str | None
    definition: AgentDefinition
    model: str
    effort: str | None
    schema: dict[str, Any] | None
    isolated: bool

    @property
    def prefix(self) -> tuple[object, ...]:
        """What the requests of such agents begin with, as far as the cache of the service is concerned."""
        return (self.definition.name, self.model, self.effort, msgspec.json.encode(self.schema))

    def assignment(self, call_id: str) -> Assignment:
        """The work as an agent is given it; each attempt is a new agent."""
        return Assignment(
            agent_id=new_agent_id(),
            definition=self.definition,
            description=self.label,
            prompt=self.prompt,
            call_id=call_id,
            model=self.model,
            effort=self.effort,
            background=True,
            shape=ANY_SHAPE if self.schema is None else AnswerShape(self.schema),
        )


def read_request(payload: dict[str, Any], agents: "Agents", lead: "Turn", *, number: int) -> Request:
    """Read a call of `agent()`.

    Raises:
        ToolError: it cannot be done as it is written, and why.
    """
    prompt = payload.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        raise ToolError("agent() needs a non-empty string as its prompt.")
    if len(prompt) > _LONGEST_PROMPT:
        raise ToolError(
            f"The prompt of agent() has more than {_LONGEST_PROMPT:,} characters: let it read a file."
        )
    try:
        options = msgspec.convert(payload.get("options") or {}, AgentOptions)
    except msgspec.ValidationError as error:
        raise ToolError(f"invalid options for agent(): {error}.") from error
    definition = _definition(options.agent_type, agents, lead)
    if options.schema is not None:
        try:
            AnswerShape(options.schema)
        except UsageError as error:
            raise ToolError(f"agent(): {error}.") from error
    return Request(
        prompt=prompt,
        label=one_line(options.label or "", _LONGEST_LABEL) or f"agent {number}",
        phase=payload.get("phase") or options.phase,
        definition=definition,
        model=model_of(agents, lead, definition, options.model, variables=_MODEL_VARIABLES),
        effort=effort_of(lead, definition, options.effort),
        schema=options.schema,
        isolated=(options.isolation or definition.isolation) is not None,
    )


def _definition(wanted: str | None, agents: "Agents", lead: "Turn") -> AgentDefinition:
    name = WORKER.name if wanted is None else wanted
    if isinstance(doubt := objection(lead, AGENT_TOOL, "subagent_type", name), Deny):
        raise ToolError(f"agentType {name!r} is not allowed: {doubt.reason}.")
    if wanted is None:
        return WORKER
    if (found := agents.find(wanted)) is not None:
        return found
    there = ", ".join(each.name for each in agents.definitions()) or "none"
    raise ToolError(f"agentType {wanted!r} does not exist. Available agents: {there}.")
