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
        "Work in one more folder",
        _FOLDERS,
        "add_folder",
        "[--user|--project|--local] <path>",
    ),
    Listing(
        "agents", "Show the agents and how to write one", _PARTS, "agents", "[name on|off]", at_once=True
    ),
    Listing("auto-mode-setup", "Draft the rules of auto mode for this project", _PROMPT, "auto_mode_setup"),
    Listing(
        "autocompact",
        "Choose how full the window may get before it is compacted",
        _MODEL,
        "autocompact",
        "[auto|off|tokens]",
        choices=("auto", "off", "200k", "500k", "1m"),
    ),
    Listing("branch", "Copy the conversation and continue in the copy", _CONVERSATION, "branch", "[name]"),
    Listing(
        "btw",
        "Ask something on the side, outside the conversation",
        _HISTORY,
        "aside",
        "<question>",
        reach="person",
        at_once=True,
    ),
    Listing(
        "feedback",
        "Pack a report of what went wrong into a file",
        _FILES,
        "report",
        "[text]",
        ("bug", "share"),
    ),
    Listing("cd", "Change the working directory", _FOLDERS, "change_folder", "<path>"),
    Listing(
        "clear",
        "Begin a new conversation",
        _CONVERSATION,
        "clear",
        "[name]",
        ("reset", "new"),
        reach="person",
    ),
    Listing(
        "color",
        "Mark the session with a color",
        _SCREEN,
        "color",
        "[color|default]",
        choices=_COLORS,
        at_once=True,
    ),
    Listing(
        "compact",
        "Replace the conversation by a summary",
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
        "Look at settings or change them",
        _SETTINGS,
        "config",
        "[key=value …]",
        ("settings",),
        completes=True,
        at_once=True,
    ),
    Listing(
        "context", "Show what fills the window", _REPORT, "context", "[all]", choices=("all",), at_once=True
    ),
    Listing("copy", "Copy an answer", _FILES, "copy", "[number] [file]", at_once=True),
    Listing(
        "cost",
        "Show what was used and what it cost",
        _USAGE,
        "cost",
        "[days] [--html [file]]",
        ("usage", "stats"),
        at_once=True,
    ),
    Listing("diff", "Show what has changed in the working tree", _REPORT, "diff", at_once=True),
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
        "Choose how hard the model thinks",
        _MODEL,
        "effort",
        "[level|auto|status]",
        choices=_EFFORTS,
        at_once=True,
    ),
    Listing("exit", "Leave", _CONVERSATION, "leave", aliases=("quit",), at_once=True),
    Listing(
        "export",
        "Write the conversation to a text file, or with --html to a page",
        _FILES,
        "export",
        "[--html] [file]",
        choices=("--html",),
    ),
    Listing("fast", "Choose faster answers", _MODEL, "fast", "[on|off]", choices=("on", "off")),
    Listing("focus", "Show only the last answer", _SCREEN, "focus", screen_only=True),
    Listing("fork", "Copy the conversation into a background session", _CONVERSATION, "fork", "[prompt]"),
    Listing(
        "goal",
        "Work until something holds",
        _GOAL,
        "goal",
        "[condition|clear]",
        choices=_ENDINGS,
        reach="person",
    ),
    Listing("heapdump", "Write down what fills the memory", _FILES, "heap", hidden=True),
    Listing("help", "List the commands", _REPORT, "show_help", "[command]", at_once=True),
    Listing("hooks", "Show the hooks and where they come from", _PARTS, "hooks", at_once=True),
    Listing(
        "ide",
        "Link the session to an editor",
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
        "Bring over the configuration of another agent",
        "bridle.commands.imports",
        "bring_over",
        "[codex|gemini] [--dry-run] [--yes]",
        choices=("codex", "gemini"),
    ),
    Listing("init", "Write a CLAUDE.md for this project", _PROMPT, "init", yields=True, reach="anyone"),
    Listing("insights", "Write a report on your own sessions", _USAGE, "insights", "[days]"),
    Listing("keybindings", "Edit your keyboard shortcuts", _SCREEN, "keybindings"),
    Listing(
        "list-agents", "List sessions and agents that can be written to", _PARTS, "peers", aliases=("peers",)
    ),
    Listing(
        "mcp",
        "Look after MCP servers",
        _PARTS,
        "servers",
        "[reconnect|enable|disable] [server|all]",
        choices=("reconnect", "enable", "disable"),
        at_once=True,
    ),
    Listing(
        "items",
        "Show what single things in the conversation cost",
        _ITEMS,
        "items",
        "[all|stub id|drop id|hold id|release id]",
        choices=("all", "stub", "drop", "hold", "release"),
    ),
    Listing(
        "memory",
        "Show the instruction files",
        _PARTS,
        "memory",
        "[on|off]",
        choices=("on", "off"),
        at_once=True,
    ),
    Listing("model", "Choose the model", _MODEL, "model", "[model] [s]", completes=True, at_once=True),
    Listing("output-style", "Choose how answers are written", _SETTINGS, "output_style", "[name]"),
    Listing(
        "permissions",
        "Show and change what may run",
        _RULES,
        "permissions",
        "[allow|ask|deny|remove] [rule] [scope]",
        ("allowed-tools",),
        choices=("allow", "ask", "deny", "remove"),
        at_once=True,
    ),
    Listing(
        "pin",
        "Keep words through every compaction",
        _CONVERSATION,
        "pin",
        "[text|list|remove id]",
        choices=("list", "remove"),
        reach="person",
    ),
    Listing("plan", "Plan before anything is changed", _RULES, "plan", "[what]", reach="person"),
    Listing(
        "plugin",
        "Look after plugins",
        "bridle.commands.plugins",
        "plugins",
        "[command]",
        ("plugins", "marketplace"),
        yields=True,
    ),
    Listing("powerup", "Short lessons", "bridle.commands.lessons", "teach", "[number]"),
    Listing("recap", "Sum up the conversation in one line", _HISTORY, "recap", reach="person"),
    Listing("release-notes", "Show what is new", _DOCS, "release_notes", at_once=True),
    Listing("reload-plugins", "Read plugins again", _PARTS, "reload", "[--force]"),
    Listing("reload-skills", "Read skills and commands again", _PARTS, "reload"),
    Listing("remove-dir", "Leave a folder that was added", _FOLDERS, "remove_folder", "<path>"),
    Listing(
        "rename", "Name the conversation", _CONVERSATION, "rename", "[name]", at_once=True, reach="person"
    ),
    Listing(
        "resume",
        "Resume an earlier conversation",
        _CONVERSATION,
        "resume",
        "[session]",
        ("continue",),
        completes=True,
    ),
    Listing("recall", "Find what was said in other conversations", _HISTORY, "recall", "<words>"),
    Listing(
        "rewind",
        "Go back: files, conversation or both",
        _HISTORY,
        "rewind",
        "[number] [both|conversation|code|summary|summary-after]",
        ("checkpoint", "undo"),
    ),
    Listing(
        "sandbox",
        "Show or switch the boundary around commands",
        _RULES,
        "sandbox",
        "[on|off]",
        choices=("on", "off"),
    ),
    Listing(
        "scroll-speed",
        "Choose how fast the view scrolls",
        _SCREEN,
        "scroll_speed",
        "<lines>",
        screen_only=True,
    ),
    Listing(
        "security-review",
        "Look for holes in the changes of this branch",
        _PROMPT,
        "security_review",
        yields=True,
        reach="anyone",
    ),
    Listing(
        "setup-bedrock",
        "Let Amazon Bedrock answer",
        _CLOUDS,
        "bedrock",
        "[region=… profile=… model=… small=… --yes]",
        hidden=True,
    ),
    Listing(
        "setup-vertex",
        "Let Google Vertex AI answer",
        _CLOUDS,
        "vertex",
        "[project=… region=… credentials=… model=… small=… --yes]",
        hidden=True,
    ),
    Listing(
        "skills",
        "Show the skills and what they cost",
        _PARTS,
        "skills",
        "[name on|name-only|user-invocable-only|off]",
        at_once=True,
    ),
    Listing("status", "Show version, model, login and settings", _REPORT, "status", at_once=True),
    Listing("statusline", "Have a status line written", _PROMPT, "status_line", "[what it should show]"),
    Listing("subtask", "Hand a task to an agent of its own", _PROMPT, "subtask", "<task>", reach="person"),
    Listing("team-onboarding", "Have a guide for newcomers written", _PROMPT, "onboarding"),
    Listing(
        "terminal-setup",
        "Show how to set up shift+enter and notifications",
        _SCREEN,
        "terminal_setup",
        screen_only=True,
    ),
    Listing(
        "theme",
        "Choose the colors",
        _SCREEN,
        "theme",
        "[name]",
        completes=True,
        screen_only=True,
        at_once=True,
    ),
    Listing(
        "tui",
        "Choose scrollback or full screen",
        _SCREEN,
        "layout",
        "[default|fullscreen]",
        choices=("default", "fullscreen"),
        screen_only=True,
    ),
    Listing("uncompact", "Take the last compaction back", _CONVERSATION, "uncompact"),
    Listing(
        "workflows",
        "Show workflow runs and direct them",
        "bridle.commands.workflows",
        "workflows",
        "[run] [pause|resume|stop|skip|restart|save]",
        completes=True,
        at_once=True,
    ),
    Listing("artifacts", "Published pages", _NOTICE, "artifacts", hidden=True),
    Listing("autofix-pr", "Watch a pull request", _NOTICE, "autofix", "[prompt]", hidden=True),
    Listing("chrome", "Browser settings", _NOTICE, "browser", hidden=True),
    Listing("design-login", "Design product", _NOTICE, "design", aliases=("design-sync",), hidden=True),
    Listing("desktop", "Move to the desktop app", _NOTICE, "desktop", aliases=("app",), hidden=True),
    Listing("install-github-app", "GitHub app", _NOTICE, "github_app", hidden=True),
    Listing("install-slack-app", "Slack app", _NOTICE, "slack_app", hidden=True),
    Listing("login", "Add a key, or choose another way to a model", _MODEL, "login", aliases=("logout",)),
    Listing("mobile", "Phone app", _NOTICE, "mobile", aliases=("ios", "android"), hidden=True),
    Listing(
        "passes",
        "Account pages",
        _NOTICE,
        "account",
        aliases=("privacy-settings", "radio", "stickers", "upgrade", "usage-credits"),
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
    Listing("schedule", "Cloud schedules", _NOTICE, "schedule", "[text]", ("routines",), hidden=True),
    Listing("ultrareview", "Cloud review", _NOTICE, "cloud_review", "[pr|branch]", hidden=True),
    Listing("voice", "Dictation", _NOTICE, "voice", "[hold|tap|off]", hidden=True),
    Listing("pr-comments", "Was removed", _NOTICE, "pr_comments", hidden=True),
    Listing("ultraplan", "Was removed", _NOTICE, "ultraplan", hidden=True),
    Listing("vim", "Was removed", _NOTICE, "vim", hidden=True),
)
