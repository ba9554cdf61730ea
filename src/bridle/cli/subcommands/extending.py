"""Subcommands about what extends bridle: MCP servers, plugins, hooks and packages."""

from bridle.cli.flags import SUBCOMMANDS
from bridle.cli.subcommands.plugins import PLUGIN
from bridle.cli.subcommands.settings import TRUST_ARGUMENTS, TRUST_OPTIONS
from bridle.cli.subcommands.values import (
    JSON,
    Argument,
    Flag,
    Subcommand,
    number,
    option,
    repeated,
    switch,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_SCOPES = ("local", "project", "user")
_SCOPE = option(
    "-s", "--scope", value="scope", help="the scope of the server", choices=_SCOPES, default="local"
)
_TRANSPORT = option(
    "-t", "--transport", value="transport", help="how to connect to it",
    choices=("stdio", "http", "sse", "ws"), default="stdio",
)  # fmt: skip
_SECRET = switch("--client-secret", help="ask for the client secret, or take it from MCP_CLIENT_SECRET")
_INPUT = option("--input", value="json", help="fields of the event; the others are sample values")
_TOOL = option("--tool", value="tool", help="only hooks that concern this tool")
_SERVER = Argument("name", "the name of the server")


def _is_program(words: "Sequence[str]") -> bool:
    """Whether a program is added: its words may look like options of ours; an address has none."""
    own = words[: words.index("--")] if "--" in words else words
    for place, word in enumerate(own):
        name, equals, value = word.partition("=")
        if name in _TRANSPORT.names:
            return (value if equals else "".join(own[place + 1 : place + 2])) == "stdio"
    return True


_MCP = Subcommand(
    "mcp",
    SUBCOMMANDS["mcp"],
    commands=(
        Subcommand(
            "add", "Add a server", "mcp.edit:run_edit",
            arguments=(
                Argument("name", "a name for the server"),
                Argument("target", "the command that starts it, or its URL"),
                Argument("args", "arguments of the command", "many", raw=_is_program),
            ),
            options=(
                _SCOPE,
                _TRANSPORT,
                Flag(("-e", "--env"), "pairs", "a variable for the program", "KEY=value"),
                repeated("-H", "--header", value="Name: value", help="a header for every request"),
                option("--client-id", value="id", help="the id of a registered OAuth client"),
                _SECRET,
                number(
                    "--callback-port", value="port", help="the callback port of that client",
                    most=65_535,
                ),
            ),
            examples=(
                "bridle mcp add files -- npx -y @modelcontextprotocol/server-filesystem .",
                "bridle mcp add -t http -s user -H 'X-Team: blue' docs https://mcp.example.com/mcp",
            ),
        ),
        Subcommand(
            "add-json", "Add a server from JSON", "mcp.edit:run_edit",
            arguments=(_SERVER, Argument("json", "the definition, as in .mcp.json")),
            options=(_SCOPE, _SECRET),
            examples=("""bridle mcp add-json files '{"command": "files-server"}'""",),
        ),
        Subcommand(
            "add-from-claude-desktop", "Import servers from Claude Desktop", "mcp.edit:run_edit",
            arguments=(Argument("names", "the servers to add (default: all)", "many"),),
            options=(_SCOPE,),
        ),
        Subcommand("list", "List servers and check that they answer", "mcp.show:run_show"),
        Subcommand("get", "Show the details of a server", "mcp.show:run_show", arguments=(_SERVER,)),
        Subcommand(
            "remove", "Remove a server", "mcp.edit:run_edit", arguments=(_SERVER,),
            options=(option("-s", "--scope", value="scope", help="only from this scope", choices=_SCOPES),),
        ),
        Subcommand(
            "login", "Log in to a remote server", "mcp.login:run_login", arguments=(_SERVER,),
            options=(switch("--no-browser", help="print the URL instead of opening a browser"),),
        ),
        Subcommand("logout", "Log out of a remote server", "mcp.login:run_login", arguments=(_SERVER,)),
        Subcommand(
            "reset-project-choices", "Reset the approvals of this project's servers", "mcp.edit:run_edit"
        ),
        Subcommand(
            "serve", "Serve bridle's tools to an MCP client over stdio",
            "mcp.serve:run_serve",
            options=(
                switch("--verbose", help="log events on standard error"), switch("-d", "--debug"),
            ),
        ),
    ),
)  # fmt: skip
_AUTOMATION_OPTIONS = (
    switch("--json", help="print the whole answer as JSON"),
    option(
        "--session", value="id", help="the session to use (default: CLAUDE_CODE_SESSION_ID or the newest)"
    ),
    option("--timeout", value="ms", help="time limit for a call"),
)
_AUTOMATION_TOOL = Argument("tool", "server/tool")
_AUTOMATION_SERVER = Argument("server", "only this server", "optional")


def _automation(name: str, summary: str, *arguments: Argument) -> Subcommand:
    run = "mcp.automation:run_automation"
    return Subcommand(name, summary, run, arguments=arguments, options=_AUTOMATION_OPTIONS)


_BROWSERS = Argument(
    "browser",
    "the browsers (default: all that are found)",
    "many",
    choices=("chrome", "chromium", "edge", "brave"),
)
_CHROME = Subcommand(
    "chrome",
    SUBCOMMANDS["chrome"],
    default="status",
    commands=(
        Subcommand(
            "install",
            "Register bridle with browsers and write their extension",
            "verbs.chrome:install",
            arguments=(_BROWSERS,),
            examples=("bridle chrome install", "bridle chrome install brave"),
        ),
        Subcommand("uninstall", "Undo install", "verbs.chrome:uninstall"),
        Subcommand("status", "Show which browsers are set up and connected", "verbs.chrome:status"),
    ),
    details="See bridle docs browser.",
)

EXTENDING = (
    _CHROME,
    _MCP,
    Subcommand(
        "--mcp-cli",
        "Use the MCP servers of a running session in scripts (with ENABLE_EXPERIMENTAL_MCP_CLI=1)",
        commands=(
            _automation("servers", "List the servers of the session and their state"),
            _automation("tools", "List the tools as server/tool", _AUTOMATION_SERVER),
            _automation("info", "Show a tool and its arguments", _AUTOMATION_TOOL),
            _automation(
                "grep", "Find tools by name or description", Argument("pattern", "a regular expression")
            ),
            _automation(
                "call", "Call a tool", _AUTOMATION_TOOL,
                Argument("arguments", "a JSON object; - reads it from standard input"),
            ),
            _automation("resources", "List the resources", _AUTOMATION_SERVER),
            _automation(
                "read", "Read a resource", Argument("server", "the server, or server/uri"),
                Argument("uri", "the URI of the resource", "optional"),
            ),
        ),
        hidden=True,
    ),
    PLUGIN,
    Subcommand(
        "hooks",
        SUBCOMMANDS["hooks"],
        commands=(
            Subcommand(
                "list", "List every hook: where it is defined, what it runs, and whether it is active",
                "hooks.verbs:list_hooks",
                options=(
                    JSON, option("--event", value="event", help="only hooks of this event"), _TOOL,
                    option("--input", value="json", help="with --tool: only hooks that this call would run"),
                ),
                examples=("""bridle hooks list --tool Bash --input '{"command": "git push"}'""",),
            ),
            Subcommand(
                "test", "Run the hooks of an event with sample data and show their answers",
                "hooks.verbs:test_hooks",
                arguments=(Argument("event", "such as PreToolUse"),),
                options=(
                    _TOOL, _INPUT,
                    option("--hook", value="number", help="only this hook, by its number in the list"),
                ),
                examples=(
                    "bridle hooks test PreToolUse --tool Bash --input "
                    """'{"tool_input": {"command": "rm -rf build"}}'""",
                ),
            ),
            Subcommand(
                "lint", "Find hooks that can never run; exits with 1 if there are any",
                "hooks.verbs:lint_hooks",
            ),
            Subcommand(
                "approve", "Show what has changed in a trusted folder, and trust it (same as bridle trust)",
                "verbs.trust:run_trust", arguments=TRUST_ARGUMENTS, options=TRUST_OPTIONS,
            ),
        ),
    ),
    Subcommand(
        "packages",
        SUBCOMMANDS["packages"],
        details="""\
A package's code runs only after you approve it. The approval ends when the package is updated or moved.""",
        commands=(
            Subcommand("list", "List packages that extend bridle", "verbs.packages:run_packages"),
            *(
                Subcommand(
                    name, summary, "verbs.packages:run_packages", arguments=(Argument("name", "the package"),)
                )
                for name, summary in (
                    ("check", "Import an approved package and list what it adds"),
                    ("approve", "Approve this version of a package at this path"),
                    ("revoke", "Revoke the approval of a package"),
                )
            ),
        ),
    ),
)  # fmt: skip
