"""`bridle hooks`: see which hooks there are, try them, and find those that cannot work."""

from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.cli.hooks.folder_hooks import FolderHooks, describe, look, read_object, short
from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.hooks.table import Entry, Table
from bridle.types.errors import UsageError
from bridle.types.hooks.calls import ToolEvent
from bridle.types.hooks.events import EVENTS
from bridle.types.nearest import did_you_mean


def list_hooks(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """List hooks.

    Raises:
        UsageError: there is no such event.
    """
    if (event := given.text("event")) is not None and event not in EVENTS:
        hint = did_you_mean(event, EVENTS) or f": use one of {', '.join(sorted(EVENTS))}"
        raise UsageError(f"unknown hook event {event!r}{hint}")
    folder = look(env)
    tool, input = given.text("tool"), read_object(given.text("input"), "--input")
    rows = [
        (number, entry)
        for number, entry in enumerate(folder.table.entries, 1)
        if event in (None, entry.event) and _concerns(entry, tool) and _holds(folder, entry, tool, input)
    ]
    if given.on("json"):
        output = [_as_json(number, entry, folder.table) for number, entry in rows]
        return say(msgspec.json.format(msgspec.json.encode(output), indent=2).decode() + "\n")
    shown = [line for number, entry in rows for line in _as_text(number, entry, folder.table)]
    return tell(*(shown or ["no hooks"]))


def test_hooks(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Run the hooks of an event on a sample."""
    from bridle.cli.hooks.trial import run_trial

    return run_trial(look(env), given)


def _concerns(entry: Entry, tool: str | None) -> bool:
    if tool is None:
        return True
    event = EVENTS.get(entry.event)
    return event is not None and issubclass(event, ToolEvent) and entry.matcher.matches(tool)


def _holds(folder: FolderHooks, entry: Entry, tool: str | None, input: Mapping[str, Any] | None) -> bool:
    """Whether the condition of a hook, if it has one, holds for a call."""
    rule = entry.hook.condition
    if tool is None or input is None or rule is None:
        return True
    return folder.holds(rule, tool, input.get("tool_input", input))


def _as_json(number: int, entry: Entry, table: Table) -> dict[str, Any]:
    objection = table.policy.objection(entry)
    return {
        "number": number,
        "event": entry.event,
        "matcher": entry.matcher_text,
        "kind": entry.kind,
        "runs": describe(entry.hook),
        "if": entry.hook.condition,
        "timeout": entry.hook.timeout,
        "source": entry.origin.source,
        "file": entry.origin.file,
        "line": entry.origin.line,
        "key": entry.origin.key,
        "counts": objection is None,
        "why_not": objection,
    }


def _as_text(number: int, entry: Entry, table: Table) -> list[str]:
    place = entry.origin.file if entry.origin.line is None else f"{entry.origin.file}:{entry.origin.line}"
    matched = f" on {entry.matcher_text}" if not entry.matcher.everything else ""
    condition = f" if {entry.hook.condition}" if entry.hook.condition else ""
    objection = table.policy.objection(entry)
    return [
        f"{number:>3}  {entry.event}{matched}{condition}",
        f"     {entry.kind}: {short(describe(entry.hook))}",
        f"     {entry.origin.source}  {place}",
        *([] if objection is None else [f"     not used: {objection}"]),
    ]


def lint_hooks(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Find hooks that can never run; the exit code is 1 if there are any."""
    del given
    from bridle.commands.queries.hook_problems import find_faults

    folder = look(env)
    wrong = [
        problem for problem in folder.config.problems if problem.broken or problem.key.startswith("hooks")
    ]
    faults = [*wrong, *find_faults(folder.table, folder.limits, cwd=folder.cwd, env=folder.env)]
    if not faults:
        return say(f"{len(folder.table.entries)} hook(s), no problems\n")
    tell(*map(str, faults))
    return 1
