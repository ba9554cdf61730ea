"""Puts folders and options into what a plugin wrote."""

import re
from collections.abc import Mapping
from typing import Any

_VARIABLE = re.compile(r"\$\{(CLAUDE_PLUGIN_ROOT|CLAUDE_PLUGIN_DATA|user_config\.(\w+))\}")


def fill(value: Any, *, root: str, data: str, options: Mapping[str, str]) -> Any:
    """A JSON value with the variables in its texts replaced; options that are not set become nothing."""

    def replaced(found: re.Match[str]) -> str:
        match found[1]:
            case "CLAUDE_PLUGIN_ROOT":
                return root
            case "CLAUDE_PLUGIN_DATA":
                return data
            case _:
                return options.get(found[2], "")

    return _walk(value, replaced)


def fill_hooks(value: Any, *, options: Mapping[str, str]) -> Any:
    """Hooks with options in place, except in commands that a shell reads: there a value could be code.

    Folders are left to whoever runs a hook, who knows them.
    """
    if isinstance(value, list):
        return [fill_hooks(each, options=options) for each in value]
    if not isinstance(value, dict):
        return _options(value, options)
    shell = value.get("type") == "command" and "args" not in value
    return {
        key: each if shell and key == "command" else fill_hooks(each, options=options)
        for key, each in value.items()
    }


_OPTION = re.compile(r"\$\{user_config\.(\w+)\}")


def _options(value: Any, options: Mapping[str, str]) -> Any:
    return _OPTION.sub(lambda found: options.get(found[1], ""), value) if isinstance(value, str) else value


def _walk(value: Any, replaced: Any) -> Any:
    match value:
        case str():
            return _VARIABLE.sub(replaced, value)
        case list():
            return [_walk(each, replaced) for each in value]
        case dict():
            return {key: _walk(each, replaced) for key, each in value.items()}
        case _:
            return value
