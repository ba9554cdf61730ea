"""What a plugin is made of, and what all plugins of a session come to.

Apart from what reads plugins: a start at which nothing has changed needs these alone.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

from bridle.config.load import Config
from bridle.extensions.plugins.faults import PluginFault
from bridle.extensions.plugins.names import PluginId
from bridle.extensions.roots import Kind, Root

_VARIABLE = re.compile(r"\$\{(CLAUDE_PLUGIN_ROOT|CLAUDE_PLUGIN_DATA|user_config\.(\w+))\}")
_OPTION = re.compile(r"\$\{user_config\.(\w+)\}")


class OptionField(Struct, frozen=True, kw_only=True):
    """Something that the user of a plugin sets."""

    type: Literal["string", "number", "boolean", "directory", "file"] = "string"
    title: str = ""
    description: str = ""
    sensitive: bool = False
    required: bool = False
    default: Any = None
    multiple: bool = False
    min: float | None = None
    max: float | None = None


class Dependency(Struct, frozen=True, kw_only=True):
    name: str
    marketplace: str | None = None
    """None for the marketplace of the plugin that needs it."""
    version: str = ""
    """The versions that will do, `^1.2` and the like; empty for any."""


class Manifest(Struct, frozen=True, kw_only=True):
    name: str
    values: Mapping[str, Any]
    """All of it as it is written, with what the marketplace adds."""
    version: str = ""
    description: str = ""
    author: str = ""
    default_enabled: bool = True
    options: Mapping[str, OptionField] = {}
    dependencies: tuple[Dependency, ...] = ()
    channels: tuple[str, ...] | None = None
    """Which of its MCP servers may push messages; None for all."""
    written: bool = True
    """False where the plugin has no manifest of its own."""
    only_listed: tuple[str, ...] = ()
    """Keys whose values count without the usual folder or file, because the marketplace lists them."""


class ComponentPath(Struct, frozen=True, array_like=True):
    """One folder of components, or one file."""

    kind: Kind
    path: str
    single: bool = False


class HookFile(Struct, frozen=True, array_like=True):
    file: str
    values: Any
    text: str = ""


class Monitor(Struct, frozen=True, array_like=True):
    """A command whose output the model is notified of."""

    name: str
    command: str
    description: str = ""
    when: str = "always"


class Components(Struct, frozen=True, kw_only=True):
    places: tuple[ComponentPath, ...] = ()
    hooks: tuple[HookFile, ...] = ()
    mcp_servers: dict[str, Any] = {}
    lsp_servers: dict[str, Any] = {}
    monitors: tuple[Monitor, ...] = ()
    programs: str | None = None
    """A folder of programs for the PATH."""
    settings: dict[str, Any] = {}
    faults: tuple[PluginFault, ...] = ()
    looked_at: tuple[str, ...] = ()
    """Every file and folder that this depends on, whether it exists or not."""

    @property
    def runs(self) -> bool:
        """Whether any of it is run, so that the plugin needs its folder for data."""
        return bool(self.hooks or self.mcp_servers or self.lsp_servers or self.monitors)


class Options(Struct, frozen=True, kw_only=True):
    values: Mapping[str, str] = {}
    """All of them as text, for programs."""
    plain: Mapping[str, str] = {}
    """Those that are no secret, for what the model reads."""
    missing: tuple[str, ...] = ()
    """Required, and not set."""


class Loaded(Struct, frozen=True, kw_only=True):
    """A plugin that takes part in a session."""

    plugin: PluginId
    folder: str
    data: str
    manifest: Manifest
    components: Components
    options: Options = Options()
    scope: str = "user"
    shared: bool = False
    """It came with the folder of the project."""
    edition: str = ""
    """Another one with every installation; empty for a folder that is not bridle's own copy."""

    def roots(self, kind: Kind) -> Iterator[Root]:
        for place in self.components.places:
            if place.kind == kind:
                yield Root(
                    kind=kind,
                    path=place.path,
                    source="plugin",
                    prefix=self.plugin.name,
                    owner=str(self.plugin),
                    plugin_root=self.folder,
                    plugin_data=self.data,
                    options=self.options.plain,
                    edition=self.edition,
                    single=place.single,
                    shared=self.shared,
                )

    def servers(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Its MCP servers by their full names, with folders and options in place."""
        if not self.components.mcp_servers:
            return
        for name, entry in self.components.mcp_servers.items():
            raw = fill(entry, root=self.folder, data=self.data, options=self.options.values)
            if "command" in raw:
                own = raw.get("env")
                raw["env"] = {**self.variables(), **(own if isinstance(own, dict) else {})}
            yield f"plugin:{self.plugin.name}:{name}", raw

    def channels(self) -> tuple[str, ...] | None:
        """The full names of its servers that may push messages; None for all."""
        named = self.manifest.channels
        return None if named is None else tuple(f"plugin:{self.plugin.name}:{each}" for each in named)

    def language_servers(self) -> dict[str, Any]:
        if not self.components.lsp_servers:
            return {}
        return fill(
            self.components.lsp_servers, root=self.folder, data=self.data, options=self.options.values
        )

    def hooks(self) -> Iterator[HookFile]:
        if not self.components.hooks:
            return
        for each in self.components.hooks:
            yield HookFile(each.file, fill_hooks(each.values, options=self.options.values), each.text)

    def variables(self) -> dict[str, str]:
        """What its programs find in their environment."""
        given = {f"CLAUDE_PLUGIN_OPTION_{key.upper()}": value for key, value in self.options.values.items()}
        return {"CLAUDE_PLUGIN_ROOT": self.folder, "CLAUDE_PLUGIN_DATA": self.data, **given}

    def frame(self) -> dict[str, Any]:
        """The plugin as hosts get it."""
        frame: dict[str, Any] = {"name": self.plugin.name, "path": self.folder, "source": str(self.plugin)}
        return {**frame, "version": self.manifest.version} if self.manifest.version else frame


class Plugins(Struct, frozen=True, kw_only=True):
    loaded: tuple[Loaded, ...] = ()
    faults: tuple[PluginFault, ...] = ()

    def roots(self, kind: Kind) -> tuple[Root, ...]:
        return tuple(root for each in self.loaded for root in each.roots(kind))

    def servers(self) -> tuple[tuple[str, dict[str, Any]], ...]:
        return tuple(server for each in self.loaded for server in each.servers())

    def programs(self) -> tuple[str, ...]:
        """Folders for the PATH."""
        return tuple(each.components.programs for each in self.loaded if each.components.programs)

    def agents(self) -> tuple[str, ...]:
        """Names of the agent that a plugin wants the session to be, the likeliest first."""
        for each in self.loaded:
            named = each.components.settings.get("agent")
            if isinstance(named, str) and named:
                return f"{each.plugin.name}:{named}", named
        return ()

    def agent_rows(self) -> tuple[str, Mapping[str, str]] | None:
        """The command that writes the rows of agents, with what it finds in its environment."""
        for each in self.loaded:
            match each.components.settings.get("subagentStatusLine"):
                case {"type": "command", "command": str() as command} if command.strip():
                    return command, each.variables()
                case _:
                    continue
        return None


class PluginRequest(Struct, frozen=True, kw_only=True):
    """All that decides which plugins a session has."""

    config: Config
    env: Mapping[str, str]
    cwd: str
    trusted: bool
    folders: tuple[str, ...] = ()
    """Plugins that flags name, for this session only."""
    extra: tuple[str, ...] = ()
    """Folders that were added to the session."""
    discovers: bool = True
    """False where only what flags name counts."""


def fill(value: Any, *, root: str, data: str, options: Mapping[str, str]) -> Any:
    """A JSON value with the variables in its texts replaced; options that are not set become nothing."""

    def replaced(found: re.Match[str]) -> str:
        match found[1]:
            case "CLAUDE_PLUGIN_ROOT":
                return root
            case "CLAUDE_PLUGIN_DATA":
                return data
            case _:
                return options.get(found[2], "")

    return _walk(value, replaced)


def fill_hooks(value: Any, *, options: Mapping[str, str]) -> Any:
    """Hooks with options in place, except in commands that a shell reads: there a value could be code.

    Folders are filled in by the hook runner, which knows them.
    """
    if isinstance(value, list):
        return [fill_hooks(each, options=options) for each in value]
    if not isinstance(value, dict):
        return _options(value, options)
    shell = value.get("type") == "command" and "args" not in value
    return {
        key: each if shell and key == "command" else fill_hooks(each, options=options)
        for key, each in value.items()
    }


def _options(value: Any, options: Mapping[str, str]) -> Any:
    return _OPTION.sub(lambda found: options.get(found[1], ""), value) if isinstance(value, str) else value


def _walk(value: Any, replaced: Any) -> Any:
    match value:
        case str():
            return _VARIABLE.sub(replaced, value)
        case list():
            return [_walk(each, replaced) for each in value]
        case dict():
            return {key: _walk(each, replaced) for key, each in value.items()}
        case _:
            return value
