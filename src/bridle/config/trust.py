"""Which folders the user trusts, and what trusting one would let in."""

import os.path
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.config.edit import update
from bridle.config.load import load
from bridle.config.problem import dotted, line_numbers
from bridle.config.reach import SHARED, counting_untrusted
from bridle.config.schedules import content, read_schedules, schedule_file
from bridle.config.state import is_too_wide, trust_root
from bridle.host import paths
from bridle.host.files import read_bytes
from bridle.types.errors import ConfigError

_LARGEST = 2 * 1024 * 1024
_EXTENSIONS = ("agents", "commands", "hooks", "plugins", "skills", "workflows")
_MOST_LISTED = 20


class Brought(Struct, frozen=True, kw_only=True):
    """One thing that counts only where the folder is trusted."""

    file: str
    line: int | None = None
    key: str
    value: Any
    """As plain JSON values; what a stranger wrote, so nothing to print as it is."""


def trust(env: Mapping[str, str], cwd: str) -> str:
    """Remember that the user trusts the repository around `cwd`, or the folder itself outside one.

    Returns the folder that is trusted now.

    Raises:
        ConfigError: the folder is too wide to be trusted for good, or the state file does not parse.
        OSError: the state file cannot be written.
    """
    root = trust_root(env, cwd)
    if is_too_wide(env, root):
        raise ConfigError(
            f"{root} holds your home directory and is trusted for one run at a time only: "
            f'use BRIDLE_TRUST_FOLDER="{root}" bridle …, or work in a folder below it.'
        )
    _remember(env, root, accepted=True)
    return root


def revoke(env: Mapping[str, str], cwd: str) -> str:
    """Forget that the user trusted the place; returns it.

    Raises:
        ConfigError: the state file does not parse.
        OSError: the state file cannot be written.
    """
    root = trust_root(env, cwd)
    if os.path.exists(paths.global_state_file(env)):
        _remember(env, root, accepted=False)
    return root


def brought_by(env: Mapping[str, str], cwd: str) -> tuple[Brought, ...]:
    """All that trusting the folder would let count, in `cwd` and at the top of its repository."""
    folders = dict.fromkeys((trust_root(env, cwd), os.path.realpath(cwd)))
    return tuple(
        each
        for folder in folders
        for each in (
            *_from_settings(env, folder),
            *_servers(folder),
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


def _from_settings(env: Mapping[str, str], folder: str) -> Iterator[Brought]:
    config = load(cwd=folder, env=env, flag=None, setting_sources=("project", "local"), trusted=True)
    for layer in config.layers:
        if layer.source not in SHARED:
            continue
        _, waiting = counting_untrusted(layer.values, mode="default")
        lines = line_numbers(layer.text) if waiting else {}
        for path, _ in waiting:
            value: Any = layer.values
            for part in path:
                value = value[part]
            yield Brought(file=layer.path, line=lines.get(path), key=dotted(path), value=value)


class _Servers(Struct):
    servers: dict[str, Any] = msgspec.field(default_factory=dict[str, Any], name="mcpServers")


def _servers(folder: str) -> Iterator[Brought]:
    """The servers of `.mcp.json`; one that cannot be read starts none."""
    file = os.path.join(folder, ".mcp.json")
    try:
        data = read_bytes(file, _LARGEST).removeprefix(b"\xef\xbb\xbf")
        found = msgspec.json.decode(data, type=_Servers).servers
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, msgspec.DecodeError, RecursionError):
        yield Brought(file=file, key="mcpServers", value="cannot be read")
        return
    lines = line_numbers(data.decode("utf-8", "replace"))
    for name, definition in found.items():
        yield Brought(
            file=file, line=lines.get(("mcpServers", name)), key=f"mcpServers.{name}", value=definition
        )


def _schedules(folder: str) -> Iterator[Brought]:
    """The prompts that would come by the clock; each needs an approval of its own besides."""
    file = schedule_file(folder)
    try:
        found = read_schedules(folder)
    except (OSError, ValueError):
        yield Brought(file=file, key="tasks", value="cannot be read")
        return
    for entry in found:
        yield Brought(file=file, key=f"tasks.{entry['id']}", value=content(entry))


def _extensions(folder: str) -> Iterator[Brought]:
    """Folders with agents, commands and the like: only their names, because each file may hold much."""
    for kind in _EXTENSIONS:
        place = os.path.join(folder, ".claude", kind)
        try:
            names = sorted(os.listdir(place))
        except OSError:
            continue  # Most folders have none.
        if names:
            more = [f"… and {len(names) - _MOST_LISTED} more"] if len(names) > _MOST_LISTED else []
            yield Brought(file=place, key=kind, value=[*names[:_MOST_LISTED], *more])
