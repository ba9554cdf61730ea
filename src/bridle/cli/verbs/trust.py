"""`bridle trust`: see what a folder would bring, then let it, or take that back."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence

from bridle.cli.say import say
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.config.state import is_trusted, trust_root
from bridle.config.trust import TrustItem, brought_by, revoke, trust, unapproved
from bridle.types.errors import ConfigError, UsageError
from bridle.types.text import printable

_LONGEST_SHOWN = 300


def run_trust(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Run the command.

    Raises:
        UsageError: there is no such folder, or not interactive.
        ConfigError: the folder cannot be trusted, or the state file cannot be used.
    """
    folder = os.path.abspath(os.path.expanduser(given.text("folder") or "."))
    if not os.path.isdir(folder):
        raise UsageError(f"no such folder: {folder}")
    if given.on("status"):
        trusted = is_trusted(env, folder)
        code = say(f"{_shown(trust_root(env, folder))} is {'' if trusted else 'not '}trusted\n")
        return code or (0 if trusted else 1)
    if given.on("revoke"):
        return say(f"{_shown(_changed(revoke, env, folder))} is no longer trusted\n")
    names = tuple(name for each in given.all("give") for name in each.split(","))
    return _trust(folder, env, sure=given.on("yes"), given=names)


def _trust(folder: str, env: Mapping[str, str], *, sure: bool, given: tuple[str, ...]) -> int:
    """`given` are variables with credentials that servers may have."""
    changed: tuple[TrustItem, ...] = ()
    if is_trusted(env, folder):
        changed = unapproved(env, folder)
        if not changed and not sure:
            return say(f"{_shown(trust_root(env, folder))} is already trusted\n")
    if code := say(_changes(folder, env, changed) if changed else _summary(folder, env)):
        return code
    if not sure and not _agrees():
        say("no changes made\n")
        return 1
    named = given if sure else None
    root = _changed(lambda env, folder: trust(env, folder, given=named), env, folder)
    return say(f"{_shown(root)} is now trusted\n")


def _changed(change: Callable[[Mapping[str, str], str], str], env: Mapping[str, str], folder: str) -> str:
    try:
        return change(env, folder)
    except OSError as error:
        raise ConfigError(f"can't save trust: {error.strerror} ({error.filename})") from error


def _summary(folder: str, env: Mapping[str, str]) -> str:
    root = _shown(trust_root(env, folder))
    brought = brought_by(env, folder)
    if not brought:
        return f"{root} has nothing that needs trust yet.\n"
    lines = [f"If you trust {root}, these files take effect. bridle asks again when they change:"]
    return "\n".join((*lines, *map(_line, brought), ""))


def _changes(folder: str, env: Mapping[str, str], changed: Sequence[TrustItem]) -> str:
    root = _shown(trust_root(env, folder))
    lines = [f"{root} is trusted. New or changed since, and ignored until you approve it:"]
    return "\n".join((*lines, *map(_line, changed), ""))


def _line(brought: TrustItem) -> str:
    place = brought.file if brought.line is None else f"{brought.file}:{brought.line}"
    return f"  {_shown(place)}  {_shown(brought.key)} = {_json(brought.value)}"


def _json(value: object) -> str:
    import json

    # In ASCII alone: a stranger's text must not steer the terminal or look like something else.
    text = json.dumps(value)
    if len(text) <= _LONGEST_SHOWN:
        return text
    return f"{text[:_LONGEST_SHOWN]}… ({len(text)} characters; see the file)"


def _shown(name: str) -> str:
    return printable(os.fsencode(name).decode(errors="replace"))


def _agrees() -> bool:
    if not sys.stdin.isatty():
        raise UsageError("not interactive: add -y if you trust this folder")
    say("Trust it? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")
