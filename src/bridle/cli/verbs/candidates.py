"""`bridle --complete`: names of sessions, agents, models and jobs for shell completion, and whole lines."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from bridle.cli.flags import FLAGS, Flag
from bridle.cli.say import say
from bridle.cli.subcommands.catalog import ROOT
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.cli.subcommands.values import COMPLETED_FLAGS, HELP, Subcommand
from bridle.host.paths import bridle_dir, config_home
from bridle.types.errors import BridleError

_MOST = 200
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+/:-]{0,99}")
"""Names that no shell takes for anything but a word: others cannot be completed."""


def run_complete(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Print candidates, one on each line."""
    kind = given.one("kind")
    found = _of_line(given.all("words"), env) if kind == "line" else named(kind, env)
    return say("".join(f"{each}\n" for each in found))


def named(kind: str, env: Mapping[str, str]) -> list[str]:
    """The names of a kind that a shell can complete; none where they cannot be read."""
    source = _SOURCES.get(kind)
    return [] if source is None else _plain(source(env))


def _of_line(words: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """What may stand in place of the last word of a command line, the name of the program left out."""
    *before, current = words or ("",)
    command, path_flags = _reached(before)
    if before and (flag := path_flags.get(before[-1])) is not None and flag.kind != "switch":
        offered: Iterable[str] = flag.choices or named(COMPLETED_FLAGS.get(before[-1], ""), env)
    elif current.startswith("-"):
        offered = [name for name, flag in path_flags.items() if flag.help and flag.status == "works"]
    else:
        kinds = [each.completes for each in command.arguments]
        offered = [
            *(name for each in command.commands if not each.hidden for name in (each.name, *each.aliases)),
            *(word for each in command.arguments for word in each.choices),
            *(name for kind in kinds for name in named(kind, env)),
        ]
    return sorted({each for each in offered if each.startswith(current)})


def _reached(words: Sequence[str]) -> tuple[Subcommand, dict[str, Flag]]:
    command = ROOT
    for word in words:
        if (inner := command.find(word)) is not None and not inner.hidden:
            command = inner
    default = command.find(command.default)
    own = FLAGS if command is ROOT else (*command.options, *(default.options if default else ()), HELP)
    return command, {name: flag for flag in own for name in flag.names}


def _plain(names: Iterable[str]) -> list[str]:
    found: dict[str, None] = {}
    for name in names:
        if _PLAIN.fullmatch(name):
            found[name] = None
        if len(found) >= _MOST:
            break
    return list(found)


def _sessions(env: Mapping[str, str]) -> Iterator[str]:
    from bridle.transcripts.listing import list_sessions

    for info in list_sessions(env, directory=os.getcwd(), limit=_MOST):
        if info.custom_title and _PLAIN.fullmatch(info.custom_title):
            yield info.custom_title
        yield info.session_id


def _agents(env: Mapping[str, str]) -> Iterator[str]:
    from bridle.config.options import SessionOptions
    from bridle.extensions.agents import load_agents
    from bridle.extensions.index import Index
    from bridle.extensions.roots import roots_of, whereabouts
    from bridle.session.prepare import set_up

    try:
        setup = set_up(SessionOptions(), env)
        where = whereabouts(setup.config, env, cwd=setup.cwd)
    except BridleError:
        return
    index = Index(os.path.join(bridle_dir(env), "index"))
    yield from (each.name for each in load_agents(index, roots_of("agents", where)).definitions)


def _models(env: Mapping[str, str]) -> Iterator[str]:
    from bridle.config.options import SessionOptions
    from bridle.providers.model_listing import Choice, offers
    from bridle.session.prepare import set_up

    yield from ("opus", "sonnet", "haiku", "offline")
    try:
        config = set_up(SessionOptions(), env).config
    except BridleError:
        return
    choice = Choice(settings=config.settings, own=config.raw.get("bridleModels") or {}, env=env)
    yield from (line.model for line in offers(choice))


def _jobs(env: Mapping[str, str]) -> Iterator[str]:
    from bridle.host.jobs import records

    yield from (os.path.basename(folder) for folder in records.folders(config_home(env)))


_SOURCES: Mapping[str, Callable[[Mapping[str, str]], Iterable[str]]] = {
    "sessions": _sessions,
    "agents": _agents,
    "models": _models,
    "jobs": _jobs,
}
