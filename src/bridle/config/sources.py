"""Where settings come from, lowest first."""

import errno
import os
import os.path
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from bridle.config.problems import Problem
from bridle.host.files import read_bytes
from bridle.types.errors import ConfigError

Source = Literal["userSettings", "projectSettings", "localSettings", "flagSettings", "policySettings"]

LARGEST = 2 * 1024 * 1024
_INHERITS = "wslInheritsWindowsSettings"
INLINE = "--settings"
"""Stands for the path of settings that were written on the command line."""


class Layer(Struct, frozen=True):
    """What one file says, without what is wrong or not its to say."""

    source: Source
    path: str
    values: dict[str, Any]
    text: str


class SettingsFile(Struct, frozen=True):
    """A file that may hold settings, or the settings themselves."""

    source: Source
    path: str
    inline: str | None = None


class Inputs(Struct, frozen=True, kw_only=True):
    """All that decides which files are read."""

    home: str
    cwd: str
    flag: str | None
    setting_sources: tuple[str, ...] | None
    managed_dir: str
    models: tuple[str, ...] = ()
    """Models that the user's environment names."""
    parent: str | None = None
    """What the program that started us wants to hold, as JSON."""
    env: Mapping[str, str] = {}
    """The environment, for a helper of the administrator."""
    device: tuple[str, ...] = ()
    """Property lists of device management and keys of the registry, the most special last."""
    windows_dir: str = "/mnt/c/Program Files/ClaudeCode"
    """The folder of managed files of Windows, as WSL shows it."""
    registry: Any = None
    """What has the functions of `winreg`; None for the module itself."""


def places(inputs: Inputs) -> tuple[SettingsFile, ...]:
    """Every file that may hold settings, lowest first, whether it exists or not."""
    managed = _under_device(inputs, [*_managed_places(inputs.managed_dir), *_windows_places(inputs)])
    found = [*_own_places(inputs), *_flag_place(inputs), *_parent_place(inputs, managed), *managed]
    # In the home directory the user's file and the project's are one, and it is the user's.
    first: dict[str, SettingsFile] = {}
    for place in found:
        first.setdefault(os.path.realpath(place.path), place)
    return tuple(first.values())


def watched(inputs: Inputs) -> tuple[str, ...]:
    """The paths whose change may change the settings."""
    files = [place.path for place in places(inputs) if place.inline is None]
    return (
        *files,
        *(path for path in inputs.device if os.path.isabs(path)),
        os.path.join(inputs.managed_dir, "managed-settings.d"),
    )


def read(place: SettingsFile) -> tuple[Layer | None, Problem | None]:
    """What a file says, before anyone checked it; None when there is no such file."""
    if place.inline is not None:
        data = place.inline.encode("utf-8", "surrogatepass")
    else:
        try:
            data = read_bytes(place.path, LARGEST)
        except OSError as error:
            if isinstance(error, FileNotFoundError | NotADirectoryError) and not os.path.islink(place.path):
                return None, None
            return None, Problem(file=place.path, message=_unreadable(error), broken=True)
    from bridle.config.validate import parse  # Most places have no file.

    values, text, problem = parse(data, file=place.path)
    return Layer(place.source, place.path, values, text), problem


SHARED = ("projectSettings", "localSettings")
"""Sources that come with a folder and not from the person who opens it."""

_FILES: dict[str, Source] = {"user": "userSettings", "project": "projectSettings", "local": "localSettings"}


def _own_places(inputs: Inputs) -> list[SettingsFile]:
    chosen = tuple(_FILES) if inputs.setting_sources is None else inputs.setting_sources
    if unknown := [name for name in chosen if name not in _FILES]:
        known = ", ".join(_FILES)
        raise ConfigError(f"Unknown source {unknown[0]!r} in --setting-sources. Choose from {known}.")
    paths = {
        "user": os.path.join(inputs.home, "settings.json"),
        "project": os.path.join(inputs.cwd, ".claude", "settings.json"),
        "local": os.path.join(inputs.cwd, ".claude", "settings.local.json"),
    }
    return [SettingsFile(source, paths[name]) for name, source in _FILES.items() if name in chosen]


def _flag_place(inputs: Inputs) -> list[SettingsFile]:
    if inputs.flag is None or not inputs.flag.strip():
        return []
    if inputs.flag.lstrip().startswith("{"):
        return [SettingsFile("flagSettings", INLINE, inputs.flag)]
    return [SettingsFile("flagSettings", os.path.join(inputs.cwd, os.path.expanduser(inputs.flag)))]


def _parent_place(inputs: Inputs, managed: list[SettingsFile]) -> list[SettingsFile]:
    """Below the machine's own policy, and cut to what it may say beside that."""
    if inputs.parent is None:
        return []
    from bridle.config.parent_policy import PARENT, from_parent

    machine = [layer.values for place in managed if (layer := read(place)[0]) is not None]
    holds = from_parent(inputs.parent, machine)
    return [] if holds is None else [SettingsFile("policySettings", PARENT, holds)]


def _managed_places(folder: str) -> list[SettingsFile]:
    parts = os.path.join(folder, "managed-settings.d")
    try:
        names = sorted(
            name for name in os.listdir(parts) if name.endswith(".json") and not name.startswith(".")
        )
    except OSError:
        names = []  # Most machines have no managed settings.
    paths = [os.path.join(folder, "managed-settings.json"), *(os.path.join(parts, name) for name in names)]
    return [SettingsFile("policySettings", path) for path in paths]


def _windows_places(inputs: Inputs) -> list[SettingsFile]:
    """In WSL the managed files of Windows, where one of them or of ours says that they count."""
    if not inputs.env.get("WSL_DISTRO_NAME"):
        return []
    theirs = _managed_places(inputs.windows_dir)
    layers = (read(place)[0] for place in (*_managed_places(inputs.managed_dir), *theirs))
    wanted = any(layer is not None and layer.values.get(_INHERITS) is True for layer in layers)
    return theirs if wanted else []


def _under_device(inputs: Inputs, files: list[SettingsFile]) -> list[SettingsFile]:
    """Device management comes first, and alone unless it says that files count beside it."""
    places = [path for path in inputs.device if not os.path.isabs(path) or os.path.exists(path)]
    if not places:
        return files
    # Few machines are managed.
    from bridle.config.managed.property_list import read_property_list
    from bridle.config.managed.registry import USER, is_registry, read_registry

    found: list[SettingsFile] = []
    for place in places:
        if place == USER and (found or any(os.path.exists(each.path) for each in files)):
            continue
        text = read_registry(place, inputs.registry) if is_registry(place) else read_property_list(place)
        if text is not None:
            found.append(SettingsFile("policySettings", place, text))
    merges = not found or any('"managedSourcesBehavior":"merge"' in _compact(each.inline) for each in found)
    return [*files, *found] if merges else found


def _compact(text: str | None) -> str:
    return "".join((text or "").split())


def _unreadable(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "broken link"
    if error.errno == errno.EFBIG:
        return "the file is larger than 2 MiB"
    return f"could not read the file: {(error.strerror or str(error)).lower()}"
