"""Which folders the user trusts, and what trusting one would let in."""

import os.path
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.config import approvals
from bridle.config.content_approvals import (
    ContentApprovals,
    all_items,
    approve_content,
    is_binding,
    is_bound,
    items_at,
    scripts_of,
    server_item,
    trusted_for_one_run,
)
from bridle.config.edit import update
from bridle.config.load import load
from bridle.config.mcp.variables import approve_variables, credentials, given_variables, withheld
from bridle.config.model_names import NAMING, own_models
from bridle.config.problems import dotted, line_numbers
from bridle.config.schedules import content, read_schedules, schedule_file
from bridle.config.source_limits import waiting
from bridle.config.sources import SHARED, Layer
from bridle.config.state import is_too_wide, trust_root
from bridle.host import paths
from bridle.host.files import read_bytes
from bridle.types.errors import ConfigError

_LARGEST = 2 * 1024 * 1024
_EXTENSIONS = ("agents", "commands", "hooks", "plugins", "skills", "workflows")
_MOST_LISTED = 20
_MOST_FILES = 2_000


class TrustItem(Struct, frozen=True, kw_only=True):
    """One thing that counts only where the folder is trusted."""

    file: str
    line: int | None = None
    key: str
    value: Any
    """As plain JSON values; untrusted text, so nothing to print as it is."""


def trust(env: Mapping[str, str], cwd: str, *, given: Collection[str] | None = ()) -> str:
    """Remember that the user trusts the repository around `cwd`, or the folder itself outside one.

    Its servers may also be given the credentials in these variables, None being all that they name.
    Returns the folder that is trusted now.

    Raises:
        ConfigError: the folder is too wide to be trusted for good, or the state file does not parse.
        OSError: the state file cannot be written.
    """
    root = trust_root(env, cwd)
    if is_too_wide(env, root):
        raise ConfigError(
            f"{root} contains your home directory and can only be trusted for one run: use "
            f'BRIDLE_TRUST_FOLDER="{root}" bridle …, or work in a subfolder.'
        )
    approve_all_content(env, cwd)
    for server in (each for folder in _folders(env, cwd) for each in _servers(folder)):
        if given is None or set(credentials(server.value, env)) <= set(given):
            approve_variables(env, cwd, name=server.key.partition(".")[2], raw=server.value)
    _remember(env, root, accepted=True)
    return root


def approve_all_content(env: Mapping[str, str], cwd: str, *, servers: bool = True) -> None:
    """Remember that all that the folder brings today may count, as it is; servers may be asked one by one.

    Raises:
        ConfigError: the file of approvals does not parse.
        OSError: it cannot be written.
    """
    root = trust_root(env, cwd)
    for folder in _folders(env, cwd):
        whats = [what for layer in _layers(env, folder) for _, what in all_items(layer.values)]
        if servers:
            whats += (_as_item(each) for each in _servers(folder))
        files = _bound_files(folder)
        scripts = (script for path in files for script in scripts_of(_text(path), root, folder))
        approve_content(env, folder, whats, [*files, *scripts])


def adopt(env: Mapping[str, str], cwd: str) -> None:
    """Write down what a folder brings that was trusted before contents were: changes are asked about now.

    Where nothing can be written, the session goes by what it found at its start.
    """
    if is_bound(env, cwd) or trusted_for_one_run(env, trust_root(env, cwd)):
        return
    try:
        approve_all_content(env, cwd)
    except (ConfigError, OSError):
        return


def unapproved(env: Mapping[str, str], cwd: str, *, servers: bool = True) -> tuple[TrustItem, ...]:
    """What a trusted folder brings that is new or has changed since the user approved it."""
    if not is_bound(env, cwd):
        return ()
    approved_content = ContentApprovals(env, cwd)
    found: list[TrustItem] = []
    for folder in _folders(env, cwd):
        own = own_models(_own(env, folder), tuple(env[name] for name in NAMING if env.get(name)))
        for layer in _layers(env, folder):
            items = items_at(layer.values, waiting(layer.values, mode="default", own=own))
            lines = line_numbers(layer.text)
            missing = set(approved_content.missing(items))
            found += (
                TrustItem(file=layer.path, line=lines.get(path), key=dotted(path), value=what["value"])
                for path, what in items
                if path in missing
            )
        found += (
            TrustItem(file=path, key="hooks, servers, mode or allowed tools", value="see the file")
            for path in _bound_files(folder)
            if not approved_content.covers_file(path)
        )
        for each in _servers(folder) if servers else ():
            kept_back = withheld(env, cwd, name=each.key.partition(".")[2], raw=each.value)
            found += (each,) if _is_new(each, approved_content, env, cwd) else ()
            found += _variables(each, env) if kept_back else ()
    return tuple(found)


def revoke(env: Mapping[str, str], cwd: str) -> str:
    """Forget that the user trusted the place; returns it.

    Raises:
        ConfigError: the state file does not parse.
        OSError: the state file cannot be written.
    """
    root = trust_root(env, cwd)
    approvals.forget_all(env, cwd, kind="content")
    if os.path.exists(paths.global_state_file(env)):
        _remember(env, root, accepted=False)
    return root


def brought_by(env: Mapping[str, str], cwd: str) -> tuple[TrustItem, ...]:
    """All that trusting the folder would let count, in `cwd` and at the top of its repository."""
    return tuple(
        each
        for folder in _folders(env, cwd)
        for each in (
            *_from_settings(env, folder),
            *_servers(folder),
            *(given for server in _servers(folder) for given in _variables(server, env)),
            *_schedules(folder),
            *_extensions(folder),
        )
    )


def _remember(env: Mapping[str, str], root: str, *, accepted: bool) -> None:
    def change(values: dict[str, Any]) -> dict[str, Any]:
        projects = values.get("projects")
        known: dict[str, Any] = projects if isinstance(projects, dict) else {}
        if not accepted and root not in known:
            return values
        project = known.get(root)
        kept: dict[str, Any] = project if isinstance(project, dict) else {}
        return {**values, "projects": {**known, root: {**kept, "hasTrustDialogAccepted": accepted}}}

    update(paths.global_state_file(env), change, mode=0o600)


def _folders(env: Mapping[str, str], cwd: str) -> tuple[str, ...]:
    """The folders whose files count in `cwd`: from the top of its repository down to it."""
    root, folder = trust_root(env, cwd), os.path.realpath(cwd)
    chain = [folder]
    while folder != root and folder.startswith(root + os.sep):
        folder = os.path.dirname(folder)
        chain.append(folder)
    return tuple(reversed(chain))


def _layers(env: Mapping[str, str], folder: str) -> list[Layer]:
    config = load(cwd=folder, env=env, flag=None, setting_sources=("project", "local"), trusted=True)
    return [layer for layer in config.layers if layer.source in SHARED]


def _own(env: Mapping[str, str], folder: str) -> Mapping[str, Any]:
    config = load(cwd=folder, env=env, flag=None, setting_sources=("user",), trusted=True)
    return next((layer.values for layer in config.layers if layer.source == "userSettings"), {})


def _bound_files(folder: str) -> list[str]:
    """Files of agents, skills, commands and plugins in a folder that may widen what runs."""
    found: list[str] = []
    for kind in _EXTENSIONS:
        for place, below, names in os.walk(os.path.join(folder, ".claude", kind)):
            below[:] = sorted(name for name in below if name != ".git")
            for name in sorted(names):
                path = os.path.join(place, name)
                if name.endswith((".md", ".json")) and is_binding(path):
                    found.append(path)
            if len(found) > _MOST_FILES:
                return found[:_MOST_FILES]
    return found


def _text(path: str) -> str:
    try:
        return read_bytes(path, _LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""


def _from_settings(env: Mapping[str, str], folder: str) -> Iterator[TrustItem]:
    own = own_models(_own(env, folder), tuple(env[name] for name in NAMING if env.get(name)))
    for layer in _layers(env, folder):
        places = waiting(layer.values, mode="default", own=own)
        lines = line_numbers(layer.text) if places else {}
        for path in places:
            value: Any = layer.values
            for part in path:
                value = value[part]
            yield TrustItem(file=layer.path, line=lines.get(path), key=dotted(path), value=value)


class _Servers(Struct):
    servers: dict[str, Any] = msgspec.field(default_factory=dict[str, Any], name="mcpServers")


def _servers(folder: str) -> Iterator[TrustItem]:
    """The servers of `.mcp.json`; one that cannot be read starts none."""
    file = os.path.join(folder, ".mcp.json")
    try:
        data = read_bytes(file, _LARGEST).removeprefix(b"\xef\xbb\xbf")
        found = msgspec.json.decode(data, type=_Servers).servers
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, msgspec.DecodeError, RecursionError):
        yield TrustItem(file=file, key="mcpServers", value="cannot be read")
        return
    lines = line_numbers(data.decode("utf-8", "replace"))
    for name, definition in found.items():
        yield TrustItem(
            file=file, line=lines.get(("mcpServers", name)), key=f"mcpServers.{name}", value=definition
        )


def _variables(server: TrustItem, env: Mapping[str, str]) -> Iterator[TrustItem]:
    """The variables of the user's that a server would be given, each with where it would go."""
    for name, goal in given_variables(server.value, env).items():
        yield TrustItem(
            file=server.file, line=server.line, key=f"{server.key} receives your {name}", value=goal
        )


def _as_item(server: TrustItem) -> dict[str, Any]:
    return server_item(server.key.partition(".")[2], server.value)


def _is_new(server: TrustItem, approved_content: ContentApprovals, env: Mapping[str, str], cwd: str) -> bool:
    name = server.key.partition(".")[2]
    agreed = approvals.is_approved(env, cwd, kind="mcp", name=name, definition=server.value)
    return not agreed and not approved_content.covers_server(name, server.value)


def _schedules(folder: str) -> Iterator[TrustItem]:
    """The prompts that would come by the clock; each needs an approval of its own besides."""
    file = schedule_file(folder)
    try:
        found = read_schedules(folder)
    except (OSError, ValueError):
        yield TrustItem(file=file, key="tasks", value="cannot be read")
        return
    for entry in found:
        yield TrustItem(file=file, key=f"tasks.{entry['id']}", value=content(entry))


def _extensions(folder: str) -> Iterator[TrustItem]:
    """Folders with agents, commands and the like: only their names, because each file may hold much."""
    for kind in _EXTENSIONS:
        place = os.path.join(folder, ".claude", kind)
        try:
            names = sorted(os.listdir(place))
        except OSError:
            continue  # Most folders have none.
        if names:
            more = [f"… and {len(names) - _MOST_LISTED} more"] if len(names) > _MOST_LISTED else []
            yield TrustItem(file=place, key=kind, value=[*names[:_MOST_LISTED], *more])
