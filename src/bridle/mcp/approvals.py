"""What is remembered of servers: which are approved or turned off, and where each is defined."""

import os.path
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bridle.config import approvals
from bridle.config.edit import update
from bridle.config.mcp.locations import LARGEST_STATE, PROJECT_FILE, project_files
from bridle.config.mcp.servers import waits_for_user
from bridle.config.state import trust_root
from bridle.config.validate import parse
from bridle.host.files import read_bytes
from bridle.host.paths import global_state_file
from bridle.types.errors import ConfigError
from bridle.types.services.mcp import Server
from bridle.types.text import printable

FileScope = Literal["local", "project", "user"]
Choice = Literal["yes", "all", "no"]
"""This server, this and all later ones of the project, or not this one."""

_LARGEST = 2 * 1024 * 1024
_OFF = "disabledMcpServers"
_REFUSED = "disabledMcpjsonServers"
_AGREED = "enabledMcpjsonServers"
_LISTS = (_REFUSED, _AGREED)


class Candidate(Struct, frozen=True, kw_only=True):
    """A server of the project that waits for the user's word."""

    name: str
    file: str
    definition: Any
    """As it stands in the file: untrusted text, to be shown before it runs."""
    reason: str


def candidates(servers: tuple[Server, ...], env: Mapping[str, str], cwd: str) -> tuple[Candidate, ...]:
    """The servers that someone has to be asked about, each with what it would run."""
    waiting = {
        server.name: server for server in servers if server.scope == "project" and waits_for_user(server)
    }
    found: dict[str, Candidate] = {}
    for file in project_files(cwd, env) if waiting else ():
        for name, raw in read_servers(file).items():
            if name in waiting and name not in found and waiting[name].file == file:
                found[name] = Candidate(name=name, file=file, definition=raw, reason=waiting[name].off)
    return tuple(found.values())


def decide(candidate: Candidate, choice: Choice, *, env: Mapping[str, str], cwd: str) -> None:
    """Remember what the user said; a yes holds for exactly this definition.

    Raises:
        ConfigError: a file does not parse, or another process keeps it locked.
        OSError: it cannot be written.
    """
    name = candidate.name
    if choice == "no":
        _change_project(env, cwd, lambda project: _listed(project, _REFUSED, name, on=True))
        return
    approvals.approve(env, cwd, kind="mcp", name=name, definition=candidate.definition)
    _change_project(env, cwd, lambda project: _listed(project, _REFUSED, name, on=False))
    if choice == "all":
        path = os.path.join(trust_root(env, cwd), ".claude", "settings.local.json")
        update(path, lambda values: {**values, "enableAllProjectMcpServers": True})


def remember_toggle(env: Mapping[str, str], cwd: str, name: str, *, enabled: bool) -> None:
    """Turn a server off, or on again, for every later session in this project.

    Raises:
        ConfigError: the file does not parse, or another process keeps it locked.
        OSError: it cannot be written.
    """

    def change(project: dict[str, Any]) -> dict[str, Any]:
        changed = _listed(project, _OFF, name, on=not enabled)
        return _listed(changed, _REFUSED, name, on=False) if enabled else changed

    _change_project(env, cwd, change)


def forget_choices(env: Mapping[str, str], cwd: str) -> None:
    """Ask about every server of the project again.

    Raises:
        ConfigError: a file does not parse, or another process keeps it locked.
        OSError: it cannot be written.
    """
    for file in project_files(cwd, env):
        for name in read_servers(file):
            approvals.forget(env, cwd, kind="mcp", name=name)
    if os.path.exists(global_state_file(env)):
        _change_project(
            env, cwd, lambda project: {**project, **{key: [] for key in _LISTS if key in project}}
        )
    path = os.path.join(trust_root(env, cwd), ".claude", "settings.local.json")
    if os.path.exists(path):
        dropped = (*_LISTS, "enableAllProjectMcpServers")
        update(path, lambda values: {key: value for key, value in values.items() if key not in dropped})


def scopes_of(name: str, env: Mapping[str, str], cwd: str) -> dict[FileScope, Any]:
    """The scopes in which a server of this name is defined, with its definition in each."""
    every: dict[FileScope, Mapping[str, Any]] = {
        "local": _servers(_project_of(_state(env), env, cwd)[1]),
        "project": read_servers(os.path.join(cwd, PROJECT_FILE)),
        "user": _servers(_state(env)),
    }
    return {scope: servers[name] for scope, servers in every.items() if name in servers}


def write_server(
    name: str, raw: Mapping[str, Any], scope: FileScope, *, env: Mapping[str, str], cwd: str
) -> str:
    """Write a server down; returns the file.

    Raises:
        ConfigError: there is one of this name already, or the file cannot be used.
        OSError: it cannot be written.
    """
    if scope in scopes_of(name, env, cwd):
        raise ConfigError(f"MCP server {name} already exists in {scope} scope. Remove it first.")
    return _change_scope(scope, lambda servers: {**servers, name: dict(raw)}, env=env, cwd=cwd)


def remove_server(name: str, scope: FileScope, *, env: Mapping[str, str], cwd: str) -> str:
    """Remove a server; returns the file.

    Raises:
        ConfigError: the file cannot be used.
        OSError: it cannot be written.
    """
    return _change_scope(
        scope,
        lambda servers: {key: value for key, value in servers.items() if key != name},
        env=env,
        cwd=cwd,
    )


def read_servers(file: str) -> dict[str, Any]:
    """The servers of a project file; none where it cannot be read, which others complain about."""
    try:
        values, _, problem = parse(read_bytes(file, _LARGEST), file=file)
    except OSError:
        return {}
    return {} if problem is not None else dict(_servers(values))


def _change_scope(
    scope: FileScope,
    change: Callable[[Mapping[str, Any]], dict[str, Any]],
    *,
    env: Mapping[str, str],
    cwd: str,
) -> str:
    def changed(values: dict[str, Any]) -> dict[str, Any]:
        return {**values, "mcpServers": change(_servers(values))}

    match scope:
        case "project":
            path = os.path.join(cwd, PROJECT_FILE)
            update(path, changed)
        case "user":
            path = global_state_file(env)
            update(path, changed, mode=0o600)
        case "local":
            path = global_state_file(env)
            _change_project(env, cwd, changed)
    return path


def _change_project(
    env: Mapping[str, str], cwd: str, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    def changed(values: dict[str, Any]) -> dict[str, Any]:
        place, project = _project_of(values, env, cwd)
        projects = values.get("projects")
        known: dict[str, Any] = projects if isinstance(projects, dict) else {}
        return {**values, "projects": {**known, place: change(dict(project))}}

    update(global_state_file(env), changed, mode=0o600)


def _project_of(values: Mapping[str, Any], env: Mapping[str, str], cwd: str) -> tuple[str, Mapping[str, Any]]:
    """The place in the state file that belongs to a folder: one that has servers, else that of its trust."""
    projects = values.get("projects")
    known: dict[str, Any] = projects if isinstance(projects, dict) else {}
    root = trust_root(env, cwd)
    for place in dict.fromkeys((cwd, os.path.realpath(cwd), root)):
        if isinstance(project := known.get(place), dict) and project.get("mcpServers"):
            return place, project
    project = known.get(root)
    return root, project if isinstance(project, dict) else {}


def _state(env: Mapping[str, str]) -> dict[str, Any]:
    file = global_state_file(env)
    try:
        values, _, problem = parse(read_bytes(file, LARGEST_STATE), file=file)
    except OSError:
        return {}
    if problem is not None:
        raise ConfigError(f"{problem}.")
    return values


def _servers(values: Mapping[str, Any]) -> Mapping[str, Any]:
    servers = values.get("mcpServers")
    return servers if isinstance(servers, dict) else {}


def _listed(project: Mapping[str, Any], key: str, name: str, *, on: bool) -> dict[str, Any]:
    known = project.get(key)
    names = [each for each in known if each != name] if isinstance(known, list) else []
    if on:
        names.append(name)
    return {**project, key: names} if names or key in project else dict(project)


def shown(definition: Any) -> str:
    """A definition in one line, without what could move a terminal's cursor."""
    text = msgspec.json.encode(definition).decode()
    return printable(text[:500])
