"""Commands that look at settings and change them."""

import asyncio
import os.path
import shlex
from typing import Any, Literal

import msgspec

from bridle.commands.context import CommandContext
from bridle.commands.queries.settings import SettingRow, read_value, setting_rows
from bridle.config.edit import remove_value, set_value
from bridle.config.explain import explain, known_keys, render
from bridle.host.secrets import without_secrets
from bridle.types.command import CommandResult, Says, Shows
from bridle.types.errors import UsageError

Scope = Literal["user", "project", "local"]
_SCOPES: dict[str, Scope] = {"--user": "user", "--project": "project", "--local": "local"}
_LONGEST_SHOWN = 120


async def config(arguments: str, context: CommandContext) -> CommandResult:
    """Show settings, explain one (`key`), or set some (`key=value …`, `key=default` takes one back)."""
    words = _words(arguments)
    if words == ["--help"]:
        return Says("\n".join(f"{row.key}{_told(row)}" for row in setting_rows(context.settings.config())))
    if not words:
        return Shows(view="config", text=_shown(context))
    scopes: list[Scope] = [_SCOPES[word] for word in words if word in _SCOPES]
    rest = [word for word in words if word not in _SCOPES]
    if len(rest) == 1 and "=" not in rest[0]:
        return Says("\n".join(render(explain(context.settings.config(), rest[0]))))
    changes = [_change(word) for word in rest]
    lines: list[str] = []
    scope: Scope = scopes[0] if scopes else "user"
    for key, value in changes:
        path = await save(key, value, context, scope=scope)
        lines.append(f"{key} = {_text(value)} ({path})" if value is not None else f"{key} is unset ({path})")
    return Says("\n".join(lines))


async def output_style(arguments: str, context: CommandContext) -> CommandResult:
    current = context.settings.config().settings.output_style or "default"
    names = context.runtime.sources.styles()
    if not arguments:
        listed = ", ".join(names)
        return Shows(view="output-style", text=f"The output style is {current}. Styles: {listed}.")
    if arguments.lower() not in map(str.lower, names):
        raise UsageError(f"Unknown output style {arguments}. Use one of {', '.join(names)}.")
    await save("outputStyle", None if arguments == "default" else arguments, context, scope="local")
    return Says(f"Set the output style to {arguments}. It applies to new conversations.")


def complete(context: CommandContext) -> tuple[str, ...]:
    """Keys that `/config` takes."""
    del context
    return tuple(f"{key}=" for key in known_keys())


def _words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError as error:
        raise UsageError(f"Invalid arguments: {error}.") from error


def _change(word: str) -> tuple[str, Any]:
    key, mark, text = word.partition("=")
    if not mark or not key:
        raise UsageError(f"Invalid setting {word}. Use key=value; /config --help lists the keys.")
    if text in ("", "default") and key != "model":
        return key, None
    return key, read_value(key, text)


def _shown(context: CommandContext) -> str:
    rows = setting_rows(context.settings.config(), only_set=True)
    lines = [f"{row.key} = {_text(without_secrets(row.value, row.key))}  [{row.source}]" for row in rows]
    return "\n".join(lines) or (
        "No settings are set. Set one with /config key=value; /config --help lists the keys."
    )


def _told(row: SettingRow) -> str:
    kind = "|".join(row.choices) or row.kind
    value = "" if row.value is None else f" = {_text(row.value)}"
    return f"  ({kind}){value}"


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


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
