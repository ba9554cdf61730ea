"""Whether there may be background sessions here, and what they are started with."""

import os
from collections.abc import Mapping

from bridle.config.load import Config, environment, load
from bridle.config.sources import SHARED
from bridle.host.programs import find_program
from bridle.types.errors import UsageError
from bridle.types.variables import is_on

_OFF = "Background sessions are turned off here (disableAgentView or CLAUDE_CODE_DISABLE_AGENT_VIEW)."


class LaunchSettings:
    """What a program of ours is started with."""

    __slots__ = ("env", "wrapper")

    def __init__(self, env: Mapping[str, str], wrapper: tuple[str, ...]) -> None:
        self.env = env
        self.wrapper = wrapper
        """Words that come before every program of ours."""


def launch_settings(
    env: Mapping[str, str], *, flag: str | None = None, sources: str | None = None
) -> LaunchSettings:
    """What to start programs with, by the settings of this folder.

    Raises:
        UsageError: background sessions are turned off.
        ConfigError: the settings of the command line cannot be read.
    """
    cwd = os.getcwd()
    names = None if sources is None else tuple(part.strip() for part in sources.split(",") if part.strip())
    config = load(cwd=cwd, env=env, flag=flag, setting_sources=names)
    # Whether the folder is trusted is worth asking only where it sets variables.
    brings = any(layer.source in SHARED and layer.values.get("env") for layer in config.layers)
    return launch_settings_from(
        config, environment(config, env, trusted=brings and config.trusted()), base=env
    )


def launch_settings_from(
    config: Config, merged: Mapping[str, str], *, base: Mapping[str, str]
) -> LaunchSettings:
    """Like `launch_settings`, from settings that were read already; programs get `base` alone.

    Raises:
        UsageError: background sessions are turned off.
    """
    if (problem := refusal(config, merged)) is not None:
        raise UsageError(problem)
    wrapper = merged.get("CLAUDE_CODE_PROCESS_WRAPPER") or config.settings.process_wrapper or ""
    return LaunchSettings(base, _located(_words(wrapper), base))


def refusal(config: Config, env: Mapping[str, str]) -> str | None:
    """Why there may be none; None when there may."""
    off = config.settings.disable_agent_view or is_on(env, "CLAUDE_CODE_DISABLE_AGENT_VIEW")
    return _OFF if off else None


def _located(words: tuple[str, ...], env: Mapping[str, str]) -> tuple[str, ...]:
    """The wrapper by its whole path: a name alone is never looked for in the project."""
    if not words:
        return ()
    if (program := find_program(words[0], env, writable=(os.getcwd(),))) is None:
        raise UsageError(
            f"processWrapper: {words[0]} is not a program outside the project: give its whole path"
        )
    return (program, *words[1:])


def _words(text: str) -> tuple[str, ...]:
    if not text.strip():
        return ()
    import shlex

    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"processWrapper cannot be read as a command: {error}") from error
