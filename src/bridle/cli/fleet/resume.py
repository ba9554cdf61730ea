"""`bridle fleet resume`: continue a run where it was left."""

import asyncio
from collections.abc import Mapping

from msgspec.structs import replace

from bridle.cli.fleet.running import decimal, drive
from bridle.cli.fleet.workflows import resume_workflow
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.frontends.fleet.store import find_run, runs_folder


def resume_fleet(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Continue a run that was interrupted or stopped."""
    store = find_run(runs_folder(env), given.one("run"))
    options = store.options()
    changes = {
        name: value
        for name, value in (
            ("budget", decimal(given.text("budget"))),
            ("workers", int(given.text("workers") or 0)),
            ("on", given.text("on") or ""),
        )
        if value
    }
    if changes:
        store.change_options(replace(options, **changes))
    if given.on("failed"):
        store.retry(("failed", "error", "cancelled"))
    if options.workflow:
        return resume_workflow(store, env)
    return asyncio.run(drive(store, env, as_json=given.on("json")))
