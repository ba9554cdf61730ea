"""The built-in commands. Each is imported when it first runs, so start-up does not grow with this list."""

from msgspec import Struct

from bridle.types.command import Reach


class Listing(Struct, frozen=True):
    """A command in the list, without its code."""

    name: str
    description: str
    module: str
    """Where it is defined."""
    function: str
    """Called with the arguments and the context."""
    hint: str = ""
    aliases: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    """Words that complete its first argument."""
    completes: bool = False
    """The module's `complete` knows more such words."""
    screen_only: bool = False
    hidden: bool = False
    at_once: bool = False
    """Runs also while a turn does."""
    yields: bool = False
    """Gives way to a skill or command file of the same name."""
    reach: Reach = "keyboard"
    """Who may call it. One that changes settings, rules, folders, models, servers or plugins, or that opens
    something where the session runs, is for the keyboard of this machine alone."""


_CONVERSATION = "bridle.commands.conversations"
_HISTORY = "bridle.commands.history"
_MODEL = "bridle.commands.models"
_FOLDERS = "bridle.commands.folders"
_RULES = "bridle.commands.permissions"
_SETTINGS = "bridle.commands.settings"
_SCREEN = "bridle.commands.display"
_DOCS = "bridle.commands.documentation"
_REPORT = "bridle.commands.reports"
_USAGE = "bridle.commands.usage"
_PARTS = "bridle.commands.components"
_PROMPT = "bridle.commands.prompts"
_GOAL = "bridle.commands.goals"
_FILES = "bridle.commands.exports"
_NOTICE = "bridle.commands.unavailable"
_ITEMS = "bridle.commands.conversations"
_CLOUDS = "bridle.commands.cloud_setup"

_EFFORTS = ("low", "medium", "high", "xhigh", "max", "ultracode", "auto", "status")
_COLORS = ("red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan", "default")
_ENDINGS = ("clear", "stop", "off", "reset", "none", "cancel")

CATALOG: tuple[Listing, ...] = (
    Listing(
        "add-dir",
        "Add a working directory",
        _FOLDERS,
        "add_folder",
        "[--user|--project|--local] <path>",
    ),
    Listing("agents", "List agents, turn them on or off", _PARTS, "agents", "[name on|off]", at_once=True),
    Listing("auto-mode-setup", "Draft auto mode rules for this project", _PROMPT, "auto_mode_setup"),
    Listing(
        "autocompact",
        "Set when the conversation is auto-compacted",
        _MODEL,
        "autocompact",
        "[auto|off|tokens]",
        choices=("auto", "off", "200k", "500k", "1m"),
    ),
    Listing("branch", "Fork the conversation and continue in the copy", _CONVERSATION, "branch", "[name]"),
    Listing(
        "btw",
        "Ask a side question without adding to the conversation",
        _HISTORY,
        "aside",
        "<question>",
        reach="person",
        at_once=True,
    ),
    Listing(
        "feedback",
        "Write a problem report to a file",
        _FILES,
        "report",
        "[text]",
        ("bug", "share"),
    ),
    Listing("cd", "Change the working directory", _FOLDERS, "change_folder", "<path>"),
    Listing(
        "clear",
        "Start a new conversation",
        _CONVERSATION,
        "clear",
        "[name]",
        ("reset", "new"),
        reach="person",
    ),
    Listing(
        "color",
        "Set the color of this session",
        _SCREEN,
        "color",
        "[color|default]",
        choices=_COLORS,
        at_once=True,
    ),
    Listing(
        "compact",
        "Compact the conversation into a summary",
        _CONVERSATION,
        "compact",
        "[focus]",
        reach="person",
    ),
    Listing(
        "compacted",
        "Show what the last compaction dropped and kept",
        _CONVERSATION,
        "compacted",
        at_once=True,
    ),
    Listing(
        "config",
        "View and change settings",
        _SETTINGS,
        "config",
        "[key=value …]",
        ("settings",),
        completes=True,
        at_once=True,
    ),
    Listing("context", "Show context usage", _REPORT, "context", "[all]", choices=("all",), at_once=True),
    Listing("copy", "Copy a response", _FILES, "copy", "[number] [file]", at_once=True),
    Listing(
        "cost",
        "Show usage and cost",
        _USAGE,
        "cost",
        "[days] [--html [file]]",
        ("usage", "stats"),
        at_once=True,
    ),
    Listing("diff", "Show uncommitted changes", _REPORT, "diff", at_once=True),
    Listing(
        "docs", "Read and search the documentation", _DOCS, "docs", "[topic]", completes=True, at_once=True
    ),
    Listing(
        "doctor",
        "Check the installation and the settings",
        _REPORT,
        "doctor",
        aliases=("checkup",),
        at_once=True,
    ),
    Listing(
        "effort",
        "Set the effort level",
        _MODEL,
        "effort",
        "[level|auto|status]",
        choices=_EFFORTS,
        at_once=True,
    ),
    Listing("exit", "Exit", _CONVERSATION, "leave", aliases=("quit",), at_once=True),
    Listing(
        "export",
        "Write the conversation to a text file, or with --html to a page",
        _FILES,
        "export",
        "[--html] [file]",
        choices=("--html",),
    ),
    Listing("fast", "Turn fast mode on or off", _MODEL, "fast", "[on|off]", choices=("on", "off")),
    Listing("focus", "Show only the last response", _SCREEN, "focus", screen_only=True),
    Listing("fork", "Fork the conversation into a background session", _CONVERSATION, "fork", "[prompt]"),
    Listing(
        "goal",
        "Keep working until a condition is met",
        _GOAL,
        "goal",
        "[condition|clear]",
        choices=_ENDINGS,
        reach="person",
    ),
    Listing("heapdump", "Write a memory report", _FILES, "heap", hidden=True),
    Listing("help", "List commands and keys", _REPORT, "show_help", "[command]", at_once=True),
    Listing("hooks", "List hooks and where they come from", _PARTS, "hooks", at_once=True),
    Listing(
        "ide",
        "Connect to an editor",
        "bridle.commands.editors",
        "ide",
        "[editor|off|open file]",
        choices=("off", "open"),
        completes=True,
        at_once=True,
        yields=True,
    ),
    Listing(
        "import",
        "Import configuration from another agent",
        "bridle.commands.imports",
        "bring_over",
        "[codex|gemini] [--dry-run] [--yes]",
        choices=("codex", "gemini"),
    ),
    Listing("init", "Write a CLAUDE.md for this project", _PROMPT, "init", yields=True, reach="anyone"),
    Listing("insights", "Write a report on your sessions", _USAGE, "insights", "[days]"),
    Listing("keybindings", "Edit your keyboard shortcuts", _SCREEN, "keybindings"),
    Listing("list-agents", "List sessions and agents you can message", _PARTS, "peers", aliases=("peers",)),
    Listing(
        "mcp",
        "Manage MCP servers",
        _PARTS,
        "servers",
        "[reconnect|enable|disable] [server|all]",
        choices=("reconnect", "enable", "disable"),
        at_once=True,
    ),
    Listing(
        "items",
        "Show the size of each item in the conversation",
        _ITEMS,
        "items",
        "[all|stub id|drop id|hold id|release id]",
        choices=("all", "stub", "drop", "hold", "release"),
    ),
    Listing(
        "memory",
        "Edit memory files",
        _PARTS,
        "memory",
        "[on|off]",
        choices=("on", "off"),
        at_once=True,
    ),
    Listing("model", "Choose the model", _MODEL, "model", "[model] [s]", completes=True, at_once=True),
    Listing("output-style", "Choose the output style", _SETTINGS, "output_style", "[name]"),
    Listing(
        "permissions",
        "View and change permission rules",
        _RULES,
        "permissions",
        "[allow|ask|deny|remove] [rule] [scope]",
        ("allowed-tools",),
        choices=("allow", "ask", "deny", "remove"),
        at_once=True,
    ),
    Listing(
        "pin",
        "Pin text so that compaction keeps it",
        _CONVERSATION,
        "pin",
        "[text|list|remove id]",
        choices=("list", "remove"),
        reach="person",
    ),
    Listing("plan", "Plan before making changes", _RULES, "plan", "[what]", reach="person"),
    Listing(
        "plugin",
        "Manage plugins",
        "bridle.commands.plugins",
        "plugins",
        "[command]",
        ("plugins", "marketplace"),
        yields=True,
    ),
    Listing("powerup", "Short lessons", "bridle.commands.lessons", "teach", "[number]"),
    Listing("recap", "Summarize the conversation in one line", _HISTORY, "recap", reach="person"),
    Listing("release-notes", "Show what is new", _DOCS, "release_notes", at_once=True),
    Listing("reload-plugins", "Reload plugins", _PARTS, "reload", "[--force]"),
    Listing("reload-skills", "Reload skills and commands", _PARTS, "reload"),
    Listing("remove-dir", "Remove a working directory", _FOLDERS, "remove_folder", "<path>"),
    Listing(
        "rename", "Rename the conversation", _CONVERSATION, "rename", "[name]", at_once=True, reach="person"
    ),
    Listing(
        "resume",
        "Resume a conversation",
        _CONVERSATION,
        "resume",
        "[session]",
        ("continue",),
        completes=True,
    ),
    Listing("search", "Search every conversation on this machine", _HISTORY, "search", "<words>"),
    Listing("recall", "Search other conversations", _HISTORY, "recall", "<words>"),
    Listing(
        "rewind",
        "Restore code, conversation or both",
        _HISTORY,
        "rewind",
        "[number] [both|conversation|code|summary|summary-after] [force] | branches | branch <number>",
        ("checkpoint", "undo"),
    ),
    Listing("redo", "Take the newest rewind back", _HISTORY, "redo", "[force]"),
    Listing(
        "sandbox",
        "Configure the sandbox",
        _RULES,
        "sandbox",
        "[on|off]",
        choices=("on", "off"),
    ),
    Listing(
        "scroll-speed",
        "Set the scroll speed",
        _SCREEN,
        "scroll_speed",
        "<lines>",
        screen_only=True,
    ),
    Listing(
        "security-review",
        "Review the changes of this branch for security issues",
        _PROMPT,
        "security_review",
        yields=True,
        reach="anyone",
    ),
    Listing(
        "setup-bedrock",
        "Set up Amazon Bedrock",
        _CLOUDS,
        "bedrock",
        "[region=… profile=… model=… small=… --yes]",
        hidden=True,
    ),
    Listing(
        "setup-vertex",
        "Set up Google Vertex AI",
        _CLOUDS,
        "vertex",
        "[project=… region=… credentials=… model=… small=… --yes]",
        hidden=True,
    ),
    Listing(
        "skills",
        "List skills and their token cost",
        _PARTS,
        "skills",
        "[name on|name-only|user-invocable-only|off]",
        at_once=True,
    ),
    Listing("status", "Show version, model, auth and settings", _REPORT, "status", at_once=True),
    Listing("statusline", "Set up a status line", _PROMPT, "status_line", "[what it should show]"),
    Listing("subtask", "Run a task in a separate agent", _PROMPT, "subtask", "<task>", reach="person"),
    Listing("team-onboarding", "Write an onboarding guide", _PROMPT, "onboarding"),
    Listing(
        "terminal-setup",
        "Show how to set up shift+enter and notifications",
        _SCREEN,
        "terminal_setup",
        screen_only=True,
    ),
    Listing(
        "theme",
        "Choose the theme",
        _SCREEN,
        "theme",
        "[name]",
        completes=True,
        screen_only=True,
        at_once=True,
    ),
    Listing(
        "tui",
        "Switch between scrollback and full screen",
        _SCREEN,
        "layout",
        "[default|fullscreen]",
        choices=("default", "fullscreen"),
        screen_only=True,
    ),
    Listing("uncompact", "Undo the last compaction", _CONVERSATION, "uncompact"),
    Listing(
        "workflows",
        "View and control workflow runs",
        "bridle.commands.workflows",
        "workflows",
        "[run] [pause|resume|stop|skip|restart|save]",
        completes=True,
        at_once=True,
    ),
    Listing("autofix-pr", "Watch a pull request and fix what fails", _PROMPT, "watch_pull_request", "[wish]"),
    Listing(
        "install-github-app",
        "Write a GitHub workflow that runs bridle",
        _FILES,
        "github_workflow",
    ),
    Listing(
        "mobile",
        "Open this session in the browser of a phone or of this machine",
        _SCREEN,
        "share",
        aliases=("ios", "android", "desktop", "app"),
        hidden=True,
        at_once=True,
    ),
    Listing("privacy-settings", "Show what leaves this machine", _REPORT, "privacy", at_once=True),
    Listing(
        "schedule",
        "Schedule a prompt, or list those that are scheduled",
        _PROMPT,
        "schedule",
        "[what and when]",
        ("routines",),
    ),
    Listing(
        "ultrareview", "Review a change in depth with several agents", _PROMPT, "deep_review", "[pr|branch]"
    ),
    Listing("upgrade", "Show how to update bridle", _REPORT, "upgrade", at_once=True),
    Listing("artifacts", "Published pages", _NOTICE, "artifacts", hidden=True),
    Listing("design-login", "Design product", _NOTICE, "design", aliases=("design-sync",), hidden=True),
    Listing("install-slack-app", "Slack app", _NOTICE, "slack_app", hidden=True),
    Listing("login", "Add a key, or choose another way to a model", _MODEL, "login"),
    Listing("logout", "Remove stored keys", _MODEL, "logout", "[vendor|all]"),
    Listing(
        "passes",
        "Account pages",
        _NOTICE,
        "account",
        aliases=("radio", "stickers", "usage-credits"),
        hidden=True,
    ),
    Listing(
        "remote-env",
        "Cloud environment",
        _NOTICE,
        "cloud",
        aliases=("teleport", "tp", "web-setup"),
        hidden=True,
    ),
    Listing("pr-comments", "Removed", _NOTICE, "pr_comments", hidden=True),
    Listing("ultraplan", "Removed", _NOTICE, "ultraplan", hidden=True),
    Listing("vim", "Removed", _NOTICE, "vim", hidden=True),
)
