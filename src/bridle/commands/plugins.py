"""Plugins of a running session: lists, installs, removes and switches them."""

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from bridle.commands.context import CommandContext
from bridle.extensions.plugins import installation, marketplaces, removal
from bridle.extensions.plugins.context import PluginContext
from bridle.extensions.plugins.loader import load_plugins, switches
from bridle.extensions.plugins.names import Scope
from bridle.extensions.plugins.plugin import PluginRequest, Plugins
from bridle.extensions.plugins.report import (
    MarketplaceReport,
    PluginReport,
    installed_plugins,
    known_marketplaces,
    offered_plugins,
    plugin_named,
)
from bridle.extensions.plugins.sources import parse_source
from bridle.extensions.plugins.state import favor, lock, read_favorites
from bridle.types.command import CommandResult, Says, Shows
from bridle.types.errors import UsageError

_USE = (
    "Use /plugin, /plugin list, /plugin install|uninstall|enable|disable|update <name@marketplace> "
    "[user|project|local], /plugin install <name> --marketplace <source>, /plugin favorite <name> "
    "on|off, /plugin marketplace list, add|update|remove <source or name>, or auto-update <name> on|off."
)


async def plugins(arguments: str, context: CommandContext) -> CommandResult:
    words = arguments.split()
    if words in ([], ["list"]):
        rows, _ = await asyncio.to_thread(plugin_rows, context)
        lines = [_line(row) for row in rows if row.installed]
        return Shows(view="plugins", text="\n".join(lines) or "No plugins are installed.")
    if words == ["marketplace", "list"]:
        _, markets = await asyncio.to_thread(plugin_rows, context)
        return Says("\n".join(map(_market, markets)) or "No marketplaces.")
    said = await _do(words, context)
    context.settings.refresh()
    again = context.reload_extensions
    return Says(f"{said} {await again()}" if again is not None else said)


def plugin_rows(context: CommandContext) -> tuple[list[PluginReport], tuple[MarketplaceReport, ...]]:
    """Every plugin, installed or offered, and the marketplaces. Reads files, so it belongs in a thread.

    Raises:
        ConfigError: a file of the plugins cannot be read.
    """
    around = around_of(context)
    rows = list(installed_plugins(around, context.settings.config(), _loaded(context)))
    known = {row.id for row in rows}
    rows += [row for row in offered_plugins(around) if row.id not in known]
    liked = read_favorites(context.env)
    rows = [replace(row, favorite=row.id in liked) for row in rows]
    return sorted(rows, key=lambda row: not row.favorite), known_marketplaces(around)


def around_of(context: CommandContext) -> PluginContext:
    config = context.settings.config()
    _, fixed = switches(config)
    return PluginContext(
        env=context.env,
        cwd=context.workspace.start,
        settings=config.settings,
        enabled_by_management=fixed,
    )


async def _do(words: Sequence[str], context: CommandContext) -> str:
    around = around_of(context)
    match words:
        case ["marketplace", "add", source]:
            async with lock(around.env):
                found = await marketplaces.add(around, parse_source(source, cwd=around.cwd))
            return f"Added the marketplace {found.name} with {len(found.offers)} plugins."
        case ["marketplace", "update", name]:
            async with lock(around.env):
                renewed = await marketplaces.update(around, name)
            return f"Could not update {name}: {renewed.stale}." if renewed.stale else f"{name} is up to date."
        case ["marketplace", "remove", name]:
            gone = await removal.remove_marketplace(around, name)
            return f"Removed the marketplace {name} and {len(gone)} plugins."
        case ["marketplace", "auto-update", name, "on" | "off" as switch]:
            await asyncio.to_thread(marketplaces.keep_current, around, name, on=switch == "on")
            return f"Auto-update of {name} is {'on' if switch == 'on' else 'off'}."
        case ["install", name, "--marketplace", source]:
            async with lock(around.env):
                found = await marketplaces.add(around, parse_source(source, cwd=around.cwd))
            return await _change(around, "install", name if "@" in name else f"{name}@{found.name}", None)
        case ["favorite" | "favourite", name, "on" | "off" as switch]:
            plugin = str(plugin_named(name, around, installed="@" not in name))
            await asyncio.to_thread(favor, around.env, plugin, on=switch == "on")
            return f"{'Added' if switch == 'on' else 'Removed'} the favorite {plugin}."
        case [action, name]:
            return await _change(around, action, name, None)
        case [action, name, "user" | "project" | "local" as scope]:
            return await _change(around, action, name, scope)
        case _:
            raise UsageError(_USE)


async def _change(around: PluginContext, action: str, name: str, scope: Scope | None) -> str:
    plugin = plugin_named(name, around, installed=action != "install")
    match action:
        case "install":
            changes = await installation.install(around, [plugin], scope=scope or "user")
            return f"Installed {', '.join(f'{each.plugin} {each.version}' for each in changes)}."
        case "uninstall" | "remove":
            await removal.uninstall(around, plugin, scope=scope)
            return f"Removed {plugin}."
        case "enable" | "disable":
            on = action == "enable"
            await asyncio.to_thread(installation.enable, around, plugin, enabled=on, scope=scope)
            return f"{plugin} is {'on' if on else 'off'}."
        case "update":
            messages: list[str] = []
            changes = await installation.update(around, plugin, scope=scope, tell=messages.append)
            done = f"Updated {plugin} to {changes[0].version}." if changes else f"{plugin} is up to date."
            return " ".join((*(f"{each}." for each in messages), done))
        case _:
            raise UsageError(_USE)


def _loaded(context: CommandContext) -> Plugins:
    return load_plugins(
        PluginRequest(
            config=context.settings.config(),
            env=context.env,
            cwd=context.workspace.start,
            trusted=context.trusted,
        )
    )


def _line(row: PluginReport) -> str:
    newer = f", {row.offered} available" if row.offered else ""
    wrong = "".join(f"\n  ! {problem}" for problem in row.problems)
    brings = ", ".join(row.brings) or "nothing"
    star = "* " if row.favorite else ""
    stand = f"{row.scope}, {'on' if row.enabled else 'off'}{newer}"
    return f"{star}{row.id} {row.version} ({stand}): {brings}{wrong}"


def _market(row: MarketplaceReport) -> str:
    kept = ", auto-update" if row.auto_update else ""
    wrong = f"\n  ! {row.problem}" if row.problem else ""
    return f"{row.name}: {row.plugins} plugins, from {row.source}{kept}{wrong}"
