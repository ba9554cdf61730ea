"""Connects a session to the gate: the boundary around commands, and saved permissions."""

import asyncio
import os
from collections.abc import Awaitable, Callable

from bridle.host.paths import config_home
from bridle.session.setup import Setup
from bridle.types.channel import Channel
from bridle.types.errors import ConfigError
from bridle.types.permission import PermissionUpdate
from bridle.types.question import Answer, NetworkQuestion, Permitted
from bridle.types.sandbox import Sandbox
from bridle.types.workspace import Workspace


def persist_in(setup: Setup) -> Callable[[PermissionUpdate], Awaitable[None]]:
    """Writes updates into the settings files that they name."""
    return lambda update: _persist(update, setup)


async def open_sandbox(
    setup: Setup, workspace: Workspace, channel: Channel, warn: Callable[[str], None]
) -> Sandbox | None:
    """The boundary around commands; its code is imported only where the settings turn it on."""
    wanted = setup.config.settings.sandbox
    if wanted is None or not wanted.enabled:
        return None
    from bridle.config.sandbox.settings import make_sandbox

    return await make_sandbox(
        setup.config,
        cwd=setup.cwd,
        env=setup.env,
        roots=lambda: workspace.roots,
        ask=lambda question: _ask_about_host(question, channel, setup, warn),
        warn=warn,
    )


async def _persist(update: PermissionUpdate, setup: Setup) -> None:
    """Write an update into the settings file that it names.

    Raises:
        ConfigError: the file does not parse.
        OSError: the file cannot be written.
    """
    from bridle.config.edit import update as edit
    from bridle.permissions.updates import changed_settings

    folder, name = os.path.join(setup.cwd, ".claude"), "settings.json"
    match update["destination"]:
        case "userSettings":
            folder = config_home(setup.env)
        case "localSettings":
            name = "settings.local.json"
        case _:
            pass
    path = os.path.join(folder, name)
    await asyncio.to_thread(edit, path, lambda values: changed_settings(values, update), env=setup.env)


async def _ask_about_host(
    question: NetworkQuestion, channel: Channel, setup: Setup, warn: Callable[[str], None]
) -> Answer:
    """Whether a host may be reached; a lasting answer is saved."""
    from bridle.permissions.updates import PERSISTENT, read_update

    answer = await channel.ask(question)
    for given in answer.updates if isinstance(answer, Permitted) else ():
        try:
            if (update := read_update(given))["destination"] in PERSISTENT:
                await _persist(update, setup)
        except (ConfigError, OSError, ValueError) as error:
            warn(f"The host is allowed for this session only: {error}")
    return answer
