"""The hooks of the current folder, and how they are shown."""

import os
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.config.hook_schema import AgentHook, CommandHook, HttpHook, McpToolHook, PromptHook
from bridle.config.load import Config, environment, load
from bridle.config.state import is_trusted
from bridle.hooks.handler import AnyHook, CallbackHook, FunctionHook
from bridle.hooks.http import HttpLimits
from bridle.hooks.table import Table, from_layers
from bridle.types.errors import UsageError
from bridle.types.services.tasks import Tasks
from bridle.types.workspace import Workspace

_LONGEST_SHOWN = 100


class FolderHooks(Struct, frozen=True, kw_only=True):
    """The hooks of a folder, and what they would run with."""

    config: Config
    table: Table
    limits: HttpLimits
    cwd: str
    env: Mapping[str, str]

    def holds(self, rule: str, tool: str, input: Mapping[str, Any]) -> bool:
        """Whether the condition of a hook holds for a call in this folder."""
        from bridle.engine.hooks.conditions import covers_in

        workspace = Workspace(self.cwd, tasks=_no_tasks)
        return covers_in(rule, tool, input, workspace=workspace, env=self.env)


def _no_tasks() -> Tasks:
    raise UsageError("background work is not available here")


def read_object(text: str | None, option: str) -> dict[str, Any] | None:
    """A JSON object that was given on the command line.

    Raises:
        UsageError: it is none.
    """
    try:
        return None if text is None else msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise UsageError(f"{option} must be a JSON object: {error}") from error


def look(env: Mapping[str, str]) -> FolderHooks:
    """Read the hooks of all settings files."""
    cwd = os.getcwd()
    # Hooks of a folder that is not trusted are shown too, and why they do not count.
    config = load(cwd=cwd, env=env, flag=None, setting_sources=None, trusted=True)
    trusted = is_trusted(env, cwd)
    return FolderHooks(
        config=config,
        table=from_layers(config.layers, trusted=trusted),
        limits=HttpLimits.of(config.layers, trusted=trusted),
        cwd=cwd,
        env=environment(config, env, trusted=trusted),
    )


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
