"""`bridle plugin install` and the other commands that change what is installed."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from bridle.cli.plugin.words import Scene, Words, confirm, read_words, scene_of
from bridle.cli.say import tell
from bridle.extensions.plugins import installing, marketplaces, removing
from bridle.extensions.plugins.components import brings
from bridle.extensions.plugins.loading import switches
from bridle.extensions.plugins.names import SKILLS_DIR
from bridle.extensions.plugins.planning import Item
from bridle.extensions.plugins.report import plugin_named
from bridle.extensions.plugins.sources import parse_source
from bridle.extensions.plugins.state import is_for, lock, read_installed
from bridle.types.errors import BridleError, ConfigError, UsageError


def run_change(command: str, argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run one of the commands.

    Raises:
        BridleError: it cannot be done.
    """
    scene = scene_of(env)
    try:
        match command:
            case "install":
                return asyncio.run(_install(scene, argv))
            case "uninstall":
                return asyncio.run(_uninstall(scene, argv))
            case "update":
                return asyncio.run(_update(scene, argv))
            case "prune":
                return asyncio.run(_prune(scene, argv))
            case _:
                return _switch(scene, argv, enabled=command == "enable")
    except OSError as error:
        raise ConfigError(f"{error.filename or 'The plugins'}: {error.strerror or error}") from error


async def _install(scene: Scene, argv: Sequence[str]) -> int:
    words = read_words(argv, switches=("yes",), values=("scope", "config", "marketplace"))
    if not words.plain:
        raise UsageError("name a plugin: bridle plugin install name@marketplace")
    around = scene.asking(yes=words.on("yes"))
    added = words.text("marketplace")
    if added is not None:
        async with lock(around.env):
            name = (await marketplaces.add(around, parse_source(added, cwd=around.cwd))).name
        wanted = [
            plugin_named(each if "@" in each else f"{each}@{name}", around, installed=False)
            for each in words.plain
        ]
    else:
        wanted = [plugin_named(each, around, installed=False) for each in words.plain]
    changes = await installing.install(
        around, wanted, scope=words.scope or "user", options=_options(words), agree=_agree(scene, words)
    )
    for each in changes:
        came = " (needed by another)" if each.automatic else ""
        tell(f"Installed {each.plugin} {each.version}{came}.\n")
    named = {name for each in changes for name in (str(each.plugin), each.plugin.name)}
    for fault in scene_of(around.env).plugins().faults:
        if fault.plugin in named:
            tell(f"! {fault}\n")
    return 0


async def _uninstall(scene: Scene, argv: Sequence[str]) -> int:
    words = read_words(argv, switches=("yes", "keep-data", "prune"), values=("scope",))
    plugin = plugin_named(words.one("plugin"), scene.around, installed=True)
    data = "" if words.on("keep-data") else " and its data"
    if not confirm(f"Remove {plugin}{data}?", yes=words.on("yes")):
        return 1
    gone = await removing.uninstall(
        scene.around, plugin, scope=words.scope, keep_data=words.on("keep-data"), prune=words.on("prune")
    )
    return tell(*(f"Removed {each}." for each in gone))


async def _update(scene: Scene, argv: Sequence[str]) -> int:
    words = read_words(argv, switches=("yes",), values=("scope",))
    around = scene.asking(yes=words.on("yes"))
    if words.plain:
        wanted = [plugin_named(each, around, installed=True) for each in words.plain]
    else:
        known = read_installed(around.env).plugins.items()
        names = [name for name, records in known if any(is_for(each, around.cwd) for each in records)]
        wanted = [plugin_named(name, around, installed=True) for name in names]
    failed = False
    for plugin in wanted:
        try:
            changes = await installing.update(
                around,
                plugin,
                scope=words.scope,
                agree=_agree(scene, words),
                tell=_line,
            )
        except BridleError as error:
            if len(wanted) == 1:
                raise
            failed = True
            tell(f"{plugin} stays as it is: {error}\n")
            continue
        for each in changes:
            tell(f"Updated {each.plugin} from {each.before or plugin} to {each.version}.\n")
        if not changes:
            tell(f"{plugin} is up to date.\n")
    return 1 if failed else 0


async def _prune(scene: Scene, argv: Sequence[str]) -> int:
    words = read_words(argv, switches=("yes", "dry-run"), values=("scope",), most=0)
    gone = await removing.prune(scene.around, scope=words.scope, dry_run=True)
    if words.on("dry-run") or not gone:
        return tell(*([f"Would remove {each}." for each in gone] or ["Nothing to remove."]))
    if not confirm(f"Remove {', '.join(map(str, gone))}?", yes=words.on("yes")):
        return 1
    gone = await removing.prune(scene.around, scope=words.scope)
    return tell(*(f"Removed {each}." for each in gone))


def _switch(scene: Scene, argv: Sequence[str], *, enabled: bool) -> int:
    words = read_words(argv, switches=() if enabled else ("all",), values=("scope",))
    around, word = scene.around, "on" if enabled else "off"
    if words.on("all"):
        if words.plain:
            raise UsageError("name a plugin or use -a, not both")
        waiting = [
            str(each.plugin) for each in scene.plugins().loaded if each.plugin.marketplace != SKILLS_DIR
        ]
    else:
        waiting = [words.one("plugin")]
    for name in waiting:
        plugin = plugin_named(name, around, installed=True)
        installing.enable(around, plugin, enabled=enabled, scope=words.scope, alone=not words.on("all"))
        decided, _ = switches(scene_of(around.env).config)
        if decided.get(str(plugin), enabled) is enabled:
            tell(f"{plugin} is {word}.\n")
        else:
            tell(f"{plugin} is {word} in this scope, and other settings here say otherwise: use -s local.\n")
    return 0


def _options(words: Words) -> dict[str, str]:
    options: dict[str, str] = {}
    for pair in words.values.get("config", ()):
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"--config takes key=value, not {pair!r}")
        options[key] = value
    return options


def _line(sentence: str) -> None:
    tell(f"{sentence}\n")


def _agree(scene: Scene, words: Words) -> Callable[[Sequence[Item]], bool]:
    """Shows what is about to be installed, and asks."""

    def agree(items: Sequence[Item]) -> bool:
        for item in items:
            tell(f"{item.plugin} {item.version}: {', '.join(brings(item.components)) or 'nothing'}\n")
        if message := scene.config.settings.plugin_trust_message:
            tell(f"{message}\n")
        return confirm("Install?", yes=words.on("yes"))

    return agree
