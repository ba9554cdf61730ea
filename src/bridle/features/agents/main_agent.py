"""The agent that the main thread of a session is, where it is one, by flags, settings and variables."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from bridle.config.load import Config
from bridle.config.options import SessionOptions
from bridle.features.agents.definitions import read_agents
from bridle.features.agents.memory import memory_prompt
from bridle.features.agents.registry import AgentRegistry, Agents, AgentSetup
from bridle.transcripts.session import Session
from bridle.types.agent import AgentDefinition
from bridle.types.errors import UsageError
from bridle.types.nearest import did_you_mean
from bridle.types.origin import Origin
from bridle.types.services.teams import is_coordinating
from bridle.types.turn import Prompt

_FILE = Origin(source="file")

Found = Callable[[], Sequence[AgentDefinition]]
"""Agents of files and plugins, looked up again."""


def main_agent(
    options: SessionOptions,
    config: Config,
    env: Mapping[str, str],
    *,
    found: Found = tuple,
    proposed: Sequence[str] = (),
) -> AgentDefinition | None:
    """The agent that the main thread is to be, by flag or setting, else the first that plugins proposed.

    Raises:
        UsageError: the flag names one that is not there.
    """
    flagged = options.agent
    named = flagged or config.raw.get("agent")
    if not named and (leader := coordinator(env)) is not None:
        return leader
    names = (named,) if isinstance(named, str) and named else tuple(proposed)
    if not names:
        return None
    given = () if options.agents is None else flag_agents(options.agents)
    setup = AgentSetup(found=lambda: (*found(), *given), interactive=options.has_person)
    agents = Agents(AgentRegistry(setup, env))
    known = (agents.find(name) for name in names)
    if (definition := next((each for each in known if each is not None), None)) is not None:
        return definition
    if flagged is None:
        return None
    names = [each.name for each in agents.definitions()]
    hint = did_you_mean(str(named), names) or f"; available: {', '.join(names)}"
    raise UsageError(f"--agent: unknown agent {named!r}{hint}")


def coordinator(env: Mapping[str, str]) -> AgentDefinition | None:
    """The agent that only leads others, where a variable asks for it."""
    if not is_coordinating(env):
        return None
    return COORDINATOR


def flag_agents(text: str) -> tuple[AgentDefinition, ...]:
    """The agents of `--agents`: JSON, or in print mode a file with it.

    Raises:
        UsageError: it cannot be read, or an agent in it cannot be used.
    """
    if not text.lstrip().startswith("{"):
        try:
            with open(os.path.expanduser(text), encoding="utf-8") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--agents must be a JSON object or a file with one: {error}") from error
    try:
        values = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise UsageError(f"--agents is not a JSON object: {error}") from error
    agents, problems = read_agents(values, "flag")
    if problems:
        raise UsageError(f"--agents: {problems[0]}")
    return agents


def agent_prompt(definition: AgentDefinition, *, cwd: str, env: Mapping[str, str], trusted: bool) -> str:
    """The system prompt of a main thread that is an agent."""
    return definition.prompt.strip() + memory_prompt(definition, cwd=cwd, env=env, trusted=trusted)


def with_initial(definition: AgentDefinition | None, prompts: list[Prompt], session: Session) -> list[Prompt]:
    """The prompts with what the agent of the main thread begins with, in a new conversation."""
    if definition is None or not definition.initial_prompt or session.entries:
        return prompts
    if not prompts or not isinstance(text := prompts[0].content, str):
        return [Prompt(content=definition.initial_prompt, origin=_FILE), *prompts]
    first = f"{definition.initial_prompt}\n\n"
    origin = prompts[0].origin
    start, end = origin.words or (0, len(text))
    whose = msgspec.structs.replace(origin, words=(len(first) + start, len(first) + end))
    return [msgspec.structs.replace(prompts[0], content=first + text, origin=whose), *prompts[1:]]


_PROMPT = """\
You coordinate agents that do the work; you have no tools to do it yourself. The user talks to you alone.

- Answer directly what needs no work. Everything else goes to workers, started with Agent: give each a name, \
the whole task with all it must know, the files it may change, and how to tell that it is done. A worker \
knows nothing of this conversation.
- Start what does not depend on each other together, in one message. Work on the same files goes to one \
worker, or to several with isolation worktree, whose branches `bridle merge` joins.
- When a worker ends, you get a <task-notification> with its id, status and result. Do not poll for it, and \
never invent what it will say. SendMessage lets a worker continue with what it knows. TaskStop ends a \
worker that does the wrong thing. ListAgents lists the workers.
- Understand a report before you hand it on: say in your own words what was found and what follows from it, \
with files and lines.
- Have important changes checked by a worker that did not make them.
- Tell the user briefly what is under way, and at the end what was done, what was verified, what is open."""

COORDINATOR = AgentDefinition(
    name="coordinator",
    description="Leads workers and delegates all work.",
    text=_PROMPT,
    tools=("Agent", "SendMessage", "ListAgents", "TaskStop", "ToolSearch"),
)
