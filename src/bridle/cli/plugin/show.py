"""`bridle plugin list`, `details` and `configure`."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bridle.cli.plugin.context import PluginCommandContext, command_context
from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.extensions.plugins.installation import record_of
from bridle.extensions.plugins.options import read_options, save_options
from bridle.extensions.plugins.plugin import Manifest
from bridle.extensions.plugins.report import (
    PluginReport,
    examine,
    installed_plugins,
    is_changed,
    offered_plugins,
    plugin_named,
)
from bridle.extensions.plugins.state import read_installed
from bridle.types.errors import ConfigError, UsageError


def run_show(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Run one of the commands.

    Raises:
        BridleError: it cannot be done.
    """
    context = command_context(env)
    match given.command[-1]:
        case "list":
            return _list(context, given)
        case "details":
            return _details(context, given)
        case _:
            return _configure(context, given)


def _list(context: PluginCommandContext, given: ParsedArguments) -> int:
    loaded = context.plugins()
    rows = installed_plugins(context.around, context.config, loaded)
    offers = offered_plugins(context.around) if given.on("available") else ()
    if given.on("json"):
        installed = [_row(row) for row in rows]
        available = [_offer(row) for row in offers if not row.installed]
        output: Any = {"installed": installed, "available": available} if given.on("available") else installed
        return say(_pretty(output))
    for row in rows:
        state = "on" if row.enabled else "off"
        newer = f", {row.offered} available" if row.offered else ""
        tell(f"{row.id} {row.version} ({row.scope}, {state}{newer}): {', '.join(row.brings) or 'nothing'}\n")
        tell(*(f"  ! {problem}" for problem in row.problems))
    if not rows:
        tell("No plugins installed. Install one with: bridle plugin install name@marketplace\n")
    known = {row.id for row in rows}
    for fault in loaded.faults:
        if fault.plugin not in known and not any(id.startswith(f"{fault.plugin}@") for id in known):
            tell(f"! {fault}\n")
    for row in offers:
        tell(f"{row.id} {row.version}{' (installed)' if row.installed else ''}: {row.description}\n")
    return 0


def _details(context: PluginCommandContext, given: ParsedArguments) -> int:
    plugin = plugin_named(given.one("plugin"), context.around, installed=True)
    record = record_of(context.around, read_installed(context.around.env), plugin, None)
    rows = installed_plugins(context.around, context.config, context.plugins())
    place = (str(plugin), record.scope, record.project_path or "")
    row = next(each for each in rows if (each.id, each.scope, each.project) == place)
    changed = is_changed(record)
    if given.on("json"):
        return say(_pretty({**_row(row), "brings": list(row.brings), "changedOnDisk": changed}))
    manifest, components = examine(record.install_path, record)
    lines = [
        f"{row.id} {row.version}" + (f" ({row.offered} available)" if row.offered else ""),
        row.description,
        f"author: {row.author}" if row.author else "",
        *(_told(manifest) if manifest else ()),
        f"scope: {row.scope}, {'on' if row.enabled else 'off'}"
        + (", by your organization" if row.managed else ""),
        f"folder: {row.path}" + (" (files modified since)" if changed else ""),
        *(f"{place.kind}: {place.path}" for place in components.places),
        *(f"hooks: {each.file}" for each in components.hooks),
        *(f"MCP server: {name}" for name in components.mcp_servers),
        *(f"language server: {name}" for name in components.lsp_servers),
        *(f"monitor: {each.name}: {each.command}" for each in components.monitors),
        *(
            f"option: {key} ({field.type}) {field.description}"
            for key, field in (manifest.options if manifest else {}).items()
        ),
        *(f"! {problem}" for problem in row.problems),
    ]
    return tell(*(f"{line}" for line in lines if line))


def _told(manifest: Manifest) -> Iterator[str]:
    """What a manifest says for people."""
    for key in ("displayName", "homepage", "repository", "license", "keywords"):
        value = manifest.values.get(key)
        if isinstance(value, dict):
            value = value.get("url")
        if value:
            yield f"{key}: {', '.join(map(str, value)) if isinstance(value, list) else value}"


def _configure(context: PluginCommandContext, given: ParsedArguments) -> int:
    around = context.around
    plugin = plugin_named(given.one("plugin"), around, installed=True)
    record = record_of(around, read_installed(around.env), plugin, None)
    manifest, _ = examine(record.install_path, record)
    if manifest is None:
        raise ConfigError(
            f"can't read the manifest of {plugin}; check it with: bridle plugin validate "
            f"{record.install_path}"
        )
    chosen: dict[str, str] = {}
    for pair in given.all("pairs"):
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"write key=value, not {pair!r}")
        chosen[key] = value
    if chosen:
        save_options(around.env, plugin, manifest.options, chosen)
        return tell(f"Set {', '.join(chosen)} of {plugin}.\n")
    configs = (context.config.settings.plugin_configs or {}).get(str(plugin))
    options = read_options(around.env, plugin, manifest.options, (configs.options if configs else None) or {})
    for key, field in manifest.options.items():
        value = (
            "(secret)" if field.sensitive and key in options.values else options.values.get(key, "(not set)")
        )
        tell(f"{key} ({field.type}{', required' if field.required else ''}): {value}  {field.description}\n")
    return 0 if manifest.options else tell(f"{plugin} has no options.\n")


def _row(row: PluginReport) -> dict[str, Any]:
    output: dict[str, Any] = {
        "id": row.id,
        "version": row.version,
        "scope": row.scope,
        "enabled": row.enabled,
        "installPath": row.path,
        "installedAt": row.installed_at,
        "lastUpdated": row.last_updated,
    }
    if row.project:
        output["projectPath"] = row.project
    if row.offered:
        output["availableVersion"] = row.offered
    if row.problems:
        output["errors"] = list(row.problems)
    return output


def _offer(row: PluginReport) -> dict[str, Any]:
    name, _, marketplace = row.id.partition("@")
    output = {
        "pluginId": row.id,
        "name": name,
        "marketplaceName": marketplace,
        "description": row.description,
    }
    return {**output, "version": row.version} if row.version else output


def _pretty(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
