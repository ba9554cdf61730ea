"""The process that a fleet starts for each of its local workers."""

from collections.abc import Mapping

from bridle.cli.subcommands.parser import ParsedArguments
from bridle.frontends.fleet.worker import run_worker

_STDIN, _STDOUT = 0, 1


def run_fleet_worker(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Take attempts from standard input until it ends."""
    del given
    return run_worker(env, input=_STDIN, output=_STDOUT)
