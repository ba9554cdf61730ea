"""Changes of rules, mode and folders: applied to a session, and written into settings."""

import os.path
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from bridle.permissions.rules import from_value, write
from bridle.types.permission import MODES, Case, Effect, Mode, PermissionUpdate, Rule

PERSISTENT = ("userSettings", "projectSettings", "localSettings")
"""Destinations that are files."""
_RULES = ("addRules", "replaceRules", "removeRules")
_DIRECTORIES = ("addDirectories", "removeDirectories")


def read_update(given: Mapping[str, Any]) -> PermissionUpdate:
    """An update as a host sent it, every rule in it usable.

    Raises:
        ValueError: it is no update, or holds a rule that may not be.
    """
    try:
        update = msgspec.convert(given, PermissionUpdate)
    except msgspec.ValidationError as error:
        raise ValueError(f"a permission update cannot be read: {error}.") from error
    kind = update["type"]
    if kind in _RULES:
        rules_of(update)
    elif kind in _DIRECTORIES and not all(map(os.path.isabs, update.get("directories") or [""])):
        raise ValueError("a permission update has no absolute directories; name at least one.")
    elif kind == "setMode":
        mode_of(update)
    return update


def rules_of(update: PermissionUpdate) -> tuple[Rule, ...]:
    """The rules that an update is about.

    Raises:
        ValueError: one of them cannot be used, or nothing says what they do.
    """
    if (behavior := update.get("behavior")) is None:
        raise ValueError("a permission update has rules without a behavior; use allow, ask or deny.")
    effect, source = Effect(behavior), update["destination"]
    return tuple(from_value(value, effect, source) for value in update.get("rules") or ())


def mode_of(update: PermissionUpdate) -> Mode:
    """The mode that an update sets.

    Raises:
        ValueError: there is no such mode.
    """
    wanted = "default" if update.get("mode") == "manual" else update.get("mode")
    for mode in MODES:
        if mode == wanted:
            return mode
    raise ValueError(f"unknown permission mode {wanted!r}; use one of {', '.join(MODES)}.")


def changed_rules(rules: tuple[Rule, ...], update: PermissionUpdate) -> tuple[Rule, ...]:
    """The rules of a session after an update of rules; other rules stay as they are."""
    named = rules_of(update)
    match update["type"]:
        case "addRules":
            known = {_identity(rule) for rule in rules}
            return (*rules, *(rule for rule in named if _identity(rule) not in known))
        case "removeRules":
            removed = {_identity(rule) for rule in named}
            return tuple(rule for rule in rules if _identity(rule) not in removed)
        case "replaceRules":
            kept = (
                rule
                for rule in rules
                if rule.source != update["destination"] or rule.effect != update.get("behavior")
            )
            return (*kept, *named)
        case _:
            return rules


def changed_folders(folders: tuple[str, ...], update: PermissionUpdate) -> tuple[str, ...]:
    """The working folders after an update of folders; the first, the project's, always stays."""
    named = [os.path.normpath(folder) for folder in update.get("directories") or ()]
    match update["type"]:
        case "addDirectories":
            return tuple(dict.fromkeys((*folders, *named)))
        case "removeDirectories":
            return (*folders[:1], *(folder for folder in folders[1:] if folder not in named))
        case _:
            return folders


def applied_to_case(case: Case, updates: Iterable[PermissionUpdate]) -> Case:
    """The call as it would be judged after the updates."""
    for update in updates:
        kind = update["type"]
        if kind in _RULES:
            case = msgspec.structs.replace(case, rules=changed_rules(case.rules, update))
        elif kind in _DIRECTORIES:
            case = msgspec.structs.replace(case, roots=changed_folders(case.roots, update))
        else:
            case = msgspec.structs.replace(case, mode=mode_of(update))
    return case


def changed_settings(values: Mapping[str, Any], update: PermissionUpdate) -> dict[str, Any]:
    """What a settings file says after an update; everything else in it stays."""
    given = values.get("permissions")
    permissions: dict[str, Any] = dict(given) if isinstance(given, dict) else {}
    kind = update["type"]
    if kind in _RULES:
        key = str(update.get("behavior"))
        permissions[key] = _changed_list(
            kind, permissions.get(key), [write(rule) for rule in rules_of(update)]
        )
    elif kind in _DIRECTORIES:
        key = "additionalDirectories"
        permissions[key] = _changed_list(kind, permissions.get(key), list(update.get("directories") or ()))
    else:
        permissions["defaultMode"] = mode_of(update)
    return {**values, "permissions": permissions}


def _changed_list(kind: str, given: Any, named: list[str]) -> list[Any]:
    listed: list[Any] = list(given) if isinstance(given, list) else []
    if kind.startswith("replace"):
        return named
    if kind.startswith("remove"):
        return [each for each in listed if each not in named]
    return [*listed, *(each for each in named if each not in listed)]


def _identity(rule: Rule) -> tuple[Effect, str, str | None, str]:
    return rule.effect, rule.tool, rule.content, rule.source
