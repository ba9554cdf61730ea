"""The settings of features that Python packages bring: rows of their own below `bridleFeatures`."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bridle.types.package import FeatureSetting

KEY = "bridleFeatures"


def key_of(row: FeatureSetting) -> str:
    """The dotted key of a row."""
    return f"{KEY}.{row.feature}.{row.name}"


def checked(
    values: Mapping[str, Any], rows: Sequence[FeatureSetting]
) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
    """What counts for each feature, by its name, and a sentence for each value that cannot."""
    given: Any = values.get(KEY) or {}
    counting: dict[str, dict[str, Any]] = {}
    problems: list[str] = []
    for row in rows:
        own = counting.setdefault(row.feature, {})
        own[row.name] = row.default
        if row.name not in (said := given.get(row.feature) or {}):
            continue
        try:
            own[row.name] = msgspec.convert(said[row.name], row.type)
        except msgspec.ValidationError as error:
            problems.append(f"ignored {key_of(row)}: {error}")
    known = {(row.feature, row.name) for row in rows}
    features = {row.feature for row in rows}
    problems += [
        f"unknown setting {KEY}.{feature}.{name}."
        for feature, own in given.items()
        if feature in features
        for name in own
        if (feature, name) not in known
    ]
    return counting, tuple(problems)


def schema(rows: Sequence[FeatureSetting]) -> dict[str, Any]:
    """The JSON Schema of the object below `bridleFeatures`."""
    properties: dict[str, Any] = {}
    for row in rows:
        own = properties.setdefault(row.feature, {"type": "object", "properties": {}})
        own["properties"][row.name] = {
            **msgspec.json.schema(row.type),
            "description": row.meaning,
            **({} if row.default is None else {"default": row.default}),
        }
    return properties
