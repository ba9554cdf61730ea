"""The shapes of plain dicts that go in and out of a session, for type checkers."""

from typing import Any, Literal, NotRequired, Required, TypedDict

from bridle.sdk.permissions import PermissionMode
from bridle.sdk.tools import McpSdkServerConfig

SdkBeta = Literal["context-1m-2025-08-07"]
"""A beta feature of the API."""
FastModeState = Literal["off", "cooldown", "on"]
"""The state of fast mode."""
FastModeDisabledReason = str
"""Why fast mode is off."""
RateLimitStatus = Literal["allowed", "allowed_warning", "rejected"]
"""Whether the account may send requests."""
RateLimitType = Literal["five_hour", "seven_day", "seven_day_opus", "seven_day_sonnet", "overage"]
"""Which limit it is."""
ServerToolName = Literal[
    "advisor", "web_search", "web_fetch", "code_execution", "bash_code_execution",
    "text_editor_code_execution", "tool_search_tool_regex", "tool_search_tool_bm25",
]  # fmt: skip
"""A tool that the model service runs itself."""
MessageOriginKind = Literal[
    "human", "channel", "peer", "task-notification", "coordinator", "unclassified", "observer",
    "auto-continuation", "observer-activity",
]  # fmt: skip
"""Who a prompt comes from."""
TaskNotificationOriginSubkind = Literal["scheduled-trigger", "peer-send-message"]
"""What caused a notification."""
McpServerConnectionStatus = Literal["connected", "failed", "needs-auth", "pending", "disabled"]
"""The state of a connection."""
ThinkingDisplay = Literal["summarized", "omitted"]
HookEvent = Literal[
    "PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "SubagentStop",
    "PreCompact", "Notification", "SubagentStart", "PermissionRequest",
]  # fmt: skip
"""An event that functions can be registered for."""
SandboxIgnoreViolations = dict[str, list[str]]
"""Paths by command whose violations are not reported."""

MessageOrigin = TypedDict(
    "MessageOrigin",
    {
        "kind": Required[MessageOriginKind],
        "server": str,
        "from": str,
        "name": str,
        "fromSession": str,
        "senderTaskId": str,
        "body": str,
        "verifiedPeerPid": int,
        "subkind": TaskNotificationOriginSubkind,
    },
    total=False,
)
"""Where a prompt comes from."""


class SystemPromptPreset(TypedDict):
    """bridle's own system prompt, with a text after it."""

    type: Literal["preset"]
    preset: Literal["claude_code"]
    append: NotRequired[str]
    exclude_dynamic_sections: NotRequired[bool]
    snapshot: NotRequired[bool]


class SystemPromptCustom(TypedDict):
    """A system prompt of your own."""

    type: Literal["custom"]
    prompt: str
    snapshot: NotRequired[bool]


class SystemPromptFile(TypedDict):
    """A system prompt from a file."""

    type: Literal["file"]
    path: str


class ToolsPreset(TypedDict):
    """The default set of built-in tools."""

    type: Literal["preset"]
    preset: Literal["claude_code"]


class TaskBudget(TypedDict):
    """A token budget for a task that the model can see."""

    total: int


class ThinkingConfigAdaptive(TypedDict):
    """The model decides how much it thinks."""

    type: Literal["adaptive"]
    display: NotRequired[ThinkingDisplay]


class ThinkingConfigEnabled(TypedDict):
    """The model thinks up to a number of tokens."""

    type: Literal["enabled"]
    budget_tokens: int
    display: NotRequired[ThinkingDisplay]


class ThinkingConfigDisabled(TypedDict):
    """The model does not think."""

    type: Literal["disabled"]


ThinkingConfig = ThinkingConfigAdaptive | ThinkingConfigEnabled | ThinkingConfigDisabled
"""Whether and how much the model thinks."""


class SdkPluginConfig(TypedDict):
    """A plugin in a folder."""

    type: Literal["local"]
    path: str


class SandboxNetworkConfig(TypedDict, total=False):
    """What sandboxed commands may reach."""

    allowedDomains: list[str]
    deniedDomains: list[str]
    allowManagedDomainsOnly: bool
    allowUnixSockets: list[str]
    allowAllUnixSockets: bool
    allowLocalBinding: bool
    allowMachLookup: list[str]
    httpProxyPort: int
    socksProxyPort: int


class SandboxSettings(TypedDict, total=False):
    """The sandbox of shell commands; the keys are those of the settings file."""

    enabled: bool
    autoAllowBashIfSandboxed: bool
    excludedCommands: list[str]
    allowUnsandboxedCommands: bool
    network: SandboxNetworkConfig
    ignoreViolations: SandboxIgnoreViolations
    enableWeakerNestedSandbox: bool


class McpStdioServerConfig(TypedDict):
    """An MCP server that is started as a process."""

    type: NotRequired[Literal["stdio"]]
    command: str
    args: NotRequired[list[str]]
    env: NotRequired[dict[str, str]]


class McpSSEServerConfig(TypedDict):
    """An MCP server that is reached over server-sent events."""

    type: Literal["sse"]
    url: str
    headers: NotRequired[dict[str, str]]


class McpHttpServerConfig(TypedDict):
    """An MCP server that is reached over HTTP."""

    type: Literal["http"]
    url: str
    headers: NotRequired[dict[str, str]]


McpServerConfig = McpStdioServerConfig | McpSSEServerConfig | McpHttpServerConfig | McpSdkServerConfig
"""An MCP server, as `Options.mcp_servers` takes it."""


class McpSdkServerConfigStatus(TypedDict):
    """A set of tools of this program, in a status report."""

    type: Literal["sdk"]
    name: str


McpServerStatusConfig = (
    McpStdioServerConfig | McpSSEServerConfig | McpHttpServerConfig | McpSdkServerConfigStatus
)
"""The configuration of a server, in a status report."""


class McpToolAnnotations(TypedDict, total=False):
    """Hints that a server gives about a tool."""

    readOnly: bool
    destructive: bool
    openWorld: bool


class McpToolInfo(TypedDict):
    """A tool of a server, in a status report."""

    name: str
    description: NotRequired[str]
    annotations: NotRequired[McpToolAnnotations]


class McpServerInfo(TypedDict):
    """Name and version that a server reports."""

    name: str
    version: str


class McpServerStatus(TypedDict):
    """The state of one MCP server."""

    name: str
    status: McpServerConnectionStatus
    serverInfo: NotRequired[McpServerInfo]
    error: NotRequired[str]
    config: NotRequired[McpServerStatusConfig]
    scope: NotRequired[str]
    tools: NotRequired[list[McpToolInfo]]


class McpStatusResponse(TypedDict):
    """What `Client.get_mcp_status` returns."""

    mcpServers: list[McpServerStatus]


class ContextUsageCategory(TypedDict):
    """One part of the context window, such as messages or tools."""

    name: str
    tokens: int
    color: str
    isDeferred: NotRequired[bool]


class ContextUsageResponse(TypedDict):
    """What `Client.get_context_usage` returns."""

    categories: list[ContextUsageCategory]
    totalTokens: int
    maxTokens: int
    rawMaxTokens: int
    percentage: float
    model: str
    isAutoCompactEnabled: bool
    memoryFiles: list[dict[str, Any]]
    mcpTools: list[dict[str, Any]]
    agents: list[dict[str, Any]]
    gridRows: list[list[dict[str, Any]]]


class SystemInitMcpServer(TypedDict):
    """An MCP server, as the init message lists it."""

    name: str
    status: str
    source: NotRequired[str]


class SystemInitPlugin(TypedDict):
    """A plugin, as the init message lists it."""

    name: str
    path: str
    version: NotRequired[str]


class SystemInitPluginError(TypedDict):
    """A plugin that could not be loaded."""

    plugin: str
    type: str
    message: str
    path: NotRequired[str]


class SystemInitData(TypedDict):
    """`SystemMessage.data` where the subtype is `init`."""

    type: Literal["system"]
    subtype: Literal["init"]
    uuid: str
    session_id: str
    agents: NotRequired[list[str]]
    apiKeySource: str
    betas: NotRequired[list[str]]
    claude_code_version: str
    cwd: str
    tools: list[str]
    mcp_servers: list[SystemInitMcpServer]
    model: str
    permissionMode: PermissionMode
    slash_commands: list[str]
    terminal_slash_commands: NotRequired[list[str]]
    output_style: str
    skills: list[str]
    plugins: list[SystemInitPlugin]
    plugin_errors: NotRequired[list[SystemInitPluginError]]
    fast_mode_state: NotRequired[FastModeState]
    fast_mode_disabled_reason: NotRequired[FastModeDisabledReason]
    capabilities: NotRequired[list[str]]


class TaskUsage(TypedDict):
    """What a background task has used."""

    total_tokens: int
    tool_uses: int
    duration_ms: int


class ModelUsage(TypedDict):
    """Tokens and costs of one model in a session."""

    inputTokens: int
    outputTokens: int
    cacheReadInputTokens: int
    cacheCreationInputTokens: int
    webSearchRequests: int
    costUSD: float
    contextWindow: int
    maxOutputTokens: int
    canonicalModel: NotRequired[str]
    provider: NotRequired[str]
