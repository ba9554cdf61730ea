"""Every setting in one table: who may set it, what reads it, its default and its meaning.

The type of a key is its annotation in `schema.py`. `make tables` writes docs/settings.md from both.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

Who = Literal["anyone", "no project", "no folder", "managed"]
ANYONE: Who = "anyone"
NO_PROJECT: Who = "no project"
NO_FOLDER: Who = "no folder"
MANAGED: Who = "managed"


class Setting(Struct, frozen=True):
    """One row."""

    key: str
    """Dotted, as in `permissions.allow`."""
    who: Who
    """`no project`: user, local, flag and managed settings; `no folder`: user, flag and managed settings."""
    reader: str
    """The module that gives the key its effect, without what stands before its folder; empty if none does."""
    meaning: str
    default: Any = None
    """What counts if no source sets it; None if that depends on the machine or is nothing."""
    harmless: bool = False
    """Whether it counts from a folder that is not trusted."""
    harmless_as: Any = None
    """The one value that counts from a folder that is not trusted."""
    no_effect: str = ""
    """Why the key does nothing in bridle."""
    asks_for_less: bool = False
    """For a key without effect: it forbids what bridle does not do, so there is nothing to warn of."""
    since: str = "0.1.0"
    """The first release of bridle in which it works."""


_NO_VENDOR = "bridle does not connect to claude.ai"
_NO_DESKTOP = "bridle has no desktop tools"
_NO_ARTIFACTS = "bridle makes no artifacts"
_NO_PUSH = "bridle sends no push notifications"
_NO_REMOTE_HOSTS = "bridle opens no sessions on other machines over SSH"
_NO_DICTATION = "bridle has no dictation"
_NO_FAST_MODE = "bridle has no fast mode"
_NO_UPDATER = "bridle does not update itself: use the package manager that installed it"

# fmt: off
SETTINGS: tuple[Setting, ...] = (
    # Model and responses
    Setting("advisorModel", ANYONE, "advisor/choice", "The second model, asked with the advisor tool; off if unset"),
    Setting("alwaysThinkingEnabled", ANYONE, "session/model_choices", "false turns extended thinking off", default=True, harmless=True),
    Setting("availableModels", ANYONE, "session/model_choices", "Models that can be chosen; all if unset"),
    Setting("bridleBackgroundWork", ANYONE, "features/context", "Let bridle ask a model for summaries, suggestions and memories between turns"),
    Setting("bridleBudgets", ANYONE, "budgets/metered_provider", "Limits of cost, tokens, calls and time"),
    Setting("bridleBudgets.run", ANYONE, "budgets/metered_provider", "Limits of one run"),
    Setting("bridleBudgets.agent", ANYONE, "budgets/metered_provider", "Limits of each agent"),
    Setting("bridleBudgets.project", ANYONE, "budgets/metered_provider", "Limits of everything in this project"),
    Setting("bridleBudgets.day", ANYONE, "budgets/metered_provider", "Limits of one day"),
    *(
        Setting(f"bridleBudgets.{scope}.{what}", ANYONE, "budgets/metered_provider", meaning)
        for scope in ("run", "agent", "project", "day")
        for what, meaning in (
            ("usd", "The most that may be spent, in USD"), ("tokens", "The most tokens"),
            ("calls", "The most requests to a model"), ("seconds", "The longest time"),
        )
    ),
    Setting("bridleFeatures", NO_FOLDER, "config/feature_settings", "Settings of features from Python packages, by feature"),
    Setting("bridleIdleCompaction", ANYONE, "side_work/feature", "Compact a long conversation while no one types"),
    Setting("bridleModels", NO_FOLDER, "session/model_choices", "More models, with prices, limits and addresses"),
    Setting("bridleRecordUsage", ANYONE, "budgets/feature", "Keep what each request cost in a file"),
    Setting("effortLevel", ANYONE, "session/model_choices", "Effort of new sessions; `max` is for one session only", harmless=True),
    Setting("enforceAvailableModels", ANYONE, "providers/model_listing", "The default model must be in availableModels, too", default=False, harmless_as=True),
    Setting("fallbackModel", ANYONE, "session/model_choices", "Models to change to on overload, up to three"),
    Setting("fastMode", ANYONE, "", "Start in fast mode", default=False, harmless=True, no_effect=_NO_FAST_MODE),
    Setting("fastModePerSessionOptIn", ANYONE, "", "Ignore a saved fastMode at the start", default=False, harmless=True, no_effect=_NO_FAST_MODE),
    Setting("language", ANYONE, "parts/briefing", "Language of the answers", harmless=True),
    Setting("model", ANYONE, "session/model_choices", "The model of new sessions"),
    Setting("modelOverrides", ANYONE, "parts/provider", "Names of models at the service, by their own names"),
    Setting("outputStyle", ANYONE, "session/assembly", "Output style by name", harmless=True),
    Setting("showThinkingSummaries", ANYONE, "terminal/session_view", "Show summaries of the thinking", default=False, harmless=True),
    Setting("switchModelsOnFlag", ANYONE, "parts/provider", "Change the model when a safety check of the service flags a request", default=True, harmless=True),
    Setting("ultracode", ANYONE, "features/workflows/feature", "xhigh effort, with workflows for big tasks", default=False),
    # Permissions
    Setting("allowManagedPermissionRulesOnly", MANAGED, "session/permission_choices", "Only managed permission rules count, and no one can add rules"),
    Setting("autoMode", NO_FOLDER, "auto_mode/feature", "Rules in prose for the classifier of auto mode, added to the built-in ones"),
    Setting("autoMode.environment", NO_FOLDER, "permissions/auto/rules", "What the classifier should know about this environment"),
    Setting("autoMode.allow", NO_FOLDER, "permissions/auto/rules", "What it allows"),
    Setting("autoMode.soft_deny", NO_FOLDER, "permissions/auto/rules", "What it denies unless the user asked for it"),
    Setting("autoMode.hard_deny", NO_FOLDER, "permissions/auto/rules", "What it always denies"),
    Setting("autoMode.classifyAllShell", NO_FOLDER, "permissions/auto/rules", "Send every shell command to the classifier", default=False),
    Setting("disableAutoMode", ANYONE, "session/permission_choices", '"disable" removes auto mode', harmless=True),
    Setting("permissions", ANYONE, "session/permission_choices", "Permission rules and modes"),
    Setting("permissions.allow", ANYONE, "types/permission", "Calls that run without a question"),
    Setting("permissions.ask", ANYONE, "types/permission", "Calls that are always asked about", harmless=True),
    Setting("permissions.deny", ANYONE, "types/permission", "Calls that are refused", harmless=True),
    Setting("permissions.additionalDirectories", ANYONE, "session/choices", "More folders to work in"),
    Setting("permissions.defaultMode", ANYONE, "session/permission_choices", "Mode of new sessions; auto and bypassPermissions are ignored in project and local settings", default="default"),
    Setting("permissions.disableBypassPermissionsMode", ANYONE, "session/permission_choices", '"disable" forbids bypassPermissions', harmless=True),
    Setting("permissions.disableAutoMode", ANYONE, "session/permission_choices", '"disable" removes auto mode', harmless=True),
    Setting("skipAutoPermissionPrompt", NO_FOLDER, "", "Skip the notice at the first use of auto mode", no_effect="bridle has no such notice", asks_for_less=True),
    Setting("skipDangerousModePermissionPrompt", NO_PROJECT, "terminal/consent", "Skip the question before bypassPermissions"),
    Setting("useAutoModeDuringPlan", NO_PROJECT, "auto_mode/feature", "The classifier reviews commands in plan mode", default=True, harmless_as=False),
    # Sandbox
    Setting("sandbox", ANYONE, "config/sandbox/settings", "The sandbox of shell commands"),
    Setting("sandbox.enabled", ANYONE, "config/sandbox/settings", "Run shell commands in the sandbox (Linux, macOS, WSL2)", default=False),
    Setting("sandbox.scope", ANYONE, "config/sandbox/layers", "`all` puts hooks and local servers in the sandbox, too"),
    Setting("sandbox.failIfUnavailable", ANYONE, "config/sandbox/settings", "Exit if the sandbox cannot start", default=False, harmless_as=True),
    Setting("sandbox.autoAllowBashIfSandboxed", ANYONE, "session/permission_choices", "No question for commands in the sandbox", default=True, harmless_as=False),
    Setting("sandbox.excludedCommands", ANYONE, "config/sandbox/settings", "Commands that run outside the sandbox"),
    Setting("sandbox.allowUnsandboxedCommands", ANYONE, "config/sandbox/settings", "Let the model ask to run a command outside the sandbox", default=True, harmless_as=False),
    Setting("sandbox.filesystem", ANYONE, "config/sandbox/settings", "Files in the sandbox"),
    Setting("sandbox.filesystem.allowWrite", ANYONE, "config/sandbox/settings", "More writable paths than the working folders and the session's temporary folder"),
    Setting("sandbox.filesystem.denyWrite", ANYONE, "config/sandbox/settings", "Paths that are never writable", harmless=True),
    Setting("sandbox.filesystem.denyRead", ANYONE, "config/sandbox/settings", "Paths that are never readable", harmless=True),
    Setting("sandbox.filesystem.allowRead", ANYONE, "config/sandbox/settings", "Readable paths inside those of denyRead"),
    Setting("sandbox.filesystem.allowManagedReadPathsOnly", MANAGED, "config/sandbox/settings", "Only the managed allowRead counts", default=False),
    Setting("sandbox.filesystem.disabled", NO_FOLDER, "config/sandbox/settings", "Isolate the network only", default=False),
    Setting("sandbox.ignoreViolations", ANYONE, "config/sandbox/settings", "Violations not to report, by parts of commands"),
    Setting("sandbox.enableWeakerNestedSandbox", ANYONE, "config/sandbox/settings", "A weaker sandbox that works in unprivileged containers", default=False),
    Setting("sandbox.enableWeakerNetworkIsolation", ANYONE, "config/sandbox/settings", "Access to trustd on macOS", default=False),
    Setting("sandbox.allowAppleEvents", NO_FOLDER, "config/sandbox/settings", "Apple Events on macOS", default=False),
    Setting("sandbox.ripgrep", NO_FOLDER, "", "The ripgrep that searches for files to protect", no_effect="bridle's sandbox searches without ripgrep"),
    Setting("sandbox.ripgrep.command", NO_FOLDER, "", "Its path", no_effect="bridle's sandbox searches without ripgrep"),
    Setting("sandbox.ripgrep.args", NO_FOLDER, "", "Its first arguments", no_effect="bridle's sandbox searches without ripgrep"),
    Setting("sandbox.bwrapPath", MANAGED, "config/sandbox/settings", "Path of bubblewrap; found on PATH if unset"),
    Setting("sandbox.socatPath", MANAGED, "", "Path of socat", no_effect="bridle's sandbox does not need socat"),
    Setting("sandbox.credentials", ANYONE, "config/sandbox/credentials", "Credentials that commands do not see"),
    Setting("sandbox.credentials.files", ANYONE, "config/sandbox/credentials", "Files to hide or mask"),
    Setting("sandbox.credentials.envVars", ANYONE, "config/sandbox/credentials", "Variables to hide or mask"),
    Setting("sandbox.credentials.allowPlaintextInject", NO_FOLDER, "config/sandbox/credentials", "Put masked credentials into plain HTTP requests, too", default=False),
    Setting("sandbox.credentials.awsPairs", NO_FOLDER, "config/sandbox/credentials", "Variables with AWS keys whose requests are signed again"),
    Setting("sandbox.credentials.sigv4", NO_FOLDER, "config/sandbox/credentials", "AWS requests that cannot be signed again; denied if unset"),
    Setting("sandbox.credentials.sigv4.streaming", NO_FOLDER, "config/sandbox/credentials", "Requests with a signed stream"),
    Setting("sandbox.credentials.sigv4.presigned", NO_FOLDER, "config/sandbox/credentials", "Addresses that are signed in advance"),
    Setting("sandbox.credentials.sigv4.sigv4a", NO_FOLDER, "config/sandbox/credentials", "Requests signed for many regions"),
    Setting("sandbox.network", ANYONE, "config/sandbox/settings", "The network in the sandbox"),
    Setting("sandbox.network.allowedDomains", ANYONE, "config/sandbox/settings", "Domains, wildcards or IP addresses, with or without a port, that commands may reach"),
    Setting("sandbox.network.deniedDomains", ANYONE, "config/sandbox/settings", "Domains that they may not reach, also inside a wildcard", harmless=True),
    Setting("sandbox.network.strictAllowlist", NO_FOLDER, "config/sandbox/settings", "Deny other domains instead of asking", default=False),
    Setting("sandbox.network.allowManagedDomainsOnly", MANAGED, "config/sandbox/settings", "Only managed domains count", default=False),
    Setting("sandbox.network.allowUnixSockets", ANYONE, "config/sandbox/settings", "Unix sockets that commands may use (macOS)"),
    Setting("sandbox.network.allowAllUnixSockets", ANYONE, "config/sandbox/settings", "All Unix sockets", default=False),
    Setting("sandbox.network.allowLocalBinding", ANYONE, "config/sandbox/settings", "Listen on localhost (macOS)", default=False),
    Setting("sandbox.network.allowMachLookup", ANYONE, "config/sandbox/settings", "XPC services that commands may use (macOS)"),
    Setting("sandbox.network.httpProxyPort", NO_FOLDER, "config/sandbox/settings", "Port of your HTTP proxy; bridle's own if unset"),
    Setting("sandbox.network.socksProxyPort", NO_FOLDER, "config/sandbox/settings", "Port of your SOCKS proxy; bridle's own if unset"),
    Setting("sandbox.network.tlsTerminate", NO_FOLDER, "config/sandbox/settings", "End TLS in the proxy"),
    Setting("sandbox.network.tlsTerminate.caCertPath", NO_FOLDER, "config/sandbox/masking", "Certificate of the authority for that"),
    Setting("sandbox.network.tlsTerminate.caKeyPath", NO_FOLDER, "config/sandbox/masking", "Its key"),
    # Memory and context
    Setting("autoCompactEnabled", ANYONE, "session/assembly", "Compact automatically", default=True, harmless=True),
    Setting("autoCompactWindow", ANYONE, "session/choices", "The window to compact for, in tokens", harmless=True),
    Setting("autoMemoryDirectory", ANYONE, "memory/feature", "Folder of automatic memory; ~/.claude/projects/<project>/memory if unset"),
    Setting("autoMemoryEnabled", ANYONE, "memory/feature", "Automatic memory", default=True, harmless_as=False),
    Setting("claudeMd", MANAGED, "parts/briefing", "Instructions of the administrator"),
    Setting("claudeMdExcludes", ANYONE, "parts/briefing", "Instruction files to leave out"),
    Setting("env", ANYONE, "config/load", "Variables for the session and its child processes; a folder's go by lists"),
    Setting("fileCheckpointingEnabled", ANYONE, "session/choices", "Copies of changed files for /rewind", default=True, harmless_as=True),
    Setting("plansDirectory", ANYONE, "plan_mode/feature", "Folder of plan files; ~/.claude/plans if unset"),
    Setting("skillListingBudgetFraction", ANYONE, "skills/session", "Share of the window for the list of skills", default=0.01, harmless=True),
    Setting("skillListingMaxDescChars", ANYONE, "skills/session", "Longest description in that list", default=1536, harmless=True),
    # Interface
    Setting("askUserQuestionTimeout", NO_FOLDER, "terminal/appearance", "Continue without an answer after this time", default="never"),
    Setting("autoScrollEnabled", ANYONE, "terminal/session_view", "Follow new output in the full screen", default=True, harmless=True),
    Setting("axScreenReader", ANYONE, "terminal/appearance", "Output for screen readers", default=False, harmless=True),
    Setting("companyAnnouncements", ANYONE, "terminal/session", "Messages at the start, one at a time"),
    Setting("defaultShell", ANYONE, "terminal/session_view", "Shell of ! commands", default="bash"),
    Setting("dialogExpiry", NO_FOLDER, "frontends/stdio/host_program", "How long a dialog that was sent to a host waits for its answer", default="5m"),
    Setting("editorMode", ANYONE, "terminal/session_view", "Keys of the prompt editor", default="normal", harmless=True),
    Setting("emojiCompletionEnabled", ANYONE, "terminal/session_view", "Complete :shortcode: to an emoji", default=True, harmless=True),
    Setting("fileSuggestion", ANYONE, "terminal/session_view", "Your own command for @ completion"),
    Setting("fileSuggestion.command", ANYONE, "terminal/session_view", "Gets what was typed as JSON, prints paths"),
    Setting("footerLinksRegexes", NO_FOLDER, "terminal/session_view", "Links below the prompt for what the conversation mentions"),
    Setting("keybindingFlavor", ANYONE, "terminal/session_view", "What Ctrl+W and word motion take for a word", default="classic", harmless=True),
    Setting("prefersReducedMotion", ANYONE, "terminal/session_view", "Fewer animations", default=False, harmless=True),
    Setting("promptSuggestionEnabled", ANYONE, "side_work/feature", "Suggest the next prompt", default=True, harmless=True),
    Setting("respectGitignore", ANYONE, "terminal/session_view", "@ completion hides ignored files", default=True, harmless=True),
    Setting("respondToBashCommands", ANYONE, "terminal/session_view", "The model answers the output of ! commands", default=True, harmless=True),
    Setting("showClearContextOnPlanAccept", ANYONE, "terminal/session_view", "Offer to clear the conversation when a plan is approved", default=False, harmless=True),
    Setting("showTurnDuration", ANYONE, "terminal/session_view", "Say how long a turn took", default=True, harmless=True),
    Setting("spellcheck", NO_FOLDER, "terminal/session_view", "Check the spelling of prompts"),
    Setting("spellcheck.enabled", NO_FOLDER, "terminal/session_view", "Whether to check"),
    Setting("spellcheck.checker", NO_FOLDER, "tui/editing/spelling", "The program that checks"),
    Setting("spellcheck.language", NO_FOLDER, "tui/editing/spelling", "Its dictionary"),
    Setting("spellcheck.color", NO_FOLDER, "tui/editing/spelling", "Colour of unknown words"),
    Setting("spinnerTipsEnabled", ANYONE, "plugins/suggestion_sources", "Tips while a turn runs", default=True, harmless=True),
    Setting("spinnerTipsOverride", ANYONE, "plugins/suggestion_sources", "Your own tips", harmless=True),
    Setting("spinnerTipsOverride.tips", ANYONE, "terminal/appearance", "Their texts"),
    Setting("spinnerTipsOverride.excludeDefault", ANYONE, "plugins/suggestion_sources", "Leave the built-in tips out"),
    Setting("spinnerVerbs", ANYONE, "terminal/session_view", "Your own words for a running turn", harmless=True),
    Setting("spinnerVerbs.verbs", ANYONE, "terminal/appearance", "The words"),
    Setting("spinnerVerbs.mode", ANYONE, "terminal/appearance", "Beside the built-in ones or instead of them"),
    Setting("statusLine", ANYONE, "terminal/session_view", "A command that prints a status line"),
    Setting("statusLine.command", ANYONE, "tui/chat/status_line", "The command; gets the facts of the session as JSON"),
    Setting("statusLine.padding", ANYONE, "tui/chat/status_line", "Blanks before the line"),
    Setting("statusLine.refreshInterval", ANYONE, "tui/chat/status_line", "Seconds after which the command runs again"),
    Setting("statusLine.hideVimModeIndicator", ANYONE, "tui/chat/status_line", "Leave out -- INSERT --"),
    Setting("subagentStatusLine", ANYONE, "terminal/session_view", "A command that prints the rows of agents"),
    Setting("subagentStatusLine.command", ANYONE, "terminal/session_view", "The command"),
    Setting("syntaxHighlightingDisabled", ANYONE, "terminal/appearance", "No colours in code", default=False, harmless=True),
    Setting("bridleInlineImages", ANYONE, "terminal/session_view", "Draw images in terminals that can", default=True, harmless=True),
    Setting("terminalProgressBarEnabled", ANYONE, "terminal/session_view", "Progress in the terminal's tab", default=True, harmless=True),
    Setting("terminalTitleFromRename", ANYONE, "terminal/session_view", "The terminal's title shows the session's name", default=True, harmless=True),
    Setting("theme", ANYONE, "terminal/appearance", "auto, dark or light, these with -daltonized, -high-contrast or -ansi behind them, or a theme of your own", default="auto", harmless=True),
    Setting("tui", ANYONE, "terminal/appearance", "The full screen, or lines in the terminal's scrollback", harmless=True),
    Setting("verbose", ANYONE, "terminal/session_view", "Show the output of tools in full", default=False, harmless=True),
    Setting("viewMode", ANYONE, "terminal/session_view", "View of new sessions", harmless=True),
    Setting("vimInsertModeRemaps", NO_FOLDER, "terminal/session_view", "Two keys that mean Esc in insert mode, such as jj"),
    Setting("voice", ANYONE, "", "Dictation", no_effect=_NO_DICTATION),
    Setting("voice.enabled", ANYONE, "", "Whether it is on", no_effect=_NO_DICTATION),
    Setting("voice.autoSubmit", ANYONE, "", "Send what was said", no_effect=_NO_DICTATION),
    Setting("voice.mode", ANYONE, "", "Hold or tap the key", no_effect=_NO_DICTATION),
    Setting("voiceEnabled", ANYONE, "", "Older form of voice.enabled", no_effect=_NO_DICTATION),
    Setting("wheelScrollAccelerationEnabled", ANYONE, "terminal/session_view", "Scroll faster while the wheel turns on", default=True, harmless=True),
    # Git
    Setting("attribution", ANYONE, "parts/briefing", "What the model writes under commits and pull requests", harmless=True),
    Setting("attribution.commit", ANYONE, "parts/briefing", "Text under commits; empty for none"),
    Setting("attribution.pr", ANYONE, "parts/briefing", "Text under pull requests; empty for none"),
    Setting("attribution.sessionUrl", ANYONE, "", "Link to the session in commits of cloud sessions", default=True, no_effect="bridle has no cloud sessions", asks_for_less=True),
    Setting("includeCoAuthoredBy", ANYONE, "parts/briefing", "Deprecated: use attribution", default=True, harmless=True),
    Setting("includeGitInstructions", ANYONE, "parts/briefing", "Tell the model about git and its status", default=True, harmless=True),
    Setting("prUrlTemplate", ANYONE, "", "Address of a pull request, with placeholders", harmless=True, no_effect="bridle shows no links to pull requests"),
    # Hooks and workflows
    Setting("allowedHttpHookUrls", ANYONE, "hooks/http", "Addresses that http hooks may call; any if unset"),
    Setting("allowManagedHooksOnly", MANAGED, "hooks/table", "Only managed hooks run"),
    Setting("disableAllHooks", ANYONE, "hooks/table", "No hooks, no status line and no file suggestions"),
    Setting("disableWorkflows", ANYONE, "extensions/workflows", "No workflows, for everyone", default=False, harmless_as=True),
    Setting("enableWorkflows", ANYONE, "extensions/workflows", "Workflows on or off for you", harmless_as=False),
    Setting("hooks", ANYONE, "hooks/table", "Hooks by event"),
    Setting("httpHookAllowedEnvVars", ANYONE, "hooks/http", "Variables that headers of http hooks may use"),
    Setting("workflowKeywordTriggerEnabled", ANYONE, "features/workflows/feature", "The word ultracode in a prompt starts a workflow", default=True, harmless=True),
    Setting("workflowSizeGuideline", ANYONE, "features/workflows/feature", "How many agents a workflow should use", default="medium", harmless=True),
    # Plugins and skills
    Setting("disableBundledSkills", ANYONE, "skills/feature", "No bundled skills", harmless_as=True),
    Setting("disableSkillShellExecution", ANYONE, "skills/use", "Skills run no commands while they are loaded", harmless_as=True),
    Setting("skillOverrides", ANYONE, "skills/session", "Which skills are on, shown by name only, for the user only or off"),
    Setting("syncClaudeAiSkills", NO_PROJECT, "", "Skills of the account", harmless_as=False, no_effect=_NO_VENDOR),
    Setting("allowedChannelPlugins", MANAGED, "parts/mcp", "Plugins that may open channels"),
    Setting("blockedMarketplaces", MANAGED, "plugins/policy", "Marketplaces that are refused"),
    Setting("channelsEnabled", MANAGED, "parts/mcp", "Allow channels"),
    Setting("disableCommandPluginSources", MANAGED, "plugins/policy", "No plugins that a command fetches; follows allowManagedHooksOnly if unset"),
    Setting("pluginSuggestionMarketplaces", MANAGED, "plugins/suggestion_sources", "Marketplaces whose plugins may be suggested"),
    Setting("pluginTrustMessage", MANAGED, "plugin/change", "More text in the question before a plugin is installed"),
    Setting("strictKnownMarketplaces", MANAGED, "plugins/policy", "The only marketplaces that are allowed; an empty list blocks all"),
    Setting("strictPluginOnlyCustomization", MANAGED, "extensions/roots", "Skills, agents, hooks or servers only from plugins and the administrator"),
    Setting("enabledPlugins", ANYONE, "plugins/loader", "Plugins that are on or off"),
    Setting("extraKnownMarketplaces", ANYONE, "plugins/marketplaces", "Marketplaces of this project or user"),
    Setting("pluginConfigs", NO_FOLDER, "plugins/loader", "Answers to what plugins ask at their installation"),
    # MCP
    Setting("allowAllClaudeAiMcps", MANAGED, "", "Connectors of the account beside managed-mcp.json", default=False, no_effect=_NO_VENDOR),
    Setting("allowedMcpServers", ANYONE, "config/mcp/policy", "The only servers that are allowed; an empty list blocks all"),
    Setting("allowManagedMcpServersOnly", MANAGED, "config/mcp/policy", "Only the managed allowedMcpServers counts", default=False),
    Setting("deniedMcpServers", ANYONE, "config/mcp/policy", "Servers that are refused", harmless=True),
    Setting("disableClaudeAiConnectors", ANYONE, "", "No connectors of the account", default=False, harmless_as=True, no_effect=_NO_VENDOR, asks_for_less=True),
    Setting("disabledMcpjsonServers", ANYONE, "config/mcp/servers", "Servers of .mcp.json that you refused", harmless=True),
    Setting("enableAllProjectMcpServers", ANYONE, "config/mcp/servers", "Approve every server of .mcp.json"),
    Setting("enabledMcpjsonServers", ANYONE, "config/mcp/servers", "Servers of .mcp.json that you approved"),
    # Agents, sessions, work trees
    Setting("agent", ANYONE, "features/agents/main_agent", "The session runs as this agent"),
    Setting("crossSessionInbound", ANYONE, "features/teams/feature", "What happens to messages of other sessions", harmless_as="refuse"),
    Setting("disableAgentView", ANYONE, "background/launch_settings", "No background sessions", harmless=True),
    Setting("isolatePeerMachines", ANYONE, "", "Ask before a message goes to another machine", harmless_as=True, no_effect="bridle always asks before a message goes to another machine", asks_for_less=True),
    Setting("processWrapper", NO_FOLDER, "background/launch_settings", "Program that starts background processes"),
    Setting("teammateMode", ANYONE, "features/teams/feature", "Where teammates are shown", default="in-process"),
    Setting("worktree", ANYONE, "worktrees/feature", "Git work trees of sessions and agents"),
    Setting("worktree.baseRef", ANYONE, "worktrees/feature", "Branch from the remote's main branch or from HEAD", default="fresh", harmless=True),
    Setting("worktree.symlinkDirectories", ANYONE, "worktrees/feature", "Folders that become links"),
    Setting("worktree.sparsePaths", ANYONE, "worktrees/feature", "Check out only these folders"),
    Setting("worktree.bgIsolation", ANYONE, "worktrees/feature", "`none` lets background sessions edit in place", default="worktree", harmless_as="worktree"),
    # Remote and notifications
    Setting("agentPushNotifEnabled", ANYONE, "", "The model may send notifications to the phone", default=False, harmless=True, no_effect=_NO_PUSH),
    Setting("awaySummaryEnabled", ANYONE, "side_work/feature", "A summary when you come back", default=True, harmless=True),
    Setting("disableArtifact", ANYONE, "", "No Artifact tool", default=False, harmless_as=True, no_effect=_NO_ARTIFACTS, asks_for_less=True),
    Setting("disableDeepLinkRegistration", ANYONE, "", "No handler of claude-cli:// links", harmless=True, no_effect="bridle registers no links", asks_for_less=True),
    Setting("disableRemoteControl", ANYONE, "remote/feature", "No remote control", default=False, harmless_as=True),
    Setting("enableArtifact", NO_FOLDER, "", "The Artifact tool", no_effect=_NO_ARTIFACTS),
    Setting("inputNeededNotifEnabled", ANYONE, "", "Notify the phone when bridle waits for you", default=False, harmless=True, no_effect=_NO_PUSH),
    Setting("preferredNotifChannel", ANYONE, "terminal/session_view", "How the terminal notifies you", default="auto", harmless=True),
    Setting("remote", ANYONE, "", "Cloud sessions", no_effect="bridle has no cloud sessions"),
    Setting("remote.defaultEnvironmentId", ANYONE, "", "Their environment", no_effect="bridle has no cloud sessions"),
    Setting("remoteControlAtStartup", ANYONE, "remote/feature", "Start remote control with every session", harmless_as=False),
    Setting("sshConfigs", NO_FOLDER, "", "Machines of the desktop application", no_effect=_NO_REMOTE_HOSTS),
    Setting("sshHostAllowlist", MANAGED, "", "Machines that it may reach", no_effect=_NO_REMOTE_HOSTS, asks_for_less=True),
    # Authentication
    Setting("apiKeyHelper", NO_FOLDER, "parts/provider", "Command that prints the credential"),
    Setting("awsAuthRefresh", NO_FOLDER, "session/model_choices", "Command that logs in to AWS again"),
    Setting("awsCredentialExport", NO_FOLDER, "session/model_choices", "Command that prints AWS credentials as JSON"),
    Setting("forceLoginMethod", NO_FOLDER, "credentials/login", "The only way to log in"),
    Setting("forceLoginGatewayUrl", MANAGED, "credentials/login", "The gateway to log in to"),
    Setting("forceLoginOrgUUID", NO_FOLDER, "credentials/login", "The organisation to log in to"),
    Setting("gcpAuthRefresh", NO_FOLDER, "session/model_choices", "Command that logs in to Google Cloud again"),
    Setting("otelHeadersHelper", NO_FOLDER, "telemetry/feature", "Command that prints headers for the telemetry collector as JSON"),
    # Versions
    Setting("autoUpdatesChannel", ANYONE, "", "Releases to update to", default="latest", no_effect=_NO_UPDATER),
    Setting("minimumVersion", ANYONE, "", "The oldest release to update to", no_effect=_NO_UPDATER),
    Setting("requiredMaximumVersion", MANAGED, "config/version_limits", "Newer releases do not start"),
    Setting("requiredMinimumVersion", MANAGED, "config/version_limits", "Older releases do not start"),
    # Desktop
    Setting("browserExternalPageTools", MANAGED, "", '"disabled": no tools on external pages', no_effect=_NO_DESKTOP, asks_for_less=True),
    Setting("disableBrowserExternalNavigation", MANAGED, "", "The browser stays on localhost", no_effect=_NO_DESKTOP, asks_for_less=True),
    Setting("disableMobileSimulatorTools", MANAGED, "", "No tools for simulators", no_effect=_NO_DESKTOP, asks_for_less=True),
    # Privacy
    Setting("cleanupPeriodDays", ANYONE, "session/conversation", "Days after which unused sessions are removed", default=30),
    Setting("feedbackSurveyRate", ANYONE, "", "How often to ask for feedback", harmless=True, no_effect="bridle asks for no feedback"),
    Setting("skipWebFetchPreflight", ANYONE, "", "Do not ask a service about hosts before pages are fetched", harmless_as=False, no_effect="bridle never asks a service about hosts", asks_for_less=True),
    # Managed settings
    Setting("disableSideloadFlags", MANAGED, "parts/plugins", "Refuse --plugin-dir, --plugin-url, --agents and --mcp-config", default=False),
    Setting("forceRemoteSettingsRefresh", MANAGED, "managed/remote_policy", "Start only with managed settings that were fetched just now", default=False),
    Setting("managedSourcesBehavior", MANAGED, "config/sources", "merge: managed files count beside the settings of device management", default="first-wins"),
    Setting("bridleRemotePolicy", MANAGED, "managed/remote_policy", "Address that serves managed settings"),
    Setting("bridleRemotePolicy.url", MANAGED, "managed/remote_policy", "The address; https, or http on this machine"),
    Setting("bridleRemotePolicy.keyVariable", MANAGED, "managed/remote_policy", "Variable with the key that is sent"),
    Setting("bridleRemotePolicy.timeoutMs", MANAGED, "managed/remote_policy", "How long it may take; 5,000 unless set"),
    Setting("bridleAllowedProviders", MANAGED, "parts/provider", "Services of models that may be used, by vendor"),
    Setting("parentSettingsBehavior", MANAGED, "config/parent_policy", "Whether a host program's --managed-settings count beside these", default="first-wins"),
    Setting("policyHelper", MANAGED, "config/policy_helper", "A program that prints managed settings"),
    Setting("policyHelper.path", MANAGED, "config/policy_helper", "Its absolute path"),
    Setting("policyHelper.timeoutMs", MANAGED, "config/policy_helper", "How long it may take", default=10_000),
    Setting("policyHelper.refreshIntervalMs", MANAGED, "config/policy_helper", "When it runs again; once if 0 or unset"),
    Setting("wslInheritsWindowsSettings", MANAGED, "", "WSL reads the policy of Windows", default=False, no_effect="bridle does not read the policies of Windows"),
)

PREFERENCES: tuple[Setting, ...] = (
    Setting("autoConnectIde", NO_FOLDER, "editors/feature", "Connect to an editor from another terminal", default=False),
    Setting("autoInstallIdeExtension", NO_FOLDER, "", "Install the editor's extension", default=True, no_effect="bridle installs no extensions in editors"),
    Setting("diffTool", NO_FOLDER, "editors/feature", "Show changes in the editor or in the terminal", default="auto"),
    Setting("externalEditorContext", NO_FOLDER, "tui/chat/actions", "Ctrl+G shows the last answer as comments", default=False),
    Setting("permissionExplainerEnabled", NO_FOLDER, "tui/chat/dialog_queue", "Ctrl+E explains a permission question", default=True),
    Setting("teammateDefaultModel", NO_FOLDER, "", "Model of teammates", no_effect="removed: teammates use the model of their agent"),
)
# fmt: on
"""Keys of ~/.claude.json."""

ROWS: dict[str, Setting] = {row.key: row for row in SETTINGS}
DEFAULTS: dict[str, Any] = {row.key: row.default for row in SETTINGS if row.default is not None}
NO_EFFECT: dict[str, str] = {row.key: row.no_effect for row in SETTINGS if row.no_effect}


def stated(
    values: Mapping[str, Any], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any, Setting]]:
    """What is said about keys of this table: path, value and row, an object before what is in it."""
    for key, value in values.items():
        # A key with a dot in it is not the path that it looks like.
        if value is None or "." in key or (row := ROWS.get(".".join((*above, key)))) is None:
            continue
        yield (*above, key), value, row
        if isinstance(value, dict):
            yield from stated(value, (*above, key))
