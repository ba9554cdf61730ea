"""The hooks of the current folder, and how they are shown."""

import os
from collections.abc import Mapping

from msgspec import Struct

from bridle.config.hook_schema import AgentHook, CommandHook, HttpHook, McpToolHook, PromptHook
from bridle.config.load import Config, environment, load
from bridle.config.state import is_trusted
from bridle.hooks.handler import AnyHook, CallbackHook, FunctionHook
from bridle.hooks.http import HttpLimits
from bridle.hooks.table import Table, from_layers

_LONGEST_SHOWN = 100


class Scene(Struct, frozen=True, kw_only=True):
    """The hooks of a folder, and what they would run with."""

    config: Config
    table: Table
    limits: HttpLimits
    cwd: str
    env: Mapping[str, str]


def look(env: Mapping[str, str]) -> Scene:
    """Read the hooks of all settings files."""
    cwd = os.getcwd()
    # Hooks of a folder that is not trusted are shown too, and why they do not count.
    config = load(cwd=cwd, env=env, flag=None, setting_sources=None, trusted=True)
    trusted = is_trusted(env, cwd)
    return Scene(
        config=config,
        table=from_layers(config.layers, trusted=trusted),
        limits=HttpLimits.of(config.layers, trusted=trusted),
        cwd=cwd,
        env=environment(config, env, trusted=trusted),
    )


def inert(text: str) -> str:
    """A text that cannot steer the terminal, whoever wrote it."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def describe(hook: AnyHook) -> str:
    """What a hook runs or asks, in one text."""
    match hook:
        case CommandHook():
            return " ".join((hook.command, *(hook.args or ())))
        case HttpHook():
            return hook.url
        case McpToolHook():
            return f"{hook.server} {hook.tool}"
        case PromptHook() | AgentHook():
            return hook.prompt
        case CallbackHook():
            return hook.callback_id
        case FunctionHook():
            return hook.label


def short(text: str) -> str:
    """A text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_SHOWN else f"{line[: _LONGEST_SHOWN - 1]}…"
