"""`bridle record` and `bridle replay`: a run with a real model once, and any number of times without one."""

import os
import re
from collections.abc import Callable, Mapping

from bridle.cli.args import parse
from bridle.cli.options import session_options
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.host.stdio import complain
from bridle.providers.cassette import Rule
from bridle.providers.recording import Recording, Replaying
from bridle.types.errors import UsageError
from bridle.types.model import Provider


def run_record(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Run bridle with its models recorded.

    Raises:
        UsageError: a pattern is wrong, or the run is not in print mode.
        ConfigError: the cassette cannot be written.
    """
    path = given.text("output") or "cassette.jsonl"
    rules = tuple(Rule(_checked(pattern), "<ignored>") for pattern in given.all("ignore"))

    def record(inner: Provider) -> Provider:
        return Recording(inner, path, env=env, cwd=os.getcwd(), rules=rules)

    code = _run(given.all("arguments"), env, record)
    complain(f"recorded in {path}")
    return code


def run_replay(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Run bridle with the recorded answers in place of its models.

    Raises:
        UsageError: the run is not in print mode.
        ConfigError: the cassette cannot be read.
    """
    path = given.one("file")
    replaying = Replaying(path, env=env, cwd=os.getcwd())
    code = _run(given.all("arguments"), env, lambda _: replaying)
    if replaying.difference is not None:
        complain(f"error: the run differs from the recording {path}: {replaying.difference}")
        return 1
    if replaying.left:
        complain(f"error: {replaying.left} recorded requests were not replayed; record the run again")
        return 1
    return code


def _run(argv: list[str], env: Mapping[str, str], around: Callable[[Provider], Provider]) -> int:
    from bridle.cli.headless.print_mode import run_print

    args = parse(argv)
    if not (args.on("print") or args.text("output-format") == "stream-json"):
        raise UsageError("only runs in print mode can be recorded and replayed: add -p")
    return run_print(session_options(args), env, around=around)


def _checked(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--ignore {pattern!r} is not a valid regular expression: {error}") from error
    return pattern
