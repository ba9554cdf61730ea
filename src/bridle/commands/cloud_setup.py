"""Commands that send models to a cloud: they ask, check, show what they will write, and write it."""

import asyncio
import shlex
from collections.abc import Mapping
from typing import Any

from bridle.commands.context import CommandContext
from bridle.commands.queries.cloud_settings import BEDROCK, SWITCHES, VERTEX, Cloud, plan, suggested
from bridle.commands.settings import settings_file
from bridle.config.edit import update
from bridle.types.command import CommandResult, Says
from bridle.types.errors import ConfigError, UsageError
from bridle.types.question import ElicitationQuestion, Supplied

_YES = "--yes"


async def bedrock(arguments: str, context: CommandContext) -> CommandResult:
    """Set up Amazon Bedrock."""
    return await _set_up("/setup-bedrock", BEDROCK, arguments, context)


async def vertex(arguments: str, context: CommandContext) -> CommandResult:
    """Set up Google Vertex AI."""
    return await _set_up("/setup-vertex", VERTEX, arguments, context)


async def _set_up(command: str, cloud: Cloud, arguments: str, context: CommandContext) -> CommandResult:
    words = _words(arguments)
    values: Mapping[str, str] | None = _read(cloud, [word for word in words if word != _YES])
    if not values:
        if not context.screen:
            return Says(_usage(command, cloud))
        values = await _ask(cloud, context)
        if values is None:
            return Says("No changes made.")
    variables = plan(cloud, values, context.env)
    file = settings_file("user", context)
    shown = _shown(cloud, variables, file, context)
    if _YES not in words and not (context.screen and await _confirmed(shown, context)):
        hint = "" if context.screen else f" Add {_YES} to write it."
        return Says(f"{shown}\nNo changes made.{hint}")
    try:
        await asyncio.to_thread(update, file, lambda settings: _with(settings, variables))
    except ConfigError as error:
        raise UsageError(str(error)) from error
    context.settings.refresh()
    return Says(f"{shown}\nSaved. New sessions use {cloud.label}.")


def _words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError as error:
        raise UsageError(f"Invalid arguments: {error}.") from error


def _read(cloud: Cloud, words: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        name, mark, value = word.partition("=")
        if not mark or name not in cloud.asked:
            raise UsageError(f"{word} is not one of {', '.join(f'{each}=…' for each in cloud.asked)}.")
        found[name] = value
    return found


def _usage(command: str, cloud: Cloud) -> str:
    forms = [f"{word}=…" if asked.needed else f"[{word}=…]" for word, asked in cloud.asked.items()]
    lines = [f"  {word}: {asked.title}" for word, asked in cloud.asked.items()]
    return "\n".join([f"{command} {' '.join(forms)} [{_YES}]", *lines])


async def _ask(cloud: Cloud, context: CommandContext) -> dict[str, str] | None:
    """What a person says to a form; None when they do not want to."""
    known = suggested(cloud, context.env)
    fields = {
        word: {"type": "string", "title": word, "description": asked.title, "default": known.get(word, "")}
        for word, asked in cloud.asked.items()
    }
    schema = {
        "type": "object",
        "properties": fields,
        "required": [word for word, asked in cloud.asked.items() if asked.needed],
    }
    message = f"How do you reach {cloud.label}? Keys and tokens stay in your environment."
    answer = await context.runtime.channel.ask(
        ElicitationQuestion(server="bridle", message=message, schema=schema)
    )
    if not isinstance(answer, Supplied) or answer.action != "accept":
        return None
    return {word: str(value) for word, value in (answer.content or {}).items()}


async def _confirmed(shown: str, context: CommandContext) -> bool:
    question = ElicitationQuestion(server="bridle", message=f"{shown}\n\nEnter saves this.", schema={})
    answer = await context.runtime.channel.ask(question)
    return isinstance(answer, Supplied) and answer.action == "accept"


def _shown(cloud: Cloud, variables: Mapping[str, str], file: str, context: CommandContext) -> str:
    env: Any = context.settings.config().raw.get("env")
    before: Mapping[str, Any] = env if isinstance(env, dict) else {}
    lines = [f'"env" in {file}:', *(f"  {name}={value}" for name, value in variables.items())]
    lines += [f"  remove {name}" for name in SWITCHES if name in before and name not in variables]
    if (missing := cloud.credentials({**context.env, **variables})) is not None:
        lines.append(f"Still to do: {missing}.")
    return "\n".join(lines)


def _with(settings: dict[str, Any], variables: Mapping[str, str]) -> dict[str, Any]:
    env: Any = settings.get("env", {})
    if not isinstance(env, dict):
        raise ConfigError('"env" is not an object in your settings; fix it first')
    kept = {name: value for name, value in env.items() if name not in SWITCHES}
    return {**settings, "env": {**kept, **variables}}
