"""Writes what a command chose into a settings file and lets it count."""

import asyncio
import os.path
from typing import Any, Literal

from bridle.commands.context import CommandContext
from bridle.config.edit import remove_value, set_value

Scope = Literal["user", "project", "local"]


async def save(key: str, value: Any, context: CommandContext, *, scope: Scope = "user") -> str:
    """Write one value, or with None take it away; returns the file.

    Raises:
        ConfigError: the file does not parse.
        OSError: the file cannot be written.
    """
    path = settings_file(scope, context)
    keys = tuple(key.split("."))
    if value is None:
        await asyncio.to_thread(remove_value, path, keys, env=context.env)
    else:
        await asyncio.to_thread(set_value, path, keys, value, env=context.env)
    context.settings.refresh()
    return path


def settings_file(scope: Scope, context: CommandContext) -> str:
    """The settings file of a scope."""
    inputs = context.settings.config().inputs
    if scope == "user":
        return os.path.join(inputs.home, "settings.json")
    name = "settings.json" if scope == "project" else "settings.local.json"
    return os.path.join(inputs.cwd, ".claude", name)
