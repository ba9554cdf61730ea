"""The flags of the command line and the names of subcommands: what the parser and `--help` read."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Kind = Literal["switch", "value", "optional", "many", "each", "pairs"]
    Number = Literal["", "whole", "decimal"]
    Status = Literal["works", "ignored", "later"]


class Flag:
    """A plain class, so that `--help` imports next to nothing.

    `optional` may be given without a value; `many` takes every word up to the next flag and may be repeated;
    `each` takes one word and may be repeated; `pairs` takes every KEY=value behind it and may be repeated.
    A flag without help works but is not listed. `ignored` asks for something that bridle does anyway or
    never, `later` is refused with a sentence.
    """

    __slots__ = ("choices", "default", "help", "kind", "least", "most", "names", "number", "status", "value")

    def __init__(
        self,
        names: tuple[str, ...],
        kind: "Kind",
        help: str = "",
        value: str = "",
        *,
        choices: tuple[str, ...] = (),
        status: "Status" = "works",
        default: str = "",
        number: "Number" = "",
        least: int = 1,
        most: int = 999_999,
    ) -> None:
        """`default` is what `--help` shows; the value of a `number` lies between `least` and `most`."""
        self.names = names
        self.kind: Kind = kind
        self.help = help
        self.value = value
        self.choices = choices
        self.status: Status = status
        self.default = default
        self.number: Number = number
        self.least = least
        self.most = most

    @property
    def key(self) -> str:
        """The name under which the parsed value is kept."""
        return _KEYS.get(self.names[-1]) or self.names[-1].lstrip("-")


_KEYS = {"--allowed-tools": "allowedTools", "--disallowed-tools": "disallowedTools", "--rc": "remote-control"}

EFFORTS = ("low", "medium", "high", "xhigh", "max", "ultracode")
MODE_NAMES = ("default", "manual", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto")

FLAGS: tuple[Flag, ...] = (
    Flag(("-p", "--print"), "switch", "print the answer and exit; for scripts and pipes"),
    Flag(("-c", "--continue"), "switch", "continue the newest conversation of this folder"),
    Flag(
        ("-r", "--resume"),
        "optional",
        "resume a conversation by its id, its name or a part of it",
        "id or name",
    ),
    Flag(("--model",), "value", "the model: an alias (sonnet, opus, haiku), a full id, or offline", "name"),
    Flag(("--fallback-model",), "value", "models to fall back to when the first is overloaded", "a,b"),
    Flag(
        ("--output-format",),
        "value",
        "text, json or stream-json",
        "form",
        choices=("text", "json", "stream-json"),
    ),
    Flag(("--input-format",), "value", "text or stream-json", "form", choices=("text", "stream-json")),
    Flag(("--verbose",), "switch", "show every step on standard error; required with stream-json"),
    Flag(
        ("--include-partial-messages",),
        "switch",
        "with stream-json: include the model's stream as it arrives",
    ),
    Flag(
        ("--replay-user-messages",), "switch", "with stream-json: echo the prompts read from standard input"
    ),
    Flag(
        ("--permission-mode",),
        "value",
        "default, acceptEdits, plan, auto, dontAsk or bypassPermissions",
        "mode",
        choices=MODE_NAMES,
    ),
    Flag(("--allowedTools", "--allowed-tools"), "many", "rules for calls that need no approval", "rule"),
    Flag(
        ("--disallowedTools", "--disallowed-tools"),
        "many",
        "rules for calls that are refused; a bare name removes a tool",
        "rule",
    ),
    Flag(("--tools",), "many", 'the built-in tools to offer: a list, "default", or "" for none', "name"),
    Flag(
        ("--dangerously-skip-permissions",),
        "switch",
        "skip all permission questions (mode bypassPermissions)",
    ),
    Flag(("--allow-dangerously-skip-permissions",), "switch"),
    Flag(("--trust",), "switch", "trust this folder in this run: its hooks, servers and env count"),
    Flag(("--offline",), "switch", "reach only the service of the model and network.allow, by the kernel"),
    Flag(("--locked",), "switch", "use the prompts and tools of bridle.lock; refuse what differs from it"),
    Flag(
        ("--restricted",),
        "switch",
        "no tools that run commands, and no WebFetch, unless --tools names them",
    ),
    Flag(("--add-dir",), "many", "additional working directories", "folder"),
    Flag(("--system-prompt",), "value", "use this text instead of the system prompt", "text"),
    Flag(
        ("--system-prompt-file",), "value", "use the text of this file instead of the system prompt", "file"
    ),
    Flag(("--append-system-prompt",), "value", "add this text to the system prompt", "text"),
    Flag(("--append-system-prompt-file",), "value", "add the text of this file to the system prompt", "file"),
    Flag(
        ("--exclude-dynamic-system-prompt-sections",),
        "switch",
        "keep facts about this machine out of the system prompt",
    ),
    Flag(("--bare",), "switch", "only the shell, read and edit tools; no instructions, hooks or extensions"),
    Flag(("--max-turns",), "value", "stop after this many model calls", "n"),
    Flag(("--max-budget-usd",), "value", "stop when the session has cost this many dollars", "amount"),
    Flag(("--max-total-tokens",), "value", "stop when one prompt has used this many tokens", "n"),
    Flag(("--effort",), "value", "low, medium, high, xhigh, max or ultracode", "level", choices=EFFORTS),
    Flag(
        ("--thinking",), "value", "adaptive or disabled", "mode", choices=("adaptive", "enabled", "disabled")
    ),
    Flag(("--max-thinking-tokens",), "value", "thinking budget in tokens; 0 turns it off", "n"),
    Flag(("--thinking-display",), "value", choices=("summarized", "omitted")),
    Flag(("--task-budget",), "value"),
    Flag(("--betas",), "many"),
    Flag(("--settings",), "value", "additional settings; they override settings files", "file or JSON"),
    Flag(("--setting-sources",), "value", "which settings files to use: user,project,local", "list"),
    Flag(("--session-id",), "value", "use this id for the conversation", "uuid"),
    Flag(("--fork-session",), "switch", "with --resume or --continue: continue in a copy with a new id"),
    Flag(("--resume-session-at",), "value"),
    Flag(("--resume-drops-turn",), "value"),
    Flag(("--no-session-persistence",), "switch", "write no transcript"),
    Flag(("-n", "--name"), "value", "a name for the conversation", "text"),
    Flag(("-v", "-V", "--version"), "switch", "print the version"),
    Flag(("-h", "--help"), "switch", "print this help"),
    Flag(("--debug",), "switch", "write a log to ~/.claude/debug"),
    Flag(("--debug-file",), "value", "write a log to this file", "file"),
    Flag(("--include-hook-events",), "switch", "with stream-json: report every hook that runs"),
    Flag(("--mcp-config",), "many", "additional MCP servers", "file or JSON"),
    Flag(("--strict-mcp-config",), "switch", "only the MCP servers of --mcp-config"),
    Flag(("--disable-slash-commands",), "switch"),
    Flag(("--enable-auto-mode",), "switch", status="ignored"),
    Flag(("--forward-subagent-text",), "switch", "with stream-json: include the text of agents"),
    Flag(("--ide",), "switch", "connect to the editor that has this folder open"),
    Flag(("--no-chrome",), "switch", "no browser, whatever the settings say"),
    Flag(("--prompt-suggestions",), "switch", "with stream-json: suggest the next prompt"),
    Flag(("--safe-mode",), "switch", status="ignored"),
    Flag(("--advisor",), "value", 'a second model that the main one can ask for advice, or "off"', "model"),
    Flag(("--agent",), "value", "run as this agent: its prompt, tools and model", "name"),
    Flag(("--agents",), "value", "additional agents for the Agent tool", "JSON or file"),
    Flag(("--append-subagent-system-prompt",), "value"),
    Flag(("--autocompact",), "value", "compact at this many tokens: auto, 500k", "auto or n"),
    Flag(("--await-initialize",), "switch", "with stream-json: wait for the host's initialize request"),
    Flag(("--ax-screen-reader",), "switch", "plain lines of text, for screen readers"),
    Flag(("--bg", "--background"), "switch", "start the session in the background and print its id"),
    Flag(("--channels",), "many", "MCP servers that may send messages into the session", "server"),
    Flag(("--chrome",), "switch", "let the model use tabs of your browser; see bridle chrome"),
    Flag(("--cloud",), "optional", status="later"),
    Flag(("--exec",), "value", "with --bg: run this shell command instead of a session", "command"),
    Flag(("--from-pr",), "optional", status="later"),
    Flag(("--init",), "switch", "run Setup hooks first"),
    Flag(("--init-only",), "switch", "run Setup and SessionStart hooks, then exit"),
    Flag(("--json-schema",), "value", "answer with JSON that matches this JSON Schema", "schema"),
    Flag(("--maintenance",), "switch", "run Setup hooks for maintenance first"),
    Flag(("--managed-settings",), "value", "managed settings from the program that starts bridle", "JSON"),
    Flag(
        ("--permission-prompt-tool",),
        "value",
        "who answers permission questions: stdio, or a tool mcp__server__tool",
        "name",
    ),
    Flag(("--permission-prompts",), "value", choices=("host", "none")),
    Flag(("--plugin-dir",), "each", "a plugin for this session: a folder or an archive", "path"),
    Flag(("--plugin-dir-no-mcp",), "each", "a plugin for this session, without its MCP servers", "path"),
    Flag(("--plugin-url",), "each", "a plugin for this session: the URL of an archive", "url"),
    Flag(("--remote",), "optional", status="later"),
    Flag(
        ("--remote-control", "--rc"), "optional", "share the session with other browsers and devices", "name"
    ),
    Flag(("--remote-control-session-name-prefix",), "value"),
    Flag(("--join-hub",), "switch", "show the session at the hub of this machine; see bridle docs hub"),
    Flag(("--session-mirror",), "switch"),
    Flag(
        ("--teammate-mode",),
        "value",
        "where teammates work: in-process, tmux, iterm2, or auto",
        "mode",
        choices=("in-process", "auto", "tmux", "iterm2"),
    ),
    Flag(("--teleport",), "optional", status="later"),
    Flag(("--brief",), "switch", status="ignored"),
    Flag(("--desktop",), "switch", status="later"),
    Flag(("--environment",), "value", status="later"),
    Flag(("--file",), "many", status="later"),
    Flag(("--system-prompt-snapshot",), "value", choices=("on", "off"), status="ignored"),
    Flag(
        ("--tmux",),
        "optional",
        'with --worktree: open a tmux session; "classic" without iTerm2 windows',
        "classic",
        choices=("classic",),
    ),
    Flag(("-w", "--worktree"), "optional", "work in a git worktree: a new one, or by name", "name"),
)

SUBCOMMANDS: dict[str, str] = {
    "acp": "Run as the agent of an editor (Agent Client Protocol)",
    "agents": "List running sessions, in the background and in terminals",
    "attach": "Show a background session in this terminal",
    "audit": "Verify, show and export what sessions did, from their signed records",
    "auth": "Store and check API keys for model services",
    "auto-mode": "Show, review and reset the rules of auto mode",
    "bundle": "Write one file that installs bridle on a machine without network",
    "chrome": "Connect bridle with Chrome, Chromium, Edge or Brave",
    "completion": "Print a script that completes commands and options in your shell",
    "config": "Show, explain and change settings",
    "daemon": "Control the supervisor of background sessions",
    "debug": "Show permission decisions and the cost of a prompt",
    "demo": "Watch bridle fix a small project, without a key or a network",
    "docs": "Read and search the documentation",
    "doctor": "Check the installation, the settings and the security of this machine",
    "eval": "Run a suite of tasks over a matrix, with pass rates and differences",
    "fleet": "Run many tasks at once, on this machine or on a Ray cluster",
    "gateway": "Serve models to a team: keys in one place, budgets and rules per user",
    "help": "Show help for a command",
    "hooks": "List, test and check hooks",
    "hub": "Run a server with one page for the sessions of all your machines",
    "import": "Import the configuration of another agent",
    "install": "Install a version of bridle",
    "links": "Open claude-cli:// links of web pages in bridle",
    "local": "List local model servers and their models",
    "lock": "Write, check and compare bridle.lock: every prompt and tool that models get",
    "logs": "Print the output of a background session",
    "man": "Show the manual page",
    "mcp": "Add, list, log in to and remove MCP servers, or run as one",
    "merge": "Merge branches one by one, testing each merge",
    "models": "List, show and test models",
    "packages": "List and approve Python packages that extend bridle",
    "plugin": "Install, list and write plugins",
    "policy": "Explain, replay and test permission decisions, and learn rules from them",
    "project": "Delete the stored data of a project",
    "record": "Run a prompt and record the model's answers",
    "remote": "Manage sessions on other machines that yours can message",
    "remote-control": "Start and control sessions of this folder from a browser",
    "replay": "Run a recorded prompt again without a model",
    "respawn": "Restart a background session that has ended",
    "rewind": "Put a conversation and its files back as they were at a prompt",
    "rm": "Remove a background session that has ended from the list",
    "schedules": "List and approve the scheduled prompts of this folder",
    "search": "Search every conversation on this machine",
    "setup-token": "Print a key for scripts without storing it",
    "stop": "Stop a background session",
    "trust": "Review and trust what a folder configures",
    "ultrareview": "Review a change in depth with several agents, for scripts and CI",
    "update": "Update bridle",
    "usage": "Show token usage and cost",
}
"""Every subcommand that people call, with its summary; `cli/subcommands/` says the rest."""
ALIASES = {"kill": "stop", "plugins": "plugin", "rc": "remote-control"}
