"""`bridle trust`: see what a folder would bring, then let it, or take that back."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from bridle.cli.say import say
from bridle.config.state import is_trusted, trust_root
from bridle.config.trust import Brought, brought_by, revoke, trust, unapproved
from bridle.types.errors import ConfigError, UsageError
from bridle.types.text import printable

_HELP = """\
Usage: bridle trust [folder]              show what the folder would bring, ask, and trust it
       bridle trust -y [folder]           trust it without asking, for scripts
       bridle trust -y --give NAME …      the same, and let its servers have the credential in this variable
       bridle trust --status [folder]     say whether it is trusted; exit code 1 if not
       bridle trust --revoke [folder]     do not trust it any more

Trust belongs to one repository, or to one folder outside any. Until it is given, nothing from the folder runs
and none of its settings widens what may be done; its deny and ask rules always count.
What is trusted is what the folder brings today: hooks, allow rules, variables and the like that are new or
have changed since do not count until you run this again.
Servers of .mcp.json that name variables with credentials of model services or clouds, as in
${AWS_SECRET_ACCESS_KEY}, are given them only if you answered the question here or named them with --give.
BRIDLE_TRUST_FOLDER=/absolute/path trusts a folder for one run and remembers nothing.
"""
_LONGEST_SHOWN = 300


class _Wish(Struct, frozen=True):
    action: str
    folder: str
    sure: bool
    given: tuple[str, ...] = ()
    """Variables with credentials that servers may be given."""


def run_trust(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run the command.

    Raises:
        UsageError: the words are off, or nobody can be asked.
        ConfigError: the folder cannot be trusted, or the state file cannot be used.
    """
    wish = _read(argv)
    match wish.action:
        case "help":
            return say(_HELP)
        case "status":
            trusted = is_trusted(env, wish.folder)
            code = say(f"{_shown(trust_root(env, wish.folder))} is {'' if trusted else 'not '}trusted\n")
            return code or (0 if trusted else 1)
        case "revoke":
            return say(f"{_shown(_changed(revoke, env, wish.folder))} is not trusted any more\n")
        case _:
            return _trust(wish, env)


def _trust(wish: _Wish, env: Mapping[str, str]) -> int:
    changed: tuple[Brought, ...] = ()
    if is_trusted(env, wish.folder):
        changed = unapproved(env, wish.folder)
        if not changed and not wish.sure:
            return say(f"{_shown(trust_root(env, wish.folder))} is trusted already\n")
    if code := say(_changes(wish.folder, env, changed) if changed else _summary(wish.folder, env)):
        return code
    if not wish.sure and not _agrees():
        say("nothing was changed\n")
        return 1
    given = wish.given if wish.sure else None
    root = _changed(lambda env, folder: trust(env, folder, given=given), env, wish.folder)
    return say(f"{_shown(root)} is trusted now\n")


def _changed(change: Callable[[Mapping[str, str], str], str], env: Mapping[str, str], folder: str) -> str:
    try:
        return change(env, folder)
    except OSError as error:
        raise ConfigError(f"trust cannot be written down: {error.strerror} ({error.filename})") from error


def _summary(folder: str, env: Mapping[str, str]) -> str:
    root = _shown(trust_root(env, folder))
    brought = brought_by(env, folder)
    if not brought:
        return f"{root} brings nothing that needs trust today; it may later.\n"
    lines = [f"If you trust {root}, this counts from now on; what changes later is asked about again:"]
    return "\n".join((*lines, *map(_line, brought), ""))


def _changes(folder: str, env: Mapping[str, str], changed: Sequence[Brought]) -> str:
    root = _shown(trust_root(env, folder))
    lines = [f"{root} is trusted. This is new or has changed since, and does not count yet:"]
    return "\n".join((*lines, *map(_line, changed), ""))


def _line(brought: Brought) -> str:
    place = brought.file if brought.line is None else f"{brought.file}:{brought.line}"
    return f"  {_shown(place)}  {_shown(brought.key)} = {_json(brought.value)}"


def _json(value: object) -> str:
    import json

    # In ASCII alone: a stranger's text must not steer the terminal or look like something else.
    text = json.dumps(value)
    if len(text) <= _LONGEST_SHOWN:
        return text
    return f"{text[:_LONGEST_SHOWN]}… ({len(text)} characters, look into the file)"


def _shown(name: str) -> str:
    return printable(os.fsencode(name).decode(errors="replace"))


def _agrees() -> bool:
    if not sys.stdin.isatty():
        raise UsageError("nobody can be asked here: add -y if you trust this folder")
    say("Trust it? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _read(argv: Sequence[str]) -> _Wish:
    action, sure = "trust", False
    folders: list[str] = []
    given: list[str] = []
    words = iter(argv)
    for word in words:
        match word:
            case "-h" | "--help" | "help":
                return _Wish("help", "", False)
            case "-y" | "--yes":
                sure = True
            case "--give":
                given += next(words, "").split(",")
            case "--revoke" | "--status":
                action = word.removeprefix("--")
            case _ if word.startswith("-"):
                raise UsageError(f"unknown option '{word}': see bridle trust --help")
            case _:
                folders.append(word)
    if len(folders) > 1:
        raise UsageError("bridle trust takes one folder at a time")
    folder = os.path.abspath(os.path.expanduser(folders[0] if folders else "."))
    if not os.path.isdir(folder):
        raise UsageError(f"there is no folder {folder}")
    return _Wish(action, folder, sure, tuple(given))
