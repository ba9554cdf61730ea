"""`bridle plugin marketplace`."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bridle.cli.plugin.words import Scene, confirm, read_words, scene_of
from bridle.cli.say import say, tell
from bridle.extensions.plugins import marketplaces
from bridle.extensions.plugins.removing import remove_marketplace
from bridle.extensions.plugins.report import known_marketplaces
from bridle.extensions.plugins.sources import parse_source
from bridle.extensions.plugins.state import lock, read_known
from bridle.types.errors import BridleError, ConfigError, UsageError


def run_market(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run one of the commands.

    Raises:
        BridleError: it cannot be done.
    """
    scene = scene_of(env)
    command, *rest = argv or ("",)
    try:
        match command:
            case "add":
                return asyncio.run(_add(scene, rest))
            case "list" | "ls":
                return _list(scene, rest)
            case "update":
                return asyncio.run(_update(scene, rest))
            case "remove" | "rm":
                return asyncio.run(_remove(scene, rest))
            case "auto-update":
                return _keep_current(scene, rest)
            case _:
                raise UsageError("use bridle plugin marketplace add, list, update, remove or auto-update")
    except OSError as error:
        raise ConfigError(f"{error.filename or 'The marketplaces'}: {error.strerror or error}") from error


async def _add(scene: Scene, argv: Sequence[str]) -> int:
    words = read_words(argv, switches=("yes",))
    source = parse_source(words.one("marketplace"), cwd=scene.around.cwd)
    async with lock(scene.around.env):
        found = await marketplaces.add(scene.asking(yes=words.on("yes")), source)
    tell(*(f"! {fault}" for fault in found.faults))
    return tell(f"Added the marketplace {found.name} with {len(found.offers)} plugins.\n")


def _list(scene: Scene, argv: Sequence[str]) -> int:
    words = read_words(argv, switches=("json",), most=0)
    rows = known_marketplaces(scene.around)
    if words.on("json"):
        told: list[dict[str, Any]] = [
            {"name": row.name, **row.raw, "installLocation": row.location, "lastUpdated": row.updated}
            for row in rows
        ]
        return say(msgspec.json.format(msgspec.json.encode(told), indent=2).decode() + "\n")
    for row in rows:
        kept = ", kept up to date" if row.auto_update else ""
        tell(f"{row.name}: {row.plugins} plugins, from {row.source}{kept}\n")
        tell(f"  ! {row.problem}\n" if row.problem else "")
    declared = scene.config.settings.extra_known_marketplaces or {}
    for name in declared:
        if name not in {row.name for row in rows}:
            tell(f"{name}: named in the settings, not fetched yet\n")
    return (
        0
        if rows or declared
        else tell("No marketplaces are known: bridle plugin marketplace add adds one.\n")
    )


async def _update(scene: Scene, argv: Sequence[str]) -> int:
    words = read_words(argv, switches=("yes",))
    around = scene.asking(yes=words.on("yes"))
    names = words.plain or tuple(read_known(scene.around.env))
    failed = False
    for name in names:
        try:
            async with lock(scene.around.env):
                renewed = await marketplaces.update(around, name)
        except BridleError as error:
            if len(names) == 1:
                raise
            failed = True
            tell(f"{name} stays as it is: {error}\n")
            continue
        if renewed.stale:
            failed = True
            tell(f"{name} could not be fetched, the last copy is used: {renewed.stale}\n")
        else:
            tell(f"{name} is up to date with {len(renewed.marketplace.offers)} plugins.\n")
    return 1 if failed else 0


def _keep_current(scene: Scene, argv: Sequence[str]) -> int:
    match argv:
        case [name, "on" | "off" as switch]:
            marketplaces.keep_current(scene.around, name, on=switch == "on")
            return tell(f"{name} is {'kept' if switch == 'on' else 'not kept'} up to date.\n")
        case _:
            raise UsageError("use bridle plugin marketplace auto-update <name> on|off")


async def _remove(scene: Scene, argv: Sequence[str]) -> int:
    words = read_words(argv, switches=("yes",))
    name = words.one("marketplace")
    if not confirm(f"Remove {name} and its plugins?", yes=words.on("yes")):
        return 1
    gone = await remove_marketplace(scene.around, name)
    tell(*(f"Removed {each}." for each in gone))
    return tell(f"Removed the marketplace {name}.\n")
