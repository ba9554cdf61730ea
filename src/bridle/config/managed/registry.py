"""Managed settings from the registry of Windows: the text of one value."""

import importlib
from typing import Any

MACHINE = "HKLM\\SOFTWARE\\Policies\\ClaudeCode"
USER = "HKCU\\SOFTWARE\\Policies\\ClaudeCode"
"""Counts only where no other managed source does: users can write to it."""
_VALUE = "Settings"
_HIVES = {"HKLM": "HKEY_LOCAL_MACHINE", "HKCU": "HKEY_CURRENT_USER"}
_LARGEST = 2 * 1024 * 1024


def is_registry(place: str) -> bool:
    """Whether a source is a key of the registry and not a file."""
    return place.partition("\\")[0] in _HIVES


def read_registry(place: str, registry: Any = None) -> str | None:
    """The settings that a key holds as JSON; None where there are none.

    Text that is not JSON is reported as a broken source. `registry` has the functions of `winreg`.
    """
    hive, _, key = place.partition("\\")
    registry = registry or importlib.import_module("winreg")
    try:
        with registry.OpenKey(getattr(registry, _HIVES[hive]), key) as opened:
            value, kind = registry.QueryValueEx(opened, _VALUE)
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"could not read the registry: {error.strerror}"
    if kind not in (registry.REG_SZ, registry.REG_EXPAND_SZ) or not isinstance(value, str):
        return "not a text value (REG_SZ)"
    return value if len(value) <= _LARGEST else "larger than 2 MiB"
