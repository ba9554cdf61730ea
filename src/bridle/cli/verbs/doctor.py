"""`bridle doctor`: check the installation and the settings of this folder; nothing is changed."""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from bridle.cli.args import parse
from bridle.cli.hooks.lint import find_faults
from bridle.cli.say import say
from bridle.cli.session.prepare import set_up
from bridle.cli.session.setup import Setup
from bridle.commands.facts.doctor import Scene, run_checks
from bridle.commands.reports import checks_text
from bridle.hooks.http import HttpLimits
from bridle.hooks.table import from_layers
from bridle.types.errors import UsageError


def run_doctor(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Print every check; the exit code is 1 when something is broken.

    Raises:
        UsageError: the words are off.
    """
    if unknown := [word for word in argv if word != "--json"]:
        raise UsageError(f"cannot understand 'bridle doctor {unknown[0]}': it takes --json and nothing else")
    setup = set_up(parse(()), env)
    scene = Scene(
        config=setup.config,
        env=setup.env,
        cwd=setup.cwd,
        trusted=setup.trusted,
        model=setup.model,
        hook_faults=lambda: hook_faults(setup),
    )
    checks = asyncio.run(run_checks(scene))
    text = msgspec.json.encode(checks).decode() if "--json" in argv else checks_text(checks)
    code = say(f"{text}\n")
    return code or int(any(check.health == "fault" for check in checks))


def hook_faults(setup: Setup) -> list[str]:
    """What keeps hooks of the settings from running."""
    layers = setup.config.layers
    table = from_layers(layers, trusted=setup.trusted)
    limits = HttpLimits.of(layers, trusted=setup.trusted)
    return [str(each) for each in find_faults(table, limits, cwd=setup.cwd, env=setup.env)]
