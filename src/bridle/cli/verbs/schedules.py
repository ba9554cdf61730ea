"""`bridle schedules`: see the prompts that a project would send by the clock, and approve them one by one."""

import json
import os
from collections.abc import Mapping

from bridle.cli.say import say
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.config import schedules
from bridle.config.state import is_trusted
from bridle.types.errors import ConfigError, UsageError
from bridle.types.text import printable


def list_schedules(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """List the scheduled prompts."""
    del given
    cwd = os.getcwd()
    found = _read(cwd)
    if not found:
        return say("this folder has no scheduled prompts\n")
    return say("".join(_line(env, cwd, entry) for entry in found))


def approve_schedule(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Approve one.

    Raises:
        UsageError: the folder is not trusted, or there is no such schedule.
        ConfigError: the schedules or the approvals cannot be used.
    """
    cwd = os.getcwd()
    if not is_trusted(env, cwd):
        raise UsageError(f"{printable(cwd)} is not trusted yet: run bridle trust first")
    entry = _find(cwd, given.one("id"))
    try:
        schedules.approve(env, cwd, entry)
    except OSError as error:
        raise ConfigError(f"can't save the approval: {error.strerror} ({error.filename})") from error
    return say(f"approved:\n{_line(env, cwd, entry)}")


def forget_schedule(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Take an approval back.

    Raises:
        UsageError: there is no such schedule.
    """
    cwd, id = os.getcwd(), given.one("id")
    schedules.forget(env, cwd, _find(cwd, id))
    return say(f"{printable(id)} is no longer approved\n")


def _line(env: Mapping[str, str], cwd: str, entry: schedules.Entry) -> str:
    if schedules.is_approved(env, cwd, entry):
        state = "approved"
    elif schedules.was_approved(env, cwd, entry):
        state = "changed since it was approved"
    else:
        state = "not approved"
    # In ASCII alone: a stranger's text must not steer the terminal or look like something else.
    return f"{printable(entry['id'])}  {state}  {json.dumps(schedules.content(entry))}\n"


def _find(cwd: str, id: str) -> schedules.Entry:
    found = [entry for entry in _read(cwd) if entry["id"] == id]
    if len(found) != 1:
        known = ", ".join(printable(entry["id"]) for entry in _read(cwd)) or "none"
        raise UsageError(f"no single schedule matches {printable(id)!r}; known: {known}")
    return found[0]


def _read(cwd: str) -> list[schedules.Entry]:
    try:
        return schedules.read_schedules(cwd)
    except (OSError, ValueError) as error:
        raise ConfigError(str(error)) from error
