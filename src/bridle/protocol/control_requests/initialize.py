"""The `initialize` request: the host introduces itself and gets the session's facts."""

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.engine.runtime import Runtime
from bridle.engine.structured_output import AnswerShape
from bridle.features.agents.feature import AGENTS
from bridle.features.skills.feature import SESSION_SKILLS
from bridle.host.paths import config_home
from bridle.protocol.control import Frame
from bridle.protocol.control_requests.dispatcher import ControlDispatcher
from bridle.protocol.control_requests.servers import take_policies
from bridle.protocol.init_frame import CAPABILITIES, NO_FAST_MODE
from bridle.types.command import Commands
from bridle.types.errors import UsageError
from bridle.types.event import Noticed
from bridle.types.host_options import HostOptions, HostServers
from bridle.types.saved_prompt import no_prompt
from bridle.types.services.fast_mode import FAST_MODE
from bridle.types.services.plugins import PLUGINS
from bridle.types.services.remote import REMOTE
from bridle.version import COMPATIBLE_WITH, __version__


async def initialize(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    """Take what the host brings; a second introduction replaces what the first one brought."""
    shape = AnswerShape(schema) if (schema := request.get("jsonSchema")) is not None else None
    hooks = request.get("hooks")
    if hooks is not None and not isinstance(hooks, dict):
        raise UsageError("hooks must be an object: {event: [{matcher, hookCallbackIds}]}")
    offer = read_offer(request)
    known = _server_names(dispatcher)
    _take_over(dispatcher, offer)
    if prompting := _prompting(request):
        dispatcher.server.change(briefing=dispatcher.services.rebrief(prompting))
    _keep_prompt(dispatcher, request.get("systemPromptSnapshot"))
    if shape is not None:
        dispatcher.server.shape_answers(shape)
    if isinstance(title := request.get("title"), str) and title.strip() and not dispatcher.session.entries:
        dispatcher.session.note(
            {"type": "custom-title", "customTitle": title[:200], "sessionId": dispatcher.session.id}
        )
        dispatcher.send(dispatcher.services.framer.title(title[:200]))
    answer = _answer(dispatcher)
    if offer.servers.names and "sdkMcpServerManifests" in request:
        answer["sdk_mcp_manifests_parked"] = _parked(offer.servers, request["sdkMcpServerManifests"], known)
    if hooks:
        dispatcher.runtime.hooks.add_host_hooks(hooks, dispatcher.services.ask_host)
        answer["hooks_applied"] = True
    if isinstance(plugins := request.get("plugins"), list) and plugins:
        answer["plugins_applied"] = _are_loaded(dispatcher.runtime, plugins)
    return answer


def _take_over(dispatcher: ControlDispatcher, offer: HostOptions) -> None:
    """Let the parts of the session have what the host brings for them."""
    modes = dispatcher.runtime.host.offer.server_modes
    offer = msgspec.structs.replace(offer, server_modes=modes)
    dispatcher.server.change(host=dispatcher.runtime.host.offering(offer))
    dispatcher.server.alias_tools(offer.tool_aliases)
    runtime, brought = dispatcher.runtime, offer.servers
    if (agents := runtime.features.find(AGENTS)) is not None:
        for problem in agents.take_from_host(offer.agents):
            runtime.channel.emit(Noticed(problem, "warning"))
    if (skills := runtime.features.find(SESSION_SKILLS)) is not None:
        skills.restrict(offer.skills)
    runtime.servers.add_sdk(brought.names, configs=brought.configs, manifests=brought.manifests)
    take_policies(dispatcher, {name: brought.configs.get(name) for name in brought.names}, anew=False)


def _keep_prompt(dispatcher: ControlDispatcher, wanted: Any) -> None:
    """Send the first system prompt at every step and after every resume, where that is wanted.

    A conversation whose prompt was kept before keeps it until a host changes it.
    """
    known = dispatcher.session.state.kept_prompt
    if wanted is True or (wanted is None and known is not None):
        dispatcher.server.change(briefing=dispatcher.services.keep_prompt())
    elif known is not None:
        dispatcher.session.swap(kept_prompt=None)
        dispatcher.session.note(no_prompt(dispatcher.session.id))


def _server_names(dispatcher: ControlDispatcher) -> set[str]:
    return {state.name for state in dispatcher.runtime.servers.status()}


def read_offer(request: Mapping[str, Any]) -> HostOptions:
    """What a host brings along; what is not of the right kind is as if it were not there."""
    skills = request.get("skills")
    instructions = request.get("planModeInstructions")
    return HostOptions(
        agents=_objects(request.get("agents")),
        skills=_words(skills) if isinstance(skills, list) else None,
        servers=HostServers(
            names=_words(request.get("sdkMcpServers")),
            configs=_objects(request.get("sdkMcpServerConfigs")),
            manifests=_objects(request.get("sdkMcpServerManifests")),
        ),
        plan_mode_instructions=instructions if isinstance(instructions, str) else None,
        tool_aliases={name: str(other) for name, other in _object(request.get("toolAliases")).items()},
        prompt_suggestions=request.get("promptSuggestions") is True,
        agent_progress_summaries=request.get("agentProgressSummaries") is True,
        forward_subagent_text=request.get("forwardSubagentText") is True,
        per_task_stop=request.get("perTaskStopAffordance") is True,
        dialog_kinds=_words(request.get("supportedDialogKinds")),
    )


def agents_of(runtime: Runtime) -> list[Frame]:
    """The agents of the session, as lists of agents show them."""
    known = runtime.features.find(AGENTS)
    agents = () if known is None else known.definitions()
    return [
        {
            "name": agent.name,
            "description": agent.description,
            **({"model": agent.model} if agent.model is not None else {}),
        }
        for agent in agents
    ]


def listed_commands(commands: Commands) -> list[Frame]:
    """The commands that a host may offer its user."""
    return [dict(each.listing()) for each in commands.all() if not (each.hidden or each.screen_only)]


def _answer(dispatcher: ControlDispatcher) -> Frame:
    offer = dispatcher.offer
    fast = dispatcher.runtime.features.find(FAST_MODE)
    return {
        "commands": listed_commands(dispatcher.runtime.commands),
        "agents": agents_of(dispatcher.runtime),
        "output_style": offer.output_style,
        "available_output_styles": list(dispatcher.runtime.sources.styles()),
        "models": list(offer.models),
        "account": dict(offer.account),
        "pid": os.getpid(),
        "claude_code_version": COMPATIBLE_WITH,
        "bridle_version": __version__,
        "current_permission_mode": dispatcher.session.state.mode,
        "session_state": "running" if dispatcher.server.busy else "idle",
        "fast_mode_state": "off" if fast is None else fast.state,
        **({} if fast is not None else {"fast_mode_disabled_reason": NO_FAST_MODE}),
        "user_output_styles_dir": os.path.join(config_home(dispatcher.runtime.env), "output-styles"),
        "other_hook_ask_outranks_host": True,
        "analytics_disabled": True,
        "feedback_mode": {"kind": "disabled"},
        "remote_control_available": dispatcher.runtime.features.find(REMOTE) is not None,
        "remote_control_auto_enable": False,
        "remote_control_auto_connect_default": False,
        "remote_control_auto_on_by_default": False,
        "ide_rc_auto_enable_gate": False,
        "capabilities": list(CAPABILITIES),
        "hook_on_failure_supported": True,
    }


def _parked(servers: HostServers, manifests: object, known: set[str]) -> dict[str, str]:
    """What became of each manifest: it stands for the first answers of a server that is not there yet."""
    if not isinstance(manifests, dict):
        return dict.fromkeys(servers.names, "malformed")
    found: dict[str, str] = {}
    for name in servers.names:
        match manifests.get(name):
            case None:
                continue
            case {"initializeResult": dict()}:
                found[name] = "already_connected" if name in known else "parked"
            case _:
                found[name] = "malformed"
    return found


def _are_loaded(runtime: Runtime, plugins: list[Any]) -> bool:
    """Whether every plugin that the host lists was there from the start; none is loaded later."""
    start = runtime.workspace.start
    loaded_here = runtime.features.find(PLUGINS)
    listed = () if loaded_here is None else loaded_here.listing()
    loaded = {os.path.realpath(str(each.get("path"))) for each in listed}
    return all(os.path.realpath(os.path.join(start, path)) in loaded for path in map(_path_of, plugins))


def _path_of(plugin: object) -> str:
    path = _object(plugin).get("path")
    return os.path.expanduser(path) if isinstance(path, str) else ""


def _prompting(request: Mapping[str, Any]) -> dict[str, Any]:
    """The changes to the system prompt that the host asked for."""
    found: dict[str, Any] = {}
    match request.get("systemPrompt"):
        case str() as text:
            found["custom"] = text
        case list() as parts:
            found["custom"] = tuple(part for part in parts if isinstance(part, str))
        case _:
            pass
    if isinstance(append := request.get("appendSystemPrompt"), str):
        found["append"] = append
    if isinstance(apart := request.get("excludeDynamicSections"), bool):
        found["facts_apart"] = apart
    return found


def _words(value: object) -> tuple[str, ...]:
    listed: list[Any] = value if isinstance(value, list) else []
    return tuple(word for word in listed if isinstance(word, str))


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> dict[str, Mapping[str, Any]]:
    return {name: each for name, each in _object(value).items() if isinstance(each, dict)}
