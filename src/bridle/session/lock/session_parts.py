"""What models read in a session, taken apart for `bridle.lock`."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.engine.model_facts import ModelSettings, known_models
from bridle.features.agents.feature import AGENTS
from bridle.features.skills.feature import SESSION_SKILLS
from bridle.host.secrets import SECRETS
from bridle.providers import catalog
from bridle.session import model_choices
from bridle.session.lock.file import SECRET, Part, digest_of
from bridle.session.lock.own_parts import own_parts, served, server_tool
from bridle.types.errors import ToolError

if TYPE_CHECKING:
    from bridle.session.open import LiveSession
    from bridle.types.agent import AgentDefinition

_ALIASES = tuple(name for name in catalog.ALIASES if name not in ("default", "opusplan"))
_UNREADABLE = "(could not be read)"


def session_parts(live: "LiveSession", *, servers: bool) -> dict[str, Part]:
    """Every part of a session by its name; tools of servers only once they have connected."""
    found = {**own_parts(), **dict(_models(live)), **dict(_extensions(live))}
    if servers:
        found |= {f"servers/{name}": tools for name, tools in _served(live).items()}
    return {name: _part(value) for name, value in found.items()}


def _models(live: "LiveSession") -> Iterator[tuple[str, Any]]:
    setup = live.setup
    own = {} if setup.lock is not None else setup.config.raw.get("bridleModels") or {}
    for alias in _ALIASES:
        yield f"aliases/{alias}", catalog.resolve(alias, setup.env, own=own)
    fallbacks = model_choices.choose_fallbacks(setup.options, setup.config, setup.env)
    facts = known_models(ModelSettings(own=own))
    for name in dict.fromkeys((setup.model, *fallbacks)):
        about, model = facts(name), catalog.find(name, own)
        yield (
            f"models/{name}",
            {
                "contextWindow": about.context_window,
                "maxOutput": about.max_output,
                "maxTokens": about.max_tokens,
                "thinking": model.thinking,
                "efforts": list(model.efforts),
            },
        )


def _extensions(live: "LiveSession") -> Iterator[tuple[str, Any]]:
    setup, features = live.setup, live.server.runtime.features
    agents = features.find(AGENTS)
    for agent in () if agents is None else agents.definitions():
        if agent.source != "builtin":
            yield f"agents/{agent.name}", _agent(agent)
    skills = features.find(SESSION_SKILLS)
    if skills is not None:
        for skill in {each.name: each for each in (*skills.for_model(), *skills.for_user())}.values():
            try:
                yield f"skills/{skill.name}", {"header": dict(skill.values), "text": skill.read()}
            except (OSError, ToolError):
                yield f"skills/{skill.name}", _UNREADABLE
    for plugin in live.plugins():
        facts = {key: plugin[key] for key in ("source", "version") if key in plugin}
        yield f"plugins/{plugin['name']}", facts
    hooks: Mapping[str, Any] = setup.config.raw.get("hooks") or {}
    for event, entries in hooks.items():
        yield f"hooks/{event}", msgspec.to_builtins(entries)


def _agent(agent: "AgentDefinition") -> dict[str, Any]:
    try:
        text = agent.prompt
    except ToolError:
        text = _UNREADABLE
    tools = None if agent.tools is None else list(agent.tools)
    return {"description": agent.description, "text": text, "tools": tools, "model": agent.model}


def _served(live: "LiveSession") -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for tool in live.server.runtime.servers.tools():
        definition = tool.own_definition()
        server, name = server_tool(tool.name)
        if definition is not None and server:
            found.setdefault(server, {})[name] = served(definition)
    return found


def _part(value: Any) -> Part:
    """A part that holds a secret is recorded only as its digest."""
    text = msgspec.json.encode(value).decode()
    plain = msgspec.json.decode(text)
    return Part(digest=digest_of(plain), value=SECRET if SECRETS.hide(text) != text else plain)
