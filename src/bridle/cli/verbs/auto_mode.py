"""`bridle auto-mode`: look at the rules of auto mode, have them reviewed, forget them."""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bridle.cli.say import say, tell
from bridle.config.load import Config, load
from bridle.host.paths import config_home
from bridle.permissions.auto_prompt import LARGEST_RULES, prompt
from bridle.permissions.auto_rules import DEFAULTS, SECTIONS, AutoRules, merged, own_rules, to_json
from bridle.session.setup import Setup
from bridle.types.errors import ConfigError, UsageError

_HELP = """\
Usage: bridle auto-mode defaults [--label <text>]   the built-in rules, or those whose label begins so
       bridle auto-mode config                      the rules that count: the built-in ones and yours
       bridle auto-mode critique [--model <name>]   let a model review the rules that you have added
       bridle auto-mode reset [-y]                  remove your rules from the user settings

Rules are sentences in the setting autoMode: environment (what is trusted), allow (fine), soft_deny (a person
is asked) and hard_deny (never). autoMode.classifyAllShell sends every shell command to the reviewer.
"""
_ANSWER_TOKENS = 4_000


def run_auto_mode(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run one subcommand.

    Raises:
        UsageError: the words are off.
        ConfigError: a settings file cannot be used.
        ProviderError: the model that should review the rules cannot be reached.
    """
    match [part for word in argv for part in _parts(word)]:
        case [] | ["help"] | [*_, "-h" | "--help"]:
            return say(_HELP)
        case ["defaults"]:
            return say(_pretty(to_json(DEFAULTS)))
        case ["defaults", "--label", label]:
            return say(_pretty(to_json(DEFAULTS, label=label)))
        case ["config"]:
            rules = merged(_load(env).settings.auto_mode)
            return say(_pretty({**to_json(rules), "classifyAllShell": rules.classify_all_shell}))
        case ["critique"]:
            return _critique(None, env)
        case ["critique", "--model", model]:
            return _critique(model, env)
        case ["reset"]:
            return _reset(env, sure=False)
        case ["reset", "-y" | "--yes"]:
            return _reset(env, sure=True)
        case words:
            raise UsageError(
                f"cannot understand 'bridle auto-mode {' '.join(words)}': see bridle auto-mode help"
            )


def _critique(model: str | None, env: Mapping[str, str]) -> int:
    from bridle.providers import catalog
    from bridle.session.options import SessionOptions
    from bridle.session.prepare import set_up

    setup = set_up(SessionOptions(model=model), env)
    own = own_rules(setup.config.settings.auto_mode)
    if not own.size:
        return say("There is nothing to review: the setting autoMode has no rules of yours.\n")
    if own.size > LARGEST_RULES:
        raise UsageError(
            f"the rules in autoMode have more than {LARGEST_RULES} characters: shorten them first"
        )
    own_models = setup.config.raw.get("bridleModels") or {}
    if catalog.find(setup.model, own_models).dialect == "offline":
        raise UsageError("the offline model cannot review rules: choose another one with --model")
    return say(asyncio.run(_review(own, setup)).strip() + "\n")


async def _review(own: AutoRules, setup: Setup) -> str:
    from bridle.session.parts.provider import provider_of
    from bridle.types.block import text_block, text_of
    from bridle.types.history import History
    from bridle.types.model import Completed, ModelRequest

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
    return text or "The model had nothing to say; try again."


def _reset(env: Mapping[str, str], *, sure: bool) -> int:
    from bridle.config import edit

    path = os.path.join(config_home(env), "settings.json")
    if not sure and not _confirmed(path):
        return say("Nothing was changed.\n")
    try:
        edit.remove_value(path, ("autoMode",))
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror}): check its permissions") from error
    return tell(f"{path} has no rules for auto mode any more; the built-in ones count.")


def _confirmed(path: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("reset removes your rules for good: add -y to say that you mean it")
    say(f"Remove autoMode from {path}? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _parts(word: str) -> tuple[str, ...]:
    """`--label=x` is the same as `--label x`."""
    name, equals, value = word.partition("=")
    return (name, value) if equals and name.startswith("--") else (word,)


def _listed(rules: AutoRules) -> str:
    return "\n".join(
        f"{name}:\n" + "\n".join(f"- {rule}" for rule in getattr(rules, name)) for name in SECTIONS
    )


def _load(env: Mapping[str, str]) -> Config:
    return load(cwd=os.getcwd(), env=env, flag=None, setting_sources=None)


def _pretty(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
