"""The rules of a settings layer, each with the line it stands on."""

from collections.abc import Iterator
from typing import Any

import msgspec

from bridle.config.problems import line_numbers
from bridle.config.sources import Layer
from bridle.permissions.rules import Origin, rules_from
from bridle.types.permission import Effect, Rule


def rules_of(layer: Layer) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """The rules that a layer gives, and a sentence with file and line about each that cannot be used."""
    permissions = layer.values.get("permissions")
    if not isinstance(permissions, dict) or not any(permissions.get(effect) for effect in Effect):
        return (), ()
    lines = dict(reversed(list(_lines(layer.text))))
    return rules_from(permissions, Origin(source=layer.source, file=layer.path, lines=lines))


def _lines(text: str) -> Iterator[tuple[tuple[Effect, str], int]]:
    """The line of each rule as the file has it, since a layer's values lack what is wrong in them."""
    try:
        written: Any = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return
    numbers = line_numbers(text)
    for effect in Effect:
        match written:
            case {"permissions": dict() as permissions}:
                listed: Any = permissions.get(effect.value)
            case _:
                return
        for index, rule in enumerate(listed if isinstance(listed, list) else ()):
            line = numbers.get(("permissions", effect.value, index))
            if line is not None:
                yield (effect, str(rule)), line
