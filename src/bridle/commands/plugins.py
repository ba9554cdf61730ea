"""Looks after plugins in a running session: what is there, and installing, removing and switching."""

import asyncio
from collections.abc import Sequence

from bridle.commands.context import CommandContext
from bridle.extensions.plugins import installing, marketplaces
from bridle.extensions.plugins.around import Around
from bridle.extensions.plugins.loading import Plugins, Wish, load_plugins, switches
from bridle.extensions.plugins.names import Scope, parse_id
from bridle.extensions.plugins.report import (
    MarketplaceReport,
    PluginReport,
    installed_plugins,
    known_marketplaces,
    offered_plugins,
)
from bridle.extensions.plugins.sources import parse_source
from bridle.extensions.plugins.state import lock
from bridle.types.command import CommandResult, Says, Shows
from bridle.types.errors import UsageError

_USE = (
    "Use /plugin, /plugin install|uninstall|enable|disable|update <name@marketplace> [user|project|local], "
    "or /plugin marketplace add|update|remove <source or name>."
)


async def plugins(arguments: str, context: CommandContext) -> CommandResult:
    words = arguments.split()
    if not words:
        rows, _ = await asyncio.to_thread(plugin_rows, context)
        lines = [_line(row) for row in rows if row.installed]
        return Shows(view="plugins", text="\n".join(lines) or "No plugins are installed.")
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
    return rows, known_marketplaces(around)


def around_of(context: CommandContext) -> Around:
    config = context.settings.config()
    _, fixed = switches(config)
    return Around(
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
            return (
                f"{name} could not be fetched: {renewed.stale}."
                if renewed.stale
                else f"{name} is up to date."
            )
        case ["marketplace", "remove", name]:
            gone = await installing.remove_marketplace(around, name)
            return f"Removed the marketplace {name} and {len(gone)} plugins."
        case [action, name]:
            return await _change(around, action, name, None)
        case [action, name, "user" | "project" | "local" as scope]:
            return await _change(around, action, name, scope)
        case _:
            raise UsageError(_USE)


async def _change(around: Around, action: str, name: str, scope: Scope | None) -> str:
    plugin = parse_id(name)
    match action:
        case "install":
            changes = await installing.install(around, [plugin], scope=scope or "user")
            return f"Installed {', '.join(f'{each.plugin} {each.version}' for each in changes)}."
        case "uninstall" | "remove":
            await installing.uninstall(around, plugin, scope=scope)
            return f"Removed {plugin}."
        case "enable" | "disable":
            on = action == "enable"
            await asyncio.to_thread(installing.enable, around, plugin, enabled=on, scope=scope)
            return f"{plugin} is {'on' if on else 'off'}."
        case "update":
            changes = await installing.update(around, plugin, scope=scope)
            return f"{plugin} is at {changes[0].version} now." if changes else f"{plugin} is up to date."
        case _:
            raise UsageError(_USE)


def _loaded(context: CommandContext) -> Plugins:
    return load_plugins(
        Wish(
            config=context.settings.config(),
            env=context.env,
            cwd=context.workspace.start,
            trusted=context.trusted,
        )
    )


def _line(row: PluginReport) -> str:
    newer = f", {row.offered} is out" if row.offered else ""
    wrong = "".join(f"\n  ! {problem}" for problem in row.problems)
    brings = ", ".join(row.brings) or "nothing"
    return f"{row.id} {row.version} ({row.scope}, {'on' if row.enabled else 'off'}{newer}): {brings}{wrong}"
