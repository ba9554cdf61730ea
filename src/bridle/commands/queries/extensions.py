"""What extends a session, for lists and views: skills, agents and hooks with source, cost and switch."""

import os
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from bridle.commands.context import CommandContext
from bridle.context.tokens import estimate
from bridle.extensions.listing import cost_of
from bridle.extensions.skills import Skill
from bridle.features.agents.feature import AGENTS
from bridle.features.skills.feature import SESSION_SKILLS
from bridle.hooks.table import Table, from_layers
from bridle.permissions.matching import denied_agents
from bridle.types.agent import AgentDefinition
from bridle.types.errors import ToolError

Visibility = Literal["on", "name-only", "user-invocable-only", "off"]
VISIBILITIES: tuple[Visibility, ...] = ("on", "name-only", "user-invocable-only", "off")
_CHARACTERS_PER_TOKEN = 4
_LONGEST_MENTION = 500


class SkillFacts(Struct, frozen=True, kw_only=True):
    name: str
    description: str
    source: str
    owner: str = ""
    """The plugin that it is of."""
    file: str = ""
    tokens: int = 0
    """What its mention costs in every request."""
    body_tokens: int = 0
    """About what it costs once it is used; none where that is not known before."""
    visibility: Visibility = "on"
    locked: bool = False
    """The administrator has decided who may use it."""

    @property
    def origin(self) -> str:
        """Where it comes from, in words."""
        return f"{self.source} {self.owner}".strip()

    @property
    def own_file(self) -> str:
        """The file, where it can be edited."""
        return "" if self.source in ("mcp", "bundled") else self.file


class AgentFacts(Struct, frozen=True, kw_only=True):
    definition: AgentDefinition
    tokens: int = 0
    """What its mention costs in every request."""
    prompt: str = ""
    """Its system prompt; a sentence where its file is gone."""
    body_tokens: int = 0
    """What its prompt costs once it works."""
    denied: bool = False
    """A rule keeps it from being started."""


def skill_facts(context: CommandContext) -> list[SkillFacts]:
    """Every skill and command file, those included that are turned off."""
    skills = context.runtime.features.find(SESSION_SKILLS)
    if skills is None:
        return []
    overrides = skills.settings.skill_overrides or {}
    locked = _locked(context)
    return [
        _skill_facts(each, overrides.get(each.name, "on"), locked=each.name in locked)
        for each in skills.catalog.all().values()
    ]


def agent_facts(context: CommandContext) -> list[AgentFacts]:
    """Every agent, with whether a rule keeps it from being started."""
    agents = context.runtime.features.find(AGENTS)
    denied = denied_agents(context.session.state.rules)
    every = () if agents is None else agents.definitions()
    return [_agent_facts(each, denied=each.name in denied) for each in every]


def hook_table(context: CommandContext) -> Table:
    """Every hook that is known now: of settings, plugins, skills and packages."""
    if not context.hooks.is_open:
        return from_layers(context.settings.config().layers, trusted=context.trusted)
    listeners = context.hooks.open().listeners
    return replace(listeners.table, entries=listeners.every())


def _skill_facts(skill: Skill, visibility: Visibility, *, locked: bool) -> SkillFacts:
    listed = skill.for_model and visibility in ("on", "name-only")
    return SkillFacts(
        name=skill.name,
        description=" ".join(skill.description.split()),
        source=skill.source,
        owner="" if skill.root is None else skill.root.owner or "",
        file=skill.file,
        tokens=cost_of(skill, bare=visibility == "name-only") if listed else 0,
        body_tokens=_size(skill) // _CHARACTERS_PER_TOKEN,
        visibility=visibility,
        locked=locked,
    )


def _agent_facts(agent: AgentDefinition, *, denied: bool) -> AgentFacts:
    try:
        prompt = agent.prompt
    except ToolError as error:
        prompt = str(error)
    return AgentFacts(
        definition=agent,
        tokens=estimate(f"- {agent.name}: {agent.description[:_LONGEST_MENTION]}"),
        prompt=prompt,
        body_tokens=estimate(prompt),
        denied=denied,
    )


def _size(skill: Skill) -> int:
    try:
        return os.stat(skill.file).st_size
    except OSError:
        return 0  # It is on a server, or gone by now.


def _locked(context: CommandContext) -> set[str]:
    found: set[str] = set()
    for layer in context.settings.config().layers:
        overrides = layer.values.get("skillOverrides")
        if layer.source == "policySettings" and isinstance(overrides, dict):
            found |= set(overrides)
    return found
