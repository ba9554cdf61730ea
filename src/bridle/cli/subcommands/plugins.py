"""`bridle plugin`: plugins and the marketplaces that they come from."""

from bridle.cli.flags import SUBCOMMANDS
from bridle.cli.subcommands.values import JSON, YES, Argument, Subcommand, option, repeated, switch

_SCOPE = option(
    "-s", "--scope", value="scope", help="where it applies", choices=("user", "project", "local", "managed")
)
_PLUGIN = Argument("plugin", "name@marketplace, or just the name if it is unique")
_PATH = Argument("path", "the folder (default: this one)", "optional", completes="folder")
_DRY = switch("--dry-run", help="show what would happen, without doing it")

_CHANGE = (
    Subcommand(
        "install", "Install plugins and their dependencies", "plugin.change:run_change", aliases=("i", "add"),
        arguments=(Argument("plugins", "name@marketplace", "some"),),
        options=(
            _SCOPE,
            repeated("--config", value="key=value", help="set an option of the plugin"),
            option("--marketplace", value="source", help="add this marketplace first"),
            YES,
        ),
        examples=("bridle plugin install linter@team", "bridle plugin i -s project linter@team -y"),
    ),
    Subcommand(
        "uninstall", "Remove a plugin", "plugin.change:run_change", aliases=("remove", "rm"),
        arguments=(_PLUGIN,),
        options=(
            _SCOPE, switch("--keep-data", help="keep the plugin's data"),
            switch("--prune", help="also remove dependencies no other plugin needs"), YES,
        ),
    ),
    Subcommand(
        "enable", "Turn a plugin on", "plugin.change:run_change", arguments=(_PLUGIN,), options=(_SCOPE,)
    ),
    Subcommand(
        "disable", "Turn a plugin off", "plugin.change:run_change",
        arguments=(Argument("plugin", _PLUGIN.help, "optional"),),
        options=(_SCOPE, switch("-a", "--all", help="turn all off")),
    ),
    Subcommand(
        "update", "Update plugins", "plugin.change:run_change",
        arguments=(Argument("plugins", "name@marketplace (default: all)", "many"),),
        options=(_SCOPE, YES),
    ),
    Subcommand(
        "prune", "Remove dependencies that no plugin needs", "plugin.change:run_change",
        aliases=("autoremove",), options=(_SCOPE, _DRY, YES),
    ),
)  # fmt: skip
_SHOW = (
    Subcommand(
        "list", "List the installed plugins", "plugin.show:run_show", aliases=("ls",),
        options=(JSON, switch("--available", help="include plugins available in marketplaces")),
    ),
    Subcommand(
        "details", "Show the details of an installed plugin", "plugin.show:run_show",
        arguments=(_PLUGIN,), options=(JSON,),
    ),
    Subcommand(
        "configure", "Show the options of a plugin, or set them", "plugin.show:run_show",
        arguments=(_PLUGIN, Argument("pairs", "key=value", "many")),
        examples=("bridle plugin configure linter@team level=strict",),
    ),
)  # fmt: skip
_NAME = Argument("name", "the marketplace")
_MARKETPLACE = Subcommand(
    "marketplace",
    "Add, list, update and remove the marketplaces that plugins come from",
    commands=(
        Subcommand(
            "add", "Add a marketplace", "plugin.market:run_market",
            arguments=(
                Argument("source", "owner/repository, a URL, npm:package, a folder, a file or an archive"),
            ),
            options=(YES,), examples=("bridle plugin marketplace add our-team/plugins",),
        ),
        Subcommand(
            "list", "List the marketplaces", "plugin.market:run_market", aliases=("ls",), options=(JSON,)
        ),
        Subcommand(
            "update", "Fetch marketplaces again", "plugin.market:run_market",
            arguments=(Argument("names", "the marketplaces (default: all)", "many"),), options=(YES,),
        ),
        Subcommand(
            "remove", "Remove a marketplace and its plugins", "plugin.market:run_market", aliases=("rm",),
            arguments=(_NAME,), options=(YES,),
        ),
        Subcommand(
            "auto-update", "Turn automatic updates of a marketplace on or off", "plugin.market:run_market",
            arguments=(_NAME, Argument("switch", "on or off", choices=("on", "off"))),
        ),
    ),
)  # fmt: skip
_AUTHOR = (
    Subcommand(
        "init", "Create a plugin", "plugin.author:run_author", aliases=("new",),
        arguments=(Argument("name", "its name, or a folder"),),
        options=(
            option("--description", value="text", help="what it does"),
            option("--author", value="name", help="the author"),
            option("--author-email", value="address", help="the author's email address"),
            repeated(
                "--with", value="parts",
                help="its parts, separated by commas: skill,command,agent,workflow,hook,mcp,output-style",
            ),
            switch("-f", "--force", help="write into a folder that is not empty"),
        ),
        examples=("bridle plugin init linter --with skill,hook",),
    ),
    Subcommand(
        "validate", "Check a plugin or a marketplace; exits with 1 if it can't be used",
        "plugin.author:run_author", arguments=(_PATH,), options=(JSON,),
    ),
    Subcommand(
        "eval", "Show what a plugin would add to a session, and its cost in tokens",
        "plugin.author:run_author", aliases=("test",), arguments=(_PATH,), options=(JSON,),
    ),
    Subcommand(
        "tag", "Tag the version of a plugin in git", "plugin.author:run_author", arguments=(_PATH,),
        options=(
            switch("--push", help="push the tag"), _DRY,
            switch("-f", "--force", help="tag despite uncommitted changes or an existing tag"),
            option("-m", "--message", value="text", help="the message of the tag"),
            option("--remote", value="name", help="the remote to push to", default="origin"),
        ),
    ),
)  # fmt: skip

PLUGIN = Subcommand(
    "plugin",
    SUBCOMMANDS["plugin"],
    commands=(*_CHANGE, *_SHOW, _MARKETPLACE, *_AUTHOR),
    aliases=("plugins",),
)
