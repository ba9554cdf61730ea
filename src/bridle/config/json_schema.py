"""The JSON Schema of settings files, for editors."""

from collections.abc import Sequence
from typing import Any

import msgspec

from bridle.config.feature_settings import KEY, schema
from bridle.config.schema import Settings
from bridle.config.settings_table import SETTINGS, Setting
from bridle.types.package import FeatureSetting

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def settings_schema(more: Sequence[FeatureSetting] = ()) -> dict[str, Any]:
    """What a settings file may say; unknown keys are allowed, because newer releases have more.

    `more` are the settings that packages bring.
    """
    (_, parts) = msgspec.json.schema_components([Settings], ref_template="#/$defs/{name}")
    definitions = {name: _tidy(part) for name, part in sorted(parts.items())}
    settings = definitions.pop("Settings")
    for row in SETTINGS:
        if (place := _place(row.key, settings, definitions)) is not None:
            place |= _notes(row)
    if more:
        settings["properties"][KEY]["properties"] = schema(more)
    return {
        "$schema": _DIALECT,
        "title": "bridle settings",
        "description": "settings.json for a user, a project or an administrator.",
        "type": "object",
        "properties": {"$schema": {"type": "string"}, **settings["properties"]},
        "$defs": definitions,
    }


def _notes(row: Setting) -> dict[str, Any]:
    """What an editor shows beside a key."""
    if row.no_effect:
        return {"description": f"No effect: {row.no_effect}.", "deprecated": True}
    notes: dict[str, Any] = {"description": f"{row.meaning}."}
    return notes if row.default is None else {**notes, "default": row.default}


def _place(key: str, settings: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any] | None:
    """The part of the schema that describes a dotted key; None for one of a form that several keys share."""
    *above, name = key.split(".")
    current = settings
    for part in above:
        forms = current["properties"][part].get("anyOf", [current["properties"][part]])
        references = [form["$ref"] for form in forms if "$ref" in form]
        if len(references) != 1 or references[0].endswith("/BudgetLimit"):
            return None
        current = definitions[references[0].rpartition("/")[2]]
    return current["properties"][name]


def _tidy(part: Any) -> Any:
    """Without defaults that only say that nothing was said, and without the names of our own types."""
    match part:
        case dict():
            return {
                key: _tidy(value)
                for key, value in part.items()
                if (key, value) != ("default", None) and not (key == "title" and isinstance(value, str))
            }
        case list():
            return [_tidy(each) for each in part]
        case _:
            return part
