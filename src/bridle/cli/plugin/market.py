"""`bridle plugin marketplace`."""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.cli.plugin.context import PluginCommandContext, command_context, confirm
from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.extensions.plugins import marketplaces
from bridle.extensions.plugins.removal import remove_marketplace
from bridle.extensions.plugins.report import known_marketplaces
from bridle.extensions.plugins.sources import parse_source
from bridle.extensions.plugins.state import lock, read_known
from bridle.types.errors import BridleError, ConfigError


def run_market(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Run one of the commands.

    Raises:
        BridleError: it cannot be done.
    """
    context = command_context(env)
    try:
        match given.command[-1]:
            case "add":
                return asyncio.run(_add(context, given))
            case "list":
                return _list(context, given)
            case "update":
                return asyncio.run(_update(context, given))
            case "remove":
                return asyncio.run(_remove(context, given))
            case _:
                return _keep_current(context, given)
    except OSError as error:
        raise ConfigError(f"{error.filename or 'The marketplaces'}: {error.strerror or error}") from error


async def _add(context: PluginCommandContext, given: ParsedArguments) -> int:
    source = parse_source(given.one("source"), cwd=context.around.cwd)
    async with lock(context.around.env):
        found = await marketplaces.add(context.asking(yes=given.on("yes")), source)
    tell(*(f"! {fault}" for fault in found.faults))
    return tell(f"Added the marketplace {found.name} with {len(found.offers)} plugins.\n")


def _list(context: PluginCommandContext, given: ParsedArguments) -> int:
    rows = known_marketplaces(context.around)
    if given.on("json"):
        output: list[dict[str, Any]] = [
            {"name": row.name, **row.raw, "installLocation": row.location, "lastUpdated": row.updated}
            for row in rows
        ]
        return say(msgspec.json.format(msgspec.json.encode(output), indent=2).decode() + "\n")
    for row in rows:
        kept = ", auto-updated" if row.auto_update else ""
        tell(f"{row.name}: {row.plugins} plugins, from {row.source}{kept}\n")
        tell(f"  ! {row.problem}\n" if row.problem else "")
    declared = context.config.settings.extra_known_marketplaces or {}
    for name in declared:
        if name not in {row.name for row in rows}:
            tell(f"{name}: in settings, not fetched yet\n")
    return 0 if rows or declared else tell("No marketplaces. Add one with: bridle plugin marketplace add\n")


async def _update(context: PluginCommandContext, given: ParsedArguments) -> int:
    around = context.asking(yes=given.on("yes"))
    names = given.all("names") or tuple(read_known(context.around.env))
    failed = False
    for name in names:
        try:
            async with lock(context.around.env):
                renewed = await marketplaces.update(around, name)
        except BridleError as error:
            if len(names) == 1:
                raise
            failed = True
            tell(f"can't update {name}: {error}\n")
            continue
        if renewed.stale:
            failed = True
            tell(f"can't fetch {name}, using the last copy: {renewed.stale}\n")
        else:
            tell(f"{name} is up to date with {len(renewed.marketplace.offers)} plugins.\n")
    return 1 if failed else 0


def _keep_current(context: PluginCommandContext, given: ParsedArguments) -> int:
    name, on = given.one("name"), given.text("switch") == "on"
    marketplaces.keep_current(context.around, name, on=on)
    return tell(f"{name} is {'kept' if on else 'not kept'} up to date.\n")


async def _remove(context: PluginCommandContext, given: ParsedArguments) -> int:
    name = given.one("name")
    if not confirm(f"Remove {name} and its plugins?", yes=given.on("yes")):
        return 1
    gone = await remove_marketplace(context.around, name)
    tell(*(f"Removed {each}." for each in gone))
    return tell(f"Removed the marketplace {name}.\n")
