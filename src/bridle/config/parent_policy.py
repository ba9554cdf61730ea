"""Settings of policy from the program that starts bridle: they may tighten what holds, nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bridle.types.errors import ConfigError

PARENT = "--managed-settings"
"""Stands for the path of these settings."""

_TIGHTEN = frozenset({
    "allowManagedHooksOnly", "allowManagedMcpServersOnly", "allowManagedPermissionRulesOnly",
    "blockedMarketplaces", "deniedMcpServers", "disableAutoMode", "disableSideloadFlags",
    "enforceAvailableModels", "requiredMaximumVersion", "requiredMinimumVersion",
})  # fmt: skip
_LISTS_OF_THE_ALLOWED = ("allowedMcpServers", "availableModels", "strictKnownMarketplaces")
"""They hold only where the machine has none: a second list would add to the first."""
_LISTS_OF_REACH = ("allowedHttpHookUrls", "httpHookAllowedEnvVars")
_OF_PERMISSIONS = ("ask", "deny", "disableAutoMode", "disableBypassPermissionsMode")


def from_parent(text: str, machine: Sequence[Mapping[str, Any]]) -> str | None:
    """What holds of the parent's settings beside those of the machine, as JSON; None for nothing.

    Where the machine has settings of its own, the parent's count only if these say so.

    Raises:
        ConfigError: they are not a JSON object.
    """
    try:
        given = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ConfigError(f"{PARENT} is not JSON: {error}.") from error
    if not isinstance(given, dict):
        raise ConfigError(f"{PARENT} must be a JSON object of settings.")
    if machine and not any(each.get("parentSettingsBehavior") == "merge" for each in machine):
        return None
    taken = {name for each in machine for name in each}
    return msgspec.json.encode(_tightening(given, taken)).decode()


def _tightening(given: Mapping[str, Any], taken: set[str]) -> dict[str, Any]:
    kept = {name: value for name, value in given.items() if name in _TIGHTEN and value not in (False, None)}
    kept |= {name: given[name] for name in _LISTS_OF_THE_ALLOWED if name in given and name not in taken}
    kept |= {name: [] for name in _LISTS_OF_REACH if given.get(name) == [] and name not in taken}
    if given.get("disableAllHooks") not in (None, False, "false"):
        # The hooks of the machine's own management continue.
        kept["allowManagedHooksOnly"] = True
    if given.get("channelsEnabled") is False:
        kept["channelsEnabled"] = False
    permissions = given.get("permissions")
    if isinstance(permissions, dict):
        kept["permissions"] = {name: permissions[name] for name in _OF_PERMISSIONS if name in permissions}
    if sandbox := _sandbox(given.get("sandbox")):
        kept["sandbox"] = sandbox
    return kept


def _sandbox(given: object) -> dict[str, Any]:
    if not isinstance(given, dict):
        return {}
    kept: dict[str, Any] = {
        name: True for name in ("enabled", "failIfUnavailable") if given.get(name) is True
    }
    for part, switch in (("network", "allowManagedDomainsOnly"), ("filesystem", "allowManagedReadPathsOnly")):
        inner = given.get(part)
        if isinstance(inner, dict) and inner.get(switch) is True:
            kept[part] = {switch: True}
    return kept
