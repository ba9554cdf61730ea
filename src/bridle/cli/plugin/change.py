"""`bridle plugin install` and the other commands that change what is installed."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from bridle.cli.plugin.context import PluginCommandContext, command_context, confirm, scope_of
from bridle.cli.say import tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.extensions.plugins import installation, marketplaces, removal
from bridle.extensions.plugins.components import brings
from bridle.extensions.plugins.installation_plan import Item
from bridle.extensions.plugins.loader import switches
from bridle.extensions.plugins.names import SKILLS_DIR
from bridle.extensions.plugins.report import plugin_named
from bridle.extensions.plugins.sources import parse_source
from bridle.extensions.plugins.state import is_for, lock, read_installed
from bridle.types.errors import BridleError, CommandLineError, ConfigError, UsageError


def run_change(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Run one of the commands.

    Raises:
        BridleError: it cannot be done.
    """
    context = command_context(env)
    try:
        match given.command[-1]:
            case "install":
                return asyncio.run(_install(context, given))
            case "uninstall":
                return asyncio.run(_uninstall(context, given))
            case "update":
                return asyncio.run(_update(context, given))
            case "prune":
                return asyncio.run(_prune(context, given))
            case _:
                return _switch(context, given, enabled=given.command[-1] == "enable")
    except OSError as error:
        raise ConfigError(f"{error.filename or 'The plugins'}: {error.strerror or error}") from error


async def _install(context: PluginCommandContext, given: ParsedArguments) -> int:
    around = context.asking(yes=given.on("yes"))
    added = given.text("marketplace")
    if added is not None:
        async with lock(around.env):
            name = (await marketplaces.add(around, parse_source(added, cwd=around.cwd))).name
        wanted = [
            plugin_named(each if "@" in each else f"{each}@{name}", around, installed=False)
            for each in given.all("plugins")
        ]
    else:
        wanted = [plugin_named(each, around, installed=False) for each in given.all("plugins")]
    changes = await installation.install(
        around, wanted, scope=scope_of(given) or "user", options=_options(given), agree=_agree(context, given)
    )
    for each in changes:
        came = " (needed by another)" if each.automatic else ""
        tell(f"Installed {each.plugin} {each.version}{came}.\n")
    named = {name for each in changes for name in (str(each.plugin), each.plugin.name)}
    for fault in command_context(around.env).plugins().faults:
        if fault.plugin in named:
            tell(f"! {fault}\n")
    return 0


async def _uninstall(context: PluginCommandContext, given: ParsedArguments) -> int:
    plugin = plugin_named(given.one("plugin"), context.around, installed=True)
    data = "" if given.on("keep-data") else " and its data"
    if not confirm(f"Remove {plugin}{data}?", yes=given.on("yes")):
        return 1
    gone = await removal.uninstall(
        context.around,
        plugin,
        scope=scope_of(given),
        keep_data=given.on("keep-data"),
        prune=given.on("prune"),
    )
    return tell(*(f"Removed {each}." for each in gone))


async def _update(context: PluginCommandContext, given: ParsedArguments) -> int:
    around = context.asking(yes=given.on("yes"))
    if given.all("plugins"):
        wanted = [plugin_named(each, around, installed=True) for each in given.all("plugins")]
    else:
        known = read_installed(around.env).plugins.items()
        names = [name for name, records in known if any(is_for(each, around.cwd) for each in records)]
        wanted = [plugin_named(name, around, installed=True) for name in names]
    failed = False
    for plugin in wanted:
        try:
            changes = await installation.update(
                around,
                plugin,
                scope=scope_of(given),
                agree=_agree(context, given),
                tell=_line,
            )
        except BridleError as error:
            if len(wanted) == 1:
                raise
            failed = True
            tell(f"can't update {plugin}: {error}\n")
            continue
        for each in changes:
            tell(f"Updated {each.plugin} from {each.before or plugin} to {each.version}.\n")
        if not changes:
            tell(f"{plugin} is up to date.\n")
    return 1 if failed else 0


async def _prune(context: PluginCommandContext, given: ParsedArguments) -> int:
    gone = await removal.prune(context.around, scope=scope_of(given), dry_run=True)
    if given.on("dry-run") or not gone:
        return tell(*([f"Would remove {each}." for each in gone] or ["Nothing to remove."]))
    if not confirm(f"Remove {', '.join(map(str, gone))}?", yes=given.on("yes")):
        return 1
    gone = await removal.prune(context.around, scope=scope_of(given))
    return tell(*(f"Removed {each}." for each in gone))


def _switch(context: PluginCommandContext, given: ParsedArguments, *, enabled: bool) -> int:
    around, word, name = context.around, "on" if enabled else "off", given.text("plugin")
    if given.on("all"):
        if name is not None:
            raise UsageError("give a plugin or -a, not both")
        waiting = [
            str(each.plugin) for each in context.plugins().loaded if each.plugin.marketplace != SKILLS_DIR
        ]
    elif name is None:
        raise CommandLineError("missing argument <plugin>, or -a; see bridle plugin disable --help")
    else:
        waiting = [name]
    for name in waiting:
        plugin = plugin_named(name, around, installed=True)
        installation.enable(around, plugin, enabled=enabled, scope=scope_of(given), alone=not given.on("all"))
        decided, _ = switches(command_context(around.env).config)
        if decided.get(str(plugin), enabled) is enabled:
            tell(f"{plugin} is {word}.\n")
        else:
            tell(f"{plugin} is {word} in this scope, but another settings file overrides it: use -s local.\n")
    return 0


def _options(given: ParsedArguments) -> dict[str, str]:
    options: dict[str, str] = {}
    for pair in given.all("config"):
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"--config takes key=value, not {pair!r}")
        options[key] = value
    return options


def _line(sentence: str) -> None:
    tell(f"{sentence}\n")


def _agree(context: PluginCommandContext, given: ParsedArguments) -> Callable[[Sequence[Item]], bool]:
    """Shows what is about to be installed, and asks."""

    def agree(items: Sequence[Item]) -> bool:
        for item in items:
            tell(f"{item.plugin} {item.version}: {', '.join(brings(item.components)) or 'nothing'}\n")
        if message := context.config.settings.plugin_trust_message:
            tell(f"{message}\n")
        return confirm("Install?", yes=given.on("yes"))

    return agree
