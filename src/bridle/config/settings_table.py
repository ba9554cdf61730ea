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
_NO_ARTIFACTS = "bridle has no artifacts"
_NO_PUSH = "bridle sends no push notifications"
_NO_REMOTE_HOSTS = "bridle opens no sessions on other machines over SSH"
_NO_UPDATER = "bridle has one channel, and bridle update installs the newest release of it"

# fmt: off
SETTINGS: tuple[Setting, ...] = (
    # Model and responses
    Setting("advisorModel", ANYONE, "advisor/choice", "Model for the advisor tool; off if unset"),
    Setting("alwaysThinkingEnabled", ANYONE, "session/model_choices", "false disables extended thinking", default=True, harmless=True),
    Setting("availableModels", ANYONE, "session/model_choices", "Selectable models; all if unset"),
    Setting("bridleAudit", NO_FOLDER, "audit/feature", "A signed record of what sessions do and who decided it"),
    Setting("bridleAudit.enabled", NO_FOLDER, "audit/feature", "Keep the record", default=False),
    Setting("bridleAudit.key", NO_FOLDER, "audit/feature", "Where the key is: file or keyring", default="file"),
    Setting("bridleAudit.witness", NO_FOLDER, "audit/feature", "File that gets the newest hash at every seal; best on another machine's disk"),
    Setting("bridleBackgroundWork", ANYONE, "features/context", "Use a model for summaries, suggestions and memories between turns"),
    Setting("bridleChrome", NO_FOLDER, "browser/feature", "Let the model use tabs of your browser in every session", default=False),
    Setting("bridleJoinHub", NO_FOLDER, "remote/feature", "Show every session at the hub that this machine has joined", default=False),
    Setting("bridleBudgets", ANYONE, "budgets/metered_provider", "Limits for cost, tokens, calls and time"),
    Setting("bridleBudgets.run", ANYONE, "budgets/metered_provider", "Limits for one run"),
    Setting("bridleBudgets.agent", ANYONE, "budgets/metered_provider", "Limits for each agent"),
    Setting("bridleBudgets.project", ANYONE, "budgets/metered_provider", "Limits for the whole project"),
    Setting("bridleBudgets.day", ANYONE, "budgets/metered_provider", "Limits for one day"),
    *(
        Setting(f"bridleBudgets.{scope}.{what}", ANYONE, "budgets/metered_provider", meaning)
        for scope in ("run", "agent", "project", "day")
        for what, meaning in (
            ("usd", "Maximum cost in USD"), ("tokens", "Maximum tokens"),
            ("calls", "Maximum model requests"), ("seconds", "Maximum time"),
        )
    ),
    Setting("bridleContextCollapse", ANYONE, "session/assembly", "When the context is full, drop the oldest part of the conversation without a summary", default=False),
    Setting("bridleFeatures", NO_FOLDER, "config/feature_settings", "Settings for features from Python packages, by feature"),
    Setting("bridleIdleCompaction", ANYONE, "side_work/feature", "Compact a long conversation while idle"),
    Setting("bridleModels", NO_FOLDER, "session/model_choices", "More models, with prices, limits and addresses"),
    Setting("bridleQualitySignals", ANYONE, "quality/feature", "Count signs of trouble in sessions, on this machine only", default=True, harmless=True),
    Setting("bridleRecordUsage", ANYONE, "budgets/feature", "Keep what each request cost in a file"),
    Setting("bridleSpeculation", ANYONE, "side_work/feature", "Run a suggested prompt ahead, so that its answer is there when you send it"),
    Setting("effortLevel", ANYONE, "session/model_choices", "Effort of new sessions; `max` is for one session only", harmless=True),
    Setting("enforceAvailableModels", ANYONE, "providers/model_listing", "The default model must be in availableModels, too", default=False, harmless_as=True),
    Setting("fallbackModel", ANYONE, "session/model_choices", "Models to change to on overload, up to three"),
    Setting("fastMode", ANYONE, "fast_mode/feature", "Start in fast mode: faster answers at a higher price", default=False),
    Setting("fastModePerSessionOptIn", ANYONE, "fast_mode/feature", "Ignore a saved fastMode at the start", default=False, harmless=True),
    Setting("language", ANYONE, "parts/briefing", "Language of the answers", harmless=True),
    Setting("model", ANYONE, "session/model_choices", "The model of new sessions"),
    Setting("modelOverrides", ANYONE, "parts/provider", "Names of models at the service, by their own names"),
    Setting("network", NO_FOLDER, "session/offline", "What may be reached over the network"),
    Setting("network.mode", NO_FOLDER, "session/prepare", "offline: only the service of the model and network.allow", default="online"),
    Setting("network.allow", NO_FOLDER, "session/offline", "Services that stay reachable offline: host, host:port or URL"),
    Setting("outputStyle", ANYONE, "session/assembly", "Output style by name", harmless=True),
    Setting("showThinkingSummaries", ANYONE, "terminal/session_view", "Show thinking summaries", default=False, harmless=True),
    Setting("switchModelsOnFlag", ANYONE, "parts/provider", "Switch models when the service's safety check flags a request", default=True, harmless=True),
    Setting("ultracode", ANYONE, "features/workflows/feature", "xhigh effort, with workflows for big tasks", default=False),
    # Permissions
    Setting("allowManagedPermissionRulesOnly", MANAGED, "session/permission_choices", "Allow only managed permission rules"),
    Setting("autoMode", NO_FOLDER, "auto_mode/feature", "Rules in prose for the classifier of auto mode, added to the built-in ones"),
    Setting("autoMode.environment", NO_FOLDER, "permissions/auto/rules", "What the classifier should know about this environment"),
    Setting("autoMode.allow", NO_FOLDER, "permissions/auto/rules", "What it allows"),
    Setting("autoMode.soft_deny", NO_FOLDER, "permissions/auto/rules", "What it denies unless the user asked for it"),
    Setting("autoMode.hard_deny", NO_FOLDER, "permissions/auto/rules", "What it always denies"),
    Setting("autoMode.classifyAllShell", NO_FOLDER, "permissions/auto/rules", "Send every shell command to the classifier", default=False),
    Setting("disableAutoMode", ANYONE, "session/permission_choices", '"disable" removes auto mode', harmless=True),
    Setting("permissions", ANYONE, "session/permission_choices", "Permission rules and modes"),
    Setting("permissions.allow", ANYONE, "types/permission", "Calls that run without approval"),
    Setting("permissions.ask", ANYONE, "types/permission", "Calls that always need approval", harmless=True),
    Setting("permissions.deny", ANYONE, "types/permission", "Calls that are denied", harmless=True),
    Setting("permissions.additionalDirectories", ANYONE, "session/choices", "Additional working directories"),
    Setting("permissions.defaultMode", ANYONE, "session/permission_choices", "Mode of new sessions; auto and bypassPermissions are ignored in project and local settings", default="default"),
    Setting("permissions.disableBypassPermissionsMode", ANYONE, "session/permission_choices", '"disable" turns bypassPermissions off', harmless=True),
    Setting("permissions.disableAutoMode", ANYONE, "session/permission_choices", '"disable" removes auto mode', harmless=True),
    Setting("skipAutoPermissionPrompt", NO_FOLDER, "", "Skip the notice at the first use of auto mode", no_effect="bridle has no such notice", asks_for_less=True),
    Setting("skipDangerousModePermissionPrompt", NO_PROJECT, "terminal/consent", "Skip the confirmation for bypassPermissions"),
    Setting("useAutoModeDuringPlan", NO_PROJECT, "auto_mode/feature", "The classifier reviews commands in plan mode", default=True, harmless_as=False),
    # Sandbox
    Setting("sandbox", ANYONE, "config/sandbox/settings", "The sandbox of shell commands"),
    Setting("sandbox.enabled", ANYONE, "config/sandbox/settings", "Run shell commands in the sandbox (Linux, macOS, WSL2)", default=False),
    Setting("sandbox.scope", ANYONE, "config/sandbox/layers", "`all` also sandboxes hooks and local servers"),
    Setting("sandbox.failIfUnavailable", ANYONE, "config/sandbox/settings", "Exit if the sandbox cannot start", default=False, harmless_as=True),
    Setting("sandbox.autoAllowBashIfSandboxed", ANYONE, "session/permission_choices", "Allow sandboxed commands without approval", default=True, harmless_as=False),
    Setting("sandbox.excludedCommands", ANYONE, "config/sandbox/settings", "Commands that run outside the sandbox"),
    Setting("sandbox.allowUnsandboxedCommands", ANYONE, "config/sandbox/settings", "Let the model ask to run a command outside the sandbox", default=True, harmless_as=False),
    Setting("sandbox.filesystem", ANYONE, "config/sandbox/settings", "Files in the sandbox"),
    Setting("sandbox.filesystem.allowWrite", ANYONE, "config/sandbox/settings", "Writable paths besides the working folders and the session's temporary folder"),
    Setting("sandbox.filesystem.denyWrite", ANYONE, "config/sandbox/settings", "Paths that are never writable", harmless=True),
    Setting("sandbox.filesystem.denyRead", ANYONE, "config/sandbox/settings", "Paths that are never readable", harmless=True),
    Setting("sandbox.filesystem.allowRead", ANYONE, "config/sandbox/settings", "Readable paths inside denyRead paths"),
    Setting("sandbox.filesystem.allowManagedReadPathsOnly", MANAGED, "config/sandbox/settings", "Use only the managed allowRead", default=False),
    Setting("sandbox.filesystem.disabled", NO_FOLDER, "config/sandbox/settings", "Isolate the network only", default=False),
    Setting("sandbox.ignoreViolations", ANYONE, "config/sandbox/settings", "Violations not to report, by parts of commands"),
    Setting("sandbox.enableWeakerNestedSandbox", ANYONE, "config/sandbox/settings", "A weaker sandbox that works in unprivileged containers", default=False),
    Setting("sandbox.enableWeakerNetworkIsolation", ANYONE, "config/sandbox/settings", "Access to trustd on macOS", default=False),
    Setting("sandbox.allowAppleEvents", NO_FOLDER, "config/sandbox/settings", "Apple Events on macOS", default=False),
    Setting("sandbox.ripgrep", NO_FOLDER, "", "The ripgrep that searches for files to protect", no_effect="bridle's sandbox searches without ripgrep"),
    Setting("sandbox.ripgrep.command", NO_FOLDER, "", "Path of ripgrep", no_effect="bridle's sandbox searches without ripgrep"),
    Setting("sandbox.ripgrep.args", NO_FOLDER, "", "First arguments of ripgrep", no_effect="bridle's sandbox searches without ripgrep"),
    Setting("sandbox.bwrapPath", MANAGED, "config/sandbox/settings", "Path of bubblewrap; found on PATH if unset"),
    Setting("sandbox.socatPath", MANAGED, "", "Path of socat", no_effect="bridle's sandbox does not need socat"),
    Setting("sandbox.credentials", ANYONE, "config/sandbox/credentials", "Credentials that commands do not see"),
    Setting("sandbox.credentials.files", ANYONE, "config/sandbox/credentials", "Files to hide or mask"),
    Setting("sandbox.credentials.envVars", ANYONE, "config/sandbox/credentials", "Variables to hide or mask"),
    Setting("sandbox.credentials.allowPlaintextInject", NO_FOLDER, "config/sandbox/credentials", "Use masked credentials in plain HTTP requests, too", default=False),
    Setting("sandbox.credentials.awsPairs", NO_FOLDER, "config/sandbox/credentials", "Variables with AWS keys; requests are re-signed"),
    Setting("sandbox.credentials.sigv4", NO_FOLDER, "config/sandbox/credentials", "AWS requests that cannot be re-signed; denied if unset"),
    Setting("sandbox.credentials.sigv4.streaming", NO_FOLDER, "config/sandbox/credentials", "Requests with a signed stream"),
    Setting("sandbox.credentials.sigv4.presigned", NO_FOLDER, "config/sandbox/credentials", "Presigned URLs"),
    Setting("sandbox.credentials.sigv4.sigv4a", NO_FOLDER, "config/sandbox/credentials", "Requests signed for many regions"),
    Setting("sandbox.network", ANYONE, "config/sandbox/settings", "The network in the sandbox"),
    Setting("sandbox.network.allowedDomains", ANYONE, "config/sandbox/settings", "Domains, wildcards or IP addresses that commands can reach, with an optional port"),
    Setting("sandbox.network.deniedDomains", ANYONE, "config/sandbox/settings", "Domains that commands cannot reach, even inside a wildcard", harmless=True),
    Setting("sandbox.network.strictAllowlist", NO_FOLDER, "config/sandbox/settings", "Deny other domains instead of asking", default=False),
    Setting("sandbox.network.allowManagedDomainsOnly", MANAGED, "config/sandbox/settings", "Use only managed domains", default=False),
    Setting("sandbox.network.allowUnixSockets", ANYONE, "config/sandbox/settings", "Unix sockets that commands can use (macOS)"),
    Setting("sandbox.network.allowAllUnixSockets", ANYONE, "config/sandbox/settings", "All Unix sockets", default=False),
    Setting("sandbox.network.allowLocalBinding", ANYONE, "config/sandbox/settings", "Listen on localhost (macOS)", default=False),
    Setting("sandbox.network.allowMachLookup", ANYONE, "config/sandbox/settings", "XPC services that commands can use (macOS)"),
    Setting("sandbox.network.httpProxyPort", NO_FOLDER, "config/sandbox/settings", "Port of your HTTP proxy; bridle's own if unset"),
    Setting("sandbox.network.socksProxyPort", NO_FOLDER, "config/sandbox/settings", "Port of your SOCKS proxy; bridle's own if unset"),
    Setting("sandbox.network.tlsTerminate", NO_FOLDER, "config/sandbox/settings", "Terminate TLS in the proxy"),
    Setting("sandbox.network.tlsTerminate.caCertPath", NO_FOLDER, "config/sandbox/masking", "CA certificate"),
    Setting("sandbox.network.tlsTerminate.caKeyPath", NO_FOLDER, "config/sandbox/masking", "CA key"),
    # Memory and context
    Setting("autoCompactEnabled", ANYONE, "session/assembly", "Compact automatically", default=True, harmless=True),
    Setting("autoCompactWindow", ANYONE, "session/choices", "Context window for auto-compaction, in tokens", harmless=True),
    Setting("autoMemoryDirectory", ANYONE, "memory/feature", "Auto-memory folder; ~/.claude/projects/<project>/memory if unset"),
    Setting("autoMemoryEnabled", ANYONE, "memory/feature", "Automatic memory", default=True, harmless_as=False),
    Setting("claudeMd", MANAGED, "parts/briefing", "Instructions from the administrator"),
    Setting("claudeMdExcludes", ANYONE, "parts/briefing", "Instruction files to ignore"),
    Setting("env", ANYONE, "config/load", "Environment variables for the session and its child processes; folders may only set listed ones"),
    Setting("fileCheckpointingEnabled", ANYONE, "session/choices", "Save file checkpoints for /rewind", default=True, harmless_as=True),
    Setting("plansDirectory", ANYONE, "plan_mode/feature", "Folder for plan files; ~/.claude/plans if unset"),
    Setting("skillListingBudgetFraction", ANYONE, "skills/session", "Share of the context window for the skill list", default=0.01, harmless=True),
    Setting("skillListingMaxDescChars", ANYONE, "skills/session", "Longest description in that list", default=1536, harmless=True),
    # Interface
    Setting("askUserQuestionTimeout", NO_FOLDER, "terminal/appearance", "Timeout for questions", default="never"),
    Setting("autoScrollEnabled", ANYONE, "terminal/session_view", "Follow new output in full screen", default=True, harmless=True),
    Setting("axScreenReader", ANYONE, "terminal/appearance", "Output for screen readers", default=False, harmless=True),
    Setting("companyAnnouncements", ANYONE, "terminal/session", "Startup messages, one at a time"),
    Setting("defaultShell", ANYONE, "terminal/session_view", "Shell for ! commands", default="bash"),
    Setting("dialogExpiry", NO_FOLDER, "frontends/stdio/host_program", "Timeout for dialogs sent to a host", default="5m"),
    Setting("editorMode", ANYONE, "terminal/session_view", "Keys of the prompt editor", default="normal", harmless=True),
    Setting("emojiCompletionEnabled", ANYONE, "terminal/session_view", "Complete :shortcode: to an emoji", default=True, harmless=True),
    Setting("fileSuggestion", ANYONE, "terminal/session_view", "Your own command for @ completion"),
    Setting("fileSuggestion.command", ANYONE, "terminal/session_view", "Command; gets the query as JSON, prints paths"),
    Setting("footerLinksRegexes", NO_FOLDER, "terminal/session_view", "Links below the prompt for text in the conversation"),
    Setting("keybindingFlavor", ANYONE, "terminal/session_view", "Word style for ctrl+w and word motion", default="classic", harmless=True),
    Setting("prefersReducedMotion", ANYONE, "terminal/session_view", "Fewer animations", default=False, harmless=True),
    Setting("promptSuggestionEnabled", ANYONE, "side_work/feature", "Suggest the next prompt", default=True, harmless=True),
    Setting("respectGitignore", ANYONE, "terminal/session_view", "Hide ignored files in @ completion", default=True, harmless=True),
    Setting("respondToBashCommands", ANYONE, "terminal/session_view", "Let the model respond to the output of ! commands", default=True, harmless=True),
    Setting("showClearContextOnPlanAccept", ANYONE, "terminal/session_view", "Offer to clear the conversation after plan approval", default=False, harmless=True),
    Setting("showTurnDuration", ANYONE, "terminal/session_view", "Show turn durations", default=True, harmless=True),
    Setting("spellcheck", NO_FOLDER, "terminal/session_view", "Check the spelling of prompts"),
    Setting("spellcheck.enabled", NO_FOLDER, "terminal/session_view", "Enable the spell checker"),
    Setting("spellcheck.checker", NO_FOLDER, "tui/editing/spelling", "Spell checker program"),
    Setting("spellcheck.language", NO_FOLDER, "tui/editing/spelling", "Dictionary"),
    Setting("spellcheck.color", NO_FOLDER, "tui/editing/spelling", "Color of unknown words"),
    Setting("spinnerTipsEnabled", ANYONE, "plugins/suggestion_sources", "Tips while a turn runs", default=True, harmless=True),
    Setting("spinnerTipsOverride", ANYONE, "plugins/suggestion_sources", "Custom tips", harmless=True),
    Setting("spinnerTipsOverride.tips", ANYONE, "terminal/appearance", "Tip texts"),
    Setting("spinnerTipsOverride.excludeDefault", ANYONE, "plugins/suggestion_sources", "Hide built-in tips"),
    Setting("spinnerVerbs", ANYONE, "terminal/session_view", "Custom spinner words", harmless=True),
    Setting("spinnerVerbs.verbs", ANYONE, "terminal/appearance", "The words"),
    Setting("spinnerVerbs.mode", ANYONE, "terminal/appearance", "Add to or replace the built-in words"),
    Setting("statusLine", ANYONE, "terminal/session_view", "A command that prints a status line"),
    Setting("statusLine.command", ANYONE, "tui/chat/status_line", "Command; gets session data as JSON"),
    Setting("statusLine.padding", ANYONE, "tui/chat/status_line", "Left padding in spaces"),
    Setting("statusLine.refreshInterval", ANYONE, "tui/chat/status_line", "Refresh interval in seconds"),
    Setting("statusLine.hideVimModeIndicator", ANYONE, "tui/chat/status_line", "Hide -- INSERT --"),
    Setting("subagentStatusLine", ANYONE, "terminal/session_view", "A command that prints the agent rows"),
    Setting("subagentStatusLine.command", ANYONE, "terminal/session_view", "The command"),
    Setting("syntaxHighlightingDisabled", ANYONE, "terminal/appearance", "Disable syntax highlighting", default=False, harmless=True),
    Setting("bridleInlineImages", ANYONE, "terminal/session_view", "Draw images in supported terminals", default=True, harmless=True),
    Setting("terminalProgressBarEnabled", ANYONE, "terminal/session_view", "Show progress in the terminal tab", default=True, harmless=True),
    Setting("terminalTitleFromRename", ANYONE, "terminal/session_view", "Show the session name in the terminal title", default=True, harmless=True),
    Setting("theme", ANYONE, "terminal/appearance", "auto, dark or light, with an optional -daltonized, -high-contrast or -ansi suffix, or a custom theme", default="auto", harmless=True),
    Setting("tui", ANYONE, "terminal/appearance", "The full screen, or lines in the terminal's scrollback", harmless=True),
    Setting("verbose", ANYONE, "terminal/session_view", "Show full tool output", default=False, harmless=True),
    Setting("viewMode", ANYONE, "terminal/session_view", "View for new sessions", harmless=True),
    Setting("vimInsertModeRemaps", NO_FOLDER, "terminal/session_view", "Two keys that mean Esc in insert mode, such as jj"),
    Setting("bridleVoice", NO_FOLDER, "voice/feature", "What turns speech into text"),
    Setting("bridleVoice.engine", NO_FOLDER, "voice/session", "whisper, vosk, pocketsphinx or endpoint; the first that is set up with auto", default="auto"),
    Setting("bridleVoice.endpoint", NO_FOLDER, "voice/endpoint", "Address with the transcription API of OpenAI; https, or http on this machine"),
    Setting("bridleVoice.model", NO_FOLDER, "voice/session", "Folder of the model on this machine, or its name at the endpoint"),
    Setting("bridleVoice.language", NO_FOLDER, "voice/session", "Language of the speech, such as en"),
    Setting("bridleVoice.recorder", NO_FOLDER, "voice/microphone", "Program that records and its words: 16 kHz, one channel, 16 bits to standard output"),
    Setting("voice", ANYONE, "voice/feature", "Dictation"),
    Setting("voice.enabled", ANYONE, "voice/feature", "Whether it is on", default=False),
    Setting("voice.autoSubmit", ANYONE, "voice/feature", "Send what was said at once", default=False),
    Setting("voice.mode", ANYONE, "voice/feature", "Hold or tap the key", default="hold"),
    Setting("voiceEnabled", ANYONE, "voice/feature", "Older form of voice.enabled"),
    Setting("wheelScrollAccelerationEnabled", ANYONE, "terminal/session_view", "Accelerate scrolling", default=True, harmless=True),
    # Git
    Setting("attribution", ANYONE, "parts/briefing", "Attribution in commits and pull requests", harmless=True),
    Setting("attribution.commit", ANYONE, "parts/briefing", "Text for commits; empty for none"),
    Setting("attribution.pr", ANYONE, "parts/briefing", "Text for pull requests; empty for none"),
    Setting("attribution.sessionUrl", ANYONE, "", "Link to the session in commits of cloud sessions", default=True, no_effect="bridle has no cloud sessions", asks_for_less=True),
    Setting("includeCoAuthoredBy", ANYONE, "parts/briefing", "Deprecated: use attribution", default=True, harmless=True),
    Setting("includeGitInstructions", ANYONE, "parts/briefing", "Include git instructions and status in the system prompt", default=True, harmless=True),
    Setting("prUrlTemplate", ANYONE, "", "Pull request URL template", harmless=True, no_effect="bridle shows no links to pull requests"),
    # Hooks and workflows
    Setting("allowedHttpHookUrls", ANYONE, "hooks/http", "URLs that http hooks can call; any if unset"),
    Setting("allowManagedHooksOnly", MANAGED, "hooks/table", "Only managed hooks run"),
    Setting("disableAllHooks", ANYONE, "hooks/table", "Disable hooks, the status line and file suggestions"),
    Setting("disableWorkflows", ANYONE, "extensions/workflows", "Disable workflows", default=False, harmless_as=True),
    Setting("enableWorkflows", ANYONE, "extensions/workflows", "Enable workflows", harmless_as=False),
    Setting("hooks", ANYONE, "hooks/table", "Hooks by event"),
    Setting("httpHookAllowedEnvVars", ANYONE, "hooks/http", "Environment variables for http hook headers"),
    Setting("workflowKeywordTriggerEnabled", ANYONE, "features/workflows/feature", "Start a workflow when a prompt contains ultracode", default=True, harmless=True),
    Setting("workflowSizeGuideline", ANYONE, "features/workflows/feature", "Number of agents per workflow", default="medium", harmless=True),
    # Plugins and skills
    Setting("disableBundledSkills", ANYONE, "skills/feature", "Disable bundled skills", harmless_as=True),
    Setting("disableSkillShellExecution", ANYONE, "skills/use", "Skills do not run commands when they load", harmless_as=True),
    Setting("skillOverrides", ANYONE, "skills/session", "Skill visibility: on, name only, user only or off"),
    Setting("syncClaudeAiSkills", NO_PROJECT, "", "Skills of the account", harmless_as=False, no_effect=_NO_VENDOR),
    Setting("allowedChannelPlugins", MANAGED, "parts/mcp", "Plugins that can open channels"),
    Setting("blockedMarketplaces", MANAGED, "plugins/policy", "Blocked marketplaces"),
    Setting("channelsEnabled", MANAGED, "parts/mcp", "Allow channels"),
    Setting("disableCommandPluginSources", MANAGED, "plugins/policy", "Disable command-fetched plugins; follows allowManagedHooksOnly if unset"),
    Setting("pluginSuggestionMarketplaces", MANAGED, "plugins/suggestion_sources", "Marketplaces for plugin suggestions"),
    Setting("pluginTrustMessage", MANAGED, "plugin/change", "Extra text in the plugin install confirmation"),
    Setting("strictKnownMarketplaces", MANAGED, "plugins/policy", "Allowed marketplaces; an empty list blocks all"),
    Setting("strictPluginOnlyCustomization", MANAGED, "extensions/roots", "Allow skills, agents, hooks or servers only from plugins and the administrator"),
    Setting("enabledPlugins", ANYONE, "plugins/loader", "Plugins to enable or disable"),
    Setting("extraKnownMarketplaces", ANYONE, "plugins/marketplaces", "Additional marketplaces"),
    Setting("pluginConfigs", NO_FOLDER, "plugins/loader", "Plugin options, from the questions at installation"),
    # MCP
    Setting("allowAllClaudeAiMcps", MANAGED, "", "Account connectors in addition to managed-mcp.json", default=False, no_effect=_NO_VENDOR),
    Setting("allowedMcpServers", ANYONE, "config/mcp/policy", "Allowed MCP servers; an empty list blocks all"),
    Setting("allowManagedMcpServersOnly", MANAGED, "config/mcp/policy", "Use only the managed allowedMcpServers", default=False),
    Setting("deniedMcpServers", ANYONE, "config/mcp/policy", "Denied MCP servers", harmless=True),
    Setting("disableClaudeAiConnectors", ANYONE, "", "Disable account connectors", default=False, harmless_as=True, no_effect=_NO_VENDOR, asks_for_less=True),
    Setting("disabledMcpjsonServers", ANYONE, "config/mcp/servers", "Rejected .mcp.json servers", harmless=True),
    Setting("enableAllProjectMcpServers", ANYONE, "config/mcp/servers", "Approve all .mcp.json servers"),
    Setting("enabledMcpjsonServers", ANYONE, "config/mcp/servers", "Approved .mcp.json servers"),
    # Agents, sessions, work trees
    Setting("agent", ANYONE, "features/agents/main_agent", "Run the session as this agent"),
    Setting("crossSessionInbound", ANYONE, "features/teams/feature", "How to handle messages from other sessions", harmless_as="refuse"),
    Setting("disableAgentView", ANYONE, "background/launch_settings", "Disable background sessions", harmless=True),
    Setting("isolatePeerMachines", ANYONE, "", "Ask before a message goes to another machine", harmless_as=True, no_effect="bridle always asks before a message goes to another machine", asks_for_less=True),
    Setting("processWrapper", NO_FOLDER, "background/launch_settings", "Program that starts background processes"),
    Setting("teammateMode", ANYONE, "features/teams/feature", "How to show teammates", default="in-process"),
    Setting("worktree", ANYONE, "worktrees/feature", "Git worktrees for sessions and agents"),
    Setting("worktree.baseRef", ANYONE, "worktrees/feature", "Branch from the remote's main branch or from HEAD", default="fresh", harmless=True),
    Setting("worktree.symlinkDirectories", ANYONE, "worktrees/feature", "Folders to symlink"),
    Setting("worktree.sparsePaths", ANYONE, "worktrees/feature", "Check out only these folders"),
    Setting("worktree.bgIsolation", ANYONE, "worktrees/feature", "`none` lets background sessions edit in place", default="worktree", harmless_as="worktree"),
    # Remote and notifications
    Setting("agentPushNotifEnabled", ANYONE, "", "Let the model send phone notifications", default=False, harmless=True, no_effect=_NO_PUSH),
    Setting("awaySummaryEnabled", ANYONE, "side_work/feature", "Show a summary when you return", default=True, harmless=True),
    Setting("disableArtifact", ANYONE, "", "Disable the Artifact tool", default=False, harmless_as=True, no_effect=_NO_ARTIFACTS, asks_for_less=True),
    Setting("disableDeepLinkRegistration", ANYONE, "terminal/links", '"disable" keeps bridle links install from registering claude-cli:// links', harmless=True),
    Setting("disableRemoteControl", ANYONE, "remote/feature", "Disable remote control", default=False, harmless_as=True),
    Setting("enableArtifact", NO_FOLDER, "", "The Artifact tool", no_effect=_NO_ARTIFACTS),
    Setting("inputNeededNotifEnabled", ANYONE, "", "Notify the phone when bridle waits for you", default=False, harmless=True, no_effect=_NO_PUSH),
    Setting("preferredNotifChannel", ANYONE, "terminal/session_view", "How the terminal notifies you", default="auto", harmless=True),
    Setting("remote", ANYONE, "", "Cloud sessions", no_effect="bridle has no cloud sessions"),
    Setting("remote.defaultEnvironmentId", ANYONE, "", "Cloud environment", no_effect="bridle has no cloud sessions"),
    Setting("remoteControlAtStartup", ANYONE, "remote/feature", "Start remote control with every session", harmless_as=False),
    Setting("sshConfigs", NO_FOLDER, "", "Desktop app machines", no_effect=_NO_REMOTE_HOSTS),
    Setting("sshHostAllowlist", MANAGED, "", "SSH machines", no_effect=_NO_REMOTE_HOSTS, asks_for_less=True),
    # Authentication
    Setting("apiKeyHelper", NO_FOLDER, "parts/provider", "Command that prints the credential"),
    Setting("awsAuthRefresh", NO_FOLDER, "session/model_choices", "Command that refreshes AWS credentials"),
    Setting("awsCredentialExport", NO_FOLDER, "session/model_choices", "Command that prints AWS credentials as JSON"),
    Setting("forceLoginMethod", NO_FOLDER, "credentials/login", "Required login method"),
    Setting("forceLoginGatewayUrl", MANAGED, "credentials/login", "The gateway to log in to"),
    Setting("forceLoginOrgUUID", NO_FOLDER, "credentials/login", "The organization to log in to"),
    Setting("gcpAuthRefresh", NO_FOLDER, "session/model_choices", "Command that refreshes Google Cloud credentials"),
    Setting("otelHeadersHelper", NO_FOLDER, "telemetry/feature", "Command that prints headers for the telemetry collector as JSON"),
    # Versions
    Setting("autoUpdatesChannel", ANYONE, "", "Release channel for updates", default="latest", no_effect=_NO_UPDATER),
    Setting("minimumVersion", ANYONE, "", "Minimum release for updates", no_effect=_NO_UPDATER),
    Setting("requiredMaximumVersion", MANAGED, "config/version_limits", "Maximum version; newer releases do not start"),
    Setting("requiredMinimumVersion", MANAGED, "config/version_limits", "Minimum version; older releases do not start"),
    # Desktop
    Setting("browserExternalPageTools", MANAGED, "browser/feature", '"disabled": no browser tools on pages of other machines'),
    Setting("disableBrowserExternalNavigation", MANAGED, "browser/feature", "The model opens pages of localhost only"),
    Setting("disableMobileSimulatorTools", MANAGED, "", "Disable simulator tools", no_effect=_NO_DESKTOP, asks_for_less=True),
    # Privacy
    Setting("cleanupPeriodDays", ANYONE, "session/conversation", "Days after which unused sessions are removed", default=30),
    Setting("feedbackSurveyRate", ANYONE, "", "How often to ask for feedback", harmless=True, no_effect="bridle has no feedback survey"),
    Setting("skipWebFetchPreflight", ANYONE, "", "Skip the host check before WebFetch", harmless_as=False, no_effect="bridle has no host check", asks_for_less=True),
    # Managed settings
    Setting("disableSideloadFlags", MANAGED, "parts/plugins", "Refuse --plugin-dir, --plugin-url, --agents and --mcp-config", default=False),
    Setting("forceRemoteSettingsRefresh", MANAGED, "managed/remote_policy", "Start only with freshly fetched managed settings", default=False),
    Setting("managedSourcesBehavior", MANAGED, "config/sources", "merge: combine managed files with device management settings", default="first-wins"),
    Setting("bridleRemotePolicy", MANAGED, "managed/remote_policy", "Service for managed settings"),
    Setting("bridleRemotePolicy.url", MANAGED, "managed/remote_policy", "URL; https, or http on this machine"),
    Setting("bridleRemotePolicy.keyVariable", MANAGED, "managed/remote_policy", "Environment variable with the key"),
    Setting("bridleRemotePolicy.timeoutMs", MANAGED, "managed/remote_policy", "Timeout; default 5,000"),
    Setting("bridleAllowedProviders", MANAGED, "parts/provider", "Allowed model services, by vendor"),
    Setting("parentSettingsBehavior", MANAGED, "config/parent_policy", "Also use --managed-settings from a host program", default="first-wins"),
    Setting("policyHelper", MANAGED, "config/policy_helper", "A program that prints managed settings"),
    Setting("policyHelper.path", MANAGED, "config/policy_helper", "Its absolute path"),
    Setting("policyHelper.timeoutMs", MANAGED, "config/policy_helper", "Timeout", default=10_000),
    Setting("policyHelper.refreshIntervalMs", MANAGED, "config/policy_helper", "Refresh interval; runs once if 0 or unset"),
    Setting("wslInheritsWindowsSettings", MANAGED, "config/sources", "In WSL, managed files of Windows count over those of Linux", default=False),
)

PREFERENCES: tuple[Setting, ...] = (
    Setting("autoConnectIde", NO_FOLDER, "editors/feature", "Connect to an editor from an external terminal", default=False),
    Setting("autoInstallIdeExtension", NO_FOLDER, "", "Install the editor's extension", default=True, no_effect="bridle installs no extensions in editors"),
    Setting("diffTool", NO_FOLDER, "editors/feature", "Show changes in the editor or in the terminal", default="auto"),
    Setting("externalEditorContext", NO_FOLDER, "tui/chat/actions", "ctrl+g includes the last answer as comments", default=False),
    Setting("permissionExplainerEnabled", NO_FOLDER, "tui/chat/dialog_queue", "ctrl+e explains a permission question", default=True),
    Setting("teammateDefaultModel", NO_FOLDER, "", "Model for teammates", no_effect="removed: teammates use their agent's model"),
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
