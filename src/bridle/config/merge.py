"""Puts layers of settings on top of each other."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

STRICTER: dict[str, tuple[Any, ...]] = {
    "crossSessionInbound": ("accept", "hold", "refuse"),
    "disableClaudeAiConnectors": (False, True),
    "enableArtifact": (True, False),
    "isolatePeerMachines": (False, True),
    "remoteControlAtStartup": (True, False),
    "syncClaudeAiSkills": (True, False),
    "useAutoModeDuringPlan": (True, False),
}
"""Switches, loosest value first, where people may be stricter than the managed settings ask."""


def merge(layers: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """All layers in one, given lowest first as (source, values) with the managed ones last.

    Objects merge, lists unite, and of other values the last counts. A null in the flag settings clears
    what the layers below it say; anywhere else it says nothing.
    """
    people = _stack(layer for layer in layers if layer[0] != "policySettings")
    managed = _stack(layer for layer in layers if layer[0] == "policySettings")
    merged = _over(people, managed, clears=False)
    for key in STRICTER.keys() & people.keys() & managed.keys():
        merged[key] = max(people[key], managed[key], key=STRICTER[key].index)
    return merged


def _stack(layers: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    stacked: dict[str, Any] = {}
    for source, values in layers:
        stacked = _over(stacked, values, clears=source == "flagSettings")
    return stacked


def _over(below: dict[str, Any], above: dict[str, Any], *, clears: bool) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        match value, merged.get(key):
            case None, _:
                if clears:
                    merged.pop(key, None)
            case dict(), dict() as old:
                merged[key] = _over(old, value, clears=clears)
            case dict(), _:
                merged[key] = _over({}, value, clears=clears)
            case list(), list() as old:
                merged[key] = _union(old, value)
            case _:
                merged[key] = value
    return merged


def _union(first: list[Any], second: list[Any]) -> list[Any]:
    seen = {_identity(item) for item in first}
    united = list(first)
    for item in second:
        if (identity := _identity(item)) not in seen:
            seen.add(identity)
            united.append(item)
    return united


def _identity(item: Any) -> str | bytes:
    return item if isinstance(item, str) else msgspec.json.encode(item, order="sorted")
