"""`bridle doctor [security]`: check the installation, or what protects this machine; nothing is changed."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

import msgspec

from bridle.cli.say import say
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.commands.queries.doctor import Check, DoctorContext, run_checks
from bridle.commands.queries.hook_problems import hook_faults
from bridle.commands.reports import checks_text
from bridle.config.options import SessionOptions
from bridle.frontends.remote.access import listen_address
from bridle.session import permission_choices
from bridle.session.prepare import set_up
from bridle.session.setup import Setup
from bridle.types.errors import UsageError
from bridle.types.permission import Mode
from bridle.types.text import encodable_value


def run_doctor(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Print every check; the exit code is 1 when something is broken."""
    setup = set_up(SessionOptions(), env)
    if given.on("managed"):
        from bridle.commands.queries.managed_settings import managed_checks

        checks = managed_checks(setup.config)
    else:
        checks = asyncio.run(_look_at_security(setup) if given.has("part") else _look(setup))
    text = _json(checks) if given.on("json") else checks_text(checks)
    code = say(f"{text}\n")
    return code or int(any(check.health == "fault" for check in checks))


def _look(setup: Setup) -> Coroutine[Any, Any, tuple[Check, ...]]:
    scene = DoctorContext(
        config=setup.config,
        env=setup.env,
        cwd=setup.cwd,
        trusted=setup.trusted,
        model=setup.model,
        hook_faults=lambda: hook_faults(setup.config, trusted=setup.trusted, cwd=setup.cwd, env=setup.env),
    )
    return run_checks(scene)


def _look_at_security(setup: Setup) -> Coroutine[Any, Any, tuple[Check, ...]]:
    from bridle.commands.queries.security import SecurityContext, security_checks

    rules, complaints = permission_choices.choose_rules(setup.options, setup.config, trusted=setup.trusted)
    host, port = listen_address(setup.env)
    return security_checks(
        SecurityContext(
            config=setup.config,
            env=setup.env,
            inherited=setup.inherited,
            cwd=setup.cwd,
            trusted=setup.trusted,
            mode=_mode(setup),
            modes=permission_choices.choose_modes(setup.options, setup.config, setup.env),
            rules=rules,
            complaints=complaints,
            listens=f"{host}:{port}",
        )
    )


def _mode(setup: Setup) -> Mode:
    try:
        return permission_choices.choose_mode(setup.options, setup.config, setup.env)
    except UsageError:
        return "default"  # Bypassing is asked for and refused: no session starts.


def _json(checks: Sequence[Check]) -> str:
    return msgspec.json.encode(encodable_value(msgspec.to_builtins(checks))).decode()
