"""What the user has approved of a project, bound to how it was defined when they did."""

import os.path
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bridle.config.json_files import rewrite
from bridle.config.state import trust_root
from bridle.host import paths
from bridle.host.files import read_bytes

Kind = Literal["mcp", "hook", "import", "schedule", "content", "variables"]

_LARGEST = 16 * 1024 * 1024


class _Approvals(Struct):
    projects: dict[str, dict[str, dict[str, str]]] = {}
    """Folder, kind and name to a digest."""


def is_approved(env: Mapping[str, str], project: str, *, kind: Kind, name: str, definition: Any) -> bool:
    """Whether the user approved exactly this definition in this project.

    What cannot be read approves nothing. `definition` is plain JSON as it stands in the file, before
    variables are filled in.
    """
    return _known(env, project, kind).get(name) == digest(definition)


def is_known(env: Mapping[str, str], project: str, *, kind: Kind, name: str) -> bool:
    """Whether the user has approved anything under this name in this project, however it was defined."""
    return name in _known(env, project, kind)


def approved_names(env: Mapping[str, str], project: str, *, kind: Kind, definition: Any) -> frozenset[str]:
    """Every name under which the user approved exactly this definition in this project."""
    known = _known(env, project, kind)
    wanted = digest(definition) if known else ""
    return frozenset(name for name, given in known.items() if given == wanted)


def approved(env: Mapping[str, str], project: str) -> dict[str, tuple[str, ...]]:
    """Everything that the user has approved in this project: kinds and names."""
    return {kind: tuple(names) for kind, names in _kinds(env, project).items() if names}


def approve(env: Mapping[str, str], project: str, *, kind: Kind, name: str, definition: Any) -> None:
    """Remember an approval, in place of an earlier one for the same name.

    Raises:
        ConfigError: the file of approvals does not parse, or another process keeps it locked.
        OSError: it cannot be written.
    """
    _change(env, project, kind, name, digest(definition))


def forget(env: Mapping[str, str], project: str, *, kind: Kind, name: str) -> None:
    """Take an approval back; harmless when there is none.

    Raises:
        ConfigError: the file of approvals does not parse, or another process keeps it locked.
        OSError: it cannot be written.
    """
    if os.path.exists(_file(env)):
        _change(env, project, kind, name, None)


def names(env: Mapping[str, str], project: str, *, kind: Kind) -> frozenset[str]:
    """Every name of this kind that was approved in this project."""
    return frozenset(_known(env, project, kind))


def add(env: Mapping[str, str], project: str, *, kind: Kind, named: Mapping[str, str]) -> None:
    """Remember several approvals at once, each by its name with a word about it.

    Raises:
        ConfigError: the file of approvals does not parse, or another process keeps it locked.
        OSError: it cannot be written.
    """
    root = trust_root(env, project)

    def change(values: dict[str, Any]) -> dict[str, Any]:
        projects = _object(values.get("projects"))
        kinds = _object(projects.get(root))
        known = {**_object(kinds.get(kind)), **named}
        return {**values, "projects": {**projects, root: {**kinds, kind: known}}}

    rewrite(_file(env), change, mode=0o600)


def forget_all(env: Mapping[str, str], project: str, *, kind: Kind) -> None:
    """Take every approval of this kind back.

    Raises:
        ConfigError: the file of approvals does not parse, or another process keeps it locked.
        OSError: it cannot be written.
    """
    root = trust_root(env, project)

    def change(values: dict[str, Any]) -> dict[str, Any]:
        projects = _object(values.get("projects"))
        kinds = {key: value for key, value in _object(projects.get(root)).items() if key != kind}
        return {**values, "projects": {**projects, root: kinds}}

    if os.path.exists(_file(env)):
        rewrite(_file(env), change, mode=0o600)


def digest(definition: Any) -> str:
    """A name for a definition: equal for the same JSON, whatever the order of its keys."""
    from hashlib import sha256  # It brings a library along that few starts need.

    return sha256(msgspec.json.encode(definition, order="sorted")).hexdigest()


def _known(env: Mapping[str, str], project: str, kind: Kind) -> dict[str, str]:
    return _kinds(env, project).get(kind, {})


def _kinds(env: Mapping[str, str], project: str) -> dict[str, dict[str, str]]:
    try:
        stored = msgspec.json.decode(read_bytes(_file(env), _LARGEST), type=_Approvals)
    except (OSError, msgspec.DecodeError, RecursionError):
        return {}
    return stored.projects.get(trust_root(env, project), {})


def _change(env: Mapping[str, str], project: str, kind: Kind, name: str, new: str | None) -> None:
    root = trust_root(env, project)

    def change(values: dict[str, Any]) -> dict[str, Any]:
        projects = _object(values.get("projects"))
        kinds = _object(projects.get(root))
        names = {key: value for key, value in _object(kinds.get(kind)).items() if key != name}
        if new is not None:
            names[name] = new
        return {**values, "projects": {**projects, root: {**kinds, kind: names}}}

    rewrite(_file(env), change, mode=0o600)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _file(env: Mapping[str, str]) -> str:
    return os.path.join(paths.bridle_dir(env), "approvals.json")
