"""What a program may choose for a session, and the session options and variables that say the same."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bridle.config.options import EFFORTS, SessionOptions, field_of
from bridle.sdk.errors import CLIConnectionError
from bridle.sdk.hook_types import HookMatcher
from bridle.sdk.permissions import CanUseTool, PermissionMode
from bridle.sdk.tools import SdkMcpTool, ToolServer
from bridle.types.errors import UsageError
from bridle.types.model import Provider
from bridle.version import __version__

EffortLevel = Literal["low", "medium", "high", "xhigh", "max"]
"""How hard a model thinks."""
SettingSource = Literal["user", "project", "local"]
"""A settings file: of the user, of the project, or of the project for this user."""
_LISTS = {name for name, value in SessionOptions.__annotations__.items() if "tuple" in str(value)}
_FORBIDDEN_IN_SKILLS = set("(),*:\n") - {":"}


class AgentDefinition(Struct):
    """A sub-agent that the program defines."""

    description: str
    """When the model should use this agent."""
    prompt: str
    """Its system prompt."""
    tools: list[str] | None = None
    """The tools it may use; None for all that the session has."""
    disallowedTools: list[str] | None = None
    """Tools that it must not use."""
    model: str | None = None
    """Its model: an alias such as `haiku`, a full id, or None for the model of the session."""
    skills: list[str] | None = None
    """Skills whose text it gets at the start."""
    memory: Literal["user", "project", "local"] | None = None
    """Where it keeps notes of its own; None for no memory."""
    mcpServers: list[str | dict[str, Any]] | None = None
    """Names of configured MCP servers, or servers that only this agent has."""
    initialPrompt: str | None = None
    """A prompt that is sent first when the session itself runs as this agent."""
    maxTurns: int | None = None
    """How many model calls it may make."""
    background: bool | None = None
    """Whether it always runs in the background."""
    effort: EffortLevel | int | None = None
    """How hard its model thinks."""
    permissionMode: PermissionMode | None = None
    """Its permission mode; None for the mode of the session."""


class Options(Struct, kw_only=True):
    """How a session runs. The names are those of the official Agent SDK; every option has a default."""

    tools: list[str] | dict[str, Any] | None = None
    """The built-in tools to offer: names, a preset, or None for the default set."""
    allowed_tools: list[str] = []
    """Permission rules for calls that run without a question, such as `Bash(git log:*)`."""
    system_prompt: str | Mapping[str, Any] | None = None
    """A text, a preset, a custom prompt or a file; None for no system prompt at all."""
    mcp_servers: Mapping[str, Any] | str | os.PathLike[str] = {}
    """MCP servers by name, or the path of a configuration file."""
    strict_mcp_config: bool = False
    """Use only the servers given here, not those of settings files."""
    permission_mode: PermissionMode | None = None
    """What happens to calls that no rule decides; None for the mode of the settings."""
    continue_conversation: bool = False
    """Continue the newest conversation of the folder."""
    resume: str | None = None
    """The id of the conversation to continue."""
    session_id: str | None = None
    """The id of the new conversation, a UUID; None for a random one."""
    max_turns: int | None = None
    """End the run after this many model calls."""
    max_budget_usd: float | None = None
    """End the run when it has cost this much."""
    disallowed_tools: list[str] = []
    """Permission rules for calls that are always denied; a bare name removes the tool."""
    model: str | None = None
    """An alias such as `opus`, a full id, or `vendor/model`; None for the model of the settings."""
    fallback_model: str | None = None
    """The model to use while the first one is overloaded."""
    betas: Sequence[str] = []
    """Beta features of the API to turn on."""
    permission_prompt_tool_name: str | None = None
    """Only None and `stdio`: use `can_use_tool` instead."""
    cwd: str | os.PathLike[str] | None = None
    """The folder that the session works in; None for the current one."""
    cli_path: Any = None
    """Not used: there is no program to start."""
    settings: str | None = None
    """More settings, as JSON or the path of a file."""
    add_dirs: Sequence[str | os.PathLike[str]] = []
    """More folders that the session may work in."""
    env: Mapping[str, str] = {}
    """Variables that are added to the environment of the session; the process keeps its own."""
    extra_args: Mapping[str, str | None] = {}
    """Command-line flags that have no option of their own, without dashes; None for a switch."""
    max_buffer_size: int | None = None
    """Not used: there is no pipe to read from."""
    debug_stderr: Any = None
    """Not used, as in the official SDK."""
    stderr: Callable[[str], None] | None = None
    """Called with each line that a program would print to standard error; None drops them."""
    can_use_tool: CanUseTool | None = None
    """Decides about calls that rules and mode leave open."""
    hooks: Mapping[Any, Sequence[HookMatcher]] | None = None
    """Functions that run at moments of the session, by event."""
    user: str | None = None
    """Refused: a session cannot run as another user inside this process."""
    include_partial_messages: bool = False
    """Yield a `StreamEvent` for each piece of an answer."""
    include_hook_events: bool = False
    """Yield a `HookEventMessage` when a hook starts and ends."""
    forward_subagent_text: bool = False
    """Yield what agents say, not only their tool calls."""
    verbatim_prompts: bool = False
    """Send prompts as they are: no slash commands and no `@file` mentions."""
    fork_session: bool = False
    """With `resume`: continue in a copy, and leave the original as it is."""
    resume_session_at: str | None = None
    """With `resume`: the uuid of the last message to keep."""
    resume_drops_turn: str | None = None
    """With `resume_session_at`: the uuid of the only prompt whose turn may be dropped."""
    agents: Mapping[str, AgentDefinition] | None = None
    """Agents that the model can start, by name."""
    setting_sources: Sequence[SettingSource] | None = None
    """The settings files to read; None for all of them, an empty list for none."""
    skills: list[str] | Literal["all"] | None = None
    """Names of the skills to offer, or `all`."""
    sandbox: Mapping[str, Any] | None = None
    """Settings of the sandbox; see `SandboxSettings`."""
    plugins: Sequence[Mapping[str, Any]] = []
    """Plugins to load from folders; see `SdkPluginConfig`."""
    max_thinking_tokens: int | None = None
    """How many tokens the model may think; `thinking` is the newer form."""
    thinking: Mapping[str, Any] | None = None
    """Whether and how much the model thinks; see `ThinkingConfig`."""
    effort: EffortLevel | None = None
    """How hard the model thinks."""
    output_format: Mapping[str, Any] | None = None
    """`{"type": "json_schema", "schema": …}` asks for a result of that shape."""
    enable_file_checkpointing: bool = False
    """Keep copies of edited files, for `Client.rewind_files`."""
    session_store: Any = None
    """A `SessionStore` that gets a copy of the transcript."""
    session_store_flush: Literal["batched", "eager"] = "batched"
    """When lines go to the store: at the end of a turn, or as they are written."""
    load_timeout_ms: int = 60_000
    """How long loading a conversation from the store may take."""
    task_budget: Mapping[str, int] | None = None
    """A token budget for the task that the model can see; see `TaskBudget`."""
    client_app: str | None = None
    """The name of your program, for the logs of the model service."""
    custom_tools: Sequence[SdkMcpTool] = []
    """Tools of the program without a server around them: they are named `mcp__tools__<name>`."""
    provider: Provider | None = None
    """Answers instead of a model service: for tests, and for models of your own."""

    def replace(self, **changes: Any) -> "Options":
        """A copy of these options with some of them changed.

        Args:
            changes: new values by the name of the option.
        """
        return msgspec.structs.replace(self, **changes)


def working_folder(options: Options) -> str:
    """Where the session works.

    Raises:
        CLIConnectionError: there is no such folder.
    """
    cwd = os.path.abspath(os.fspath(options.cwd)) if options.cwd is not None else os.getcwd()
    if not os.path.isdir(cwd):
        raise CLIConnectionError(f"Working directory does not exist: {cwd}")
    return cwd


def variables(options: Options, inherited: Mapping[str, str], cwd: str) -> dict[str, str]:
    """The environment of the session; that of the process is not touched."""
    env = {name: value for name, value in inherited.items() if name != "CLAUDECODE"}
    env |= {"CLAUDE_CODE_ENTRYPOINT": "sdk-py", **options.env, "CLAUDE_AGENT_SDK_VERSION": __version__}
    env["PWD"] = cwd
    env.pop("CLAUDE_CODE_SDK_READS_SESSION_STATE", None)
    if options.client_app is not None:
        env["CLAUDE_AGENT_SDK_CLIENT_APP"] = options.client_app
    if options.enable_file_checkpointing:
        env["CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"] = "true"
    return env


def session_options(options: Options, cwd: str) -> SessionOptions:
    """The options of the session that the program asks for.

    Raises:
        CLIConnectionError: an option cannot be had inside the process, or cannot be read.
        UsageError: a value is none that the option takes.
        ValueError: options contradict each other.
    """
    _refuse(options)
    allowed, sources = _with_skills(options)
    asked: dict[str, Any] = {
        "output_format": "stream-json",
        "input_format": "stream-json",
        "verbose": True,
        "tools": _tools(options),
        "allowed_tools": allowed,
        "disallowed_tools": options.disallowed_tools,
        "max_turns": options.max_turns or None,
        "max_budget_usd": options.max_budget_usd,
        "task_budget": None if options.task_budget is None else options.task_budget["total"],
        "model": options.model,
        "fallback_model": options.fallback_model,
        "betas": options.betas,
        "permission_prompt_tool": "stdio" if options.can_use_tool else options.permission_prompt_tool_name,
        "permission_mode": options.permission_mode,
        "continue_newest": options.continue_conversation,
        "resume": options.resume or None,
        "session_id": options.session_id or None,
        "fork_session": options.fork_session,
        "resume_session_at": options.resume_session_at or None,
        "resume_drops_turn": options.resume_drops_turn,
        "settings": _settings(options, cwd),
        "setting_sources": None if sources is None else ",".join(sources),
        "effort": options.effort,
        "add_dir": [os.fspath(folder) for folder in options.add_dirs],
        "include_partial_messages": options.include_partial_messages,
        "include_hook_events": options.include_hook_events,
        "mcp_config": _server_config(options),
        "strict_mcp_config": options.strict_mcp_config,
        **_system_prompt(options, cwd),
        **_thinking(options),
        **_plugins(options),
    }
    return _checked_options({**asked, **_extra(options, asked)})


def _checked_options(asked: Mapping[str, Any]) -> SessionOptions:
    if (effort := asked.get("effort")) is not None and effort not in EFFORTS:
        raise UsageError(f"effort takes one of {', '.join(EFFORTS)}, not {effort!r}")
    try:
        return msgspec.convert(asked, SessionOptions, strict=False)
    except msgspec.ValidationError as error:
        what, _, field = str(error).partition(" - at `$.")
        raise UsageError(f"{field.rstrip('`') or 'options'}: {what}") from error


def _extra(options: Options, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What `extra_args` says, by the names of flags; a flag that takes many values adds one."""
    found: dict[str, Any] = {}
    for name, value in options.extra_args.items():
        field = field_of(name)
        if field not in SessionOptions.__struct_fields__:
            raise UsageError(f"unknown option '--{name}'")
        if field in _LISTS:
            earlier = asked.get(field) or ()
            found[field] = [*earlier, *(() if value is None else (value,))]
        else:
            found[field] = True if value is None else value
    return found


def tool_servers(options: Options) -> dict[str, ToolServer]:
    """The servers whose tools are functions of this program.

    Raises:
        CLIConnectionError: one is not made by `create_sdk_mcp_server` of this package.
    """
    found: dict[str, ToolServer] = {}
    if options.custom_tools:
        found["tools"] = ToolServer("tools", __version__, tuple(options.custom_tools))
    given = options.mcp_servers
    for name, config in given.items() if isinstance(given, Mapping) else ():
        if config.get("type") != "sdk":
            continue
        instance = config.get("instance")
        if not isinstance(instance, ToolServer):
            raise CLIConnectionError(
                f"The MCP server {name} was not made with bridle.sdk.create_sdk_mcp_server: use that, "
                "or run the server as a process and pass its command."
            )
        found[name] = instance
    return found


def introduction(options: Options, callback_ids: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """The request with which a program introduces itself."""
    request: dict[str, Any] = {"subtype": "initialize", "hooks": callback_ids or None}
    if options.agents:
        request["agents"] = {
            name: {key: value for key, value in msgspec.to_builtins(agent).items() if value is not None}
            for name, agent in options.agents.items()
        }
    if isinstance(options.skills, list):
        request["skills"] = options.skills
    match options.output_format:
        case {"type": "json_schema", "schema": schema} if schema is not None:
            request["jsonSchema"] = schema
        case _:
            pass
    if options.forward_subagent_text:
        request["forwardSubagentText"] = True
    prompt = options.system_prompt
    if isinstance(prompt, Mapping) and isinstance(prompt.get("exclude_dynamic_sections"), bool):
        request["excludeDynamicSections"] = prompt["exclude_dynamic_sections"]
    if isinstance(prompt, Mapping) and isinstance(prompt.get("snapshot"), bool):
        request["systemPromptSnapshot"] = prompt["snapshot"]
    return request


def _refuse(options: Options) -> None:
    if options.can_use_tool is not None and options.permission_prompt_tool_name:
        raise ValueError(
            "can_use_tool callback cannot be used with permission_prompt_tool_name. "
            "Please use one or the other."
        )
    if options.permission_prompt_tool_name not in (None, "stdio"):
        raise CLIConnectionError("An in-process session asks can_use_tool: pass that instead.")
    if options.user is not None:
        raise CLIConnectionError("user is not supported in-process: start bridle as that user.")
    for plugin in options.plugins:
        if plugin["type"] != "local":
            raise ValueError(f"Unsupported plugin type: {plugin['type']}")


def _plugins(options: Options) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"plugin_dir": [], "plugin_dir_no_mcp": []}
    for plugin in options.plugins:
        field = "plugin_dir_no_mcp" if plugin.get("skip_mcp_discovery") else "plugin_dir"
        found[field].append(str(plugin["path"]))
    return found


def _tools(options: Options) -> list[str] | None:
    """The built-in tools to offer; None for the usual ones."""
    if options.tools is None or isinstance(options.tools, list):
        return options.tools
    return ["default"]


def _with_skills(options: Options) -> tuple[list[str], list[str] | None]:
    allowed = list(options.allowed_tools)
    sources = None if options.setting_sources is None else [*options.setting_sources]
    if options.skills is None:
        return allowed, sources
    names = ["Skill"] if options.skills == "all" else [f"Skill({_checked(name)})" for name in options.skills]
    allowed += (name for name in names if name not in allowed)
    return allowed, ["user", "project"] if sources is None else sources


def _checked(skill: str) -> str:
    if not skill or skill != skill.strip() or _FORBIDDEN_IN_SKILLS & set(skill):
        raise ValueError(f"Not the exact name of a skill: {skill!r}")
    return skill


def _system_prompt(options: Options, cwd: str) -> dict[str, str]:
    match options.system_prompt:
        case None:
            return {"system_prompt": ""}
        case str() as text:
            return {"system_prompt": text}
        case {"type": "file", "path": path}:
            return {"system_prompt_file": os.path.join(cwd, path)}
        case {"type": "custom", "prompt": text}:
            return {"system_prompt": text}
        case {"type": "preset", "append": text}:
            return {"append_system_prompt": text}
        case _:
            return {}


def _settings(options: Options, cwd: str) -> str | None:
    """The settings of the command line, with those of the sandbox in them."""
    given = options.settings
    if options.sandbox is None:
        return given or None
    values: dict[str, Any] = {}
    try:
        if given is not None and (text := given.strip()):
            if not text.startswith("{"):
                with open(os.path.join(cwd, text), encoding="utf-8-sig") as file:
                    text = file.read()
            values = msgspec.json.decode(text, type=dict[str, Any])
    except (OSError, ValueError) as error:
        raise CLIConnectionError(f"Failed to load settings: {error}") from error
    return msgspec.json.encode({**values, "sandbox": options.sandbox}).decode()


def _server_config(options: Options) -> list[str]:
    """The servers that are reached from outside; those of the program itself need no way in."""
    given = options.mcp_servers
    if not isinstance(given, Mapping):
        return [path] if (path := os.fspath(given)) else []
    outside = {name: config for name, config in given.items() if config.get("type") != "sdk"}
    return [msgspec.json.encode({"mcpServers": outside}).decode()] if outside else []


def _thinking(options: Options) -> dict[str, object]:
    match options.thinking:
        case None:
            return {"max_thinking_tokens": options.max_thinking_tokens}
        case {"type": "enabled", "budget_tokens": budget, **rest}:
            return {"max_thinking_tokens": budget, "thinking_display": rest.get("display")}
        case {"type": kind, **rest}:
            return {"thinking": kind, "thinking_display": rest.get("display")}
        case _:
            raise ValueError('thinking needs a type: {"type": "adaptive"}')
