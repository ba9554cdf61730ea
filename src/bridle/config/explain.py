"""Tells who sets a key, and why one of them wins."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bridle.config.load import Config
from bridle.config.merge import STRICTER
from bridle.config.problems import KeyPath, dotted, line_numbers
from bridle.config.schema import Settings
from bridle.config.settings_table import DEFAULTS, NO_EFFECT
from bridle.config.sources import Layer, Source
from bridle.config.validate import alternatives, is_struct
from bridle.host.secrets import without_secrets
from bridle.types.nearest import nearest, question

_LONGEST_SHOWN = 2_000

Rule = Literal["only", "highest", "strictest", "union", "merged", "cleared", "default", "unknown"]


class Statement(Struct, frozen=True, kw_only=True):
    """One source that says something about the key."""

    source: Source
    file: str
    line: int | None
    value: Any
    wins: bool


class Explanation(Struct, frozen=True, kw_only=True):
    key: str
    rule: Rule
    value: Any
    """What counts; None when nothing does."""
    statements: tuple[Statement, ...] = ()
    """Lowest source first."""
    left_out: tuple[str, ...] = ()
    """Values of this key that do not count, and why."""
    suggestion: str | None = None
    no_effect: str | None = None
    """Why the key has no effect, whatever it is set to."""


def explain(config: Config, key: str, defaults: Mapping[str, Any] | None = None) -> Explanation:
    """Every source that sets the dotted key, which of them counts, and why.

    `defaults` are those of settings that packages bring, by dotted key.
    """
    path = _path(key, config.layers)
    found = [(layer, value) for layer in config.layers if _says(layer, value := _find(layer.values, path))]
    left_out = tuple(str(problem) for problem in config.problems if _concerns(problem.key, dotted(path)))
    value = _find(config.raw, path)
    no_effect = _no_effect(dotted(path))
    if not found:
        unset = _unset(path, known=_is_known(path), defaults=defaults or {})
        return Explanation(key=key, left_out=left_out, no_effect=no_effect, **unset)
    rule = _rule(dotted(path), value, found)
    winners = _winners(rule, value, found)
    return Explanation(
        key=key,
        rule=rule,
        value=None if value is _ABSENT else value,
        statements=tuple(
            _statement(layer, path, said, wins=index in winners) for index, (layer, said) in enumerate(found)
        ),
        left_out=() if no_effect else left_out,
        no_effect=no_effect,
    )


def to_json(explanation: Explanation) -> dict[str, Any]:
    """The explanation as plain values for `--json`."""
    key = explanation.key
    hidden = tuple(replace(each, value=without_secrets(each.value, key)) for each in explanation.statements)
    whole = replace(explanation, value=without_secrets(explanation.value, key), statements=hidden)
    return msgspec.to_builtins(whole)


def render(explanation: Explanation) -> tuple[str, ...]:
    """The explanation as lines for people."""
    return tuple(_lines(explanation))


_WHY: dict[Rule, str] = {
    "only": "only this source sets it",
    "highest": "the highest source wins",
    "strictest": "the strictest source wins, even below managed settings",
    "union": "lists from all sources are joined",
    "merged": "objects from all sources are merged",
    "cleared": "the flag settings clear it",
}


def _lines(explanation: Explanation) -> Iterator[str]:
    key = explanation.key
    match explanation.rule:
        case "unknown":
            meant = question([explanation.suggestion] if explanation.suggestion else [])
            yield f"unknown setting {key}, and no source sets it{meant or '.'}"
        case "default" if explanation.value is None:
            yield f"{key} is not set and has no fixed default."
        case "default":
            yield f"{key} = {_shown(explanation.value, key)}  (the default: no source sets it)"
        case "cleared":
            yield f"{key} is not set: {_WHY['cleared']}."
        case rule:
            yield f"{key} = {_shown(explanation.value, key)}  ({_WHY[rule]})"
    for statement in reversed(explanation.statements):
        place = statement.file if statement.line is None else f"{statement.file}:{statement.line}"
        mark = "*" if statement.wins else " "
        yield f"  {mark} {statement.source:<15}  {place}  {_shown(statement.value, key)}"
    if explanation.no_effect is not None:
        yield f"  ! no effect: {explanation.no_effect}"
    for reason in explanation.left_out:
        yield f"  ! ignored: {reason}"


def _shown(value: Any, key: str) -> str:
    text = msgspec.json.encode(without_secrets(value, key)).decode()
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}… ({len(text)} characters)"


class _Absent:
    """Stands for a key that is not there."""


_ABSENT = _Absent()


def _find(values: Any, path: KeyPath) -> Any:
    """The value at a path; a null above it is a null for it too."""
    for part in path:
        if values is None:
            return None
        if not isinstance(values, dict) or part not in values:
            return _ABSENT
        values = values[part]
    return values


def _says(layer: Layer, value: Any) -> bool:
    return value is not _ABSENT and (value is not None or layer.source == "flagSettings")


def _rule(key: str, value: Any, found: list[tuple[Layer, Any]]) -> Rule:
    if value is _ABSENT:
        return "cleared"
    if len(found) == 1:
        return "only"
    if isinstance(value, dict):
        return "merged"
    if isinstance(value, list):
        return "union"
    if key in STRICTER and value != found[-1][1]:
        return "strictest"
    return "highest"


def _winners(rule: Rule, value: Any, found: list[tuple[Layer, Any]]) -> set[int]:
    indexes = range(len(found))
    if rule in ("union", "merged"):
        return {index for index in indexes if type(found[index][1]) is type(value)}
    if rule == "strictest":
        return {max(index for index in indexes if found[index][1] == value)}
    return {max(index for index in indexes if rule == "cleared" or found[index][1] is not None)}


def _statement(layer: Layer, path: KeyPath, value: Any, *, wins: bool) -> Statement:
    return Statement(
        source=layer.source,
        file=layer.path,
        line=line_numbers(layer.text).get(path),
        value=value,
        wins=wins,
    )


def _concerns(problem_key: str, key: str) -> bool:
    return problem_key == key or problem_key.startswith((f"{key}.", f"{key}["))


def _unset(path: KeyPath, *, known: bool, defaults: Mapping[str, Any]) -> dict[str, Any]:
    key = dotted(path)
    if key in defaults:
        return {"rule": "default", "value": defaults[key]}
    if known:
        return {"rule": "default", "value": DEFAULTS.get(key)}
    found = nearest(key, known_keys())
    return {"rule": "unknown", "value": None, "suggestion": found[0] if found else None}


def _no_effect(key: str) -> str | None:
    """Why a key does nothing, also where that is so for all of an object that it is in."""
    while key and key not in NO_EFFECT:
        key = key.rpartition(".")[0]
    return NO_EFFECT.get(key)


def known_keys() -> tuple[str, ...]:
    """Every dotted key that the schema names."""
    return tuple(_keys(Settings, ""))


def _keys(struct: type[Struct], prefix: str) -> Iterator[str]:
    for field in msgspec.structs.fields(struct):
        key = f"{prefix}{field.encode_name}"
        yield key
        for choice in alternatives(field.type):
            if is_struct(choice):
                yield from _keys(choice, f"{key}.")


def _path(key: str, layers: tuple[Layer, ...]) -> KeyPath:
    """The parts of a dotted key; names in a table of free names may themselves have dots."""
    path: KeyPath = ()
    current: Any = Settings
    rest = key.split(".")
    while rest:
        free = get_origin(current) is dict
        length = _name_length(path, rest, layers) if free else 1
        part = ".".join(rest[:length])
        path, rest = (*path, part), rest[length:]
        current = get_args(current)[1] if free else _below(current, part)
    return path


def _name_length(path: KeyPath, rest: list[str], layers: tuple[Layer, ...]) -> int:
    for length in range(len(rest), 0, -1):
        name = (*path, ".".join(rest[:length]))
        if any(_find(layer.values, name) is not _ABSENT for layer in layers):
            return length
    return len(rest)


def _is_known(path: KeyPath) -> bool:
    current: Any = Settings
    for part in path:
        if get_origin(current) is dict:
            current = get_args(current)[1]
        elif (current := _below(current, str(part))) is None:
            return False
    return True


def _below(current: Any, part: str) -> Any:
    """The type of a field that may hold further keys; any other field's type is as good as its own."""
    if not is_struct(current):
        return None
    for field in msgspec.structs.fields(current):
        if field.encode_name == part:
            choices = alternatives(field.type)
            containers = [choice for choice in choices if is_struct(choice) or get_origin(choice) is dict]
            return (containers or choices)[0]
    return None
