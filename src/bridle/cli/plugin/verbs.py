"""`bridle plugin`: plugins and the marketplaces that they come from."""

from collections.abc import Mapping, Sequence

from bridle.cli.say import say
from bridle.types.errors import UsageError

_HELP = """\
Usage: bridle plugin <command>

  install <plugin>…            install name@marketplace; what it needs comes with it
      -s, --scope user|project|local   for whom (user)
      --config key=value       set an option; may be repeated
      --marketplace <source>   add this marketplace first
      -y, --yes                do not ask
  uninstall <plugin>           [-s scope] [--keep-data] [--prune] [-y]
  enable <plugin>              [-s scope]
  disable <plugin> | -a        [-s scope]; -a turns all off
  update [plugin]              [-s scope] [-y]; all without a name
  prune                        remove what was only needed by others   [-s scope] [--dry-run] [-y]
  list                         what is installed   [--json] [--available]
  details <plugin>             all about one plugin   [--json]
  configure <plugin>           show its options, or set them: key=value…
  marketplace add <source>     owner/repository, an address, npm:package, a folder, a file or an archive
  marketplace list             [--json]
  marketplace update [name]    all without a name
  marketplace remove <name>    its plugins go with it
  marketplace auto-update <name> on|off   bring it up to date without being asked

For authors:
  init <name>                  begin a plugin   [--description …] [--author …] [--author-email …]
                               [--with skill,command,agent,workflow,hook,mcp,output-style] [-f]
  validate [path]              check a plugin or a marketplace   [--json]
  eval [path]                  what a plugin would add to a session, and its cost in tokens   [--json]
  tag [path]                   mark its version in git   [--push] [--dry-run] [-f] [-m text] [--remote name]
"""
_COMMANDS = (
    "install", "uninstall", "enable", "disable", "update", "prune", "list", "details", "configure",
    "marketplace", "init", "validate", "eval", "tag",
)  # fmt: skip
_OTHER_NAMES = {
    "i": "install",
    "add": "install",
    "remove": "uninstall",
    "rm": "uninstall",
    "ls": "list",
    "test": "eval",
    "autoremove": "prune",
    "new": "init",
}


def run_plugin(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run one of the commands.

    Raises:
        BridleError: it cannot be done.
    """
    if not argv or argv[0] in ("-h", "--help", "help") or any(word in ("-h", "--help") for word in argv[1:]):
        return say(_HELP)
    command, words = _OTHER_NAMES.get(argv[0], argv[0]), argv[1:]
    match command:
        case "install" | "uninstall" | "enable" | "disable" | "update" | "prune":
            from bridle.cli.plugin.change import run_change

            return run_change(command, words, env)
        case "list" | "details" | "configure":
            from bridle.cli.plugin.show import run_show

            return run_show(command, words, env)
        case "marketplace":
            from bridle.cli.plugin.market import run_market

            return run_market(words, env)
        case "init" | "validate" | "eval" | "tag":
            from bridle.cli.plugin.author import run_author

            return run_author(command, words, env)
        case _:
            raise UsageError(
                f"there is no command 'plugin {command}'{_nearest(command)}; see bridle plugin --help"
            )


def _nearest(command: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(command, _COMMANDS, n=1, cutoff=0.6)
    return f": did you mean '{close[0]}'?" if close else ""
