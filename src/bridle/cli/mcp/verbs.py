"""`bridle mcp`: add, look at, log in to and remove MCP servers, and be one."""

from collections.abc import Mapping, Sequence

from bridle.cli.say import say
from bridle.types.errors import UsageError

_HELP = """\
Usage: bridle mcp <command>

  add [options] <name> <command or url> [-- args…]   add a server
      -s, --scope local|project|user                 where it counts (local)
      -t, --transport stdio|http|sse|ws              how it is reached (stdio)
      -e, --env KEY=value                            a variable for the program; may be repeated
      -H, --header "Name: value"                     a header for every request; may be repeated
      --client-id ID, --client-secret                a client that you registered; the secret is asked for,
                                                     or taken from MCP_CLIENT_SECRET
      --callback-port PORT                           the port that its way back was registered with
  add-json [-s scope] <name> <json>                  add a server by its definition
  add-from-claude-desktop [-s scope] [name…]         take over servers of the Claude desktop program
  list                                               every server, and whether it can be reached
  get <name>                                         all about one server
  remove [-s scope] <name>                           remove a server
  login <name> [--no-browser]                        log in to a remote server
  logout <name>                                      log out of it
  reset-project-choices                              ask about the servers of this project again
  serve [--verbose]                                  offer bridle's own tools to an MCP client on standard
                                                     input and output
"""
_COMMANDS = (
    "add", "add-json", "add-from-claude-desktop", "get", "list", "login", "logout", "remove",
    "reset-project-choices", "serve",
)  # fmt: skip


def run_mcp(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run one of the commands.

    Raises:
        BridleError: it cannot be done.
    """
    if not argv or argv[0] in ("-h", "--help", "help"):
        return say(_HELP)
    command, *words = argv
    if any(word in ("-h", "--help") for word in _before_dashes(words)):
        return say(_HELP)
    match command:
        case "add" | "add-json" | "add-from-claude-desktop" | "remove" | "reset-project-choices":
            from bridle.cli.mcp.edit import run_edit

            return run_edit(command, words, env)
        case "list" | "get":
            from bridle.cli.mcp.show import run_show

            return run_show(command, words, env)
        case "login" | "logout":
            from bridle.cli.mcp.login import run_login

            return run_login(command, words, env)
        case "serve":
            from bridle.cli.mcp.serve import run_serve

            return run_serve(words, env)
        case _:
            raise UsageError(f"there is no command 'mcp {command}'{_nearest(command)}; see bridle mcp --help")


def _before_dashes(words: Sequence[str]) -> Sequence[str]:
    return words[: words.index("--")] if "--" in words else words


def _nearest(command: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(command, _COMMANDS, n=1, cutoff=0.6)
    return f": did you mean '{close[0]}'?" if close else ""
