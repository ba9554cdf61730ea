"""Settings with their values and sources, and how a typed value is parsed."""

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import msgspec
from msgspec import Struct

from bridle.config.explain import Statement, explain, known_keys
from bridle.config.load import Config
from bridle.config.schema import Settings
from bridle.config.settings_table import DEFAULTS, ROWS
from bridle.config.validate import alternatives, check, is_struct
from bridle.types.errors import UsageError
from bridle.types.nearest import did_you_mean

Kind = Literal["switch", "choice", "number", "text", "list", "table"]
Scope = Literal["user", "project", "local"]

NO_EFFECT = "No effect in bridle"
COMMON = (
    "model", "effortLevel", "permissions.defaultMode", "theme", "editorMode", "outputStyle", "language",
    "autoCompactEnabled", "alwaysThinkingEnabled", "autoMemoryEnabled", "promptSuggestionEnabled", "verbose",
    "tui", "preferredNotifChannel", "prefersReducedMotion", "sandbox.enabled", "cleanupPeriodDays",
)  # fmt: skip
"""What people change most, listed first."""
_SCOPES: dict[str, Scope] = {"userSettings": "user", "projectSettings": "project", "localSettings": "local"}


class SettingRow(Struct, frozen=True, kw_only=True):
    key: str
    """Dotted, as in `permissions.defaultMode`."""
    kind: Kind
    value: Any
    """The effective value, or the default; None where there is neither."""
    source: str = ""
    """Who sets it: a source such as userSettings; empty for the default."""
    file: str = ""
    choices: tuple[str, ...] = ()
    statements: tuple[Statement, ...] = ()
    """What each source says about it, the lowest first."""
    meaning: str = ""
    default: Any = None
    """What counts if no source sets it; None if that depends on the machine or is nothing."""
    no_effect: str = ""
    """Why it does nothing in bridle."""

    @property
    def group(self) -> str:
        """Where it is listed: with those that are often changed, by the first part of its key, or last."""
        if self.no_effect:
            return NO_EFFECT
        if self.key in COMMON:
            return "Common"
        return self.key.partition(".")[0] if "." in self.key else "More"

    @property
    def rank(self) -> tuple[int, int, str]:
        """Its place in the list."""
        if self.no_effect:
            return (3, 0, "")
        if self.key in COMMON:
            return (0, COMMON.index(self.key), "")
        return (2, 0, self.group) if "." in self.key else (1, 0, "")

    @property
    def scope(self) -> Scope:
        """The file in which a change counts: the one that sets it now, else the user's."""
        return _SCOPES.get(self.source, "user")

    def said_in(self, scope: Scope) -> Any:
        """The value that the file of a scope sets; None if it sets none."""
        sources = [source for source, each in _SCOPES.items() if each == scope]
        return next((each.value for each in reversed(self.statements) if each.source in sources), None)

    @property
    def is_locked(self) -> bool:
        """Whether the organization sets it, so that no one else can change it."""
        return self.source == "policySettings"


def setting_rows(config: Config, *, only_set: bool = False) -> tuple[SettingRow, ...]:
    """Every key of the schema that holds a value of its own, in the order of the schema."""
    return tuple(row for row in _rows(config) if row.source or not only_set)


def read_value(key: str, text: str) -> Any:
    """The value that a person typed for a key: JSON where it is some, else a text.

    Raises:
        UsageError: there is no such key, or it cannot have this value.
    """
    if key not in known_keys() and not key.startswith("env."):
        meant = did_you_mean(key, known_keys()) or ". Use /config --help for a list."
        raise UsageError(f"Unknown setting {key}{meant}")
    value = _decoded(text)
    _, faults = check(nested(key, value))
    if faults and not isinstance(value, str):
        value = text
        _, faults = check(nested(key, value))
    if faults:
        raise UsageError(f"Invalid value {text} for {key}: {faults[0][1]}")
    return value


def nested(key: str, value: Any) -> dict[str, Any]:
    """The settings object that holds nothing but this value."""
    for part in reversed(key.split(".")):
        value = {part: value}
    return value


def _rows(config: Config) -> Iterator[SettingRow]:
    for key, type in _leaves(Settings, ""):
        found = explain(config, key)
        winner = next((each for each in reversed(found.statements) if each.wins), None)
        yield SettingRow(
            key=key,
            kind=_kind(type),
            value=DEFAULTS.get(key) if winner is None else found.value,
            source="" if winner is None else winner.source,
            file="" if winner is None else winner.file,
            choices=_choices(type),
            statements=() if winner is None else found.statements,
            meaning=ROWS[key].meaning if key in ROWS else "",
            default=DEFAULTS.get(key),
            no_effect=ROWS[key].no_effect if key in ROWS else "",
        )


def _leaves(struct: type[Struct], prefix: str) -> Iterator[tuple[str, Any]]:
    for field in msgspec.structs.fields(struct):
        key = f"{prefix}{field.encode_name}"
        inner = [choice for choice in alternatives(field.type) if is_struct(choice)]
        if inner:
            yield from _leaves(inner[0], f"{key}.")
        else:
            yield key, field.type


def _plain(type: Any) -> list[Any]:
    """The types that a field may have, without None and without what narrows them."""
    return [
        getattr(each, "__origin__", each) if hasattr(each, "__metadata__") else each
        for each in alternatives(type)
    ]


def _kind(type: Any) -> Kind:
    plain = _plain(type)
    if any(get_origin(each) is Literal for each in plain):
        return "choice"
    if bool in plain:
        return "switch"
    if int in plain or float in plain:
        return "number"
    if any(get_origin(each) is dict or each is dict for each in plain):
        return "table"
    return "list" if any(get_origin(each) is tuple for each in plain) else "text"


def _choices(type: Any) -> tuple[str, ...]:
    return tuple(str(word) for each in _plain(type) if get_origin(each) is Literal for word in get_args(each))


def _decoded(text: str) -> Any:
    if text.lower() in ("on", "yes"):
        return True
    if text.lower() in ("off", "no"):
        return False
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
