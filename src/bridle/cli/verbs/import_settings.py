"""`bridle import`: bring over what another agent has, shown first and never replacing anything."""

from collections.abc import Mapping

from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.cli.verbs.project import confirmed
from bridle.commands.imports import AGENTS, apply, plan_all
from bridle.types.errors import ConfigError


def run_import(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Show what would be brought over, ask, and do it.

    Raises:
        UsageError: not interactive, and neither --yes nor --dry-run.
        ConfigError: a file cannot be written.
    """
    wanted = given.text("agent")
    steps = plan_all([agent for agent in AGENTS if agent == wanted], env)
    if not steps:
        return say("Nothing new to import.\n")
    if code := tell(*(step.summary for step in steps)):
        return code
    if given.on("dry-run"):
        return say("Dry run: no changes made.\n")
    if not given.on("yes") and not confirmed("Import this?"):
        say("No changes made.\n")
        return 1
    for step in steps:
        try:
            apply(step)
        except OSError as error:
            raise ConfigError(f"{step.target} cannot be written: {error.strerror}") from error
    return say("Done.\n")
