"""What each source of settings may say, and what it may not."""

from collections.abc import Iterator
from typing import Any

from bridle.config.model_names import OwnModels
from bridle.config.problems import Fault, KeyPath
from bridle.config.sources import SHARED
from bridle.config.variables import never_from_project, only_when_trusted

_CLOSED_TO: dict[str, dict[str, str]] = {
    "userSettings": {"managed": "only managed settings can set this"},
    "flagSettings": {"managed": "only managed settings can set this"},
    "localSettings": {
        "managed": "only managed settings can set this",
        "no folder": "a project cannot set this; put it in your user settings",
    },
    "projectSettings": {
        "managed": "only managed settings can set this",
        "no folder": "a project cannot set this; put it in your user settings",
        "no project": "a project cannot set this; put it in your user or local settings",
    },
    "policySettings": {},
}
"""For each source, the keys that are closed to it, by `Setting.who`, and why."""

_REFUSED: tuple[tuple[KeyPath, tuple[Any, ...], str], ...] = (
    (("permissions", "defaultMode"), ("bypassPermissions", "auto"), "a project cannot disable approvals"),
    (("sandbox", "enabled"), (False,), "a project cannot disable the sandbox"),
    (("sandbox", "failIfUnavailable"), (False,), "a project cannot make the sandbox optional"),
    (("sandbox", "allowUnsandboxedCommands"), (True,), "a project cannot open the sandbox"),
    (("sandbox", "enableWeakerNestedSandbox"), (True,), "a project cannot weaken the sandbox"),
    (("sandbox", "enableWeakerNetworkIsolation"), (True,), "a project cannot weaken the sandbox"),
    (("remoteControlAtStartup",), (True,), "a project cannot enable remote control"),
    (("disableRemoteControl",), (False,), "a project cannot enable remote control"),
)


def permitted(values: dict[str, Any], source: str) -> tuple[dict[str, Any], tuple[Fault, ...]]:
    """The values that this source may set, and why the others are left out."""
    faults = list(_closed(values, source))
    faults += _impossible_variables(values)
    if source in SHARED:
        faults += _refused_in_folders(values)
    # From the back, so that the places of list elements still count.
    for path, _ in reversed(faults):
        values = _without(values, path)
    return values, tuple(faults)


UNTRUSTED = "ignored: this folder is not trusted; run `bridle trust`"
CHANGED = "changed since you trusted this folder; run `bridle trust` to review it"
_MODELS = ("model", "fallbackModel", "advisorModel", "availableModels")
"""Count from anywhere for models of the services that the user's own models are on."""
_OPENED = ("permissions", "sandbox", "sandbox.filesystem", "sandbox.network", "worktree")
"""Objects whose keys are weighed one by one."""
_LOOSEST_FIRST = ("bypassPermissions", "auto", "acceptEdits", "default", "dontAsk", "plan")


def counting_untrusted(
    values: dict[str, Any], *, mode: str, own: OwnModels | None = None
) -> tuple[dict[str, Any], tuple[Fault, ...]]:
    """The values that count from a folder that is not trusted yet, and what waits for trust.

    `mode` is the permission mode of the user's own settings: a folder may only ask for a stricter one. `own`
    are the models that the user named: a folder may choose among those of the same services.
    """
    faults: list[Fault] = [(path, UNTRUSTED) for path in waiting(values, mode=mode, own=own)]
    return without(values, [path for path, _ in faults]), tuple(faults)


def waiting(values: dict[str, Any], *, mode: str, own: OwnModels | None = None) -> list[KeyPath]:
    """The places of all that counts only from a trusted folder, in the order of the file."""
    return list(_waiting(values, (), mode, own or OwnModels(())))


def without(values: dict[str, Any], paths: list[KeyPath]) -> dict[str, Any]:
    """The values less those at the paths, which are in the order of the file."""
    # From the back, so that the places of list elements still count.
    for path in reversed(paths):
        values = _without(values, path)
    return values


def _waiting(values: dict[str, Any], above: KeyPath, mode: str, own: OwnModels) -> Iterator[KeyPath]:
    for key, value in values.items():
        path: KeyPath = (*above, key)
        name = ".".join(map(str, path))
        if "." in key:
            # Not the path that it looks like, but a name that is unknown.
            yield path
        elif name in _MODELS:
            yield from _foreign_models(path, value, own)
        elif value in (None, [], {}) or name == "$schema" or _is_harmless(name, value):
            continue
        elif name in _OPENED:
            yield from _waiting(value, path, mode, own)
        elif name == "env":
            yield from (
                (*path, variable) for variable, text in value.items() if only_when_trusted(variable, text)
            )
        elif name == "permissions.defaultMode":
            if _strictness(value) < _strictness(mode):
                yield path
        else:
            yield path


def _is_harmless(name: str, value: Any) -> bool:
    """Looks, words, and what only takes away; a key that the table does not know is not harmless."""
    # Few folders have settings.
    from bridle.config.settings_table import ROWS

    row = ROWS.get(name)
    return row is not None and (row.harmless or (row.harmless_as is not None and value == row.harmless_as))


def _closed(values: dict[str, Any], source: str) -> Iterator[Fault]:
    """The keys that are not this source's to set."""
    reasons = _CLOSED_TO[source]
    if not values or not reasons:
        return
    # Many runs have no settings.
    from bridle.config.settings_table import stated

    left_out: KeyPath = ("",)
    for path, _, row in stated(values):
        if row.who in reasons and path[: len(left_out)] != left_out:
            left_out = path
            yield path, reasons[row.who]


def _foreign_models(path: KeyPath, value: Any, own: OwnModels) -> Iterator[KeyPath]:
    """Names of models that would send the conversation to a service which the user does not use."""
    if isinstance(value, list):
        yield from ((*path, index) for index, name in enumerate(value) if not own.cover(name))
    elif value is not None and not own.cover(value):
        yield path


def _strictness(mode: str) -> int:
    """A higher number lets less happen unasked; a mode that is not known lets everything happen."""
    return _LOOSEST_FIRST.index(mode) if mode in _LOOSEST_FIRST else -1


def _refused_in_folders(values: dict[str, Any]) -> list[Fault]:
    faults: list[Fault] = [
        (path, f"{reason}; put it in your user settings")
        for path, refused, reason in _REFUSED
        if _find(values, path) in refused
    ]
    for index, command in enumerate(_find(values, ("sandbox", "excludedCommands")) or ()):
        if not command.strip(" *:"):
            path = ("sandbox", "excludedCommands", index)
            faults.append(
                (path, ("a project cannot exclude every command from the sandbox; name the commands"))
            )
    faults += [
        (("env", name), "a project cannot set this variable; put it in your user settings")
        for name in values.get("env") or ()
        if never_from_project(name)
    ]
    return faults


def _impossible_variables(values: dict[str, Any]) -> list[Fault]:
    """Variables that no process can be given."""
    return [
        (
            ("env", name),
            "invalid variable; the name cannot contain =, and neither name nor value a null character",
        )
        for name, value in (values.get("env") or {}).items()
        if not name or "=" in name or "\0" in name or "\0" in str(value)
    ]


def _find(values: Any, path: KeyPath) -> Any:
    for part in path:
        if not isinstance(values, dict):
            return None
        values = values.get(part)
    return values


def _without(values: Any, path: KeyPath) -> Any:
    """A copy that lacks the value at the path."""
    first, *rest = path
    if isinstance(values, list):
        if rest:
            return [
                _without(item, tuple(rest)) if index == first else item for index, item in enumerate(values)
            ]
        return [item for index, item in enumerate(values) if index != first]
    if first not in values:
        return values
    if not rest:
        return {key: item for key, item in values.items() if key != first}
    return {**values, first: _without(values[first], tuple(rest))}
