"""`bridle record` and `bridle replay`: a run with a real model once, and any number of times without one."""

import os
import re
from collections.abc import Callable, Mapping, Sequence

from bridle.cli.say import say
from bridle.host.stdio import complain
from bridle.providers.cassette import Rule
from bridle.providers.recording import Recording, Replaying
from bridle.types.errors import UsageError
from bridle.types.model import Provider

_HELP = """\
Usage: bridle record [-o file] [--ignore pattern]… -- <arguments of bridle>
       bridle replay <file> -- <arguments of bridle>

record runs bridle as usual and writes what was asked of models, and what they answered, into a file of
JSON lines (cassette.jsonl). replay runs it again with the answers of the file: no model, no key, no network.
Hooks, skills, tools and prompts are real in both. A request that is not as recorded ends the run: the first
difference is shown and the exit code is 1. What changes by itself (dates, ids, folders, durations) is
written as a name; --ignore takes a regular expression for more of that. Keys and tokens are never written.
"""


def run_record(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run bridle with its models recorded.

    Raises:
        UsageError: the words are off.
        ConfigError: the cassette cannot be written.
    """
    parted = _parted("record", argv)
    return say(_HELP) if parted is None else _record(*parted, env)


def run_replay(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run bridle with the recorded answers in place of its models.

    Raises:
        UsageError: the words are off.
        ConfigError: the cassette cannot be read.
    """
    parted = _parted("replay", argv)
    return say(_HELP) if parted is None else _replay(*parted, env)


def _parted(command: str, words: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """The words of the command and those of the run; None when help is asked for."""
    if not words or words[0] in ("-h", "--help", "help"):
        return None
    if "--" not in words:
        raise UsageError(f"put -- before the arguments of the run: bridle {command} … -- -p 'your prompt'")
    place = words.index("--")
    return list(words[:place]), list(words[place + 1 :])


def _record(words: list[str], argv: list[str], env: Mapping[str, str]) -> int:
    path, rules = "cassette.jsonl", list[Rule]()
    while words:
        match words:
            case ["-o" | "--output", given, *_]:
                path, words = given, words[2:]
            case ["--ignore", pattern, *_]:
                rules.append(Rule(_checked(pattern), "<ignored>"))
                words = words[2:]
            case [word, *_]:
                raise UsageError(f"cannot understand '{word}': see bridle record help")
            case _:
                break

    def record(inner: Provider) -> Provider:
        return Recording(inner, path, env=env, cwd=os.getcwd(), rules=tuple(rules))

    code = _run(argv, env, record)
    complain(f"recorded in {path}")
    return code


def _replay(words: list[str], argv: list[str], env: Mapping[str, str]) -> int:
    if len(words) != 1:
        raise UsageError("bridle replay takes one file: bridle replay cassette.jsonl -- -p 'your prompt'")
    replaying = Replaying(words[0], env=env, cwd=os.getcwd())
    code = _run(argv, env, lambda _: replaying)
    if replaying.difference is not None:
        complain(f"error: the run is not as recorded in {words[0]}: {replaying.difference}")
        return 1
    if replaying.left:
        complain(f"error: {replaying.left} recorded requests were not made; record the run anew")
        return 1
    return code


def _run(argv: list[str], env: Mapping[str, str], around: Callable[[Provider], Provider]) -> int:
    from bridle.cli.args import parse
    from bridle.cli.headless.print_mode import run_print
    from bridle.cli.options import session_options

    args = parse(argv)
    if not (args.on("print") or args.text("output-format") == "stream-json"):
        raise UsageError("only runs in print mode can be recorded and replayed: add -p")
    return run_print(session_options(args), env, around=around)


def _checked(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--ignore {pattern!r} is no regular expression: {error}") from error
    return pattern
