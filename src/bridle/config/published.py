"""The JSON Schema of settings files, for editors."""

from typing import Any

import msgspec

from bridle.config.defaults import DEFAULTS
from bridle.config.schema import Settings
from bridle.config.unsupported import UNSUPPORTED

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def settings_schema() -> dict[str, Any]:
    """What a settings file may say; keys that nobody knows are allowed, because newer releases have more."""
    (_, parts) = msgspec.json.schema_components([Settings], ref_template="#/$defs/{name}")
    definitions = {name: _tidy(part) for name, part in sorted(parts.items())}
    settings = definitions.pop("Settings")
    for key, value in DEFAULTS.items():
        if key in settings["properties"]:
            settings["properties"][key]["default"] = value
    for key, reason in UNSUPPORTED.items():
        settings["properties"][key] |= {"description": f"No effect: {reason}.", "deprecated": True}
    return {
        "$schema": _DIALECT,
        "title": "bridle settings",
        "description": "settings.json of the user, of a project, or of the administrator.",
        "type": "object",
        "properties": {"$schema": {"type": "string"}, **settings["properties"]},
        "$defs": definitions,
    }


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
