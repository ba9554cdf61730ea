"""`bridle update` and `bridle install`: another version, with the program that installed this one."""

import os
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence

import msgspec

from bridle.cli.say import say
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.config.installation import NAME, Installation, this_installation
from bridle.host.programs import find_program
from bridle.types.errors import UsageError
from bridle.types.variables import is_on
from bridle.version import __version__

_VERSION = re.compile(r"v?(\d+(?:\.\d+){0,3}(?:(?:a|b|rc|\.post|\.dev)\d+)?)")
_PATIENCE = 60.0


def run_update(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Install the newest version, or only say whether there is one.

    Raises:
        UsageError: updates are turned off, or the installer cannot be started.
    """
    _require_updates(env)
    found = this_installation(__version__)
    if given.on("check"):
        return _check(found, env)
    return _install(found, "", dry=given.on("dry-run"), env=env)


def run_install(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Install a version by its number, or the newest.

    Raises:
        UsageError: that is no version, updates are turned off, or the installer cannot be started.
    """
    _require_updates(env)
    wanted = given.text("version") or "latest"
    version = ""
    if wanted not in ("stable", "latest"):
        if (match := _VERSION.fullmatch(wanted)) is None:
            raise UsageError(f"{wanted!r} is not a version: use stable, latest or a number such as 0.1.0")
        version = match[1]
    return _install(this_installation(__version__), version, dry=given.on("dry-run"), env=env)


def _require_updates(env: Mapping[str, str]) -> None:
    if is_on(env, "DISABLE_UPDATES"):
        raise UsageError("updates are turned off by DISABLE_UPDATES")


def _install(found: Installation, version: str, *, dry: bool, env: Mapping[str, str]) -> int:
    say(f"bridle {found.version} is {found.summary}\n")
    command = found.command(version)
    if command is None:
        say(f"No changes made: {found.advice}\n")
        return 1
    shown = shlex.join(command)
    if dry:
        return say(f"Would run: {shown}\n")
    say(f"Running: {shown}\n")
    code = _run(command, env)
    if code == 0 and _works(found, env):
        return say("Done. Running sessions keep the version they started with.\n")
    say(f"The update failed (exit code {code}).\n")
    return _go_back(found, env)


def _go_back(found: Installation, env: Mapping[str, str]) -> int:
    """Keep the old version usable: it is installed again where the attempt has damaged it."""
    if _works(found, env):
        say(f"bridle {found.version} is unchanged.\n")
        return 1
    command = None if found.source else found.command(found.version)
    if command is None:
        say(f"Install it again: {found.advice}\n")
        return 1
    say(f"Installing {found.version} again: {shlex.join(command)}\n")
    _run(command, env)
    return 1


def _works(found: Installation, env: Mapping[str, str]) -> bool:
    try:
        done = subprocess.run(
            [found.python, "-m", NAME, "--version"],
            env=dict(env),
            cwd=os.sep,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _check(found: Installation, env: Mapping[str, str]) -> int:
    """Say whether there is a newer version; exit code 1 when that cannot be found out."""
    question = found.question()
    if question is None:
        say(f"bridle {found.version} is {found.summary}; {found.advice}\n")
        return 1
    try:
        done = subprocess.run(
            _found(question, env),
            env=dict(env),
            cwd=os.sep,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{shlex.join(question[:3])} failed to run: {error}") from error
    newest = newest_in(done.stdout, done.stderr)
    if newest is None:
        raise UsageError("can't find the newest version: check your network")
    if newest == found.version:
        return say(f"bridle {found.version} is the newest version\n")
    return say(f"bridle {newest} is available; you have {found.version}. Update with: bridle update\n")


def newest_in(report: str, log: str) -> str | None:
    """The version that an installer would install, from pip's report or from uv's words."""
    try:
        planned = msgspec.json.decode(report.encode(errors="replace"), type=dict[str, object])
    except msgspec.DecodeError:
        planned = {}
    match planned.get("install"):
        case [{"metadata": {"version": str() as version}}, *_] if _VERSION.fullmatch(version):
            return version
        case _:
            pass
    if (match := re.search(rf"^ ?\+ {NAME}==(\S+)", log, re.MULTILINE)) and _VERSION.fullmatch(match[1]):
        return match[1]
    return __version__ if "Would make no changes" in log else None


def _found(command: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """The command with its program by its path; none is taken from the folder that the user is in."""
    path = command[0] if "/" in command[0] else find_program(command[0], env, writable=(os.getcwd(),))
    if path is None:
        raise UsageError(f"{command[0]} is not installed; install it, or run: {shlex.join(command)}")
    return [path, *command[1:]]


def _run(command: Sequence[str], env: Mapping[str, str]) -> int:
    try:
        return subprocess.run(_found(command, env), env=dict(env), cwd=os.sep, check=False).returncode
    except OSError as error:
        raise UsageError(
            f"{command[0]} could not be started: {error.strerror}. Install it, or run: {shlex.join(command)}"
        ) from error
