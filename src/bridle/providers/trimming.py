"""Fewer and shorter tools for models whose window is small."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from msgspec.json import encode as to_json

from bridle.types.model import ToolDefinition
from bridle.types.tool import Tool, Toolbox

SMALL = 16_384
"""Windows of fewer tokens than this are small."""
_DESCRIBED = 160
_FIELD_DESCRIBED = 60
_SHARE = 4
"""The tools that come from outside may take one part in so many of the window."""
_BYTES_PER_TOKEN = 4
_MOST_OUTSIDE = 200
"""Tools from outside that are looked at."""


def is_small(window: int) -> bool:
    return window < SMALL


def trimmed(
    definitions: tuple[ToolDefinition, ...], window: int, is_essential: Callable[[str], bool]
) -> tuple[ToolDefinition, ...]:
    """The tools that work needs most, described in a sentence each; others as long as there is room."""
    short = [_short(each) for each in definitions]
    room = window * _BYTES_PER_TOKEN // _SHARE
    chosen = [each for each in short if is_essential(each["name"])]
    room -= sum(len(to_json(each)) for each in chosen)
    for each in short:
        # Other built-in tools are for larger models; what a server or a program brings was asked for.
        if each["name"].startswith("mcp__") and (size := len(to_json(each))) <= room:
            chosen.append(each)
            room -= size
    names = {each["name"] for each in chosen}
    return tuple(each for each in short if each["name"] in names)


class SlimToolbox:
    """A toolbox as a model with a small window sees it."""

    def __init__(self, inner: Toolbox, window: int, is_essential: Callable[[str], bool]) -> None:
        self._inner = inner
        self._window = window
        self._is_essential = is_essential
        self._from: tuple[tuple[ToolDefinition, ...], tuple[str, ...]] = ((), ())
        self._chosen: tuple[ToolDefinition, ...] = ()

    def names(self) -> tuple[str, ...]:
        return tuple(each["name"] for each in self.definitions())

    def definitions(self) -> tuple[ToolDefinition, ...]:
        given, names = self._inner.definitions(), self._inner.names()
        if (given, names) != self._from:
            self._from = (given, names)
            self._chosen = trimmed((*given, *self._later(given, names)), self._window, self._is_essential)
        return self._chosen

    def find(self, name: str) -> Tool | None:
        return self._inner.find(name)

    def _later(self, given: tuple[ToolDefinition, ...], names: tuple[str, ...]) -> Iterator[ToolDefinition]:
        """Tools from outside that would be searched for, which such a model is not asked to do."""
        listed = {each["name"] for each in given}
        outside = (name for name in names if name.startswith("mcp__") and name not in listed)
        for name in islice(outside, _MOST_OUTSIDE):
            tool = self._inner.find(name)
            if tool is not None and (definition := tool.own_definition()) is not None:
                yield definition


def _short(definition: ToolDefinition) -> ToolDefinition:
    schema = definition.get("input_schema")
    if schema is None:
        return definition
    return {
        "name": definition["name"],
        "description": _first_sentence(definition.get("description", ""), _DESCRIBED),
        "input_schema": _short_schema(schema),
    }


def _short_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    short: dict[str, Any] = {}
    for key, value in schema.items():
        match key, value:
            case "description", str():
                short[key] = _first_sentence(value, _FIELD_DESCRIBED)
            case "properties", dict():
                short[key] = {name: _short_schema(field) for name, field in value.items()}
            case "items", dict():
                short[key] = _short_schema(value)
            case _:
                short[key] = value
    return short


def _first_sentence(text: str, longest: int) -> str:
    line = " ".join(text.partition("\n\n")[0].split())
    sentence, stop, _ = line.partition(". ")
    sentence += stop.strip()
    return sentence if len(sentence) <= longest else f"{sentence[: longest - 1].rstrip()}…"
