"""`bridle auto-mode`: look at the rules of auto mode, have them reviewed, forget them."""

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.config import edit
from bridle.config.load import Config, load
from bridle.config.options import SessionOptions
from bridle.host.paths import config_home
from bridle.permissions.auto.prompt import LARGEST_RULES, prompt
from bridle.permissions.auto.rules import DEFAULTS, SECTIONS, AutoRules, merged, own_rules, to_json
from bridle.session.setup import Setup
from bridle.types.block import text_block, text_of
from bridle.types.errors import ConfigError, UsageError
from bridle.types.history import History
from bridle.types.model import Completed, ModelRequest

_ANSWER_TOKENS = 4_000


def print_defaults(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Print the built-in rules."""
    del env
    label = given.text("label")
    return say(_pretty(to_json(DEFAULTS) if label is None else to_json(DEFAULTS, label=label)))


def print_rules(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Print the rules that count."""
    del given
    rules = merged(_load(env).settings.auto_mode)
    return say(_pretty({**to_json(rules), "classifyAllShell": rules.classify_all_shell}))


def critique(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Let a model review the user's rules.

    Raises:
        UsageError: the rules or the model cannot be used for that.
        ProviderError: the model cannot be reached.
    """
    from bridle.providers import catalog
    from bridle.session.prepare import set_up

    setup = set_up(SessionOptions(model=given.text("model")), env)
    own = own_rules(setup.config.settings.auto_mode)
    if not own.size:
        return say("Nothing to review: autoMode in your settings has no rules.\n")
    if own.size > LARGEST_RULES:
        raise UsageError(f"the rules in autoMode are longer than {LARGEST_RULES} characters: shorten them")
    own_models = setup.config.raw.get("bridleModels") or {}
    if catalog.find(setup.model, own_models).dialect == "offline":
        raise UsageError("the offline model cannot review rules: choose another one with --model")
    return say(asyncio.run(_review(own, setup)).strip() + "\n")


async def _review(own: AutoRules, setup: Setup) -> str:
    from bridle.session.parts.provider import provider_of

    asked = f"The built-in rules:\n{_listed(DEFAULTS)}\n\nThe developer's rules:\n{_listed(own)}"
    request = ModelRequest(
        model=setup.model,
        system=(text_block(prompt("auto_critique")),),
        history=History.of({"role": "user", "content": asked}),
        max_tokens=_ANSWER_TOKENS,
        cache=False,
    )
    provider = provider_of(setup.config, setup.env, setup.model)
    text = ""
    try:
        async for event in provider.stream(request):
            if isinstance(event, Completed):
                text = text_of(event.message["content"])
    finally:
        await provider.close()
    return text or "The model gave no answer; try again."


def reset(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Remove the user's rules.

    Raises:
        UsageError: not interactive, and -y was not given.
        ConfigError: the settings file cannot be used.
    """
    path = os.path.join(config_home(env), "settings.json")
    if not given.on("yes") and not _confirmed(path):
        return say("No changes made.\n")
    try:
        edit.remove_value(path, ("autoMode",))
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror}): check its permissions") from error
    return tell(f"{path} has no more rules for auto mode; the built-in rules apply.")


def _confirmed(path: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("reset deletes your rules permanently: add -y to confirm")
    say(f"Remove autoMode from {path}? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _listed(rules: AutoRules) -> str:
    return "\n".join(
        f"{name}:\n" + "\n".join(f"- {rule}" for rule in getattr(rules, name)) for name in SECTIONS
    )


def _load(env: Mapping[str, str]) -> Config:
    return load(cwd=os.getcwd(), env=env, flag=None, setting_sources=None)


def _pretty(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
