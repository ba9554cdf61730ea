"""The MCP servers of a session: every place where they are defined, and which of them count."""

import os.path
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.config import approvals
from bridle.config.load import Config
from bridle.config.mcp.entry import identity, read_entry, unset_variables
from bridle.config.mcp.locations import LARGEST_STATE, MANAGED_FILE, counts, project_files
from bridle.config.mcp.policy import Policy
from bridle.config.mcp.variables import NEVER_GIVEN, credentials, refusal, unfilled, withheld
from bridle.config.problems import Fault, Problem, located
from bridle.config.source_limits import CHANGED
from bridle.config.sources import SHARED
from bridle.config.state import trust_root
from bridle.config.validate import parse
from bridle.host import paths
from bridle.host.files import read_bytes
from bridle.types.errors import ConfigError
from bridle.types.services.mcp import TURNED_OFF, Scope, SdkServer, Server, normalized

_LARGEST = 2 * 1024 * 1024
_INLINE = "--mcp-config"
_SHARED: tuple[Scope, ...] = ("project", "local")
WAITING = "needs your approval"


class ServerSources(Struct, frozen=True, kw_only=True):
    """All that decides which servers a session has."""

    config: Config
    env: Mapping[str, str]
    trusted: bool
    flags: tuple[str, ...] = ()
    """Values of --mcp-config: files, or the JSON itself."""
    strict: bool = False
    """Only what --mcp-config names."""
    discovers: bool = True
    """False where nothing that lies around counts."""
    attended: bool = False
    """The user can be asked about servers of the project."""
    plugins: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    """Entries of plugins by their full names, in the order in which the plugins were loaded."""
    shared: frozenset[str] = frozenset()
    """Those of plugins that came with the project."""


class FoundServers(Struct, frozen=True, kw_only=True):
    servers: tuple[Server, ...]
    """Also those that are not started; each says why."""
    problems: tuple[Problem, ...] = ()


UNTRUSTED = "off until you trust this folder; run `bridle trust`"


def waits_for_user(server: Server) -> bool:
    """Whether a server is off only until the user trusts the folder or approves it."""
    # What names credentials needs approval for those, and says for which.
    return server.off in (UNTRUSTED, CHANGED) or server.off.startswith(WAITING)


"""Why a server of the project is not started."""


class _Entry(Struct, frozen=True, kw_only=True):
    name: str
    raw: Any
    scope: Scope
    file: str


def find_servers(wish: ServerSources) -> FoundServers:
    """Every configured server, the nearest definition of each name; what is wrong is reported and left out.

    Raises:
        ConfigError: a value of --mcp-config cannot be used at all.
    """
    reading = _Reading(wish)
    for entry in reading.entries():
        reading.add(entry)
    reading.add_plugins()
    return FoundServers(servers=tuple(reading.servers.values()), problems=tuple(reading.problems))


def read_flag(value: str, *, cwd: str) -> tuple[dict[str, Any], str, str]:
    """The servers that one value of --mcp-config names, the file they are in, and its text.

    Raises:
        ConfigError: it is neither a file that can be read nor the JSON of one.
    """
    if value.lstrip().startswith("{"):
        file, data = _INLINE, value.encode("utf-8", "surrogatepass")
    else:
        file = os.path.join(cwd, os.path.expanduser(value))
        try:
            data = read_bytes(file, _LARGEST)
        except OSError as error:
            raise ConfigError(
                f"--mcp-config: {file} could not be read: {error.strerror or error}."
            ) from error
    values, text, problem = parse(data, file=file)
    servers = values.get("mcpServers")
    if problem is not None:
        raise ConfigError(f"--mcp-config: {problem}.")
    if not isinstance(servers, dict):
        raise ConfigError(f'--mcp-config: {file} must contain an object "mcpServers".')
    return servers, file, text


def read_desktop_config(path: str) -> dict[str, Any]:
    """The servers in a configuration file of the Claude desktop program, as plain JSON by name.

    Raises:
        ConfigError: there is no such file, or invalid.
    """
    try:
        data = read_bytes(path, _LARGEST)
    except OSError as error:
        raise ConfigError(f"{path} could not be read: {error.strerror or error}.") from error
    values, _, problem = parse(data, file=path)
    if problem is not None:
        raise ConfigError(f"{problem}.")
    servers = values.get("mcpServers")
    return servers if isinstance(servers, dict) else {}


def desktop_config_path(platform: str, env: Mapping[str, str]) -> str:
    """Where the Claude desktop program keeps its configuration."""
    home = env.get("HOME") or os.path.expanduser("~")
    if platform == "darwin":
        return os.path.join(home, "Library/Application Support/Claude/claude_desktop_config.json")
    base = env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return os.path.join(base, "Claude", "claude_desktop_config.json")


class _Reading:
    """Goes through the places once, the one that counts most first."""

    def __init__(self, wish: ServerSources) -> None:
        self._wish = wish
        self._inputs = wish.config.inputs
        self._policy = Policy(wish.config)
        self._project_state: dict[str, Any] = {}
        self._lines: dict[str, str] = {}
        """The text of each file, for the line numbers of problems."""
        self.servers: dict[str, Server] = {}
        self.problems: list[Problem] = []

    def entries(self) -> Iterable[_Entry]:
        managed = os.path.join(self._inputs.managed_dir, MANAGED_FILE)
        if os.path.exists(managed):
            yield from self._from_file(managed, "managed")
            # The administrator's file says all there is, except what runs in the host program anyway.
            yield from (entry for entry in self._from_flags() if _is_sdk(entry) or self._refuse(entry))
            return
        yield from self._from_flags()
        if self._wish.strict or not self._wish.discovers:
            return
        state = self._state()
        if counts(self._inputs, "local"):
            file = paths.global_state_file(self._wish.env)
            yield from self._from_object(self._project_state.get("mcpServers"), "local", file)
        if counts(self._inputs, "project"):
            for file in project_files(self._inputs.cwd, self._wish.env):
                yield from self._from_file(file, "project")
        if counts(self._inputs, "user"):
            file = paths.global_state_file(self._wish.env)
            yield from self._from_object(state.get("mcpServers"), "user", file)

    def add(self, entry: _Entry) -> None:
        if entry.name in self.servers:
            return
        if (twin := self._twin(entry.name)) is not None:
            self._complain(entry, f"its tool names clash with {twin!r}; rename one of the servers")
            return
        kept_back = self._kept_back(entry)
        env, fault = unfilled(self._wish.env, kept_back), ""
        if not kept_back and (unset := unset_variables(entry.raw, env)):
            names = ", ".join(f"${{{name}}}" for name in dict.fromkeys(unset))
            fault = f"{names} is not set: set it, or write a default: ${{{unset[0]}:-default}}"
            env = {**env, **dict.fromkeys(unset, "")}
        try:
            config = read_entry(entry.name, entry.raw, env)
        except ConfigError as error:
            self._complain(entry, refusal(kept_back) if kept_back else fault or str(error))
            return
        if fault and entry.scope != "plugin":
            self._complain(entry, fault)
        if (helper := getattr(config, "headers_helper", None)) and self._is_wary(entry):
            self._complain(entry, f"its headersHelper {helper[:100]!r} is off until you trust this folder")
            config = msgspec.structs.replace(config, headers_helper=None)
        server = Server(name=entry.name, config=config, scope=entry.scope, file=entry.file, fault=fault)
        off = self._policy.objection(server) or self._waits(entry) or self._lacks(entry, kept_back)
        self.servers[entry.name] = msgspec.structs.replace(server, off=off)

    def add_plugins(self) -> None:
        """Servers of plugins, unless the same server is there already under any name."""
        if self._wish.strict or not self._wish.discovers:
            return
        known = {identity(server.config) for server in self.servers.values() if not server.off}
        for name, raw in self._wish.plugins:
            self.add(_Entry(name=name, raw=raw, scope="plugin", file=f"plugin {name}"))
            server = self.servers.get(name)
            if server is None or server.scope != "plugin" or server.off:
                continue
            if identity(server.config) in known:
                del self.servers[name]
            else:
                known.add(identity(server.config))

    def _from_flags(self) -> Iterable[_Entry]:
        if self._wish.flags and self._wish.config.settings.disable_sideload_flags:
            raise ConfigError("--mcp-config is disabled by the managed setting disableSideloadFlags.")
        # Of equal names the last flag counts.
        for value in reversed(self._wish.flags):
            servers, file, text = read_flag(value, cwd=self._inputs.cwd)
            self._lines[file] = text
            yield from self._from_object(servers, "dynamic", file)

    def _from_file(self, file: str, scope: Scope) -> Iterable[_Entry]:
        try:
            data = read_bytes(file, _LARGEST)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            self.problems.append(
                Problem(file=file, message=f"could not be read: {error.strerror}", broken=True)
            )
            return
        values, text, problem = parse(data, file=file)
        self._lines[file] = text
        if problem is not None:
            self.problems.append(problem)
            return
        yield from self._from_object(values.get("mcpServers", {}), scope, file)

    def _from_object(self, servers: Any, scope: Scope, file: str) -> Iterable[_Entry]:
        if servers is None:
            return
        if not isinstance(servers, dict):
            self.problems.append(Problem(file=file, key="mcpServers", message="must be an object"))
            return
        for name, raw in servers.items():
            yield _Entry(name=name, raw=raw, scope=scope, file=file)

    def _state(self) -> dict[str, Any]:
        """The user's own file, and in it what belongs to this project."""
        env, cwd = self._wish.env, self._inputs.cwd
        file = paths.global_state_file(env)
        try:
            data = read_bytes(file, LARGEST_STATE)
        except OSError:
            return {}
        values, _, problem = parse(data, file=file)
        if problem is not None:
            self.problems.append(problem)
            return {}
        projects = values.get("projects")
        known: dict[str, Any] = projects if isinstance(projects, dict) else {}
        for place in dict.fromkeys((cwd, os.path.realpath(cwd), trust_root(env, cwd))):
            if isinstance(project := known.get(place), dict):
                self._project_state = {**project, **self._project_state}
        return values

    def _waits(self, entry: _Entry) -> str | None:
        """Why the user's word is missing for a server; None when it is not."""
        if entry.name in self._listed("disabledMcpServers"):
            return TURNED_OFF
        if entry.scope != "project":
            return None
        settings = self._wish.config.settings
        disabled = (*self._listed("disabledMcpjsonServers"), *(settings.disabled_mcpjson_servers or ()))
        if entry.name in disabled:
            return TURNED_OFF
        if entry.name in self._listed("enabledMcpjsonServers") or self._is_named(entry.name, own=True):
            return None
        env, cwd = self._wish.env, self._inputs.cwd
        if approvals.is_approved(env, cwd, kind="mcp", name=entry.name, definition=entry.raw):
            return None
        if not self._wish.trusted:
            return UNTRUSTED
        named = self._is_named(entry.name, own=False)
        if not named and (self._wish.attended or approvals.is_known(env, cwd, kind="mcp", name=entry.name)):
            return WAITING
        approved_content = self._wish.config.approved_content
        if approved_content is None or approved_content.open().covers_server(entry.name, entry.raw):
            return None
        return WAITING if self._wish.attended else CHANGED

    def _kept_back(self, entry: _Entry) -> tuple[str, ...]:
        """The credentials that a server of the project names without the user having agreed to that."""
        env = self._wish.env
        if entry.scope == "project":
            return withheld(env, self._inputs.cwd, name=entry.name, raw=entry.raw)
        return credentials(entry.raw, env) if entry.name in self._wish.shared else ()

    def _lacks(self, entry: _Entry, kept_back: tuple[str, ...]) -> str:
        if not kept_back:
            return ""
        if entry.scope == "plugin":
            return NEVER_GIVEN.format(", ".join(kept_back))
        return WAITING if self._wish.attended else refusal(kept_back)

    def _is_named(self, name: str, *, own: bool) -> bool:
        """Whether settings approve a server by its name: those of the user (`own`), or any."""
        layers = [each.values for each in self._wish.config.layers if not (own and each.source in SHARED)]
        all_of_them = self._wish.config.settings.enable_all_project_mcp_servers
        return any(
            name in (values.get("enabledMcpjsonServers") or ())
            or (all_of_them and values.get("enableAllProjectMcpServers"))
            for values in layers
        )

    def _twin(self, name: str) -> str | None:
        """A server whose tools could not be distinguished from those of a server of this name."""
        alike = normalized(name)
        return next((known for known in self.servers if normalized(known) == alike), None)

    def _listed(self, key: str) -> tuple[str, ...]:
        names = self._project_state.get(key)
        return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()

    def _is_wary(self, entry: _Entry) -> bool:
        return entry.scope in _SHARED and not self._wish.trusted

    def _refuse(self, entry: _Entry) -> bool:
        self._complain(entry, f"ignored: the administrator's {MANAGED_FILE} lists all servers")
        return False

    def _complain(self, entry: _Entry, message: str) -> None:
        fault: Fault = (("mcpServers", entry.name), message)
        self.problems += located((fault,), file=entry.file, text=self._lines.get(entry.file, ""))


def _is_sdk(entry: _Entry) -> bool:
    return isinstance(entry.raw, dict) and entry.raw.get("type") == "sdk"


def host_server(name: str, raw: Any, *, config: Config, env: Mapping[str, str]) -> Server:
    """A server that a host program sets while the session runs.

    Raises:
        ConfigError: the entry cannot be used, or the policy refuses it.
    """
    server = Server(name=name, config=read_entry(name, raw, env), scope="dynamic")
    managed = os.path.exists(os.path.join(config.inputs.managed_dir, MANAGED_FILE))
    objection = Policy(config).objection(server)
    if managed and not isinstance(server.config, SdkServer):
        objection = f"the administrator's {MANAGED_FILE} lists all servers"
    if objection is not None:
        raise ConfigError(f"{name}: {objection}")
    return server


"""Reads one entry that a host sets; raises ConfigError."""
